// RUN: stepwell-opt %s -p outline-parallel-loops | filecheck %s

// The bounds become parameters; constants are copied; other values are operands of the call. The inner loop is serial.
func.func @f(%A: memref<8x8xf32>, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      memref.store %x, %A[%i, %j] : memref<8x8xf32>
      "scf.reduce"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.reduce"() : () -> ()
  }) : (index, index, index) -> ()
  func.return
}
// CHECK:       func.func @f(%A: memref<8x8xf32>, %n: index, %x: f32) {
// CHECK:         func.call @f.parallel(%c0, %n, %n, %x, %A) {stepwell.parallel} : (index, index, index, f32, memref<8x8xf32>) -> ()
// CHECK-NEXT:    func.return
// CHECK:       func.func private @f.parallel(%first: index, %last: index, %n: index, %x: f32, %A: memref<8x8xf32>) {
// CHECK:         scf.for %i = %first to %last step
// CHECK-NEXT:      scf.for %j = %c0 to %n step %c1 {
// CHECK-NEXT:        memref.store %x, %A[%i, %j] : memref<8x8xf32>

// A loop with another step counts its iterations.
func.func @step(%A: memref<8xf32>, %low: index, %high: index, %step: index, %x: f32) {
  "scf.parallel"(%low, %high, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %x, %A[%i] : memref<8xf32>
    "scf.reduce"() : () -> ()
  }) : (index, index, index) -> ()
  func.return
}
// CHECK:       func.func @step(
// CHECK-NEXT:    %0 = arith.constant 0 : index
// CHECK-NEXT:    %1 = arith.subi %high, %low : index
// CHECK-NEXT:    %2 = arith.ceildivsi %1, %step : index
// CHECK-NEXT:    func.call @step.parallel(%0, %2, %step, %low, %x, %A) {stepwell.parallel}
// CHECK:       func.func private @step.parallel(%first: index, %last: index,
// CHECK:         scf.for %1 = %first to %last step %0 {
// CHECK-NEXT:      %2 = arith.muli %1, %step : index
// CHECK-NEXT:      %i = arith.addi %2, %low : index
// CHECK-NEXT:      memref.store %x, %A[%i] : memref<8xf32>

// A loop with one iteration is serial.
func.func @one(%A: memref<8xf32>, %x: f32) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c2, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %x, %A[%i] : memref<8xf32>
    "scf.reduce"() : () -> ()
  }) : (index, index, index) -> ()
  func.return
}
// CHECK:       func.func @one(
// CHECK:         scf.for %i = %c2 to %c3 step %c1 {
// CHECK-NEXT:      memref.store %x, %A[%i] : memref<8xf32>

// Memory that an iteration allocates is memory of the new function.
func.func @own(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %t = memref.alloca() : memref<4xf32>
    memref.store %x, %t[%c0] : memref<4xf32>
    "scf.reduce"() : () -> ()
  }) : (index, index, index) -> ()
  func.return
}
// CHECK:       func.func @own(
// CHECK-NOT:     memref.alloca
// CHECK:       func.func private @own.parallel(
// CHECK:         memref.alloca
