// RUN: stepwell-opt %s -p relay-fuse-operators --split-input-file | filecheck %s

// Operators on elements are one kernel, with the numbers they use; another one of the same text is the same one.
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.constant 1.0 : tensor<f32>
  %1 = relay.add(%x, %0) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = relay.nn.relu(%1) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %2 : tensor<8xf32>
}
relay.func @other("x" %x: tensor<8xf32>) {
  %0 = relay.constant 1.0 : tensor<f32>
  %1 = relay.add(%x, %0) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = relay.nn.relu(%1) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %2 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_add_nn_relu("p0" %p0: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant 1.0 : tensor<f32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.add(%p0, %[[v0]]) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.nn.relu(%[[v1]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v2]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_add_nn_relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @other("x" %x: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_add_nn_relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Behind a product, what is done to each element; a second product is a kernel of its own. An array is a parameter.
relay.func @main("x" %x: tensor<2x3xf32>) {
  %0 = relay.constant "w" : tensor<4x3xf32>
  %1 = relay.constant "v" : tensor<5x4xf32>
  %2 = relay.nn.dense(%x, %0) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %3 = relay.nn.relu(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = relay.nn.dense(%3, %1) : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  relay.return %4 : tensor<2x5xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_nn_dense_nn_relu("p0" %p0: tensor<2x3xf32>, "p1" %p1: tensor<4x3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.dense(%p0, %p1) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.nn.relu(%[[v0]]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<2x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func primitive @fused_nn_dense("p0" %p0: tensor<2x4xf32>, "p1" %p1: tensor<5x4xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.dense(%p0, %p1) : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<2x5xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x3xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant "w" : tensor<4x3xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.constant "v" : tensor<5x4xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.call @fused_nn_dense_nn_relu(%x, %[[v0]]) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.call @fused_nn_dense(%[[v2]], %[[v1]]) : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
// CHECK-NEXT:      relay.return %[[v3]] : tensor<2x5xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Both ways of a diamond are in the kernel that they meet in; what is also returned ends one.
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.negative(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.abs(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.add(%1, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.nn.relu(%3) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %4 : tensor<8xf32>, %3 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_exp_negative_abs_add("p0" %p0: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.negative(%[[v0]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.abs(%[[v0]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v3:\d+]] = relay.add(%[[v1]], %[[v2]]) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v3]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func primitive @fused_nn_relu("p0" %p0: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.nn.relu(%p0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_exp_negative_abs_add(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.call @fused_nn_relu(%[[v0]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<8xf32>, %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// What stands in a branch is a kernel of its own, which reads what is computed outside.
relay.func @main("x" %x: tensor<8xf32>, "c" %c: tensor<i1>) {
  %0, %1 = relay.split(%x) {indices_or_sections = 2} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = relay.if %c : tensor<i1> -> tensor<4xf32> {
    %3 = relay.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %3 : tensor<4xf32>
  } else {
    relay.yield %1 : tensor<4xf32>
  }
  relay.return %2 : tensor<4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_split("p0" %p0: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]], %[[v1:\d+]] = relay.split(%p0) {indices_or_sections = 2} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:      relay.return %[[v0]] : tensor<4xf32>, %[[v1]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func primitive @fused_exp("p0" %p0: tensor<4xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%p0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>, "c" %c: tensor<i1>) {
// CHECK-NEXT:      %[[v0:\d+]], %[[v1:\d+]] = relay.call @fused_split(%x) : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:      %[[v2:\d+]] = relay.if %c : tensor<i1> -> tensor<4xf32> {
// CHECK-NEXT:        %[[v3:\d+]] = relay.call @fused_exp(%[[v0]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:        relay.yield %[[v3]] : tensor<4xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        relay.yield %[[v1]] : tensor<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      relay.return %[[v2]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
