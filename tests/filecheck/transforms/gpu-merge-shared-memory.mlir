// RUN: stepwell-opt %s -p "convert-tir-to-scf{launches=true},gpu-merge-shared-memory" | filecheck %s

// One allocation, of a size that the launch says; buffers start at multiples of 16 bytes. C is in the place of A, which is
// used no more behind the first barrier; B is used in front of it and behind, and D behind no barrier of all threads.
tir.func @main("A" %x: memref<8xf32>) {
  tir.launch_thread "tx" %tx : i32 in 8 thread "threadIdx.x" {
    %a = tir.alloc_buffer "A" : memref<100xf32, "shared.dyn">
    %b = tir.alloc_buffer "B" : memref<3xi8, "shared.dyn">
    %c = tir.alloc_buffer "C" : memref<50xf32, "shared.dyn">
    %d = tir.alloc_buffer "D" : memref<8xf32, "shared.dyn">
    %s = tir.const "shared" : !tir.handle
    %w = tir.const "warp" : !tir.handle
    %c1 = arith.constant 1 : i32
    %i = arith.constant 1 : i8
    %v = tir.load %x[%tx] : memref<8xf32>
    tir.store %v, %a[%tx] : memref<100xf32, "shared.dyn">
    tir.store %i, %b[%c1] : memref<3xi8, "shared.dyn">
    tir.call_intrin "tvm_storage_sync"(%s) : !tir.handle
    tir.store %i, %b[%c1] : memref<3xi8, "shared.dyn">
    tir.store %v, %c[%tx] : memref<50xf32, "shared.dyn">
    tir.call_intrin "tvm_storage_sync"(%w) : !tir.handle
    tir.store %v, %d[%tx] : memref<8xf32, "shared.dyn">
  }
}
// CHECK:       %[[SIZE:.+]] = arith.constant 403 : i32
// CHECK-NEXT:  "gpu.launch"(%{{.+}}, %[[SIZE]])
// CHECK:         %[[ALL:.+]] = memref.alloca() {alignment = 16 : i64} : memref<403xi8, "shared.dyn">
// CHECK:         %a = memref.view %[[ALL]][%c0][] : memref<403xi8, "shared.dyn"> to memref<100xf32, "shared.dyn">
// CHECK:         %c = memref.view %[[ALL]][%{{c0.*}}][] : memref<403xi8, "shared.dyn"> to memref<50xf32, "shared.dyn">
// CHECK:         %d = memref.view %[[ALL]][%c208][] : memref<403xi8, "shared.dyn"> to memref<8xf32, "shared.dyn">
// CHECK:         %b = memref.view %[[ALL]][%c400][] : memref<403xi8, "shared.dyn"> to memref<3xi8, "shared.dyn">
