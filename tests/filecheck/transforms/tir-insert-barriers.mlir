// RUN: stepwell-opt %s -p tir-insert-barriers | filecheck %s

// Threads wait where one reads what another wrote, and before the next round writes that again; not where each keeps to
// its own elements.
tir.func @main("A" %A: memref<4x8xf32>, "B" %B: memref<4x8xf32>) {
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    %s = tir.alloc_buffer "S" : memref<8xf32, "shared">
    %t = tir.alloc_buffer "T" : memref<8xf32, "shared">
    tir.for serial "k" %k : i32 in [0 +: 4] {
      tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
        %x = tir.load %A[%k, %tx] : memref<4x8xf32>
        tir.store %x, %s[%tx] : memref<8xf32, "shared">
      }
      tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
        %x = tir.load %s[%tx] : memref<8xf32, "shared">
        tir.store %x, %t[%tx] : memref<8xf32, "shared">
      }
      tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
        %c7 = arith.constant 7 : i32
        %m = arith.subi %c7, %tx : i32
        %x = tir.load %t[%m] : memref<8xf32, "shared">
        tir.store %x, %B[%k, %tx] : memref<4x8xf32>
      }
    }
  }
}
// CHECK:         tir.for serial "k"
// CHECK-NEXT:      tir.for thread_binding "tx"
// CHECK:             tir.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<8xf32, "shared">
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for thread_binding "tx"
// CHECK:             tir.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<8xf32, "shared">
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[s:.*]] = tir.const "shared" : !tir.handle
// CHECK-NEXT:      tir.call_intrin "tvm_storage_sync"(%[[s]]) : !tir.handle
// CHECK-NEXT:      tir.for thread_binding "tx"
// CHECK:             tir.store %{{.*}}, %B[%k, %{{.*}}] : memref<4x8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[s2:.*]] = tir.const "shared" : !tir.handle
// CHECK-NEXT:      tir.call_intrin "tvm_storage_sync"(%[[s2]]) : !tir.handle
// CHECK-NEXT:    }
