// RUN: stepwell-opt %s -p te-inline | filecheck %s

// What is read twice is computed twice, with what it reads in turn; a parameter, a reduction and what reads it stay.
te.func @rows {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %0 = te.read %A[%i] : tensor<8xf32>
    %1 = arith.addf %0, %0 : f32
    te.yield %1 : f32
  }
  %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %2 = te.read %B[%i] : tensor<8xf32>
    %3 = arith.mulf %2, %2 : f32
    te.yield %3 : f32
  }
  %D = te.compute "D" (spatial "i" %i : i32 in [0 +: 1], reduce "k" %k : i32 in [0 +: 8]) : tensor<1xf32> {
    %4 = te.read %C[%k] : tensor<8xf32>
    te.yield %4 : f32
  } combine (%x : f32, %y : f32) {
    %5 = arith.addf %x, %y : f32
    te.yield %5 : f32
  } init (%j : i32) {
    %6 = arith.constant 0.0 : f32
    te.yield %6 : f32
  }
  %E = te.compute "E" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %7 = arith.constant 0 : i32
    %8 = te.read %D[%7] : tensor<1xf32>
    te.yield %8 : f32
  }
  te.params %A : tensor<8xf32>, %E : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    te.func @rows {
// CHECK-NEXT:      %A = te.placeholder "A" [8] : tensor<8xf32>
// CHECK-NEXT:      %D = te.compute "D" (spatial "i" %i : i32 in [0 +: 1], reduce "k" %k : i32 in [0 +: 8]) : tensor<1xf32> {
// CHECK-NEXT:        %[[a:\d+]] = te.read %A[%k] : tensor<8xf32>
// CHECK-NEXT:        %[[b:\d+]] = arith.addf %[[a]], %[[a]] : f32
// CHECK-NEXT:        %[[c:\d+]] = arith.mulf %[[b]], %[[b]] : f32
// CHECK-NEXT:        te.yield %[[c]] : f32
// CHECK-NEXT:      } combine
// CHECK:           %E = te.compute "E"
// CHECK-NEXT:        %[[zero:\d+]] = arith.constant 0 : i32
// CHECK-NEXT:        %[[d:\d+]] = te.read %D[%[[zero]]] : tensor<1xf32>

// A tensor whose annotation forbids it is not inlined.
te.func @pinned {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) annotations {meta_schedule.inline_rule = "disable"} : tensor<8xf32> {
    %0 = te.read %A[%i] : tensor<8xf32>
    te.yield %0 : f32
  }
  %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %1 = te.read %B[%i] : tensor<8xf32>
    te.yield %1 : f32
  }
  te.params %A : tensor<8xf32>, %C : tensor<8xf32>
}
// CHECK:         te.func @pinned {
// CHECK:           te.compute "B"
// CHECK:           te.compute "C"
