// RUN: stepwell-opt %s -p 'tir-version-rows{least-bytes=64}' | filecheck %s

// The matrix has 64 bytes: a branch for one row has blocks with names of their own, and the extent 1.
tir.func @product("a" %a: !tir.handle, "W" %W: memref<4x4xf32>, "y" %y: !tir.handle) attrs {tir.noalias = true, relay.kernel = true} {
  %n = tir.symbol "n" : i64
  %X = tir.match_buffer "X" %a dims [%n : i64] : !tir.handle -> memref<?x4xf32>
  %Y = tir.match_buffer "Y" %y dims [%n : i64] : !tir.handle -> memref<?x4xf32>
  tir.for serial "i" %i : i64 in [0 +: %n] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      tir.for serial "k" %k : i32 in [0 +: 4] {
        tir.block "Y" (spatial "vi" %vi : i64 in [0 +: %n] = %i, spatial "vj" %vj : i32 in [0 +: 4] = %j, reduce "vk" %vk : i32 in [0 +: 4] = %k) {
          tir.access reads %X[%vi : i64, %vk] : memref<?x4xf32>
          tir.access reads %W[%vk, %vj] : memref<4x4xf32>
          tir.access writes %Y[%vi : i64, %vj] : memref<?x4xf32>
          tir.init {
            %0 = arith.constant 0.0 : f32
            tir.store %0, %Y[%vi : i64, %vj] : memref<?x4xf32>
          }
          %1 = tir.load %Y[%vi : i64, %vj] : memref<?x4xf32>
          %2 = tir.load %X[%vi : i64, %vk] : memref<?x4xf32>
          %3 = tir.load %W[%vk, %vj] : memref<4x4xf32>
          %4 = arith.mulf %2, %3 : f32
          %5 = arith.addf %1, %4 : f32
          tir.store %5, %Y[%vi : i64, %vj] : memref<?x4xf32>
        }
      }
    }
  }
}
// CHECK:         %0 = arith.constant 1 : i64
// CHECK-NEXT:    %1 = arith.cmpi eq, %n, %0 : i64
// CHECK-NEXT:    tir.if %1 {
// CHECK-NEXT:      tir.for serial "i" %i : i64 in [0 +: 1] {
// CHECK:               tir.block "Y_row" (spatial "vi" %vi : i64 in [0 +: 1] = %i
// CHECK:         } else {
// CHECK-NEXT:      tir.for serial "i" %i_1 : i64 in [0 +: %n] {
// CHECK:               tir.block "Y" (spatial "vi" %vi_1 : i64 in [0 +: %n] = %i_1

// Each element of the matrix is used for all columns of an image: no version.
tir.func @convolution("a" %a: !tir.handle, "W" %W: memref<4x4xf32>, "y" %y: !tir.handle) attrs {tir.noalias = true, relay.kernel = true} {
  %n = tir.symbol "n" : i64
  %X = tir.match_buffer "X" %a dims [%n : i64] : !tir.handle -> memref<?x4x9xf32>
  %Y = tir.match_buffer "Y" %y dims [%n : i64] : !tir.handle -> memref<?x4x9xf32>
  tir.for serial "i" %i : i64 in [0 +: %n] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      tir.for serial "x" %x : i32 in [0 +: 9] {
        tir.for serial "k" %k : i32 in [0 +: 4] {
          tir.block "Y" (spatial "vi" %vi : i64 in [0 +: %n] = %i, spatial "vj" %vj : i32 in [0 +: 4] = %j, spatial "vx" %vx : i32 in [0 +: 9] = %x, reduce "vk" %vk : i32 in [0 +: 4] = %k) {
            tir.access reads %X[%vi : i64, %vk, %vx] : memref<?x4x9xf32>
            tir.access reads %W[%vk, %vj] : memref<4x4xf32>
            tir.access writes %Y[%vi : i64, %vj, %vx] : memref<?x4x9xf32>
            tir.init {
              %0 = arith.constant 0.0 : f32
              tir.store %0, %Y[%vi : i64, %vj, %vx] : memref<?x4x9xf32>
            }
            %1 = tir.load %Y[%vi : i64, %vj, %vx] : memref<?x4x9xf32>
            %2 = tir.load %X[%vi : i64, %vk, %vx] : memref<?x4x9xf32>
            %3 = tir.load %W[%vk, %vj] : memref<4x4xf32>
            %4 = arith.mulf %2, %3 : f32
            %5 = arith.addf %1, %4 : f32
            tir.store %5, %Y[%vi : i64, %vj, %vx] : memref<?x4x9xf32>
          }
        }
      }
    }
  }
}
// CHECK:       tir.func @convolution
// CHECK-NOT:     tir.if
