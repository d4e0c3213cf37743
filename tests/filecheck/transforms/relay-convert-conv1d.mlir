// RUN: stepwell-opt %s -p relay-convert-conv1d --split-input-file | filecheck %s

// Convolutions and the operators on elements between and after them compute images of one row.
relay.func @chain("x" %x: tensor<1x8x20xf32>, "b" %b: tensor<16x1xf32>) {
  %v = relay.constant "v" : tensor<16x8x3xf32>
  %w = relay.constant "w" : tensor<4x16x3xf32>
  %0 = relay.nn.conv1d(%x, %v) {padding = [1, 2], dilation = 2} : (tensor<1x8x20xf32>, tensor<16x8x3xf32>) -> tensor<1x16x19xf32>
  %1 = relay.add(%b, %0) : (tensor<16x1xf32>, tensor<1x16x19xf32>) -> tensor<1x16x19xf32>
  %2 = relay.nn.relu(%1) : (tensor<1x16x19xf32>) -> tensor<1x16x19xf32>
  %3 = relay.nn.conv1d(%2, %w) {strides = 2} : (tensor<1x16x19xf32>, tensor<4x16x3xf32>) -> tensor<1x4x9xf32>
  %4 = relay.nn.relu(%3) : (tensor<1x4x9xf32>) -> tensor<1x4x9xf32>
  %5 = relay.transpose(%4) {axes = [0, 2, 1]} : (tensor<1x4x9xf32>) -> tensor<1x9x4xf32>
  relay.return %5 : tensor<1x9x4xf32>
}
// CHECK:       relay.func @chain
// CHECK:         %[[X:.+]] = relay.expand_dims(%x) {axis = 2} : (tensor<1x8x20xf32>) -> tensor<1x8x1x20xf32>
// CHECK-NEXT:    %[[V:.+]] = relay.expand_dims(%v) {axis = 2} : (tensor<16x8x3xf32>) -> tensor<16x8x1x3xf32>
// CHECK-NEXT:    %[[C:.+]] = relay.nn.conv2d(%[[X]], %[[V]]) {strides = [1, 1], padding = [0, 1, 0, 2], dilation = [1, 2]} : (tensor<1x8x1x20xf32>, tensor<16x8x1x3xf32>) -> tensor<1x16x1x19xf32>
// CHECK:         %[[B:.+]] = relay.expand_dims(%b) {axis = 1} : (tensor<16x1xf32>) -> tensor<16x1x1xf32>
// CHECK-NEXT:    %[[A:.+]] = relay.add(%[[B]], %[[C]]) : (tensor<16x1x1xf32>, tensor<1x16x1x19xf32>) -> tensor<1x16x1x19xf32>
// CHECK:         %[[R:.+]] = relay.nn.relu(%[[A]]) : (tensor<1x16x1x19xf32>) -> tensor<1x16x1x19xf32>
// CHECK:         %[[D:.+]] = relay.nn.conv2d(%[[R]], %{{.+}}) {strides = [1, 2], padding = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x16x1x19xf32>, tensor<4x16x1x3xf32>) -> tensor<1x4x1x9xf32>
// CHECK:         %[[S:.+]] = relay.nn.relu(%[[D]]) : (tensor<1x4x1x9xf32>) -> tensor<1x4x1x9xf32>
// CHECK-NEXT:    %[[Y:.+]] = relay.squeeze(%[[S]]) {axis = [2]} : (tensor<1x4x1x9xf32>) -> tensor<1x4x9xf32>
// CHECK-NEXT:    relay.transpose(%[[Y]]) {axes = [0, 2, 1]}

// -----

// A convolution alone, one of a pool's result, of computed weights, with groups, and in another layout stay.
relay.func @others("x" %x: tensor<1x8x20xf32>, "u" %u: tensor<8x8x1xf32>) {
  %v = relay.constant "v" : tensor<8x8x1xf32>
  %g = relay.constant "g" : tensor<8x4x1xf32>
  %0 = relay.nn.conv1d(%x, %v) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  %1 = relay.nn.max_pool1d(%0) : (tensor<1x8x20xf32>) -> tensor<1x8x20xf32>
  %2 = relay.nn.conv1d(%1, %v) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  %3 = relay.nn.conv1d(%2, %u) : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  %4 = relay.nn.conv1d(%2, %g) {groups = 2} : (tensor<1x8x20xf32>, tensor<8x4x1xf32>) -> tensor<1x8x20xf32>
  %5 = relay.nn.conv1d(%2, %v) {kernel_layout = "IOW"} : (tensor<1x8x20xf32>, tensor<8x8x1xf32>) -> tensor<1x8x20xf32>
  relay.return %3 : tensor<1x8x20xf32>, %4 : tensor<1x8x20xf32>, %5 : tensor<1x8x20xf32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     conv2d
