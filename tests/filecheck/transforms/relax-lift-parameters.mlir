// RUN: stepwell-opt %s -p relax-lift-parameters | filecheck %s

tir.func @double("A" %A: memref<8xf32>, "B" %B: memref<8xf32>) {
}

// exp(w) and the kernel move, with the constant that they read; v is still needed, u is not.
relax.func @main("x" %x: tensor<8xf32>, "u" %u: tensor<8xf32>, "v" %v: tensor<8xf32>, "w" %w: tensor<8xf32>) -> tensor<8xf32> attrs {num_input = 1 : i64} {
  %0 = relay.constant 2.0 : tensor<f32>
  %1 = relay.add(%w, %0) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = relax.call_tir @double(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.add(%x, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.multiply(%3, %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = relay.multiply(%4, %0) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  relax.return %5 : tensor<8xf32>
}
// CHECK:      relax.func @main_transform_params("params" %params: tuple<tensor<8xf32>, tensor<8xf32>, tensor<8xf32>>) -> tuple<tensor<8xf32>, tensor<8xf32>> {
// CHECK:        %[[V:.+]] = relax.tuple_get %params[1]
// CHECK-NEXT:   %[[W:.+]] = relax.tuple_get %params[2]
// CHECK-NEXT:   %[[C:.+]] = relay.constant 2.0
// CHECK-NEXT:   %[[A:.+]] = relay.add(%[[W]], %[[C]])
// CHECK-NEXT:   %[[B:.+]] = relax.call_tir @double(%[[A]])
// CHECK-NEXT:   %[[T:.+]] = relax.tuple(%[[V]], %[[B]])
// CHECK-NEXT:   relax.return %[[T]]
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<8xf32>, "v" %[[V:.+]]: tensor<8xf32>, "lifted" %[[L:.+]]: tensor<8xf32>) -> tensor<8xf32> attrs {num_input = 1 : i64} {
// CHECK-NEXT:   %[[C:.+]] = relay.constant 2.0
// CHECK-NEXT:   %[[D:.+]] = relay.add(%[[X]], %[[L]])
// CHECK-NEXT:   %[[E:.+]] = relay.multiply(%[[D]], %[[V]])
// CHECK-NEXT:   %[[F:.+]] = relay.multiply(%[[E]], %[[C]])
// CHECK-NEXT:   relax.return %[[F]]
