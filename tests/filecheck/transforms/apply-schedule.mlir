// RUN: stepwell-opt %s -p apply-schedule --split-input-file | filecheck %s

// Schedules that stand in the module are applied in order, and taken away.
// CHECK-LABEL: tir.func @main
tir.func @main("A" %A: memref<16xf32>, "B" %B: memref<16xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 16] {
    tir.block "B" (spatial "vi" %vi : i32 in [0 +: 16] = %i) {
      tir.access reads %A[%vi] : memref<16xf32>
      tir.access writes %B[%vi] : memref<16xf32>
      %x = tir.load %A[%vi] : memref<16xf32>
      tir.store %x, %B[%vi] : memref<16xf32>
    }
  }
}
schedule.trace {
  %b = schedule.get_block "B"
  %l = schedule.get_loops %b : !schedule.loop
  %v = schedule.sample_categorical [2, 4], [0.5, 0.5] {decision = 1}
  %o, %p = schedule.split %l, [?, %v] : !schedule.loop, !schedule.loop
}
schedule.trace {
  %b = schedule.get_block "B"
  %o, %p = schedule.get_loops %b : !schedule.loop, !schedule.loop
  schedule.reorder [%p, %o]
}
// CHECK:      tir.for serial "i_1" %[[p:.*]] : i32 in [0 +: 4] {
// CHECK-NEXT:   tir.for serial "i_0" %[[o:.*]] : i32 in [0 +: 4] {
// CHECK-NEXT:     %[[four:.*]] = arith.constant 4 : i32
// CHECK-NEXT:     %[[row:.*]] = arith.muli %[[o]], %[[four]] : i32
// CHECK-NEXT:     %[[i:.*]] = arith.addi %[[row]], %[[p]] : i32
// CHECK-NEXT:     tir.block "B" (spatial "vi" %vi : i32 in [0 +: 16] = %[[i]]) {
// CHECK-NOT: schedule
