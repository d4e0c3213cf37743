// RUN: stepwell-opt %s -p relay-slice-images --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p "relay-slice-images,relay-convert-layout" --split-input-file | filecheck %s --check-prefix=BLOCKS

// The pixels that a convolution reads in steps are copied; other attributes stay.
relay.func @steps("x" %x: tensor<1x256x9x8xf32>, "w" %w: tensor<256x256x1x1xf32>) {
  %0 = relay.nn.conv2d(%x, %w) {strides = [2, 3], channels = 256} : (tensor<1x256x9x8xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x5x3xf32>
  relay.return %0 : tensor<1x256x5x3xf32>
}
// CHECK:       relay.func @steps
// CHECK-NEXT:    %[[X:.+]] = relay.strided_slice(%x) {begin = [0, 0], end = [9, 8], strides = [2, 3], axes = [2, 3]} : (tensor<1x256x9x8xf32>) -> tensor<1x256x5x3xf32>
// CHECK-NEXT:    %[[R:.+]] = relay.nn.conv2d(%[[X]], %w) {channels = 256} : (tensor<1x256x5x3xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x5x3xf32>
// CHECK-NEXT:    relay.return %[[R]] : tensor<1x256x5x3xf32>

// -----

// Windows, padding, groups, few channels, dynamic sizes and integers stay.
relay.func @others("x" %x: tensor<1x256x8x8xf32>, "v" %v: tensor<256x256x3x3xf32>, "w" %w: tensor<256x256x1x1xf32>, "g" %g: tensor<256x128x1x1xf32>, "f" %f: tensor<64x256x1x1xf32>, "d" %d: tensor<1x256x?x8xf32, #relay.sizes<"n">>, "i" %i: tensor<1x256x8x8xi8>, "j" %j: tensor<256x256x1x1xi8>) {
  %0 = relay.nn.conv2d(%x, %v) {strides = 2} : (tensor<1x256x8x8xf32>, tensor<256x256x3x3xf32>) -> tensor<1x256x3x3xf32>
  %1 = relay.nn.conv2d(%x, %w) {strides = 2, padding = 1} : (tensor<1x256x8x8xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x5x5xf32>
  %2 = relay.nn.conv2d(%x, %g) {strides = 2, groups = 2} : (tensor<1x256x8x8xf32>, tensor<256x128x1x1xf32>) -> tensor<1x256x4x4xf32>
  %3 = relay.nn.conv2d(%x, %f) {strides = 2} : (tensor<1x256x8x8xf32>, tensor<64x256x1x1xf32>) -> tensor<1x64x4x4xf32>
  %4 = relay.nn.conv2d(%d, %w) {strides = [1, 2]} : (tensor<1x256x?x8xf32, #relay.sizes<"n">>, tensor<256x256x1x1xf32>) -> tensor<1x256x?x4xf32, #relay.sizes<"n">>
  %5 = relay.nn.conv2d(%i, %j) {strides = 2, out_dtype = "int32"} : (tensor<1x256x8x8xi8>, tensor<256x256x1x1xi8>) -> tensor<1x256x4x4xi32>
  %6 = relay.nn.conv2d(%x, %w) : (tensor<1x256x8x8xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x8x8xf32>
  relay.return %0 : tensor<1x256x3x3xf32>, %1 : tensor<1x256x5x5xf32>, %2 : tensor<1x256x4x4xf32>, %3 : tensor<1x64x4x4xf32>, %4 : tensor<1x256x?x4xf32, #relay.sizes<"n">>, %5 : tensor<1x256x4x4xi32>, %6 : tensor<1x256x8x8xf32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     strided_slice

// -----

// A copy of pixels has the blocks of channels of its image.
relay.func @blocks("x" %x: tensor<1x256x9x9xf32>) {
  %v = relay.constant "v" : tensor<256x256x1x1xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x256x9x9xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x9x9xf32>
  %1 = relay.nn.conv2d(%0, %v) {strides = 2} : (tensor<1x256x9x9xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x5x5xf32>
  relay.return %1 : tensor<1x256x5x5xf32>
}
// CHECK:       relay.func @blocks
// BLOCKS:      relay.func @blocks
// BLOCKS:        relay.strided_slice({{.*}}) {begin = [0, 0], end = [9, 9], strides = [2, 2], axes = [2, 3]} : (tensor<1x16x9x9x16xf32>) -> tensor<1x16x5x5x16xf32>
// BLOCKS:        relay.nn.contrib_conv2d_pack({{.*}}data_layout = "NCHW16c"
