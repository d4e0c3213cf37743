// RUN: stepwell-opt %s -p relay-pack-weights --split-input-file | filecheck %s

// Constant weights of products are stored in blocks of 16 rows, for data of any number of dimensions.
relay.func @whole("x" %x: tensor<2x8x32xf32>) {
  %w = relay.constant "w" : tensor<64x32xf32>
  %0 = relay.nn.dense(%x, %w) {units = 64} : (tensor<2x8x32xf32>, tensor<64x32xf32>) -> tensor<2x8x64xf32>
  relay.return %0 : tensor<2x8x64xf32>
}
// CHECK:       relay.func @whole
// CHECK-NEXT:    %w = relay.constant "w" : tensor<64x32xf32>
// CHECK-NEXT:    %[[B:.+]] = relay.reshape(%w) {newshape = [4, 16, 32]} : (tensor<64x32xf32>) -> tensor<4x16x32xf32>
// CHECK-NEXT:    %[[T:.+]] = relay.transpose(%[[B]]) {axes = [0, 2, 1]} : (tensor<4x16x32xf32>) -> tensor<4x32x16xf32>
// CHECK-NEXT:    %[[R:.+]] = relay.nn.contrib_dense_pack(%x, %[[T]]) {weight_layout = "NC16n", units = 64} : (tensor<2x8x32xf32>, tensor<4x32x16xf32>) -> tensor<2x8x64xf32>
// CHECK-NEXT:    relay.return %[[R]]

// -----

