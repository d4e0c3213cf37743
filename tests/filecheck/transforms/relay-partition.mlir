// RUN: stepwell-opt %s -p relay-partition{libraries=cblas,cudnn} --split-input-file | filecheck %s

// A product becomes a function for the library, those that are equal one; what stands behind it stays.
relay.func @products("x" %x: tensor<1x8xf32>, "w" %w: tensor<8x8xf32>) {
  %0 = relay.nn.dense(%x, %w) : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  %1 = relay.nn.relu(%0) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %2 = relay.nn.dense(%1, %w) : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  relay.return %2 : tensor<1x8xf32>
}
// CHECK:      relay.func compiler "cblas" @cblas_nn_dense(
// CHECK-NEXT:   relay.nn.dense
// CHECK:      relay.func @products(
// CHECK-NEXT:   %[[A:.+]] = relay.call @cblas_nn_dense(%x, %w)
// CHECK-NEXT:   %[[B:.+]] = relay.nn.relu(%[[A]])
// CHECK-NEXT:   relay.call @cblas_nn_dense(%[[B]], %w)

// -----

// The longest pattern wins, in a branch too.
relay.func @longest("c" %c: tensor<i1>, "x" %x: tensor<1x3x8x8xf32>, "w" %w: tensor<4x3x3x3xf32>, "b" %b: tensor<4xf32>) {
  %0 = relay.if %c : tensor<i1> -> tensor<1x4x6x6xf32> {
    %1 = relay.nn.conv2d(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
    %2 = relay.nn.bias_add(%1, %b) : (tensor<1x4x6x6xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
    %3 = relay.nn.relu(%2) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
    relay.yield %3 : tensor<1x4x6x6xf32>
  } else {
    %4 = relay.nn.conv2d(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
    relay.yield %4 : tensor<1x4x6x6xf32>
  }
  relay.return %0 : tensor<1x4x6x6xf32>
}
// CHECK:      relay.func compiler "cudnn" @cudnn_nn_conv2d_nn_bias_add_nn_relu(
// CHECK:      relay.func compiler "cudnn" @cudnn_nn_conv2d(
// CHECK:      relay.func @longest(
// CHECK:        relay.call @cudnn_nn_conv2d_nn_bias_add_nn_relu(%x, %w, %b)
// CHECK-NEXT:   relay.yield
// CHECK:        relay.call @cudnn_nn_conv2d(%x, %w)
// CHECK-NEXT:   relay.yield

// -----

// What is read besides stays outside, and what the library does not compute stays as it is.
relay.func @shared("x" %x: tensor<1x3x8x8xf32>, "w" %w: tensor<4x3x3x3xf32>, "i" %i: tensor<2x2xi32>) {
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = relay.nn.relu(%0) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %2 = relay.nn.matmul(%i, %i) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  relay.return %0 : tensor<1x4x6x6xf32>, %1 : tensor<1x4x6x6xf32>, %2 : tensor<2x2xi32>
}
// CHECK:      relay.func compiler "cudnn" @cudnn_nn_conv2d(
// CHECK:      relay.func @shared(
// CHECK-NEXT:   %[[C:.+]] = relay.call @cudnn_nn_conv2d(%x, %w)
// CHECK-NEXT:   relay.nn.relu(%[[C]])
// CHECK-NEXT:   relay.nn.matmul(%i, %i)

// -----

// Functions of kernels are left alone.
relay.func primitive @kernel("p0" %p0: tensor<2x2xf32>) {
  %0 = relay.nn.matmul(%p0, %p0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  relay.return %0 : tensor<2x2xf32>
}
// CHECK-NOT:  compiler
// CHECK:      relay.func primitive @kernel(
// CHECK-NEXT:   relay.nn.matmul
