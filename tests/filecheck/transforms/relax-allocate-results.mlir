// RUN: stepwell-opt %s -p relax-allocate-results | filecheck %s
// RUN: stepwell-opt %s -p relax-allocate-results,relax-outline-graphs | filecheck %s --check-prefix BACK

tir.func @double("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}
tir.func @both("a" %a: !tir.handle, "b" %b: !tir.handle, "c" %c: !tir.handle, "n" %n: i64) {
  %A = tir.match_buffer "A" %a dims [%n : i64] : !tir.handle -> memref<?xf32>
  %B = tir.match_buffer "B" %b dims [%n : i64] : !tir.handle -> memref<?xf32>
  %C = tir.match_buffer "C" %c dims [%n : i64] : !tir.handle -> memref<?xf32>
}

// A call overwrites a new tensor.
relax.func @main("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.dataflow -> tensor<4xf32> {
    %1 = relax.call_tir @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %1 : tensor<4xf32>
  }
  relax.return %0 : tensor<4xf32>
}
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<4xf32>)
// CHECK:        %[[A:.+]] = relax.alloc_tensor : tensor<4xf32>
// CHECK-NEXT:   %[[Y:.+]] = relax.call_tir_inplace @double(%[[X]], %[[A]]) inplace [1 : i64] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   relax.output %[[Y]]

// Several results are a tuple; sizes stay arguments.
relax.func @two("x" %x: tensor<?xf32, #relay.sizes<"n">>) -> tuple<tensor<?xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"n">>> {
  %0 = relax.call_tir @both(%x) sizes ["n"] : (tensor<?xf32, #relay.sizes<"n">>) -> tuple<tensor<?xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"n">>>
  relax.return %0 : tuple<tensor<?xf32, #relay.sizes<"n">>, tensor<?xf32, #relay.sizes<"n">>>
}
// CHECK:      relax.func @two(
// CHECK-NEXT:   %[[B:.+]] = relax.alloc_tensor : tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:   %[[C:.+]] = relax.alloc_tensor : tensor<?xf32, #relay.sizes<"n">>
// CHECK-NEXT:   %[[T:.+]] = relax.call_tir_inplace @both(%{{.+}}, %[[B]], %[[C]]) inplace [1 : i64, 2 : i64] sizes ["n"]
// CHECK-NEXT:   relax.return %[[T]]

// The compilation replaces a call that overwrites nothing else by a call in a graph.
// BACK-NOT: relax.alloc_tensor

// Nothing changes without calls of kernels.
relax.func @none("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_dps_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
// CHECK:      relax.func @none(
// CHECK-NEXT:   relax.call_dps_packed
