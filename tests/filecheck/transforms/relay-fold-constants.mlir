// RUN: stepwell-opt %s -p relay-fold-constants --split-input-file | filecheck %s

// What is computed of numbers is a number; of what is computed on the way nothing is left.
relay.func @main() {
  %0 = relay.constant 2.0 : tensor<f32>
  %1 = relay.constant 3.0 : tensor<4xf32>
  %2 = relay.multiply(%0, %1) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.negative(%2) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %3 : tensor<4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main() {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant -6.0 : tensor<4xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Elements that differ are an array beside the module, called as what it is made of or as the operator.
relay.func @main() {
  %0 = relay.constant 1 : tensor<i32>
  %1 = relay.one_hot(%0) {on_value = 1.0, off_value = 0.0, depth = 3} : (tensor<i32>) -> tensor<3xf32>
  relay.return %1 : tensor<3xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main() {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant "one_hot" : tensor<3xf32>
// CHECK-NEXT:      relay.return %[[v0]] : tensor<3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// An array that does not stand beside the module is not known, and an input is no constant.
relay.func @main("x" %x: tensor<4xf32>) {
  %0 = relay.constant "weight" : tensor<4xf32>
  %1 = relay.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %1 : tensor<4xf32>, %2 : tensor<4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<4xf32>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant "weight" : tensor<4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.exp(%[[v0]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      %[[v2:\d+]] = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<4xf32>, %[[v2]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// What grows to more than a mebibyte stays an operator.
relay.func @main() {
  %0 = relay.constant 1.0 : tensor<f32>
  %1 = relay.broadcast_to(%0) {shape = [512, 1024]} : (tensor<f32>) -> tensor<512x1024xf32>
  relay.return %1 : tensor<512x1024xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main() {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant 1.0 : tensor<f32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.broadcast_to(%[[v0]]) {shape = [512, 1024]} : (tensor<f32>) -> tensor<512x1024xf32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<512x1024xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// A branch that is always taken stands in the place of both, another one stays, with what is folded in it.
relay.func @main("x" %x: tensor<4xf32>, "c" %c: tensor<i1>) {
  %0 = relay.constant true : tensor<i1>
  %1 = relay.logical_not(%0) : (tensor<i1>) -> tensor<i1>
  %2 = relay.if %1 : tensor<i1> -> tensor<4xf32> {
    relay.yield %x : tensor<4xf32>
  } else {
    %3 = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %3 : tensor<4xf32>
  }
  %4 = relay.if %c : tensor<i1> -> tensor<4xf32> {
    %5 = relay.constant 1.0 : tensor<4xf32>
    %6 = relay.negative(%5) : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %6 : tensor<4xf32>
  } else {
    relay.yield %2 : tensor<4xf32>
  }
  relay.return %4 : tensor<4xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main("x" %x: tensor<4xf32>, "c" %c: tensor<i1>) {
// CHECK-NEXT:      %[[v0:\d+]] = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.if %c : tensor<i1> -> tensor<4xf32> {
// CHECK-NEXT:        %[[v2:\d+]] = relay.constant -1.0 : tensor<4xf32>
// CHECK-NEXT:        relay.yield %[[v2]] : tensor<4xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        relay.yield %[[v0]] : tensor<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      relay.return %[[v1]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// -----

// Of no elements there is no greatest one: numpy has no answer.
relay.func @main() {
  %0 = relay.constant 1.0 : tensor<0xf32>
  %1 = relay.max(%0) {axis = 0} : (tensor<0xf32>) -> tensor<f32>
  relay.return %1 : tensor<f32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    relay.func @main() {
// CHECK-NEXT:      %[[v0:\d+]] = relay.constant 1.0 : tensor<0xf32>
// CHECK-NEXT:      %[[v1:\d+]] = relay.max(%[[v0]]) {axis = 0} : (tensor<0xf32>) -> tensor<f32>
// CHECK-NEXT:      relay.return %[[v1]] : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
