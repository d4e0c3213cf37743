// RUN: stepwell-opt %s -p relax-outline-graphs | filecheck %s

tir.func @double("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
}

// Operators and kernels before and after a packed function are two graphs; an independent operator joins the first.
relax.func @main("x" %x: tensor<4xf32>, "y" %y: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
  %0 = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_dps_packed "env.f"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.constant 2.0 : tensor<f32>
  %3 = relay.add(%1, %2) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = relax.call_tir @double(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = relay.log(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = relax.tuple(%4, %5) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  relax.return %6 : tuple<tensor<4xf32>, tensor<4xf32>>
}
// CHECK:      relay.func @main_graph("x" %[[A:.+]]: tensor<4xf32>, "y" %[[B:.+]]: tensor<4xf32>) attrs {relay.shared_inputs} {
// CHECK-NEXT:   %[[C:.+]] = relay.exp(%[[A]])
// CHECK-NEXT:   %[[D:.+]] = relay.log(%[[B]])
// CHECK-NEXT:   relay.return %[[C]] : tensor<4xf32>, %[[D]] : tensor<4xf32>
// CHECK:      relay.func @main_graph_1("p0" %[[E:.+]]: tensor<4xf32>) attrs {relay.shared_inputs} {
// CHECK-NEXT:   %[[F:.+]] = relay.constant 2.0 : tensor<f32>
// CHECK-NEXT:   %[[G:.+]] = relay.add(%[[E]], %[[F]])
// CHECK-NEXT:   %[[H:.+]] = relay.call @double(%[[G]]) sizes [] :
// CHECK-NEXT:   relay.return %[[H]]
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<4xf32>, "y" %[[Y:.+]]: tensor<4xf32>)
// CHECK-NEXT:   %[[I:.+]], %[[J:.+]] = relay.call @main_graph(%[[X]], %[[Y]])
// CHECK-NEXT:   %[[K:.+]] = relax.call_dps_packed "env.f"(%[[I]])
// CHECK-NEXT:   %[[L:.+]] = relay.call @main_graph_1(%[[K]])
// CHECK-NEXT:   %[[M:.+]] = relax.tuple(%[[L]], %[[J]])
// CHECK-NEXT:   relax.return %[[M]]

// A size that no tensor determines is a number, known after the cast that determines it; effects stay in order.
relax.func impure @sizes("x" %x: !relax.object, "y" %y: tensor<1xf32>) -> tensor<?xf32, #relay.sizes<"n">> {
  %0 = relax.call_packed "env.print"(%x) : (!relax.object) -> !relax.object
  %1 = relax.match_cast %x : !relax.object -> !relax.shape<["n"]>
  %2 = relax.call_tir @fill(%y) sizes ["n"] : (tensor<1xf32>) -> tensor<?xf32, #relay.sizes<"n">>
  %3 = relax.call_packed "env.print"(%2) : (tensor<?xf32, #relay.sizes<"n">>) -> !relax.object
  relax.return %2 : tensor<?xf32, #relay.sizes<"n">>
}
tir.func @fill("A" %A: memref<1xf32>, "b" %b: !tir.handle, "n" %n: i64) {
  %B = tir.match_buffer "B" %b dims [%n : i64] : !tir.handle -> memref<?xf32>
}
// CHECK:      relay.func @sizes_graph("y" %[[P:.+]]: tensor<1xf32>) attrs {relay.shared_inputs, size_parameters = ["n"]} {
// CHECK-NEXT:   %[[Q:.+]] = relay.call @fill(%[[P]]) sizes ["n"] :
// CHECK:      relax.func impure @sizes(
// CHECK-NEXT:   relax.match_cast
// CHECK-NEXT:   %[[R:.+]] = relay.call @sizes_graph(
// CHECK-NEXT:   relax.call_packed "env.print"
// CHECK-NEXT:   relax.call_packed "env.print"(%[[R]])
// CHECK-NEXT:   relax.return %[[R]]

// Each branch has graphs of its own, and copies of the constants around it. A kernel with tensors of unknown shape stays.
relax.func @branch("x" %x: tensor<4xf32>, "c" %c: tensor<i1>, "u" %u: !relax.tensor<rank = 1>) -> tensor<4xf32> {
  %3 = relay.constant "w" : tensor<4xf32>
  %0 = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %1 = relay.add(%x, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.yield %1 : tensor<4xf32>
  } else {
    %2 = relax.call_tir @double(%u) : (!relax.tensor<rank = 1>) -> tensor<4xf32>
    relax.yield %2 : tensor<4xf32>
  }
  relax.return %0 : tensor<4xf32>
}
// CHECK:      relax.func @branch(
// CHECK-NEXT:   relax.if
// CHECK-NEXT:     relay.call @branch_graph(
// CHECK-NEXT:     relax.yield
// CHECK-NEXT:   } else {
// CHECK-NEXT:     relax.call_tir @double(
