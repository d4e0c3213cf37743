// RUN: stepwell-opt %s -p relay-pack-quantized{bytes=true} --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p relay-pack-quantized --split-input-file | filecheck %s --check-prefix=PLAIN

// Data of uint8 are as they are; the zero point of the data becomes a number that is added to the sums.
relay.func @unsigned("x" %x: tensor<4x8xui8>) {
  %w = relay.constant 3 : tensor<19x8xi8>
  %z = relay.constant 5 : tensor<i32>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 1.0 : tensor<f32>
  %0 = relay.qnn.dense(%x, %w, %z, %y, %s, %s) {units = 19} : (tensor<4x8xui8>, tensor<19x8xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<4x19xi32>
  relay.return %0 : tensor<4x19xi32>
}
// CHECK:       relay.func @unsigned
// CHECK:         %[[W:.+]] = relay.constant "packed_weight" : tensor<2x2x64xi8>
// CHECK-NEXT:    %[[R:.+]] = relay.nn.contrib_dense_pack_int8(%x, %[[W]]) {units = 19} : (tensor<4x8xui8>, tensor<2x2x64xi8>) -> tensor<4x19xi32>
// CHECK-NEXT:    %[[O:.+]] = relay.constant "zero_offset" : tensor<19xi32>
// CHECK-NEXT:    relay.add(%[[R]], %[[O]])
// PLAIN:       relay.func @unsigned
// PLAIN:         relay.subtract
// PLAIN:         relay.subtract
// PLAIN:         relay.nn.dense({{.*}}) {units = 19, out_dtype = "int32"} : (tensor<4x8xi32>, tensor<19x8xi32>) -> tensor<4x19xi32>

// -----

// Data of int8 are moved to uint8; the padding of an image is its zero point.
relay.func @signed("x" %x: tensor<1x3x9x9xi8>) {
  %w = relay.constant 3 : tensor<16x3x3x3xi8>
  %z = relay.constant -5 : tensor<i32>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 1.0 : tensor<f32>
  %0 = relay.qnn.conv2d(%x, %w, %z, %y, %s, %s) {padding = 1} : (tensor<1x3x9x9xi8>, tensor<16x3x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x16x9x9xi32>
  relay.return %0 : tensor<1x16x9x9xi32>
}
// CHECK:       relay.func @signed
// CHECK:         relay.cast({{.*}}) {dtype = "uint8"} : (tensor<1x3x9x9xi16>) -> tensor<1x3x9x9xui8>
// CHECK:         relay.nn.contrib_conv2d_pack_int8({{.*}}) {channels = 16, {{.*}}padding = 1{{.*}}pad_value = 123} : (tensor<1x3x9x9xui8>, tensor<1x1x3x3x64xi8>) -> tensor<1x16x9x9xi32>

// -----

// Windows of each channel have taps in groups of four, filled with zeros.
relay.func @depthwise("x" %x: tensor<1x4x9x9xui8>) {
  %w = relay.constant 3 : tensor<8x1x3x5xi8>
  %z = relay.constant 5 : tensor<i32>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 1.0 : tensor<f32>
  %0 = relay.qnn.conv2d(%x, %w, %z, %y, %s, %s) {groups = 4, padding = [1, 2]} : (tensor<1x4x9x9xui8>, tensor<8x1x3x5xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x8x9x9xi32>
  relay.return %0 : tensor<1x8x9x9xi32>
}
// CHECK:       relay.func @depthwise
// CHECK:         relay.nn.contrib_depthwise_conv2d_pack_int8(%x, {{.*}}) {channels = 8, kernel_size = [3, 5], {{.*}}pad_value = 5} : (tensor<1x4x9x9xui8>, tensor<8x3x8xi8>) -> tensor<1x8x9x9xi32>

// -----

// Groups of several channels, weights that are no constants, and weights that do not fit without their zero point.
relay.func @others("x" %x: tensor<1x4x9x9xui8>, "m" %m: tensor<4x8xui8>, "v" %v: tensor<19x8xi8>) {
  %w = relay.constant 3 : tensor<16x2x3x3xi8>
  %u = relay.constant 3 : tensor<19x8xui8>
  %z = relay.constant 5 : tensor<i32>
  %y = relay.constant 200 : tensor<i32>
  %s = relay.constant 1.0 : tensor<f32>
  %0 = relay.qnn.conv2d(%x, %w, %z, %z, %s, %s) {groups = 2} : (tensor<1x4x9x9xui8>, tensor<16x2x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x16x7x7xi32>
  %1 = relay.qnn.dense(%m, %v, %z, %z, %s, %s) : (tensor<4x8xui8>, tensor<19x8xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<4x19xi32>
  %2 = relay.qnn.dense(%m, %u, %z, %y, %s, %s) : (tensor<4x8xui8>, tensor<19x8xui8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<4x19xi32>
  relay.return %0 : tensor<1x16x7x7xi32>, %1 : tensor<4x19xi32>, %2 : tensor<4x19xi32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     int8(
// CHECK:         relay.nn.conv2d
