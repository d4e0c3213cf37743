// RUN: stepwell-opt %s -p convert-relay-to-relax | filecheck %s

relay.func primitive @k("p0" %p0: tensor<8xf32>) {
  %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %0 : tensor<8xf32>
}

// A graph is a dataflow region; a call of a kernel is one in destination-passing style.
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.call @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1, %2 = relay.split(%0) {indices_or_sections = 2} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  relay.return %1 : tensor<4xf32>, %x : tensor<8xf32>, %1 : tensor<4xf32>
}
// CHECK:      relay.func primitive @k
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<8xf32>) -> tuple<tensor<4xf32>, tensor<8xf32>, tensor<4xf32>> {
// CHECK-NEXT:   %[[D:.+]] = relax.dataflow -> tensor<4xf32> {
// CHECK-NEXT:     %[[K:.+]] = relax.call_tir @k(%[[X]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %[[S:.+]], %{{.+}} = relay.split(%[[K]])
// CHECK-NEXT:     relax.output %[[S]] : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[T:.+]] = relax.tuple(%[[D]], %[[X]], %[[D]])
// CHECK-NEXT:   relax.return %[[T]]

// Branches have one value; a function without operations has no region.
relay.func @branches("x" %x: tensor<8xf32>, "c" %c: tensor<i1>) {
  %0, %1 = relay.if %c : tensor<i1> -> tensor<8xf32>, tensor<8xf32> {
    relay.yield %x : tensor<8xf32>, %x : tensor<8xf32>
  } else {
    %2, %3 = relay.call @pair(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    relay.yield %2 : tensor<8xf32>, %3 : tensor<8xf32>
  }
  relay.return %1 : tensor<8xf32>
}
// CHECK:      relax.func @branches
// CHECK-NEXT:   %[[I:.+]] = relax.if %{{.+}} : tensor<i1> -> tuple<tensor<8xf32>, tensor<8xf32>> {
// CHECK-NEXT:     %[[A:.+]] = relax.tuple(
// CHECK-NEXT:     relax.yield %[[A]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %[[C:.+]] = relax.call @pair(
// CHECK:          relax.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F:.+]] = relax.tuple_get %[[I]][1]
// CHECK-NEXT:   relax.return %[[F]] : tensor<8xf32>

relay.func @pair("x" %x: tensor<8xf32>) {
  relay.return %x : tensor<8xf32>, %x : tensor<8xf32>
}
// CHECK:      relax.func @pair("x" %[[P:.+]]: tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>> {
// CHECK-NEXT:   %[[Q:.+]] = relax.tuple(%[[P]], %[[P]])
// CHECK-NEXT:   relax.return %[[Q]]
