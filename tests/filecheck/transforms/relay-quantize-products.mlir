// RUN: stepwell-opt %s -p relay-quantize-products --split-input-file | filecheck %s

// A product of dequantized matrices is that of the integers, whose sums are scaled for each row of the weight.
relay.func @matrices("x" %x: tensor<4x8xui8>, "t" %t: tensor<19xf32>) {
  %w = relay.constant 3 : tensor<19x8xi8>
  %z = relay.constant 5 : tensor<i32>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 0.5 : tensor<f32>
  %0 = relay.qnn.dequantize(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<i32>) -> tensor<4x8xf32>
  %1 = relay.qnn.dequantize(%w, %t, %y) {axis = 0} : (tensor<19x8xi8>, tensor<19xf32>, tensor<i32>) -> tensor<19x8xf32>
  %2 = relay.nn.dense(%0, %1) : (tensor<4x8xf32>, tensor<19x8xf32>) -> tensor<4x19xf32>
  relay.return %2 : tensor<4x19xf32>
}
// CHECK:       relay.func @matrices
// CHECK:         %[[Q:.+]] = relay.qnn.dense(%x, %w, %z, %y, %s, %t)
// CHECK-NEXT:    %[[S:.+]] = relay.multiply(%s, %t)
// CHECK-NEXT:    %[[C:.+]] = relay.cast(%[[Q]]) {dtype = "float32"}
// CHECK-NEXT:    relay.multiply(%[[C]], %[[S]]) : (tensor<4x19xf32>, tensor<19xf32>) -> tensor<4x19xf32>

// -----

// A weight that a matrix product reads by columns is transposed; scales along columns stay floats.
relay.func @transposed("x" %x: tensor<4x8xui8>, "t" %t: tensor<8xf32>) {
  %w = relay.constant 3 : tensor<8x19xi8>
  %z = relay.constant 5 : tensor<i32>
  %s = relay.constant 0.5 : tensor<f32>
  %0 = relay.qnn.dequantize(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<i32>) -> tensor<4x8xf32>
  %1 = relay.qnn.dequantize(%w, %s, %z) : (tensor<8x19xi8>, tensor<f32>, tensor<i32>) -> tensor<8x19xf32>
  %2 = relay.nn.matmul(%0, %1) : (tensor<4x8xf32>, tensor<8x19xf32>) -> tensor<4x19xf32>
  %3 = relay.qnn.dequantize(%w, %t, %z) {axis = 0} : (tensor<8x19xi8>, tensor<8xf32>, tensor<i32>) -> tensor<8x19xf32>
  %4 = relay.nn.matmul(%0, %3) : (tensor<4x8xf32>, tensor<8x19xf32>) -> tensor<4x19xf32>
  relay.return %2 : tensor<4x19xf32>, %4 : tensor<4x19xf32>
}
// CHECK:       relay.func @transposed
// CHECK:         %[[T:.+]] = relay.constant "transposed" : tensor<19x8xi8>
// CHECK-NEXT:    relay.qnn.dense(%x, %[[T]]
// CHECK:         relay.nn.matmul

// -----

// A quotient that follows divides the scales and the bias; another reader of the product keeps it.
relay.func @quotient("x" %x: tensor<4x8xui8>, "t" %t: tensor<19xf32>) {
  %w = relay.constant 3 : tensor<19x8xi8>
  %z = relay.constant 5 : tensor<i32>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 0.5 : tensor<f32>
  %b = relay.constant 7.0 : tensor<19xf32>
  %0 = relay.qnn.dequantize(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<i32>) -> tensor<4x8xf32>
  %1 = relay.qnn.dequantize(%w, %t, %y) {axis = 0} : (tensor<19x8xi8>, tensor<19xf32>, tensor<i32>) -> tensor<19x8xf32>
  %2 = relay.nn.dense(%0, %1) : (tensor<4x8xf32>, tensor<19x8xf32>) -> tensor<4x19xf32>
  %3 = relay.nn.bias_add(%2, %b) {axis = -1} : (tensor<4x19xf32>, tensor<19xf32>) -> tensor<4x19xf32>
  %4 = relay.nn.relu(%3) : (tensor<4x19xf32>) -> tensor<4x19xf32>
  %5 = relay.divide(%4, %s) : (tensor<4x19xf32>, tensor<f32>) -> tensor<4x19xf32>
  %6 = relay.nn.dense(%0, %1) : (tensor<4x8xf32>, tensor<19x8xf32>) -> tensor<4x19xf32>
  %7 = relay.divide(%6, %s) : (tensor<4x19xf32>, tensor<f32>) -> tensor<4x19xf32>
  relay.return %5 : tensor<4x19xf32>, %6 : tensor<4x19xf32>, %7 : tensor<4x19xf32>
}
// CHECK:       relay.func @quotient
// CHECK:         %[[S:.+]] = relay.multiply(%s, %t)
// CHECK:         %[[D:.+]] = relay.divide(%[[S]], %s) : (tensor<19xf32>, tensor<f32>) -> tensor<19xf32>
// CHECK-NEXT:    %[[P:.+]] = relay.multiply({{.*}}, %[[D]])
// CHECK-NEXT:    %[[B:.+]] = relay.divide(%b, %s) : (tensor<19xf32>, tensor<f32>) -> tensor<19xf32>
// CHECK-NEXT:    %[[A:.+]] = relay.nn.bias_add(%[[P]], %[[B]])
// CHECK-NEXT:    %[[R:.+]] = relay.nn.relu(%[[A]])
// CHECK:         %[[Q:.+]] = relay.divide({{.*}}, %s) : (tensor<4x19xf32>, tensor<f32>) -> tensor<4x19xf32>
// CHECK-NEXT:    relay.return %[[R]] : tensor<4x19xf32>, %{{.+}} : tensor<4x19xf32>, %[[Q]]

