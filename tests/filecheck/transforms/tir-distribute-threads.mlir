// RUN: stepwell-opt %s -p tir-distribute-threads | filecheck %s

// Each statement has the loops over threads; what is the same for all threads stays outside; local memory is one for each
// thread; a loop bound to the axis of one around it has the number of that one; barriers are what the order says.
tir.func @kernel("A" %A: memref<8xf32>, "B" %B: memref<8xf32>, "n" %n: i32) {
  %s = tir.alloc_buffer "S" : memref<8xf32, "shared">
  %l = tir.alloc_buffer "L" : memref<2xf32, "local">
  tir.for thread_binding "bx" %bx : i32 in [0 +: 2] thread "blockIdx.x" {
    tir.for thread_binding "ty" %ty : i32 in [0 +: 4] thread "threadIdx.y" {
      tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
        tir.for serial "k" %k : i32 in [0 +: %n] {
          tir.for thread_binding "c" %c : i32 in [0 +: 8] thread "threadIdx.x" {
            %a = tir.load %A[%c] : memref<8xf32>
            tir.store %a, %s[%c] : memref<8xf32, "shared">
          }
          %shared = tir.const "shared" : !tir.handle
          tir.call_intrin "tvm_storage_sync"(%shared) : !tir.handle
          %c7 = arith.constant 7 : i32
          %m = arith.subi %c7, %tx : i32
          %x = tir.load %s[%m] : memref<8xf32, "shared">
          %c1 = arith.constant 1 : i32
          tir.store %x, %l[%c1] : memref<2xf32, "local">
        }
        %c1 = arith.constant 1 : i32
        %y = tir.load %l[%c1] : memref<2xf32, "local">
        tir.store %y, %B[%tx] : memref<8xf32>
      }
    }
  }
}
// CHECK:       tir.func @kernel(
// CHECK:         tir.alloc_buffer "L" attributes {stepwell.of_threads = ["threadIdx.y", "threadIdx.x"]} : memref<4x8x2xf32, "local">
// CHECK:         tir.for thread_binding "bx"
// CHECK-NEXT:      tir.for serial "k" %k : i32 in [0 +: %n] {
// CHECK-NEXT:        tir.for thread_binding "ty" %[[ty:.*]] : i32 in [0 +: 4] thread "threadIdx.y" {
// CHECK-NEXT:          tir.for thread_binding "tx" %[[tx:.*]] : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:            %[[a:.*]] = tir.load %A[%[[tx]]] : memref<8xf32>
// CHECK-NEXT:            tir.store %[[a]], %{{.*}}[%[[tx]]] : memref<8xf32, "shared">
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for thread_binding "ty" %[[ty2:.*]] : i32 in [0 +: 4] thread "threadIdx.y" {
// CHECK-NEXT:          tir.for thread_binding "tx" %[[tx2:.*]] : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:            arith.constant 7
// CHECK-NEXT:            %[[m:.*]] = arith.subi %{{.*}}, %[[tx2]] : i32
// CHECK-NEXT:            tir.load %{{.*}}[%[[m]]] : memref<8xf32, "shared">
// CHECK:                 tir.store %{{.*}}, %{{.*}}[%[[ty2]], %[[tx2]], %{{.*}}] : memref<4x8x2xf32, "local">
// CHECK:           tir.for thread_binding "ty"
// CHECK-NEXT:        tir.for thread_binding "tx"
// CHECK:               tir.store %{{.*}}, %B[%{{.*}}] : memref<8xf32>

// What threads come to at different times is one statement; a number that differs between threads is computed in each.
tir.func @differs("A" %A: memref<8xi32>, "B" %B: memref<8xi32>) {
  tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
    %d = tir.let "d" %tx : i32
    tir.for serial "i" %i : i32 in [0 +: %d] {
      tir.store %i, %A[%d] : memref<8xi32>
      tir.store %i, %B[%d] : memref<8xi32>
    }
    tir.store %d, %A[%tx] : memref<8xi32>
  }
}
// CHECK-LABEL: tir.func @differs(
// CHECK-NEXT:    tir.for thread_binding "tx" %[[t1:.*]] : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:      %[[d1:.*]] = tir.let "d" %[[t1]] : i32
// CHECK-NEXT:      tir.for serial "i" %{{.*}} : i32 in [0 +: %[[d1]]] {
// CHECK-NEXT:        tir.store
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for thread_binding "tx" %[[t2:.*]] : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:      %[[d2:.*]] = tir.let "d" %[[t2]] : i32
// CHECK-NEXT:      tir.store %[[d2]], %A[%[[t2]]] : memref<8xi32>

// A value that may be another one later is kept in memory of each thread, so what follows are statements of their own.
tir.func @kept("A" %A: memref<8xi32>, "B" %B: memref<8xi32>) {
  tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
    %a = tir.load %A[%tx] : memref<8xi32>
    %x = tir.let "x" %a : i32
    %zero = arith.constant 0 : i32
    tir.store %zero, %A[%tx] : memref<8xi32>
    tir.store %x, %B[%tx] : memref<8xi32>
  }
}
// CHECK-LABEL: tir.func @kept(
// CHECK-NEXT:    %[[x:.*]] = tir.alloc_buffer "x" attributes {{.*}} : memref<8x1xi32, "local">
// CHECK-NEXT:    tir.for thread_binding "tx" %[[t1:.*]] : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:      %[[a:.*]] = tir.load %A[%[[t1]]] : memref<8xi32>
// CHECK:           tir.store %[[a]], %[[x]][%[[t1]], %{{.*}}] : memref<8x1xi32, "local">
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for thread_binding "tx"
// CHECK:           tir.store %{{.*}}, %A
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for thread_binding "tx" %[[t3:.*]] : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK:           %[[kept:.*]] = tir.load %[[x]][%[[t3]], %{{.*}}] : memref<8x1xi32, "local">
// CHECK:           tir.store %[[kept]], %B[%[[t3]]] : memref<8xi32>

// Memory of a warp is one for the threads that differ in threadIdx.x alone.
tir.func @warp("A" %A: memref<4x8xi32>) {
  %w = tir.alloc_buffer "w" : memref<8xi32, "warp">
  tir.for thread_binding "ty" %ty : i32 in [0 +: 4] thread "threadIdx.y" {
    tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
      %a = tir.load %A[%ty, %tx] : memref<4x8xi32>
      tir.store %a, %w[%tx] : memref<8xi32, "warp">
      %seven = arith.constant 7 : i32
      %other = arith.subi %seven, %tx : i32
      %b = tir.load %w[%other] : memref<8xi32, "warp">
      tir.store %b, %A[%ty, %tx] : memref<4x8xi32>
    }
  }
}
// CHECK-LABEL: tir.func @warp(
// CHECK-NEXT:    %[[w:.*]] = tir.alloc_buffer "w" : memref<4x8xi32, "shared">
// CHECK-NEXT:    tir.for thread_binding "ty" %[[ty1:.*]] : i32
// CHECK-NEXT:      tir.for thread_binding "tx" %[[tx1:.*]] : i32
// CHECK:             tir.store %{{.*}}, %[[w]][%[[ty1]], %[[tx1]]] : memref<4x8xi32, "shared">
// CHECK:         tir.for thread_binding "ty" %[[ty2:.*]] : i32
// CHECK:             tir.load %[[w]][%[[ty2]], %{{.*}}] : memref<4x8xi32, "shared">
