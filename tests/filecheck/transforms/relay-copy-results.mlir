// RUN: stepwell-opt %s -p relay-copy-results --split-input-file | filecheck %s

// What a function is given, an array, a number, and what it gives twice; what is computed stays as it is.
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.constant "w" : tensor<8xf32>
  %1 = relay.constant 2.0 : tensor<f32>
  %2 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  relay.return %2 : tensor<8xf32>, %x : tensor<8xf32>, %0 : tensor<8xf32>, %1 : tensor<f32>, %2 : tensor<8xf32>
}
// CHECK:       relay.func @main("x" %x: tensor<8xf32>) {
// CHECK-NEXT:    %[[w:.+]] = relay.constant "w" : tensor<8xf32>
// CHECK-NEXT:    %[[two:.+]] = relay.constant 2.0 : tensor<f32>
// CHECK-NEXT:    %[[exp:.+]] = relay.exp(%x)
// CHECK-NEXT:    %[[x:.+]] = relay.copy(%x)
// CHECK-NEXT:    %[[array:.+]] = relay.copy(%[[w]])
// CHECK-NEXT:    %[[number:.+]] = relay.copy(%[[two]])
// CHECK-NEXT:    %[[again:.+]] = relay.copy(%[[exp]])
// CHECK-NEXT:    relay.return %[[exp]] : tensor<8xf32>, %[[x]] : tensor<8xf32>, %[[array]] : tensor<8xf32>, %[[number]] : tensor<f32>, %[[again]] : tensor<8xf32>

// -----

// What a branch gives that is computed outside of it, and what others than operators read of numbers.
relay.func @f("x" %x: tensor<f32>) {
  %0 = relay.exp(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
relay.func @main("x" %x: tensor<f32>) {
  %0 = relay.constant true : tensor<i1>
  %1 = relay.constant 2.0 : tensor<f32>
  %2 = relay.add(%x, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = relay.if %0 : tensor<i1> -> tensor<f32> {
    %4 = relay.call @f(%1) : (tensor<f32>) -> tensor<f32>
    relay.yield %4 : tensor<f32>
  } else {
    relay.yield %2 : tensor<f32>
  }
  relay.return %3 : tensor<f32>
}
// CHECK:       relay.func @main("x" %x: tensor<f32>) {
// CHECK-NEXT:    %[[true:.+]] = relay.constant true : tensor<i1>
// CHECK-NEXT:    %[[two:.+]] = relay.constant 2.0 : tensor<f32>
// CHECK-NEXT:    %[[sum:.+]] = relay.add(%x, %[[two]])
// CHECK-NEXT:    %[[condition:.+]] = relay.copy(%[[true]])
// CHECK-NEXT:    %[[result:.+]] = relay.if %[[condition]] : tensor<i1> -> tensor<f32> {
// CHECK-NEXT:      %[[given:.+]] = relay.copy(%[[two]])
// CHECK-NEXT:      %[[call:.+]] = relay.call @f(%[[given]])
// CHECK-NEXT:      relay.yield %[[call]] : tensor<f32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[copy:.+]] = relay.copy(%[[sum]])
// CHECK-NEXT:      relay.yield %[[copy]] : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.return %[[result]] : tensor<f32>
