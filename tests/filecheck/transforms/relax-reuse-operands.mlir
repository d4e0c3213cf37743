// RUN: stepwell-opt %s -p relax-reuse-operands --split-input-file | filecheck %s

tir.func @double("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %0 = tir.load %A[%i] : memref<4xf32>
    %1 = arith.addf %0, %0 : f32
    tir.store %1, %B[%i] : memref<4xf32>
  }
}

// A result is in the memory of an operand that no operation reads later: not of a parameter.
relax.func @main("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.dataflow -> tensor<4xf32> {
    %1 = relax.call_tir @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = relax.call_tir @double(%1) : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %2 : tensor<4xf32>
  }
  relax.return %0 : tensor<4xf32>
}
// CHECK:      tir.func @double_inplace("A" %[[A:.+]]: memref<4xf32>) {
// CHECK-NEXT:   tir.for serial "i" %[[I:.+]] : i32
// CHECK-NEXT:     tir.load %[[A]][%[[I]]]
// CHECK-NEXT:     arith.addf
// CHECK-NEXT:     tir.store %{{.+}}, %[[A]][%[[I]]]
// CHECK:      relax.func @main("x" %[[X:.+]]: tensor<4xf32>)
// CHECK:        %[[Y:.+]] = relax.call_tir @double(%[[X]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %[[Z:.+]] = relax.call_tir_inplace @double_inplace(%[[Y]]) inplace [0 : i64] : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   relax.output %[[Z]]

// The last reader overwrites a tensor.
relax.func @last("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relax.call_tir @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.add(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %3 : tensor<4xf32>
}
// CHECK:      relax.func @last(
// CHECK-NEXT:   %[[E:.+]] = relay.exp
// CHECK-NEXT:   relax.call_tir @double(%[[E]])
// CHECK-NEXT:   relax.call_tir_inplace @double_inplace(%[[E]])

// -----

tir.func @double("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %0 = tir.load %A[%i] : memref<4xf32>
    tir.store %0, %B[%i] : memref<4xf32>
  }
}

// Packed functions may keep what they return or receive; tuples, results and constants stay.
relax.func @kept("x" %x: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
  %0 = relax.call_pure_packed "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relax.call_pure_packed "f"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relax.call_tir @double(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relax.call_tir @double(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = relax.tuple(%3, %4) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  relax.return %5 : tuple<tensor<4xf32>, tensor<4xf32>>
}
// CHECK-NOT: call_tir_inplace

// -----

tir.func @double("A" %A: memref<4xf32>, "B" %B: memref<4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %0 = tir.load %A[%i] : memref<4xf32>
    tir.store %0, %B[%i] : memref<4xf32>
  }
}
tir.func @increment("A" %A: memref<4xf32>) {
}

// The memory of an operand may be that of a parameter.
relax.func @overwritten("x" %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir_inplace @increment(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relax.call_tir @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %1 : tensor<4xf32>
}
// CHECK:      relax.func @overwritten(
// CHECK-NEXT:   %[[A:.+]] = relax.call_tir_inplace @increment
// CHECK-NEXT:   relax.call_tir @double(%[[A]])
