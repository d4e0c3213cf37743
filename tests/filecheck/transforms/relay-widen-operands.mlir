// RUN: stepwell-opt %s -p relay-widen-operands --split-input-file | filecheck %s

// Operands of a product are converted to the type of its sums.
relay.func @dense("x" %x: tensor<8x32xbf16>, "w" %w: tensor<64x32xbf16>) {
  %0 = relay.nn.dense(%x, %w) {out_dtype = "float32"} : (tensor<8x32xbf16>, tensor<64x32xbf16>) -> tensor<8x64xf32>
  relay.return %0 : tensor<8x64xf32>
}
// CHECK:       relay.func @dense
// CHECK-NEXT:    %[[X:.+]] = relay.cast(%x) {dtype = "float32"} : (tensor<8x32xbf16>) -> tensor<8x32xf32>
// CHECK-NEXT:    %[[W:.+]] = relay.cast(%w) {dtype = "float32"} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
// CHECK-NEXT:    relay.nn.dense(%[[X]], %[[W]]) {out_dtype = "float32"}

// -----

// Sums of the type of narrow operands are widened, and rounded once; few rows keep their operands.
relay.func @sums("x" %x: tensor<8x32xbf16>, "w" %w: tensor<64x32xbf16>, "y" %y: tensor<2x32xbf16>) {
  %0 = relay.nn.dense(%x, %w) : (tensor<8x32xbf16>, tensor<64x32xbf16>) -> tensor<8x64xbf16>
  %1 = relay.nn.dense(%y, %w) : (tensor<2x32xbf16>, tensor<64x32xbf16>) -> tensor<2x64xbf16>
  %2 = relay.sum(%y) {axis = [1]} : (tensor<2x32xbf16>) -> tensor<2xbf16>
  relay.return %0 : tensor<8x64xbf16>, %1 : tensor<2x64xbf16>, %2 : tensor<2xbf16>
}
// CHECK:       relay.func @sums
// CHECK:         %[[D:.+]] = relay.nn.dense({{.*}}) {out_dtype = "float32"} : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
// CHECK-NEXT:    relay.cast(%[[D]]) {dtype = "bfloat16"} : (tensor<8x64xf32>) -> tensor<8x64xbf16>
// CHECK-NEXT:    %[[E:.+]] = relay.nn.dense(%y, %w) {out_dtype = "float32"} : (tensor<2x32xbf16>, tensor<64x32xbf16>) -> tensor<2x64xf32>
// CHECK-NEXT:    relay.cast(%[[E]]) {dtype = "bfloat16"} : (tensor<2x64xf32>) -> tensor<2x64xbf16>
// CHECK-NEXT:    %[[S:.+]] = relay.cast(%y) {dtype = "float32"} : (tensor<2x32xbf16>) -> tensor<2x32xf32>
// CHECK-NEXT:    %[[T:.+]] = relay.sum(%[[S]]) {axis = [1]} : (tensor<2x32xf32>) -> tensor<2xf32>
// CHECK-NEXT:    relay.cast(%[[T]]) {dtype = "bfloat16"} : (tensor<2xf32>) -> tensor<2xbf16>

// -----

// Few rows, and products of integers and of wide floats stay as they are.
relay.func @others("x" %x: tensor<2x32xf16>, "w" %w: tensor<64x32xf16>, "i" %i: tensor<8x32xi8>, "j" %j: tensor<64x32xi8>,
                   "y" %y: tensor<8x32xf32>, "v" %v: tensor<64x32xf32>) {
  %0 = relay.nn.dense(%x, %w) {out_dtype = "float32"} : (tensor<2x32xf16>, tensor<64x32xf16>) -> tensor<2x64xf32>
  %1 = relay.nn.dense(%i, %j) {out_dtype = "int32"} : (tensor<8x32xi8>, tensor<64x32xi8>) -> tensor<8x64xi32>
  %2 = relay.nn.dense(%y, %v) : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>
  relay.return %0 : tensor<2x64xf32>, %1 : tensor<8x64xi32>, %2 : tensor<8x64xf32>
}
// CHECK:       relay.func @others
// CHECK-NOT:     relay.cast
