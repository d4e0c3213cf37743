// RUN: stepwell-opt %s -p tir-insert-barriers | filecheck %s

// Threads wait where one reads what another wrote, and before the next round writes that again; not where each keeps to
// its own elements. These are all of one warp.
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
// CHECK-NEXT:      %[[s:.*]] = tir.const "warp" : !tir.handle
// CHECK-NEXT:      tir.call_intrin "tvm_storage_sync"(%[[s]]) : !tir.handle
// CHECK-NEXT:      tir.for thread_binding "tx"
// CHECK:             tir.store %{{.*}}, %B[%k, %{{.*}}] : memref<4x8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[s2:.*]] = tir.const "warp" : !tir.handle
// CHECK-NEXT:      tir.call_intrin "tvm_storage_sync"(%[[s2]]) : !tir.handle
// CHECK-NEXT:    }

// Threads of several warps wait for all of the block, unless what one needs is from its own warp.
tir.func @warps("A" %A: memref<64xf32>, "B" %B: memref<64xf32>) {
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    %s = tir.alloc_buffer "S" : memref<64xf32, "shared">
    tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
      %x = tir.load %A[%tx] : memref<64xf32>
      tir.store %x, %s[%tx] : memref<64xf32, "shared">
    }
    tir.for thread_binding "tx" %tx : i32 in [0 +: 16] thread "threadIdx.x" {
      %c16 = arith.constant 16 : i32
      %n = arith.addi %tx, %c16 : i32
      %x = tir.load %s[%n] : memref<64xf32, "shared">
      tir.store %x, %s[%tx] : memref<64xf32, "shared">
    }
    tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
      %c63 = arith.constant 63 : i32
      %m = arith.subi %c63, %tx : i32
      %x = tir.load %s[%m] : memref<64xf32, "shared">
      tir.store %x, %B[%tx] : memref<64xf32>
    }
  }
}
// CHECK-LABEL: tir.func @warps(
// CHECK:           tir.store %{{.*}}, %s[%{{.*}}]
// CHECK:           %[[w:.*]] = tir.const "warp" : !tir.handle
// CHECK-NEXT:      tir.call_intrin "tvm_storage_sync"(%[[w]]) : !tir.handle
// CHECK:           tir.store %{{.*}}, %s[%{{.*}}]
// CHECK:           %[[b:.*]] = tir.const "shared" : !tir.handle
// CHECK-NEXT:      tir.call_intrin "tvm_storage_sync"(%[[b]]) : !tir.handle
// CHECK:           tir.store %{{.*}}, %B[%{{.*}}]

// Memory behind a pointer that a thread allocates is its own, and a check is no access.
tir.func @counted("A" %A: memref<8xi32>) {
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
      %p = tir.allocate "p" [1] : !tir.handle<i32>
      %n = tir.decl_buffer "n" %p : !tir.handle<i32> -> memref<1xi32>
      %c0 = arith.constant 0 : i32
      tir.store %c0, %n[%c0] : memref<1xi32>
      tir.while {
        %c0_1 = arith.constant 0 : i32
        %now = tir.load %n[%c0_1] : memref<1xi32>
        %goes = arith.cmpi slt, %now, %tx : i32
        tir.yield %goes : i1
      } do {
        %c0_2 = arith.constant 0 : i32
        %old = tir.load %n[%c0_2] : memref<1xi32>
        %c1 = arith.constant 1 : i32
        %new = arith.addi %old, %c1 : i32
        tir.store %new, %n[%c0_2] : memref<1xi32>
      }
      %true = arith.constant true
      tir.assert %true, "always"
    }
  }
}
// CHECK:       tir.func @counted
// CHECK-NOT:   tvm_storage_sync

// Lanes that exchange values wait for each other by that alone, and memory of each thread is for nobody to wait for.
tir.func @exchanged("A" %A: memref<64xf32>) {
  %p = tir.alloc_buffer "p" : memref<64x1xf32, "local">
  tir.launch_thread "bx" %bx : i32 in 1 thread "blockIdx.x" {
    tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
      %zero = arith.constant 0 : i32
      %a = tir.load %A[%tx] : memref<64xf32>
      tir.store %a, %p[%tx, %zero] : memref<64x1xf32, "local">
    }
    tir.for serial "n" %n : i32 in [0 +: 2] {
      tir.for thread_binding "tx" %tx : i32 in [0 +: 64] thread "threadIdx.x" {
        %zero = arith.constant 0 : i32
        %mask = tir.call_intrin "tvm_warp_activemask"() -> ui32
        %mine = tir.load %p[%tx, %zero] : memref<64x1xf32, "local">
        %warp = arith.constant 32 : i32
        %got = tir.call_intrin "tvm_warp_shuffle_down"(%mask, %mine, %n, %warp, %warp) : ui32, f32, i32, i32, i32 -> f32
        tir.store %got, %p[%tx, %zero] : memref<64x1xf32, "local">
      }
    }
  }
}
// CHECK:       tir.func @exchanged
// CHECK-NOT:   tvm_storage_sync
// CHECK:       tvm_warp_shuffle_down
// CHECK-NOT:   tvm_storage_sync
