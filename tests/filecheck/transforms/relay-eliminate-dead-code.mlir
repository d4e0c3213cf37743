// RUN: stepwell-opt %s -p relay-eliminate-dead-code --split-input-file | filecheck %s

// What is not used goes, with what only it uses, and primitive functions that nothing calls then; others stay.
relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
  %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %0 : tensor<8xf32>
}
relay.func @other("x" %x: tensor<8xf32>) {
  relay.return %x : tensor<8xf32>
}
relay.func @main("x" %x: tensor<8xf32>, "c" %c: tensor<i1>) {
  %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.negative(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.if %c : tensor<i1> -> tensor<8xf32> {
    relay.yield %0 : tensor<8xf32>
  } else {
    relay.yield %1 : tensor<8xf32>
  }
  %3, %4 = relay.split(%x) {indices_or_sections = 2} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  relay.return %4 : tensor<4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @other("x" %x: tensor<8xf32>) {
// CHECK-NEXT:      relay.return %x : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>, "c" %c: tensor<i1>) {
// CHECK-NEXT:      %[[v0:\d+]], %[[v1:\d+]] = relay.split(%x) {indices_or_sections = 2} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:      relay.return %[[v1]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A function that is called stays.
relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
  %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %0 : tensor<8xf32>
}
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %0 : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.func @main("x" %x: tensor<8xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