// The columns of a second matrix are the rows of weights, unless it is transposed.
relay.func @columns("x" %x: tensor<?x8xf32, #relay.sizes<"n">>, "y" %y: tensor<4x32xf32>) {
  %w = relay.constant "w" : tensor<8x32xf32>
  %0 = relay.nn.matmul(%x, %w) : (tensor<?x8xf32, #relay.sizes<"n">>, tensor<8x32xf32>) -> tensor<?x32xf32, #relay.sizes<"n">>
  %1 = relay.nn.matmul(%y, %w) {transpose_b = true} : (tensor<4x32xf32>, tensor<8x32xf32>) -> tensor<4x8xf32>
  relay.return %0 : tensor<?x32xf32, #relay.sizes<"n">>, %1 : tensor<4x8xf32>
}
// CHECK:       relay.func @columns
// CHECK:         relay.transpose(%w) {axes = [1, 0]} : (tensor<8x32xf32>) -> tensor<32x8xf32>
// CHECK-NEXT:    relay.reshape({{.*}}) {newshape = [2, 16, 8]}
// CHECK-NEXT:    relay.transpose
// CHECK-NEXT:    relay.nn.contrib_dense_pack(%x, {{.*}}) {weight_layout = "NC16n", units = 32}
// CHECK-NEXT:    relay.nn.matmul(%y, %w) {transpose_b = true}

// -----

// The numbers of rows and columns of an image may be dynamic.
relay.func @image("x" %x: tensor<1x8x?x?xf32, #relay.sizes<"h", "w">>) {
  %w = relay.constant "w" : tensor<16x8x3x3xf32>
  %0 = relay.nn.conv2d(%x, %w) {padding = [1, 1]} : (tensor<1x8x?x?xf32, #relay.sizes<"h", "w">>, tensor<16x8x3x3xf32>) -> tensor<1x16x?x?xf32, #relay.sizes<"h", "w">>
  relay.return %0 : tensor<1x16x?x?xf32, #relay.sizes<"h", "w">>
}
// CHECK:       relay.func @image
// CHECK:         relay.nn.contrib_conv2d_pack(%x, {{.*}}) {channels = 16, padding = [1, 1]} : (tensor<1x8x?x?xf32, #relay.sizes<"h", "w">>, tensor<1x8x3x3x16xf32>)

// -----

// Zeros fill the last block.
relay.func @filled("x" %x: tensor<4x8xf64>) {
  %w = relay.constant "w" : tensor<19x8xf64>
  %0 = relay.nn.dense(%x, %w) : (tensor<4x8xf64>, tensor<19x8xf64>) -> tensor<4x19xf64>
  relay.return %0 : tensor<4x19xf64>
}
// CHECK:       relay.func @filled
// CHECK:         relay.nn.pad(%w
// CHECK-NEXT:    relay.reshape({{.*}}) {newshape = [2, 16, 8]}
// CHECK-NEXT:    relay.transpose
// CHECK-NEXT:    relay.nn.contrib_dense_pack({{.*}}) {weight_layout = "NC16n", units = 19} : (tensor<4x8xf64>, tensor<2x8x16xf64>) -> tensor<4x19xf64>

// -----

// Weights that are no constants stay, and those of one row of data, of few rows, and of others than floats.
relay.func @others("x" %x: tensor<4x8xf32>, "v" %v: tensor<19x8xf32>, "y" %y: tensor<1x8xf32>, "i" %i: tensor<4x8xi8>) {
  %w = relay.constant "w" : tensor<19x8xf32>
  %few = relay.constant "few" : tensor<15x8xf32>
  %whole = relay.constant "whole" : tensor<16x8xi8>
  %0 = relay.nn.dense(%x, %v) : (tensor<4x8xf32>, tensor<19x8xf32>) -> tensor<4x19xf32>
  %1 = relay.nn.dense(%y, %w) : (tensor<1x8xf32>, tensor<19x8xf32>) -> tensor<1x19xf32>
  %3 = relay.nn.dense(%x, %few) : (tensor<4x8xf32>, tensor<15x8xf32>) -> tensor<4x15xf32>
  %4 = relay.nn.dense(%i, %whole) {out_dtype = "int32"} : (tensor<4x8xi8>, tensor<16x8xi8>) -> tensor<4x16xi32>
  relay.return %0 : tensor<4x19xf32>, %1 : tensor<1x19xf32>, %3 : tensor<4x15xf32>, %4 : tensor<4x16xi32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     contrib_dense_pack

// -----

// Weights of convolutions are stored in blocks of 16 output channels, also for strides, padding and dilation.
relay.func @strided("x" %x: tensor<2x5x17x17xf32>) {
  %w = relay.constant "w" : tensor<30x5x3x5xf32>
  %0 = relay.nn.conv2d(%x, %w) {strides = [2, 1], padding = [1, 2], dilation = [1, 2]} : (tensor<2x5x17x17xf32>, tensor<30x5x3x5xf32>) -> tensor<2x30x9x13xf32>
  relay.return %0 : tensor<2x30x9x13xf32>
}
// CHECK:       relay.func @strided
// CHECK:         %[[P:.+]] = relay.nn.pad(%w
// CHECK-NEXT:    %[[B:.+]] = relay.reshape(%[[P]]) {newshape = [2, 16, 5, 3, 5]}
// CHECK-NEXT:    %[[T:.+]] = relay.transpose(%[[B]]) {axes = [0, 2, 3, 4, 1]} : (tensor<2x16x5x3x5xf32>) -> tensor<2x5x3x5x16xf32>
// CHECK-NEXT:    relay.nn.contrib_conv2d_pack(%x, %[[T]]) {channels = 30, strides = [2, 1], padding = [1, 2], dilation = [1, 2]} : (tensor<2x5x17x17xf32>, tensor<2x5x3x5x16xf32>) -> tensor<2x30x9x13xf32>

// -----

// The weights of depthwise convolutions with rows of up to 16 pixels are stored in blocks of 16 channels.
relay.func @depthwise("x" %x: tensor<1x24x14x14xf32>, "y" %y: tensor<1x24x56x56xf32>) {
  %w = relay.constant "w" : tensor<24x1x3x3xf32>
  %v = relay.constant "v" : tensor<24x1x5x5xf32>
  %0 = relay.nn.conv2d(%x, %w) {groups = 24, padding = 1} : (tensor<1x24x14x14xf32>, tensor<24x1x3x3xf32>) -> tensor<1x24x14x14xf32>
  %1 = relay.nn.conv2d(%y, %v) {groups = 24, padding = 2, strides = 2} : (tensor<1x24x56x56xf32>, tensor<24x1x5x5xf32>) -> tensor<1x24x28x28xf32>
  relay.return %0 : tensor<1x24x14x14xf32>, %1 : tensor<1x24x28x28xf32>
}
// CHECK:       relay.func @depthwise
// CHECK:         %[[P:.+]] = relay.nn.pad(%w
// CHECK-NEXT:    %[[B:.+]] = relay.reshape(%[[P]]) {newshape = [2, 16, 1, 3, 3]}
// CHECK-NEXT:    %[[T:.+]] = relay.transpose(%[[B]]) {axes = [0, 2, 3, 4, 1]} : (tensor<2x16x1x3x3xf32>) -> tensor<2x1x3x3x16xf32>
// CHECK-NEXT:    relay.nn.contrib_depthwise_conv2d_pack(%x, %[[T]]) {channels = 24, {{.*}}padding = 1{{.*}}} : (tensor<1x24x14x14xf32>, tensor<2x1x3x3x16xf32>) -> tensor<1x24x14x14xf32>
// CHECK:         relay.nn.conv2d(%y, %v)

// -----

// Weights of groups are stored in blocks, if these are of one group.
relay.func @blocks_of_groups("x" %x: tensor<1x8x7x7xf32>) {
  %w = relay.constant "w" : tensor<64x4x3x3xf32>
  %0 = relay.nn.conv2d(%x, %w) {groups = 2, padding = 1} : (tensor<1x8x7x7xf32>, tensor<64x4x3x3xf32>) -> tensor<1x64x7x7xf32>
  relay.return %0 : tensor<1x64x7x7xf32>
}
// CHECK:       relay.func @blocks_of_groups
// CHECK:         %[[B:.+]] = relay.reshape(%w) {newshape = [4, 16, 4, 3, 3]}
// CHECK-NEXT:    %[[T:.+]] = relay.transpose(%[[B]]) {axes = [0, 2, 3, 4, 1]} : (tensor<4x16x4x3x3xf32>) -> tensor<4x4x3x3x16xf32>
// CHECK-NEXT:    relay.nn.contrib_conv2d_pack(%x, %[[T]]) {channels = 64, {{.*}}padding = 1{{.*}}groups = 2{{.*}}} : (tensor<1x8x7x7xf32>, tensor<4x4x3x3x16xf32>) -> tensor<1x64x7x7xf32>

// -----

// Those of rows that fill vectors stay, and those of groups of less channels than a block.
relay.func @groups("x" %x: tensor<1x32x28x28xf32>) {
  %w = relay.constant "w" : tensor<32x1x3x3xf32>
  %v = relay.constant "v" : tensor<32x2x3x3xf32>
  %0 = relay.nn.conv2d(%x, %w) {groups = 32, padding = 1} : (tensor<1x32x28x28xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x28x28xf32>
  %1 = relay.nn.conv2d(%x, %v) {groups = 16, padding = 1} : (tensor<1x32x28x28xf32>, tensor<32x2x3x3xf32>) -> tensor<1x32x28x28xf32>
  relay.return %0 : tensor<1x32x28x28xf32>, %1 : tensor<1x32x28x28xf32>
}
// CHECK:       relay.func @groups
// CHECK-NOT:     conv2d_pack

// -----

// A window of 1 by 1 without strides is a product of matrices, whose vectors are of pixels, unless its pixels are few.
relay.func @pointwise("x" %x: tensor<1x32x7x7xf32>, "y" %y: tensor<1x32x8x8xf32>) {
  %w = relay.constant "w" : tensor<16x32x1x1xf32>
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x32x7x7xf32>, tensor<16x32x1x1xf32>) -> tensor<1x16x7x7xf32>
  %1 = relay.nn.conv2d(%y, %w) : (tensor<1x32x8x8xf32>, tensor<16x32x1x1xf32>) -> tensor<1x16x8x8xf32>
  %2 = relay.nn.conv2d(%y, %w) {strides = 2} : (tensor<1x32x8x8xf32>, tensor<16x32x1x1xf32>) -> tensor<1x16x4x4xf32>
  relay.return %0 : tensor<1x16x7x7xf32>, %1 : tensor<1x16x8x8xf32>, %2 : tensor<1x16x4x4xf32>
}
// CHECK:       relay.func @pointwise
// CHECK:         relay.nn.contrib_conv2d_pack(%x
// CHECK-NEXT:    relay.nn.conv2d(%y
// CHECK:         relay.nn.contrib_conv2d_pack(%y

// -----

// Weights stay for other layouts, few output channels, a result of one pixel, and for few products of a result whose
// columns fill vectors.
relay.func @layouts("x" %x: tensor<1x32x8x8xf32>, "y" %y: tensor<1x8x8x32xf32>, "z" %z: tensor<1x3x18x18xf32>, "o" %o: tensor<1x32x1x1xf32>) {
  %w = relay.constant "w" : tensor<32x32x3x3xf32>
  %s = relay.constant "s" : tensor<32x3x3x3xf32>
  %f = relay.constant "f" : tensor<8x32x3x3xf32>
  %0 = relay.nn.conv2d(%y, %w) {data_layout = "NHWC"} : (tensor<1x8x8x32xf32>, tensor<32x32x3x3xf32>) -> tensor<1x6x6x32xf32>
  %2 = relay.nn.conv2d(%x, %f) : (tensor<1x32x8x8xf32>, tensor<8x32x3x3xf32>) -> tensor<1x8x6x6xf32>
  %p = relay.constant "p" : tensor<32x32x1x1xf32>
  %3 = relay.nn.conv2d(%o, %p) : (tensor<1x32x1x1xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x1x1xf32>
  %5 = relay.nn.conv2d(%z, %s) : (tensor<1x3x18x18xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x16x16xf32>
  relay.return %0 : tensor<1x6x6x32xf32>, %2 : tensor<1x8x6x6xf32>, %3 : tensor<1x32x1x1xf32>, %5 : tensor<1x32x16x16xf32>
}
// CHECK:       relay.func @layouts
// CHECK-NOT:     contrib_conv2d_pack

// -----

// The numbers of rows of data and of images may be dynamic.
relay.func @numbers("x" %x: tensor<?x8xf32, #relay.sizes<"n">>, "y" %y: tensor<?x32x8x8xf32, #relay.sizes<"n">>) {
  %w = relay.constant "w" : tensor<19x8xf32>
  %v = relay.constant "v" : tensor<32x32x3x3xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<?x8xf32, #relay.sizes<"n">>, tensor<19x8xf32>) -> tensor<?x19xf32, #relay.sizes<"n">>
  %1 = relay.nn.conv2d(%y, %v) : (tensor<?x32x8x8xf32, #relay.sizes<"n">>, tensor<32x32x3x3xf32>) -> tensor<?x32x6x6xf32, #relay.sizes<"n">>
  relay.return %0 : tensor<?x19xf32, #relay.sizes<"n">>, %1 : tensor<?x32x6x6xf32, #relay.sizes<"n">>
}
// CHECK:       relay.func @numbers
// CHECK:         relay.nn.contrib_dense_pack(%x
// CHECK:         relay.nn.contrib_conv2d_pack(%y

// -----

// Weights of convolutions are packed in each run where they are no constants, those of products and depthwise
// convolutions stay.
relay.func @parameters("x" %x: tensor<1x32x8x8xf32>, "w" %w: tensor<32x32x3x3xf32>, "d" %d: tensor<32x1x3x3xf32>, "a" %a: tensor<8x32xf32>, "b" %b: tensor<32x32xf32>) {
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x6x6xf32>
  %1 = relay.nn.conv2d(%x, %d) {groups = 32} : (tensor<1x32x8x8xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x6x6xf32>
  %2 = relay.nn.dense(%a, %b) : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  relay.return %0 : tensor<1x32x6x6xf32>, %1 : tensor<1x32x6x6xf32>, %2 : tensor<8x32xf32>
}
// CHECK:       relay.func @parameters
// CHECK-NEXT:    %[[R:.+]] = relay.reshape(%w)
// CHECK-NEXT:    %[[T:.+]] = relay.transpose(%[[R]])
// CHECK-NEXT:    relay.nn.contrib_conv2d_pack(%x, %[[T]])
// CHECK-NEXT:    relay.nn.conv2d(%x, %d)
// CHECK-NEXT:    relay.nn.dense(%a, %b)
