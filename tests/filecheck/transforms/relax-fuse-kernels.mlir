// RUN: stepwell-opt %s -p relax-fuse-kernels --split-input-file | filecheck %s

tir.func private @dense("A" %A: memref<4x8xf32>, "W" %W: memref<8x4xf32>, "C" %C: memref<4x4xf32>) attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      tir.for serial "k" %k : i32 in [0 +: 8] {
        tir.block "C" (spatial "vi" %vi : i32 in [0 +: 4] = %i, spatial "vj" %vj : i32 in [0 +: 4] = %j, reduce "vk" %vk : i32 in [0 +: 8] = %k) {
          tir.init {
            %0 = arith.constant 0.0 : f32
            tir.store %0, %C[%vi, %vj] : memref<4x4xf32>
          }
          %1 = tir.load %A[%vi, %vk] : memref<4x8xf32>
          %2 = tir.load %W[%vk, %vj] : memref<8x4xf32>
          %3 = arith.mulf %1, %2 : f32
          %4 = tir.load %C[%vi, %vj] : memref<4x4xf32>
          %5 = arith.addf %4, %3 : f32
          tir.store %5, %C[%vi, %vj] : memref<4x4xf32>
        }
      }
    }
  }
}
tir.func private @double("A" %A: memref<4x4xf32>, "B" %B: memref<4x4xf32>) attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      tir.block "B" (spatial "vi" %vi : i32 in [0 +: 4] = %i, spatial "vj" %vj : i32 in [0 +: 4] = %j) {
        %0 = tir.load %A[%vi, %vj] : memref<4x4xf32>
        %1 = arith.addf %0, %0 : f32
        tir.store %1, %B[%vi, %vj] : memref<4x4xf32>
      }
    }
  }
}

// Elementwise kernels follow a sum of products; the results between are buffers of the kernel.
relax.func @main("x" %x: tensor<4x8xf32>, "w" %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = relax.call_tir @dense(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = relax.call_tir @double(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = relax.call_tir @double(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  relax.return %2 : tensor<4x4xf32>
}
// CHECK-NOT:  @dense
// CHECK:      tir.func private @fused_dense_double_double("A" %[[A:.+]]: memref<4x8xf32>, "W" %[[W:.+]]: memref<8x4xf32>, "B" %[[B:.+]]: memref<4x4xf32>) attrs {tir.noalias = true}
// CHECK-NEXT:   %[[T:.+]] = tir.alloc_buffer "C" : memref<4x4xf32>
// CHECK-NEXT:   %[[U:.+]] = tir.alloc_buffer "B_1" : memref<4x4xf32>
// CHECK:        tir.block "C"
// CHECK:        tir.store %{{.+}}, %[[T]]
// CHECK:        tir.block "B"
// CHECK:        tir.load %[[T]]
// CHECK:        tir.store %{{.+}}, %[[U]]
// CHECK:        tir.block "B_1"
// CHECK:        tir.load %[[U]]
// CHECK:        tir.store %{{.+}}, %[[B]]
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<4x8xf32>, "w" %[[V:.+]]: tensor<8x4xf32>)
// CHECK-NEXT:   %[[R:.+]] = relax.call_tir @fused_dense_double_double(%[[X]], %[[V]]) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:   relax.return %[[R]]

// -----

tir.func @rows("A" %A: !tir.handle, "B" %B: !tir.handle) {
  %n = tir.symbol "m" : i32
  %a = tir.match_buffer "A" %A dims [%n] : !tir.handle -> memref<?x4xf32>
  %b = tir.match_buffer "B" %B dims [%n] : !tir.handle -> memref<?xf32>
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      tir.block "B" (spatial "vi" %vi : i32 in [0 +: %n] = %i, reduce "vk" %vk : i32 in [0 +: 4] = %k) {
        tir.init {
          %0 = arith.constant 0.0 : f32
          tir.store %0, %b[%vi] : memref<?xf32>
        }
        %1 = tir.load %a[%vi, %vk] : memref<?x4xf32>
        %2 = tir.load %b[%vi] : memref<?xf32>
        %3 = arith.addf %2, %1 : f32
        tir.store %3, %b[%vi] : memref<?xf32>
      }
    }
  }
}
tir.func @double("A" %A: !tir.handle, "B" %B: !tir.handle) {
  %n = tir.symbol "n" : i32
  %a = tir.match_buffer "A" %A dims [%n] : !tir.handle -> memref<?x4xf32>
  %b = tir.match_buffer "B" %B dims [%n] : !tir.handle -> memref<?x4xf32>
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      tir.block "B" (spatial "vi" %vi : i32 in [0 +: %n] = %i, spatial "vj" %vj : i32 in [0 +: 4] = %j) {
        %0 = tir.load %a[%vi, %vj] : memref<?x4xf32>
        %1 = arith.addf %0, %0 : f32
        tir.store %1, %b[%vi, %vj] : memref<?x4xf32>
      }
    }
  }
}

