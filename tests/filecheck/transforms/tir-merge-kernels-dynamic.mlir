// RUN: stepwell-opt %s -p tir-merge-kernels | filecheck %s

// The number of channels is an extent of buffers of dynamic shape, too; the kernels pass these as they are.
tir.func @scale("a" %a: !tir.handle, "W" %W: memref<48xf32>, "b" %b: !tir.handle) attrs {relay.kernel = true, tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<48x?xf32>
  %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<48x?xf32>
  %T = tir.alloc_buffer "T" dims [%n] : memref<48x?xf32>
  tir.for serial "i" %i : i32 in [0 +: 48] {
    tir.for serial "j" %j : i32 in [0 +: %n] {
      tir.block "B" (spatial "vi" %vi : i32 in [0 +: 48] = %i, spatial "vj" %vj : i32 in [0 +: %n] = %j) {
        tir.access reads %A[%vi, %vj] : memref<48x?xf32>
        tir.access reads %W[%vi] : memref<48xf32>
        tir.access writes %T[%vi, %vj] : memref<48x?xf32>
        tir.access writes %B[%vi, %vj] : memref<48x?xf32>
        %x = tir.load %A[%vi, %vj] : memref<48x?xf32>
        %w = tir.load %W[%vi] : memref<48xf32>
        %y = arith.mulf %x, %w : f32
        tir.store %y, %T[%vi, %vj] : memref<48x?xf32>
        tir.store %y, %B[%vi, %vj] : memref<48x?xf32>
      }
    }
  }
}
tir.func @scale_1("a" %a: !tir.handle, "W" %W: memref<64xf32>, "b" %b: !tir.handle) attrs {relay.kernel = true, tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<64x?xf32>
  %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<64x?xf32>
  %T = tir.alloc_buffer "T" dims [%n] : memref<64x?xf32>
  tir.for serial "i" %i : i32 in [0 +: 64] {
    tir.for serial "j" %j : i32 in [0 +: %n] {
      tir.block "B" (spatial "vi" %vi : i32 in [0 +: 64] = %i, spatial "vj" %vj : i32 in [0 +: %n] = %j) {
        tir.access reads %A[%vi, %vj] : memref<64x?xf32>
        tir.access reads %W[%vi] : memref<64xf32>
        tir.access writes %T[%vi, %vj] : memref<64x?xf32>
        tir.access writes %B[%vi, %vj] : memref<64x?xf32>
        %x = tir.load %A[%vi, %vj] : memref<64x?xf32>
        %w = tir.load %W[%vi] : memref<64xf32>
        %y = arith.mulf %x, %w : f32
        tir.store %y, %T[%vi, %vj] : memref<64x?xf32>
        tir.store %y, %B[%vi, %vj] : memref<64x?xf32>
      }
    }
  }
}
// CHECK:       tir.func private @scale.merged("a" %a: !tir.handle, "W" %{{.*}}: !tir.handle<f32>, "b" %b: !tir.handle, "extent" %{{.*}}: i32)
// CHECK:         tir.match_buffer "A" %a dims [%[[EXTENT:.*]], %n] : !tir.handle -> memref<?x?xf32>
// CHECK:         tir.alloc_buffer "T" dims [%[[EXTENT]], %n] : memref<?x?xf32>
// CHECK:         tir.for serial "i" %i : i32 in [0 +: %[[EXTENT]]] {
// CHECK:       tir.func @scale("a" %a: !tir.handle, "W" %W: memref<48xf32>, "b" %b: !tir.handle)
// CHECK:         %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<48x?xf32>
// CHECK:         tir.call @scale.merged(%A, %{{.*}}, %B, %{{.*}}) : memref<48x?xf32>, !tir.handle<f32>, memref<48x?xf32>, i32
// CHECK:       tir.func @scale_1(
// CHECK:         tir.call @scale.merged(%A, %{{.*}}, %B, %{{.*}}) : memref<64x?xf32>, !tir.handle<f32>, memref<64x?xf32>, i32
