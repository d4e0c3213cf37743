// RUN: stepwell-opt %s -p "relay-fuse-attention{least-bytes=256}" --split-input-file | filecheck %s

// A product, the softmax of its rows, and a product of these weights are one kernel.
relay.func @main("q" %q: tensor<2x8x4xf32>, "k" %k: tensor<2x8x4xf32>, "v" %v: tensor<2x8x4xf32>) {
  %s = relay.nn.batch_matmul(%q, %k) : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  %w = relay.nn.softmax(%s) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %y = relay.nn.batch_matmul(%w, %v) {transpose_b = false} : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  relay.return %y : tensor<2x8x4xf32>
}
// CHECK:       relay.func primitive @attention("p0" %p0: tensor<2x8x4xf32>, "p1" %p1: tensor<2x8x4xf32>, "p2" %p2: tensor<2x8x4xf32>) {
// CHECK-NEXT:    %[[S:.+]] = relay.nn.batch_matmul(%p0, %p1) : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
// CHECK-NEXT:    %[[W:.+]] = relay.nn.softmax(%[[S]]) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
// CHECK-NEXT:    %[[Y:.+]] = relay.nn.batch_matmul(%[[W]], %p2) {transpose_b = false} : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
// CHECK-NEXT:    relay.return %[[Y]]
// CHECK:       relay.func @main
// CHECK-NEXT:    %[[Y:.+]] = relay.call @attention(%q, %k, %v) : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// Reshapes of the scores are dropped, for products with the batch dimensions of the softmax; a mask is in the kernel.
relay.func @main("q" %q: tensor<2x3x8x4xf32>, "k" %k: tensor<6x4x8xf32>, "v" %v: tensor<6x8x4xf32>, "m" %m: tensor<2x1x1x8xf32>) {
  %a = relay.reshape(%q) {newshape = [6, 8, 4]} : (tensor<2x3x8x4xf32>) -> tensor<6x8x4xf32>
  %s = relay.nn.batch_matmul(%a, %k) {transpose_b = false} : (tensor<6x8x4xf32>, tensor<6x4x8xf32>) -> tensor<6x8x8xf32>
  %b = relay.reshape(%s) {newshape = [2, 3, 8, 8]} : (tensor<6x8x8xf32>) -> tensor<2x3x8x8xf32>
  %c = relay.add(%b, %m) : (tensor<2x3x8x8xf32>, tensor<2x1x1x8xf32>) -> tensor<2x3x8x8xf32>
  %w = relay.nn.softmax(%c) {axis = 3} : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %d = relay.reshape(%w) {newshape = [6, 8, 8]} : (tensor<2x3x8x8xf32>) -> tensor<6x8x8xf32>
  %y = relay.nn.batch_matmul(%d, %v) {transpose_b = false} : (tensor<6x8x8xf32>, tensor<6x8x4xf32>) -> tensor<6x8x4xf32>
  relay.return %y : tensor<6x8x4xf32>
}
// CHECK:       relay.func primitive @attention("p0" %p0: tensor<6x4x8xf32>, "p1" %p1: tensor<6x8x4xf32>, "p2" %p2: tensor<2x3x8x4xf32>, "p3" %p3: tensor<2x1x1x8xf32>) {
// CHECK-NEXT:    %[[K:.+]] = relay.reshape(%p0) {newshape = [2, 3, 4, 8]}
// CHECK-NEXT:    %[[V:.+]] = relay.reshape(%p1) {newshape = [2, 3, 8, 4]}
// CHECK-NEXT:    %[[S:.+]] = relay.einsum(%p2, %[[K]]) {equation = "abxz,abzy->abxy"}
// CHECK-NEXT:    %[[C:.+]] = relay.add(%[[S]], %p3)
// CHECK-NEXT:    %[[W:.+]] = relay.nn.softmax(%[[C]]) {axis = 3}
// CHECK-NEXT:    %[[Y:.+]] = relay.einsum(%[[W]], %[[V]]) {equation = "abxz,abzy->abxy"}
// CHECK-NEXT:    relay.return %[[Y]]
// CHECK:       relay.func @main
// CHECK-NEXT:    %[[R:.+]] = relay.call @attention(%k, %v, %q, %m)
// CHECK-NEXT:    %[[Y:.+]] = relay.reshape(%[[R]]) {newshape = [6, 8, 4]}
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// Few scores, scores with another reader, a softmax of columns, and a diagonal of scores stay as they are.
relay.func @main("q" %q: tensor<1x8x4xf32>, "p" %p: tensor<4x8x8xf32>) {
  %s = relay.nn.batch_matmul(%q, %q) : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x8xf32>
  %w = relay.nn.softmax(%s) : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %y = relay.nn.batch_matmul(%w, %q) {transpose_b = false} : (tensor<1x8x8xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %t = relay.nn.batch_matmul(%p, %p) : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %u = relay.nn.softmax(%t) : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %z = relay.nn.batch_matmul(%u, %p) : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %a = relay.nn.batch_matmul(%p, %p) : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %b = relay.nn.softmax(%a) {axis = 1} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %c = relay.nn.batch_matmul(%b, %p) : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %d = relay.nn.batch_matmul(%p, %p) : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %e = relay.nn.softmax(%d) : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %f = relay.einsum(%e) {equation = "abb->ab"} : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  relay.return %y : tensor<1x8x4xf32>, %u : tensor<4x8x8xf32>, %z : tensor<4x8x8xf32>, %c : tensor<4x8x8xf32>, %f : tensor<4x8xf32>
}
// CHECK-NOT:   @attention
