// RUN: stepwell-opt %s -p "tir-merge-kernels{least-shared=8}" | filecheck %s

// Kernels that differ in the number of rows call one function; a public kernel keeps its parameters.
tir.func @scale("A" %A: memref<32x48xf32>, "B" %B: memref<48xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 32] {
    tir.for vectorized "j" %j : i32 in [0 +: 48] {
      tir.block "A" (spatial "vi" %vi : i32 in [0 +: 32] = %i, spatial "vj" %vj : i32 in [0 +: 48] = %j) {
        tir.access reads %B[%vj] : memref<48xf32>
        tir.access writes %A[%vi, %vj] : memref<32x48xf32>
        %b = tir.load %B[%vj] : memref<48xf32>
        tir.store %b, %A[%vi, %vj] : memref<32x48xf32>
      }
    }
  }
}
tir.func private @scale_1("A" %A: memref<40x48xf32>, "B" %B: memref<48xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 40] {
    tir.for vectorized "j" %j : i32 in [0 +: 48] {
      tir.block "A" (spatial "vi" %vi : i32 in [0 +: 40] = %i, spatial "vj" %vj : i32 in [0 +: 48] = %j) {
        tir.access reads %B[%vj] : memref<48xf32>
        tir.access writes %A[%vi, %vj] : memref<40x48xf32>
        %b = tir.load %B[%vj] : memref<48xf32>
        tir.store %b, %A[%vi, %vj] : memref<40x48xf32>
      }
    }
  }
}
tir.func @caller("A" %A: memref<40x48xf32>, "B" %B: memref<48xf32>) {
  tir.call @scale_1(%A, %B) : memref<40x48xf32>, memref<48xf32>
}
// CHECK:       tir.func private @scale.merged("A" %A: !tir.handle<f32>, "B" %B: memref<48xf32>, "extent" %extent: i32) attrs {relay.kernel = true} {
// CHECK-NEXT:    %[[MOST:.*]] = arith.constant 40 : i32
// CHECK-NEXT:    %[[AT_MOST:.*]] = arith.minsi %extent, %[[MOST]] : i32
// CHECK-NEXT:    %[[LEAST:.*]] = arith.constant 32 : i32
// CHECK-NEXT:    %[[LIMITED:.*]] = arith.maxsi %[[AT_MOST]], %[[LEAST]] : i32
// CHECK-NEXT:    %[[EXTENT:.*]] = tir.let "extent_1" %[[LIMITED]] : i32
// CHECK-NEXT:    %A_1 = tir.decl_buffer "A" %A dims [%[[EXTENT]]] : !tir.handle<f32> -> memref<?x48xf32>
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: %[[EXTENT]]] {
// CHECK-NEXT:      tir.for vectorized "j" %j : i32 in [0 +: 48] {
// CHECK-NEXT:        tir.block "A" (spatial "vi" %vi : i32 in [0 +: %[[EXTENT]]] = %i, spatial "vj" %vj : i32 in [0 +: 48] = %j) {
// CHECK-NEXT:          tir.access reads %B[%vj] : memref<48xf32>
// CHECK-NEXT:          tir.access writes %A_1[%vi, %vj] : memref<?x48xf32>
// CHECK:       tir.func @scale("A" %A: memref<32x48xf32>, "B" %B: memref<48xf32>)
// CHECK:         %[[N:.*]] = arith.constant 32 : i32
// CHECK-NEXT:    tir.call @scale.merged(%{{.*}}, %{{.*}}, %[[N]])
// CHECK-NOT:   @scale_1
// CHECK:       tir.func @caller
// CHECK-NEXT:    %[[N:.*]] = arith.constant 40 : i32
// CHECK-NEXT:    tir.call @scale.merged(%A, %B, %[[N]]) : memref<40x48xf32>, memref<48xf32>, i32

// Kernels that differ in their last loop call one function with a branch, in the loop around the equal statements.
tir.func @twice("A" %A: memref<4x8xf32>, "C" %C: memref<4x8xf32>) attrs {relay.kernel = true} {
  %S = tir.alloc_buffer "S" : memref<4x8xf32>
  tir.for serial "n" %n : i32 in [0 +: 4] {
    tir.for serial "i" %i : i32 in [0 +: 8] {
      %a = tir.load %A[%n, %i] : memref<4x8xf32>
      %b = tir.load %A[%n, %i] : memref<4x8xf32>
      %d = arith.addf %a, %b : f32
      tir.store %d, %S[%n, %i] : memref<4x8xf32>
    }
    tir.for serial "i" %i_1 : i32 in [0 +: 8] {
      %s = tir.load %S[%n, %i_1] : memref<4x8xf32>
      tir.store %s, %C[%n, %i_1] : memref<4x8xf32>
    }
  }
}
tir.func @twice_and_more("A" %A: memref<4x8xf32>, "B" %B: memref<8xf32>, "C" %C: memref<4x8xf32>) attrs {relay.kernel = true} {
  %S = tir.alloc_buffer "S" : memref<4x8xf32>
  tir.for serial "n" %n : i32 in [0 +: 4] {
    tir.for serial "i" %i : i32 in [0 +: 8] {
      %a = tir.load %A[%n, %i] : memref<4x8xf32>
      %b = tir.load %A[%n, %i] : memref<4x8xf32>
      %d = arith.addf %a, %b : f32
      tir.store %d, %S[%n, %i] : memref<4x8xf32>
    }
    tir.for serial "i" %i_1 : i32 in [0 +: 8] {
      %s = tir.load %S[%n, %i_1] : memref<4x8xf32>
      %b_1 = tir.load %B[%i_1] : memref<8xf32>
      %t = arith.addf %s, %b_1 : f32
      tir.store %t, %C[%n, %i_1] : memref<4x8xf32>
    }
  }
}
// CHECK:       tir.func private @twice.merged("A" %A: memref<4x8xf32>, "C" %C: memref<4x8xf32>, "B" %B: memref<8xf32>, "variant" %variant: i32)
// CHECK-NEXT:    %S = tir.alloc_buffer
// CHECK-NEXT:    tir.for serial "n" %n
// CHECK-NEXT:      tir.for serial "i" %i
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT:      %[[FIRST:.*]] = arith.cmpi eq, %variant, %[[ZERO]] : i32
// CHECK-NEXT:      tir.if %[[FIRST]] {
// CHECK-NOT:         %B
// CHECK:           } else {
// CHECK:             tir.load %B
// CHECK:       tir.func @twice("A"
// CHECK:         %1 = tir.address_of %A
// CHECK:         %3 = tir.address_of %C
// CHECK:         %4 = arith.constant 0 : i32
// CHECK-NEXT:    tir.call @twice.merged(%1, %3, %1, %4)
// CHECK:       tir.func @twice_and_more("A"
// CHECK:         %3 = tir.address_of %B
// CHECK:         %5 = tir.address_of %C
// CHECK:         %6 = arith.constant 1 : i32
// CHECK-NEXT:    tir.call @twice.merged(%1, %5, %3, %6)

// Kernels that differ in two statements stay.
tir.func @left("A" %A: memref<8xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %c = arith.constant 1.000000e+00 : f32
    tir.store %c, %A[%i] : memref<8xf32>
  }
  tir.for serial "i" %i_1 : i32 in [0 +: 8] {
    %c_1 = arith.constant 2.000000e+00 : f32
    tir.store %c_1, %A[%i_1] : memref<8xf32>
  }
}
tir.func @right("A" %A: memref<8xf32>) attrs {relay.kernel = true} {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %c = arith.constant 3.000000e+00 : f32
    tir.store %c, %A[%i] : memref<8xf32>
  }
  tir.for serial "i" %i_1 : i32 in [0 +: 8] {
    %c_1 = arith.constant 4.000000e+00 : f32
    tir.store %c_1, %A[%i_1] : memref<8xf32>
  }
}
// CHECK-NOT:   tir.call
// CHECK:       tir.func @right
// CHECK-NOT:   tir.call
