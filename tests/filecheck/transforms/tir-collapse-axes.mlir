// RUN: stepwell-opt %s -p tir-collapse-axes | filecheck %s

// Rows of 7 elements become rows of 35; the factors are those of the first axis.
tir.func @scale("A" %A: memref<4x5x7xf32>, "B" %B: memref<4xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "j" %j : i32 in [0 +: 5] {
      tir.for serial "k" %k : i32 in [0 +: 7] {
        tir.block "A" (spatial "vi" %vi : i32 in [0 +: 4] = %i, spatial "vj" %vj : i32 in [0 +: 5] = %j, spatial "vk" %vk : i32 in [0 +: 7] = %k) {
          tir.access reads %A[%vi, %vj, %vk] : memref<4x5x7xf32>
          tir.access reads %B[%vi] : memref<4xf32>
          tir.access writes %A[%vi, %vj, %vk] : memref<4x5x7xf32>
          %a = tir.load %A[%vi, %vj, %vk] : memref<4x5x7xf32>
          %b = tir.load %B[%vi] : memref<4xf32>
          %c = arith.mulf %a, %b : f32
          tir.store %c, %A[%vi, %vj, %vk] : memref<4x5x7xf32>
        }
      }
    }
  }
}
// CHECK:       tir.func private @scale.collapsed("A" %A: memref<4x35xf32>, "B" %B: memref<4xf32>)
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: 4] {
// CHECK-NEXT:      tir.for serial "j_k" %j_k : i32 in [0 +: 35] {
// CHECK-NEXT:        tir.block "A" (spatial "vi" %vi : i32 in [0 +: 4] = %i, spatial "vj_vk" %vj_vk : i32 in [0 +: 35] = %j_k) {
// CHECK:               tir.load %A[%vi, %vj_vk] : memref<4x35xf32>
// CHECK:       tir.func @scale("A" %A: memref<4x5x7xf32>, "B" %B: memref<4xf32>)
// CHECK:         tir.call @scale.collapsed(

// Functions of users keep their axes.
tir.func @user("A" %A: memref<5x7xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 5] {
    tir.for serial "j" %j : i32 in [0 +: 7] {
      tir.block "A" (spatial "vi" %vi : i32 in [0 +: 5] = %i, spatial "vj" %vj : i32 in [0 +: 7] = %j) {
        tir.access writes %A[%vi, %vj] : memref<5x7xf32>
        %c = arith.constant 1.0 : f32
        tir.store %c, %A[%vi, %vj] : memref<5x7xf32>
      }
    }
  }
}
// CHECK:       tir.func @user("A" %A: memref<5x7xf32>)
// CHECK-NEXT:    tir.for serial "i"
// CHECK-NEXT:      tir.for serial "j"
