// RUN: stepwell-opt %s --disable-verify -p relay-infer-types --split-input-file | filecheck %s

// Types come from the parameters, through operators, calls and branches.
relay.func @other("x" %x: tensor<2x4xf32>) {
  %0 = relay.sum(%x) {axis = 0} : (tensor<2x4xf32>) -> tensor<?xf32, #relay.sizes<"k">>
  relay.return %0 : tensor<?xf32, #relay.sizes<"k">>
}
relay.func @main("x" %x: tensor<2x4xf32>, "c" %c: tensor<i1>) {
  %0 = relay.exp(%x) : (tensor<2x4xf32>) -> tensor<?x4xf32, #relay.sizes<"n">>
  %1 = relay.if %c : tensor<i1> -> tensor<?x4xf32, #relay.sizes<"n">> {
    %2 = relay.exp(%0) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?x4xf32, #relay.sizes<"n">>
    relay.yield %2 : tensor<?x4xf32, #relay.sizes<"n">>
  } else {
    relay.yield %0 : tensor<?x4xf32, #relay.sizes<"n">>
  }
  %3 = relay.call @other(%1) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"k">>
  relay.return %3 : tensor<?xf32, #relay.sizes<"k">>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @other("x" %x: tensor<2x4xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.sum(%x) {axis = 0} : (tensor<2x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<2x4xf32>, "c" %c: tensor<i1>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.if %c : tensor<i1> -> tensor<2x4xf32> {
// CHECK-NEXT:        %[[v2:\d+]] = relay.exp(%[[v0]]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:        relay.yield %[[v2]] : tensor<2x4xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        relay.yield %[[v0]] : tensor<2x4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[v3:\d+]] = relay.call @other(%[[v1]]) : (tensor<2x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      relay.return %[[v3]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
