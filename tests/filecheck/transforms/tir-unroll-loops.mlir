// RUN: stepwell-opt %s -p tir-unroll-loops | filecheck %s
// RUN: stepwell-opt %s -p "tir-unroll-loops{max-extent=2}" | filecheck %s --check-prefix=EXTENT
// RUN: stepwell-opt %s -p "tir-unroll-loops{max-ops=4}" | filecheck %s --check-prefix=OPS

// Inner loops first; names of values inside are those of each copy; steps count.
tir.func @nested("A" %A: memref<8x8xf32>, "n" %n: i32, "x" %x: f32) {
  tir.for unrolled "i" %i : i32 in [1 +: 2] annotations {a = 1 : i32} {
    tir.for unrolled "j" %j : i32 in [%n +: 5] step 3 {
      %y = tir.let "y" %x : f32
      tir.store %y, %A[%i, %j] : memref<8x8xf32>
    }
  }
}
// CHECK:         tir.func @nested(
// CHECK-NEXT:      %[[three:\d+]] = arith.constant 3 : i32
// CHECK-NEXT:      %[[j:\d+]] = arith.addi %n, %[[three]] : i32
// CHECK-NEXT:      %[[one:\d+]] = arith.constant 1 : i32
// CHECK-NEXT:      %[[y1:.*]] = tir.let "y" %x : f32
// CHECK-NEXT:      tir.store %[[y1]], %A[%[[one]], %n] : memref<8x8xf32>
// CHECK-NEXT:      %[[y2:.*]] = tir.let "y" %x : f32
// CHECK-NEXT:      tir.store %[[y2]], %A[%[[one]], %[[j]]] : memref<8x8xf32>
// CHECK-NEXT:      %[[two:\d+]] = arith.constant 2 : i32
// CHECK-NEXT:      tir.let
// CHECK-NEXT:      tir.store %{{.*}}, %A[%[[two]], %n] : memref<8x8xf32>
// CHECK-NEXT:      tir.let
// CHECK-NEXT:      tir.store %{{.*}}, %A[%[[two]], %[[j]]] : memref<8x8xf32>
// CHECK-NEXT:    }

// OPS:           tir.func @nested(
// OPS-NEXT:        arith.constant
// OPS-NEXT:        arith.addi
// OPS-NEXT:        tir.for unrolled "i"
// OPS-NEXT:          tir.let

// Nothing is left of a loop that does not run.
tir.func @empty("A" %A: memref<8xf32>, "x" %x: f32) {
  tir.for unrolled "i" %i : i32 in [0 +: 0] {
    tir.store %x, %A[%i] : memref<8xf32>
  }
}
// CHECK-NEXT:    tir.func @empty(
// CHECK-NEXT:    }

// Loops of other kinds and loops of unknown length stay.
tir.func @others("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for unrolled "i" %i : i32 in [0 +: %n] {
    tir.store %x, %A[%i] : memref<8xf32>
  }
  tir.for unrolled "i" %i : i32 in [0 +: 8] step %n {
    tir.store %x, %A[%i] : memref<8xf32>
  }
  tir.for serial "i" %i : i32 in [0 +: 2] {
    tir.store %x, %A[%i] : memref<8xf32>
  }
}
// CHECK-NEXT:    tir.func @others(
// CHECK-NEXT:      tir.for unrolled "i" %i : i32 in [0 +: %n] {
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for unrolled "i" %{{.*}} : i32 in [0 +: 8] step %n {
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for serial "i"

tir.func @long("A" %A: memref<512xf32>, "x" %x: f32) {
  tir.for unrolled "i" %i : i32 in [0 +: 3] {
    tir.store %x, %A[%i] : memref<512xf32>
  }
  tir.for unrolled "i" %i : i32 in [0 +: 300] {
    tir.store %x, %A[%i] : memref<512xf32>
  }
}
// CHECK:         tir.func @long(
// CHECK-NEXT:      arith.constant 0
// CHECK:           tir.for unrolled "i" %{{.*}} : i32 in [0 +: 300] {
// EXTENT:        tir.func @long(
// EXTENT-NEXT:     tir.for unrolled "i" %i : i32 in [0 +: 3] {

// A loop around the only loop over threads that uses %T, of which each thread has its own.
tir.func @threads("A" %A: memref<8xf32>) {
  %T = tir.alloc_buffer "T" : memref<1xf32>
  %L = tir.alloc_buffer "L" : memref<1xf32, "local">
  tir.for unrolled "i" %i : i32 in [0 +: 2] {
    tir.for thread_binding "t" %t : i32 in [0 +: 4] thread "threadIdx.x" {
      %0 = arith.constant 0 : i32
      %x = tir.load %A[%t] : memref<8xf32>
      tir.store %x, %T[%0] : memref<1xf32>
    }
  }
  tir.for unrolled "i" %i : i32 in [0 +: 2] {
    tir.for thread_binding "t" %t : i32 in [0 +: 4] thread "threadIdx.x" {
      %0 = arith.constant 0 : i32
      %x = tir.load %A[%t] : memref<8xf32>
      tir.store %x, %L[%0] : memref<1xf32, "local">
    }
  }
}
// CHECK:         tir.func @threads(
// CHECK:           tir.for unrolled "i" %{{.*}} : i32 in [0 +: 2] {
// CHECK-NEXT:        tir.for thread_binding "t"
// CHECK:           tir.for thread_binding "t"
// CHECK:             tir.store %{{.*}}, %L
// CHECK:           tir.for thread_binding "t"
// CHECK:             tir.store %{{.*}}, %L

// The copy for a value of the variable has only the branch that is taken for this value.
tir.func @branches("A" %A: memref<2xf32>, "x" %x: f32, "y" %y: f32) {
  tir.for unrolled "i" %i : i32 in [0 +: 2] {
    %c1 = arith.constant 1 : i32
    %is_last = arith.cmpi eq, %i, %c1 : i32
    tir.if %is_last {
      tir.store %x, %A[%i] : memref<2xf32>
    } else {
      tir.store %y, %A[%i] : memref<2xf32>
    }
  }
}
// CHECK:         tir.func @branches(
// CHECK-NOT:       tir.if
// CHECK:           tir.store %y, %A
// CHECK-NOT:       tir.if
// CHECK:           tir.store %x, %A
// CHECK-NOT:       tir.store

// Expressions that the loop does not change are shared, one of equal ones; a division by a value that may be 0 stays.
tir.func @invariant("A" %A: memref<8xi32>, "n" %n: i32, "c" %c: i1) {
  tir.for unrolled "i" %i : i32 in [0 +: 2] {
    %0 = arith.muli %n, %n : i32
    %1 = arith.addi %0, %i : i32
    tir.store %1, %A[%i] : memref<8xi32>
    tir.if %c {
      %2 = arith.muli %n, %n : i32
      %3 = arith.floordivsi %2, %n : i32
      tir.store %3, %A[%i] : memref<8xi32>
    }
  }
}
// CHECK-LABEL:   tir.func @invariant(
// CHECK-NEXT:      %[[square:.*]] = arith.muli %n, %n : i32
// CHECK-NEXT:      %[[zero:.*]] = arith.constant 0 : i32
// CHECK-NEXT:      arith.addi %[[square]], %[[zero]]
// CHECK-NEXT:      tir.store
// CHECK-NEXT:      tir.if %c {
// CHECK-NEXT:        arith.floordivsi %[[square]], %n
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[one:.*]] = arith.constant 1 : i32
// CHECK-NEXT:      arith.addi %[[square]], %[[one]]
