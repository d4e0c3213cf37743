// RUN: stepwell-opt %s -p relay-fold-scale-axis --split-input-file | filecheck %s

// Factors of channels go into weights, and into what is added on the way.
relay.func @main("x" %x: tensor<1x2x4x4xf32>) {
  %w = relay.constant "w" : tensor<3x2x1x1xf32>
  %s = relay.constant "s" : tensor<3x1x1xf32>
  %b = relay.constant "b" : tensor<3xf32>
  %c = relay.constant 1.0 : tensor<f32>
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %1 = relay.nn.bias_add(%0, %b) : (tensor<1x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  %2 = relay.subtract(%c, %1) : (tensor<f32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %3 = relay.multiply(%s, %2) : (tensor<3x1x1xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  relay.return %3 : tensor<1x3x4x4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<1x2x4x4xf32>) {
// CHECK-NEXT:      %w = relay.constant "w" : tensor<3x2x1x1xf32>
// CHECK-NEXT:      %s = relay.constant "s" : tensor<3x1x1xf32>
// CHECK-NEXT:      %b = relay.constant "b" : tensor<3xf32>
// CHECK-NEXT:      %c = relay.constant 1.0 : tensor<f32>
// CHECK-NEXT:      %[[v0:\d+]] = relay.reshape(%s) {newshape = [-1, 1, 1, 1]} : (tensor<3x1x1xf32>) -> tensor<3x1x1x1xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.multiply(%w, %[[v0]]) : (tensor<3x2x1x1xf32>, tensor<3x1x1x1xf32>) -> tensor<3x2x1x1xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.conv2d(%x, %[[v1]]) : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.reshape(%s) {newshape = [-1]} : (tensor<3x1x1xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.multiply(%b, %[[v3]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v5:\d+]] = relay.nn.bias_add(%[[v2]], %[[v4]]) : (tensor<1x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT:      %[[v6:\d+]] = relay.multiply(%c, %s) : (tensor<f32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
// CHECK-NEXT:      %[[v7:\d+]] = relay.subtract(%[[v6]], %[[v5]]) : (tensor<3x1x1xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT:      relay.return %[[v7]] : tensor<1x3x4x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// One factor for all; a positive one goes through nn.relu, a negative one does not.
relay.func @main("x" %x: tensor<2x3xf32>) {
  %w = relay.constant "w" : tensor<4x3xf32>
  %s = relay.constant 2.0 : tensor<f32>
  %n = relay.constant -2.0 : tensor<f32>
  %0 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.relu(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = relay.multiply(%1, %s) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %4 = relay.nn.relu(%3) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = relay.multiply(%4, %n) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  relay.return %2 : tensor<2x4xf32>, %5 : tensor<2x4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf32>) {
// CHECK-NEXT:      %w = relay.constant "w" : tensor<4x3xf32>
// CHECK-NEXT:      %s = relay.constant 2.0 : tensor<f32>
// CHECK-NEXT:      %n = relay.constant -2.0 : tensor<f32>
// CHECK-NEXT:      %[[v0:\d+]] = relay.reshape(%s) {newshape = []} : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.multiply(%w, %[[v0]]) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.dense(%x, %[[v1]]) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.nn.relu(%[[v2]]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v5:\d+]] = relay.nn.relu(%[[v4]]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v6:\d+]] = relay.multiply(%[[v5]], %n) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT:      relay.return %[[v3]] : tensor<2x4xf32>, %[[v6]] : tensor<2x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// In front of a convolution factors are those of the channels that it reads, in any layout.
relay.func @main("x" %x: tensor<1x4x4x2xf32>) {
  %w = relay.constant "w" : tensor<1x1x2x3xf32>
  %s = relay.constant "s" : tensor<2xf32>
  %0 = relay.multiply(%x, %s) : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %1 = relay.nn.conv2d(%0, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x2xf32>, tensor<1x1x2x3xf32>) -> tensor<1x4x4x3xf32>
  relay.return %1 : tensor<1x4x4x3xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<1x4x4x2xf32>) {
// CHECK-NEXT:      %w = relay.constant "w" : tensor<1x1x2x3xf32>
// CHECK-NEXT:      %s = relay.constant "s" : tensor<2xf32>
// CHECK-NEXT:      %[[v0:\d+]] = relay.reshape(%s) {newshape = [1, 1, -1, 1]} : (tensor<2xf32>) -> tensor<1x1x2x1xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.multiply(%w, %[[v0]]) : (tensor<1x1x2x3xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x3xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.conv2d(%x, %[[v1]]) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x2xf32>, tensor<1x1x2x3xf32>) -> tensor<1x4x4x3xf32>
// CHECK-NEXT:      relay.return %[[v2]] : tensor<1x4x4x3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Factors of another axis stay, and so do those of what is used twice, of groups in front, and of integers.
relay.func @main("x" %x: tensor<2x3xf32>, "y" %y: tensor<2x3xi32>, "z" %z: tensor<1x2x4x4xf32>) {
  %w = relay.constant "w" : tensor<4x3xf32>
  %r = relay.constant "r" : tensor<2x1xf32>
  %s = relay.constant "s" : tensor<4xf32>
  %v = relay.constant "v" : tensor<4x3xi32>
  %i = relay.constant 2 : tensor<i32>
  %g = relay.constant "g" : tensor<2x1x1x1xf32>
  %h = relay.constant "h" : tensor<2x1x1xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.multiply(%0, %r) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %3 = relay.multiply(%2, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = relay.nn.dense(%y, %v) : (tensor<2x3xi32>, tensor<4x3xi32>) -> tensor<2x4xi32>
  %5 = relay.multiply(%4, %i) : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %6 = relay.multiply(%z, %h) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %7 = relay.nn.conv2d(%6, %g) {groups = 2} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  relay.return %1 : tensor<2x4xf32>, %2 : tensor<2x4xf32>, %3 : tensor<2x4xf32>, %5 : tensor<2x4xi32>, %7 : tensor<1x2x4x4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf32>, "y" %y: tensor<2x3xi32>, "z" %z: tensor<1x2x4x4xf32>) {
// CHECK-NEXT:      %w = relay.constant "w" : tensor<4x3xf32>
// CHECK-NEXT:      %r = relay.constant "r" : tensor<2x1xf32>
// CHECK-NEXT:      %s = relay.constant "s" : tensor<4xf32>
// CHECK-NEXT:      %v = relay.constant "v" : tensor<4x3xi32>
// CHECK-NEXT:      %i = relay.constant 2 : tensor<i32>
// CHECK-NEXT:      %g = relay.constant "g" : tensor<2x1x1x1xf32>
// CHECK-NEXT:      %h = relay.constant "h" : tensor<2x1x1xf32>
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.multiply(%[[v0]], %r) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.dense(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.multiply(%[[v2]], %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.nn.dense(%y, %v) : (tensor<2x3xi32>, tensor<4x3xi32>) -> tensor<2x4xi32>
// CHECK-NEXT:      %[[v5:\d+]] = relay.multiply(%[[v4]], %i) : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
// CHECK-NEXT:      %[[v6:\d+]] = relay.multiply(%z, %h) : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT:      %[[v7:\d+]] = relay.nn.conv2d(%[[v6]], %g) {groups = 2} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<2x4xf32>, %[[v2]] : tensor<2x4xf32>, %[[v3]] : tensor<2x4xf32>, %[[v5]] : tensor<2x4xi32>, %[[v7]] : tensor<1x2x4x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
