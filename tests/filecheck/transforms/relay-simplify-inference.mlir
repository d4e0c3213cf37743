// RUN: stepwell-opt %s -p relay-simplify-inference --split-input-file | filecheck %s

// A norm by given means and variances is a product and a sum; mean and variance are given as they are.
relay.func @main("x" %x: tensor<2x3x4x4xf32>, "g" %g: tensor<3xf32>, "b" %b: tensor<3xf32>, "m" %m: tensor<3xf32>, "v" %v: tensor<3xf32>) {
  %0, %1, %2 = relay.nn.batch_norm(%x, %g, %b, %m, %v) : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>)
  relay.return %0 : tensor<2x3x4x4xf32>, %1 : tensor<3xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3x4x4xf32>, "g" %g: tensor<3xf32>, "b" %b: tensor<3xf32>, "m" %m: tensor<3xf32>, "v" %v: tensor<3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant 1.0e-05 : tensor<f32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.add(%v, %[[v0]]) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.rsqrt(%[[v1]]) : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.multiply(%g, %[[v2]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.multiply(%m, %[[v3]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v5:\d+]] = relay.subtract(%b, %[[v4]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v6:\d+]] = relay.expand_dims(%[[v3]]) {axis = 1, num_newaxis = 2} : (tensor<3xf32>) -> tensor<3x1x1xf32>
// CHECK-NEXT:      %[[v7:\d+]] = relay.multiply(%x, %[[v6]]) : (tensor<2x3x4x4xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT:      %[[v8:\d+]] = relay.expand_dims(%[[v5]]) {axis = 1, num_newaxis = 2} : (tensor<3xf32>) -> tensor<3x1x1xf32>
// CHECK-NEXT:      %[[v9:\d+]] = relay.add(%[[v7]], %[[v8]]) : (tensor<2x3x4x4xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x4xf32>
// CHECK-NEXT:      relay.return %[[v9]] : tensor<2x3x4x4xf32>, %m : tensor<3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// The last axis needs no other shape. Without scale and center gamma and beta are not read; 16 bits are computed in 32.
relay.func @main("x" %x: tensor<2x3xf16>, "g" %g: tensor<3xf16>) {
  %0, %1, %2 = relay.nn.batch_norm(%x, %g, %g, %g, %g) {axis = -1, center = false, scale = false} : (tensor<2x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>) -> (tensor<2x3xf16>, tensor<3xf16>, tensor<3xf16>)
  relay.return %0 : tensor<2x3xf16>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf16>, "g" %g: tensor<3xf16>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.cast(%g) {dtype = "float32"} : (tensor<3xf16>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.constant 1.0e-05 : tensor<f32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.add(%[[v0]], %[[v1]]) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.rsqrt(%[[v2]]) : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v4:\d+]] = relay.cast(%g) {dtype = "float32"} : (tensor<3xf16>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v5:\d+]] = relay.multiply(%[[v4]], %[[v3]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v6:\d+]] = relay.negative(%[[v5]]) : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT:      %[[v7:\d+]] = relay.cast(%x) {dtype = "float32"} : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK-NEXT:      %[[v8:\d+]] = relay.multiply(%[[v7]], %[[v3]]) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:      %[[v9:\d+]] = relay.add(%[[v8]], %[[v6]]) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:      %[[v10:\d+]] = relay.cast(%[[v9]]) {dtype = "float16"} : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT:      relay.return %[[v10]] : tensor<2x3xf16>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// What is dropped in training is not; norms by the mean of data stay.
relay.func @main("x" %x: tensor<2x3xf32>, "g" %g: tensor<3xf32>) {
  %0 = relay.nn.dropout(%x) {rate = 0.2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.nn.layer_norm(%0, %g, %g) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  relay.return %1 : tensor<2x3xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf32>, "g" %g: tensor<3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.layer_norm(%x, %g, %g) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<2x3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
