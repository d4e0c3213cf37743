// RUN: stepwell-opt %s -p relay-pack-weights --split-input-file | filecheck %s

// Constant weights are stored in blocks of 16 rows, for data of any number of dimensions.
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

// Weights that are no constants stay, and those of few rows of data, of a dynamic number, of few columns, and of others
// than floats.
relay.func @others("x" %x: tensor<4x8xf32>, "v" %v: tensor<19x8xf32>, "y" %y: tensor<3x8xf32>, "d" %d: tensor<?x8xf32, #relay.sizes<"n">>, "i" %i: tensor<4x8xi8>) {
  %w = relay.constant "w" : tensor<19x8xf32>
  %few = relay.constant "few" : tensor<15x8xf32>
  %whole = relay.constant "whole" : tensor<16x8xi8>
  %0 = relay.nn.dense(%x, %v) : (tensor<4x8xf32>, tensor<19x8xf32>) -> tensor<4x19xf32>
  %1 = relay.nn.dense(%y, %w) : (tensor<3x8xf32>, tensor<19x8xf32>) -> tensor<3x19xf32>
  %2 = relay.nn.dense(%d, %w) : (tensor<?x8xf32, #relay.sizes<"n">>, tensor<19x8xf32>) -> tensor<?x19xf32, #relay.sizes<"n">>
  %3 = relay.nn.dense(%x, %few) : (tensor<4x8xf32>, tensor<15x8xf32>) -> tensor<4x15xf32>
  %4 = relay.nn.dense(%i, %whole) {out_dtype = "int32"} : (tensor<4x8xi8>, tensor<16x8xi8>) -> tensor<4x16xi32>
  relay.return %0 : tensor<4x19xf32>, %1 : tensor<3x19xf32>, %2 : tensor<?x19xf32, #relay.sizes<"n">>, %3 : tensor<4x15xf32>, %4 : tensor<4x16xi32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     contrib_dense_pack
