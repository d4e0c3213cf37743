// RUN: stepwell-opt %s -p relay-convert-layout --split-input-file | filecheck %s

// Images between convolutions have their channels in blocks, through operators on elements, pools and concatenations.
relay.func @network("x" %x: tensor<2x3x9x9xf32>) {
  %v = relay.constant "v" : tensor<32x3x3x3xf32>
  %d = relay.constant "d" : tensor<32x1x3x3xf32>
  %w = relay.constant "w" : tensor<16x64x1x1xf32>
  %b = relay.constant "b" : tensor<32xf32>
  %g = relay.constant "g" : tensor<2x32x1x1xf32>
  %m = relay.constant "m" : tensor<9x9xf32>
  %0 = relay.nn.conv2d(%x, %v) {padding = 1} : (tensor<2x3x9x9xf32>, tensor<32x3x3x3xf32>) -> tensor<2x32x9x9xf32>
  %1 = relay.nn.bias_add(%0, %b) : (tensor<2x32x9x9xf32>, tensor<32xf32>) -> tensor<2x32x9x9xf32>
  %2 = relay.multiply(%1, %g) : (tensor<2x32x9x9xf32>, tensor<2x32x1x1xf32>) -> tensor<2x32x9x9xf32>
  %3 = relay.add(%2, %m) : (tensor<2x32x9x9xf32>, tensor<9x9xf32>) -> tensor<2x32x9x9xf32>
  %4 = relay.nn.conv2d(%3, %d) {padding = 1, groups = 32} : (tensor<2x32x9x9xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x9x9xf32>
  %5 = relay.concatenate(%3, %4) {axis = 1} : (tensor<2x32x9x9xf32>, tensor<2x32x9x9xf32>) -> tensor<2x64x9x9xf32>
  %6 = relay.nn.max_pool2d(%5) {pool_size = 2, strides = 2} : (tensor<2x64x9x9xf32>) -> tensor<2x64x4x4xf32>
  %7 = relay.nn.conv2d(%6, %w) : (tensor<2x64x4x4xf32>, tensor<16x64x1x1xf32>) -> tensor<2x16x4x4xf32>
  %8 = relay.mean(%7) {axis = [2, 3]} : (tensor<2x16x4x4xf32>) -> tensor<2x16xf32>
  relay.return %8 : tensor<2x16xf32>
}
// CHECK:       relay.func @network
// CHECK:         %[[C:.+]] = relay.nn.contrib_conv2d_pack(%x, {{.*}}) {channels = 32, padding = 1, out_layout = "NCHW16c"} : (tensor<2x3x9x9xf32>, tensor<2x3x3x3x16xf32>) -> tensor<2x2x9x9x16xf32>
// CHECK-NEXT:    %[[B:.+]] = relay.reshape(%b) {newshape = [1, 2, 1, 1, 16]}
// CHECK-NEXT:    %[[S:.+]] = relay.add(%[[C]], %[[B]])
// CHECK-NEXT:    %[[G:.+]] = relay.reshape(%g) {newshape = [2, 2, 1, 1, 16]}
// CHECK-NEXT:    %[[P:.+]] = relay.multiply(%[[S]], %[[G]])
// CHECK-NEXT:    %[[M:.+]] = relay.reshape(%m) {newshape = [1, 1, 9, 9, 1]}
// CHECK-NEXT:    %[[A:.+]] = relay.add(%[[P]], %[[M]]) : (tensor<2x2x9x9x16xf32>, tensor<1x1x9x9x1xf32>) -> tensor<2x2x9x9x16xf32>
// CHECK:         %[[D:.+]] = relay.nn.contrib_depthwise_conv2d_pack(%[[A]], {{.*}}) {channels = 32, padding = 1, data_layout = "NCHW16c", out_layout = "NCHW16c"}
// CHECK-NEXT:    %[[T:.+]] = relay.concatenate(%[[A]], %[[D]]) {axis = 1} : {{.*}} -> tensor<2x4x9x9x16xf32>
// CHECK-NEXT:    %[[X:.+]] = relay.nn.max_pool3d(%[[T]]) {pool_size = [2, 2, 1], strides = [2, 2, 1]{{.*}}} : (tensor<2x4x9x9x16xf32>) -> tensor<2x4x4x4x16xf32>
// CHECK:         %[[Y:.+]] = relay.nn.contrib_conv2d_pack(%[[X]], {{.*}}) {{.*}} -> tensor<2x1x4x4x16xf32>
// CHECK-NEXT:    %[[R:.+]] = relay.mean(%[[Y]]) {axis = [2, 3]} : (tensor<2x1x4x4x16xf32>) -> tensor<2x1x16xf32>
// CHECK-NEXT:    relay.reshape(%[[R]]) {newshape = [2, 16]}

// -----

// Results that other operators read, results of the function, and images of other numbers of channels have no blocks.
relay.func @others("x" %x: tensor<1x16x9x9xf32>) {
  %v = relay.constant "v" : tensor<16x16x3x3xf32>
  %w = relay.constant "w" : tensor<24x16x1x1xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x16x9x9xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x7x7xf32>
  %1 = relay.transpose(%0) : (tensor<1x16x7x7xf32>) -> tensor<7x7x16x1xf32>
  %2 = relay.nn.relu(%0) : (tensor<1x16x7x7xf32>) -> tensor<1x16x7x7xf32>
  %3 = relay.nn.conv2d(%2, %w) : (tensor<1x16x7x7xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x7x7xf32>
  %4 = relay.nn.relu(%3) : (tensor<1x24x7x7xf32>) -> tensor<1x24x7x7xf32>
  %5 = relay.nn.conv2d(%x, %v) : (tensor<1x16x9x9xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x7x7xf32>
  relay.return %1 : tensor<7x7x16x1xf32>, %4 : tensor<1x24x7x7xf32>, %5 : tensor<1x16x7x7xf32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     NCHW16c

// -----

// A depthwise convolution may write an image without blocks; a product of channels whose pixels fill vectors reads one.
relay.func @to_channels("x" %x: tensor<1x16x8x8xf32>) {
  %v = relay.constant "v" : tensor<48x16x1x1xf32>
  %d = relay.constant "d" : tensor<48x1x3x3xf32>
  %w = relay.constant "w" : tensor<24x48x1x1xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x16x8x8xf32>, tensor<48x16x1x1xf32>) -> tensor<1x48x8x8xf32>
  %1 = relay.nn.conv2d(%0, %d) {padding = 1, groups = 48} : (tensor<1x48x8x8xf32>, tensor<48x1x3x3xf32>) -> tensor<1x48x8x8xf32>
  %2 = relay.nn.conv2d(%1, %w) : (tensor<1x48x8x8xf32>, tensor<24x48x1x1xf32>) -> tensor<1x24x8x8xf32>
  relay.return %2 : tensor<1x24x8x8xf32>
}
// CHECK:       relay.func @to_channels
// CHECK:         relay.nn.contrib_conv2d_pack({{.*}} -> tensor<1x3x8x8x16xf32>
// CHECK:         %[[D:.+]] = relay.nn.contrib_depthwise_conv2d_pack({{.*}}data_layout = "NCHW16c", out_layout = "NCHW"} : (tensor<1x3x8x8x16xf32>, {{.*}} -> tensor<1x48x8x8xf32>
// CHECK-NEXT:    relay.nn.conv2d(%[[D]], %w)

// -----

// A product of channels with long sums reads an image with blocks, whatever its result.
relay.func @long_sums("x" %x: tensor<1x16x8x8xf32>) {
  %v = relay.constant "v" : tensor<256x16x1x1xf32>
  %w = relay.constant "w" : tensor<24x256x1x1xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x16x8x8xf32>, tensor<256x16x1x1xf32>) -> tensor<1x256x8x8xf32>
  %1 = relay.nn.conv2d(%0, %w) : (tensor<1x256x8x8xf32>, tensor<24x256x1x1xf32>) -> tensor<1x24x8x8xf32>
  relay.return %1 : tensor<1x24x8x8xf32>
}
// CHECK:       relay.func @long_sums
// CHECK:         relay.nn.contrib_conv2d_pack({{.*}} -> tensor<1x16x8x8x16xf32>
// CHECK:         relay.nn.contrib_conv2d_pack({{.*}}data_layout = "NCHW16c", out_layout = "NCHW"} : (tensor<1x16x8x8x16xf32>, {{.*}} -> tensor<1x24x8x8xf32>

// -----

// Images of any size. A depthwise convolution of such an image has blocks in both its images or in none.
relay.func @any_size("x" %x: tensor<1x16x?x?xf32, #relay.sizes<"h", "w">>) {
  %v = relay.constant "v" : tensor<48x16x1x1xf32>
  %d = relay.constant "d" : tensor<48x1x3x3xf32>
  %w = relay.constant "w" : tensor<24x48x1x1xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x16x?x?xf32, #relay.sizes<"h", "w">>, tensor<48x16x1x1xf32>) -> tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>
  %1 = relay.nn.conv2d(%0, %d) {padding = 1, groups = 48} : (tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>, tensor<48x1x3x3xf32>) -> tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>
  %2 = relay.nn.conv2d(%1, %w) : (tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>, tensor<24x48x1x1xf32>) -> tensor<1x24x?x?xf32, #relay.sizes<"h", "w">>
  relay.return %2 : tensor<1x24x?x?xf32, #relay.sizes<"h", "w">>
}
// CHECK:       relay.func @any_size
// CHECK:         relay.nn.contrib_conv2d_pack({{.*}} -> tensor<1x3x?x?x16xf32, #relay.sizes<"h", "w">>
// CHECK:         %[[D:.+]] = relay.nn.contrib_depthwise_conv2d_pack({{.*}}data_layout = "NCHW16c", out_layout = "NCHW16c"} : (tensor<1x3x?x?x16xf32, {{.*}} -> tensor<1x3x?x?x16xf32, #relay.sizes<"h", "w">>
// CHECK:         relay.nn.contrib_conv2d_pack(%[[D]], {{.*}} -> tensor<1x24x?x?xf32, #relay.sizes<"h", "w">>

// -----

relay.func @any_size_returned("x" %x: tensor<1x16x?x?xf32, #relay.sizes<"h", "w">>) {
  %v = relay.constant "v" : tensor<48x16x1x1xf32>
  %d = relay.constant "d" : tensor<48x1x3x3xf32>
  %0 = relay.nn.conv2d(%x, %v) : (tensor<1x16x?x?xf32, #relay.sizes<"h", "w">>, tensor<48x16x1x1xf32>) -> tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>
  %1 = relay.nn.conv2d(%0, %d) {padding = 1, groups = 48} : (tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>, tensor<48x1x3x3xf32>) -> tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>
  relay.return %1 : tensor<1x48x?x?xf32, #relay.sizes<"h", "w">>
}
// CHECK:       relay.func @any_size_returned
// CHECK-NOT:     16c
