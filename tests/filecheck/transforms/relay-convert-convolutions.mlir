// RUN: stepwell-opt %s -p relay-convert-convolutions --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p "relay-convert-convolutions{tile-size=2}" --split-input-file | filecheck %s --check-prefix=TWO

// A large convolution of 3 by 3 is replaced, with its padding; output channels are in blocks of 16.
relay.func @large("x" %x: tensor<1x64x56x56xf32>, "w" %w: tensor<40x64x3x3xf32>) {
  %0 = relay.nn.conv2d(%x, %w) {padding = [1, 1]} : (tensor<1x64x56x56xf32>, tensor<40x64x3x3xf32>) -> tensor<1x40x56x56xf32>
  relay.return %0 : tensor<1x40x56x56xf32>
}
// CHECK:       relay.func @large
// CHECK-NEXT:    %[[W:.+]] = relay.nn.conv2d_winograd_weight_transform(%w) : (tensor<40x64x3x3xf32>) -> tensor<6x6x3x64x16xf32>
// CHECK-NEXT:    %[[R:.+]] = relay.nn.conv2d_winograd(%x, %[[W]]) {channels = 40, padding = [1, 1]} : (tensor<1x64x56x56xf32>, tensor<6x6x3x64x16xf32>) -> tensor<1x40x56x56xf32>
// CHECK-NEXT:    relay.return %[[R]] : tensor<1x40x56x56xf32>
// TWO:         relay.func @large
// TWO-NEXT:      relay.nn.conv2d_winograd_weight_transform(%w) {tile_size = 2} : (tensor<40x64x3x3xf32>) -> tensor<4x4x3x64x16xf32>
// TWO-NEXT:      {channels = 40, tile_size = 2, padding = [1, 1]}

// -----

// The weights of tiles of 4 have 4 times as many bytes: images with few tiles have tiles of 2.
relay.func @few_tiles("x" %x: tensor<1x512x7x7xf32>) {
  %w = relay.constant "w" : tensor<512x512x3x3xf32>
  %0 = relay.nn.conv2d(%x, %w) {padding = 1} : (tensor<1x512x7x7xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x7x7xf32>
  relay.return %0 : tensor<1x512x7x7xf32>
}
// CHECK:       relay.func @few_tiles
// CHECK:         relay.nn.conv2d_winograd_weight_transform(%w) {tile_size = 2}
// CHECK-NEXT:    {channels = 512, tile_size = 2, padding = 1}

// -----

// A small convolution stays, unless a size of tiles is given.
relay.func @small("x" %x: tensor<1x4x8x8xf32>, "w" %w: tensor<4x4x3x3xf32>) {
  %0 = relay.nn.conv2d(%x, %w) : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  relay.return %0 : tensor<1x4x6x6xf32>
}
// CHECK:       relay.func @small
// CHECK-NEXT:    relay.nn.conv2d(%x, %w)
// TWO:         relay.func @small
// TWO-NEXT:      relay.nn.conv2d_winograd_weight_transform(%w) {tile_size = 2}

// -----

// Strides, groups, other windows, layouts and data types, and dilation in images of dynamic sizes stay.
relay.func @others("x" %x: tensor<1x64x56x56xf32>, "w" %w: tensor<64x64x3x3xf32>, "p" %p: tensor<64x64x1x1xf32>, "g" %g: tensor<64x32x3x3xf32>, "i" %i: tensor<1x64x56x56xi8>, "j" %j: tensor<64x64x3x3xi8>, "t" %t: tensor<3x3x64x64xf32>, "d" %d: tensor<1x64x?x56xf32, #relay.sizes<"n">>) {
  %0 = relay.nn.conv2d(%x, %w) {strides = 2} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x27x27xf32>
  %2 = relay.nn.conv2d(%x, %g) {groups = 2} : (tensor<1x64x56x56xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x54x54xf32>
  %3 = relay.nn.conv2d(%x, %p) : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32>
  %4 = relay.nn.conv2d(%i, %j) {out_dtype = "int32"} : (tensor<1x64x56x56xi8>, tensor<64x64x3x3xi8>) -> tensor<1x64x54x54xi32>
  %5 = relay.nn.conv2d(%x, %t) {kernel_layout = "HWIO"} : (tensor<1x64x56x56xf32>, tensor<3x3x64x64xf32>) -> tensor<1x64x54x54xf32>
  %6 = relay.nn.conv2d(%d, %w) {dilation = [1, 2]} : (tensor<1x64x?x56xf32, #relay.sizes<"n">>, tensor<64x64x3x3xf32>) -> tensor<1x64x?x52xf32, #relay.sizes<"n - 2">>
  relay.return %0 : tensor<1x64x27x27xf32>, %2 : tensor<1x64x54x54xf32>, %3 : tensor<1x64x56x56xf32>, %4 : tensor<1x64x54x54xi32>, %5 : tensor<1x64x54x54xf32>, %6 : tensor<1x64x?x52xf32, #relay.sizes<"n - 2">>
}
// CHECK:       relay.func @others
// CHECK-NOT:     winograd
// TWO:         relay.func @others
// TWO-NOT:       winograd

// -----

// With dilation, images of the elements at distances of 2 rows: 28 rows of results each, of which the last has 27.
relay.func @dilation("x" %x: tensor<1x64x56x56xf32>, "w" %w: tensor<64x64x3x3xf32>) {
  %0 = relay.nn.conv2d(%x, %w) {dilation = [2, 1], padding = [2, 1, 1, 1]} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x55x56xf32>
  relay.return %0 : tensor<1x64x55x56xf32>
}
// CHECK:       relay.func @dilation
// CHECK-NEXT:    relay.nn.conv2d_winograd_weight_transform(%w)
// CHECK-NEXT:    %[[X:.+]] = relay.nn.space_to_batch_nd(%x) {block_shape = [1, 2, 1], paddings = {{.+}}} : (tensor<1x64x56x56xf32>) -> tensor<2x64x30x58xf32>
// CHECK-NEXT:    %[[Y:.+]] = relay.nn.conv2d_winograd(%[[X]], %{{.+}}) {channels = 64} : (tensor<2x64x30x58xf32>, {{.+}}) -> tensor<2x64x28x56xf32>
// CHECK-NEXT:    relay.nn.batch_to_space_nd(%[[Y]]) {block_shape = [1, 2, 1], crops = {{.+}}} : (tensor<2x64x28x56xf32>) -> tensor<1x64x55x56xf32>
// TWO:         relay.func @dilation
// TWO:           relay.nn.batch_to_space_nd

// -----

// The number of images may be dynamic.
relay.func @images("x" %x: tensor<?x64x56x56xf32, #relay.sizes<"n">>, "w" %w: tensor<64x64x3x3xf32>) {
  %0 = relay.nn.conv2d(%x, %w) {padding = 1} : (tensor<?x64x56x56xf32, #relay.sizes<"n">>, tensor<64x64x3x3xf32>) -> tensor<?x64x56x56xf32, #relay.sizes<"n">>
  relay.return %0 : tensor<?x64x56x56xf32, #relay.sizes<"n">>
}
// CHECK:       relay.func @images
// CHECK:         relay.nn.conv2d_winograd(%x
// TWO:         relay.func @images
// TWO:           relay.nn.conv2d_winograd(%x