// -----

// A constant that integers with the scale of the product represent is added to the sums; another one is not.
relay.func @bias("x" %x: tensor<1x8x4x4xui8>) {
  %w = relay.constant 3 : tensor<19x8x1x1xi8>
  %z = relay.constant 5 : tensor<i32>
  %y = relay.constant 0 : tensor<i32>
  %s = relay.constant 0.5 : tensor<f32>
  %t = relay.constant 0.25 : tensor<19xf32>
  %b = relay.constant 7.0 : tensor<19xf32>
  %c = relay.constant 0.3 : tensor<19x1x1xf32>
  %0 = relay.qnn.dequantize(%x, %s, %z) : (tensor<1x8x4x4xui8>, tensor<f32>, tensor<i32>) -> tensor<1x8x4x4xf32>
  %1 = relay.qnn.dequantize(%w, %t, %y) {axis = 0} : (tensor<19x8x1x1xi8>, tensor<19xf32>, tensor<i32>) -> tensor<19x8x1x1xf32>
  %2 = relay.nn.conv2d(%0, %1) : (tensor<1x8x4x4xf32>, tensor<19x8x1x1xf32>) -> tensor<1x19x4x4xf32>
  %3 = relay.nn.bias_add(%2, %b) : (tensor<1x19x4x4xf32>, tensor<19xf32>) -> tensor<1x19x4x4xf32>
  %4 = relay.nn.relu(%3) : (tensor<1x19x4x4xf32>) -> tensor<1x19x4x4xf32>
  %5 = relay.nn.conv2d(%0, %1) : (tensor<1x8x4x4xf32>, tensor<19x8x1x1xf32>) -> tensor<1x19x4x4xf32>
  %6 = relay.add(%5, %c) : (tensor<1x19x4x4xf32>, tensor<19x1x1xf32>) -> tensor<1x19x4x4xf32>
  relay.return %4 : tensor<1x19x4x4xf32>, %6 : tensor<1x19x4x4xf32>
}
// CHECK:       relay.func @bias
// CHECK:         %[[Q:.+]] = relay.qnn.conv2d(%x, %w, %z, %y, %s, %t)
// CHECK:         %[[B:.+]] = relay.constant "integer_bias" : tensor<19x1x1xi32>
// CHECK-NEXT:    %[[A:.+]] = relay.add(%[[Q]], %[[B]]) : (tensor<1x19x4x4xi32>, tensor<19x1x1xi32>) -> tensor<1x19x4x4xi32>
// CHECK-NEXT:    %[[F:.+]] = relay.cast(%[[A]]) {dtype = "float32"}
// CHECK-NEXT:    %[[P:.+]] = relay.multiply(%[[F]],
// CHECK-NEXT:    relay.nn.relu(%[[P]])
// CHECK:         relay.add(%{{.+}}, %c) : (tensor<1x19x4x4xf32>, tensor<19x1x1xf32>) -> tensor<1x19x4x4xf32>

// -----

// A quotient of a sum of dequantized integers divides their scales.
relay.func @sum("x" %x: tensor<4x8xui8>, "y" %y: tensor<4x8xi8>) {
  %z = relay.constant 5 : tensor<i32>
  %s = relay.constant 0.5 : tensor<f32>
  %t = relay.constant 0.25 : tensor<f32>
  %0 = relay.qnn.dequantize(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<i32>) -> tensor<4x8xf32>
  %1 = relay.qnn.dequantize(%y, %t, %z) : (tensor<4x8xi8>, tensor<f32>, tensor<i32>) -> tensor<4x8xf32>
  %2 = relay.add(%0, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = relay.divide(%2, %t) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  relay.return %3 : tensor<4x8xf32>
}
// CHECK:       relay.func @sum
// CHECK:         %[[S:.+]] = relay.divide(%s, %t)
// CHECK-NEXT:    %[[X:.+]] = relay.qnn.dequantize(%x, %[[S]], %z)
// CHECK-NEXT:    %[[T:.+]] = relay.divide(%t, %t)
// CHECK-NEXT:    %[[Y:.+]] = relay.qnn.dequantize(%y, %[[T]], %z)
// CHECK-NEXT:    %[[A:.+]] = relay.add(%[[X]], %[[Y]])
// CHECK-NEXT:    relay.return %[[A]]