// Kernels before a sum; the sizes are those of the caller. A result with other readers stays.
relax.func @main("x" %x: tensor<?x4xf32, #relay.sizes<"b">>) -> tuple<tensor<?xf32, #relay.sizes<"b">>, tensor<?xf32, #relay.sizes<"b">>> {
  %0 = relax.call_tir @double(%x) : (tensor<?x4xf32, #relay.sizes<"b">>) -> tensor<?x4xf32, #relay.sizes<"b">>
  %1 = relax.call_tir @rows(%0) : (tensor<?x4xf32, #relay.sizes<"b">>) -> tensor<?xf32, #relay.sizes<"b">>
  %2 = relax.call_tir @double(%x) : (tensor<?x4xf32, #relay.sizes<"b">>) -> tensor<?x4xf32, #relay.sizes<"b">>
  %3 = relax.call_tir @rows(%2) : (tensor<?x4xf32, #relay.sizes<"b">>) -> tensor<?xf32, #relay.sizes<"b">>
  %4 = relax.tuple(%1, %3) : (tensor<?xf32, #relay.sizes<"b">>, tensor<?xf32, #relay.sizes<"b">>) -> tuple<tensor<?xf32, #relay.sizes<"b">>, tensor<?xf32, #relay.sizes<"b">>>
  relax.return %4 : tuple<tensor<?xf32, #relay.sizes<"b">>, tensor<?xf32, #relay.sizes<"b">>>
}
// CHECK:      tir.func @fused_double_rows("A" %[[A:.+]]: !tir.handle, "B" %[[B:.+]]: !tir.handle)
// CHECK-NEXT:   %[[N:.+]] = tir.symbol "b" : i32
// CHECK-NEXT:   tir.match_buffer "A" %[[A]] dims [%[[N]]]
// CHECK-NEXT:   tir.alloc_buffer "B_1" dims [%[[N]]] : memref<?x4xf32>
// CHECK-NEXT:   tir.match_buffer "B" %[[B]] dims [%[[N]]]
// CHECK:      relax.func @main
// CHECK-NEXT:   relax.call_tir @fused_double_rows(
// CHECK-NEXT:   relax.call_tir @fused_double_rows(
// CHECK-NEXT:   relax.tuple

// -----

tir.func private @double("A" %A: memref<8xf32>, "B" %B: memref<8xf32>) attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.block "B" (spatial "vi" %vi : i32 in [0 +: 8] = %i) {
      %0 = tir.load %A[%vi] : memref<8xf32>
      %1 = arith.addf %0, %0 : f32
      tir.store %1, %B[%vi] : memref<8xf32>
    }
  }
}
tir.func private @pairs("A" %A: memref<8xf32>, "B" %B: memref<4xf32>) attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "k" %k : i32 in [0 +: 2] {
      tir.block "B" (spatial "vi" %vi : i32 in [0 +: 4] = %i, reduce "vk" %vk : i32 in [0 +: 2] = %k) {
        tir.init {
          %0 = arith.constant 0.0 : f32
          tir.store %0, %B[%vi] : memref<4xf32>
        }
        %1 = arith.constant 2 : i32
        %2 = arith.muli %vi, %1 : i32
        %3 = arith.addi %2, %vk : i32
        %4 = tir.load %A[%3] : memref<8xf32>
        %5 = tir.load %B[%vi] : memref<4xf32>
        %6 = arith.addf %5, %4 : f32
        tir.store %6, %B[%vi] : memref<4xf32>
      }
    }
  }
}

// A product of indices is none of elements: elementwise kernels precede the sum.
relax.func @main("x" %x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir @double(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relax.call_tir @pairs(%0) : (tensor<8xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK:      relax.func @main
// CHECK-NEXT:   relax.call_tir @fused_double_pairs(
// CHECK-NEXT:   relax.return
