// RUN: stepwell-opt %s -p tir-hoist-conditions | filecheck %s
// RUN: stepwell-opt %s -p "tir-hoist-conditions{max-ops=8}" | filecheck %s --check-prefix=LIMIT
// RUN: stepwell-opt %s -p tir-hoist-conditions,tir-vectorize-loops | filecheck %s --check-prefix=VECTOR

// A condition leaves both loops that do not change it, and stays in the loop that does.
tir.func @nest("A" %A: memref<64xf32>, "n" %n: i32) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      tir.for vectorized "j" %j : i32 in [0 +: 8] {
        %0 = arith.cmpi slt, %i, %n : i32
        tir.if %0 {
          %x = arith.constant 1.0 : f32
          tir.store %x, %A[%j] : memref<64xf32>
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @nest(
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:      %[[C:.+]] = arith.cmpi slt, %i, %n : i32
// CHECK-NEXT:      tir.if %[[C]] {
// CHECK-NEXT:        tir.for serial "k" %{{.+}} : i32 in [0 +: 4] {
// CHECK-NEXT:          tir.for vectorized "j" %{{.+}} : i32 in [0 +: 8] {
// CHECK-NEXT:            arith.constant 1.0
// CHECK-NEXT:            tir.store
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// VECTOR-LABEL: tir.func @nest(
// VECTOR:          tir.if
// VECTOR-NEXT:       tir.for serial "k"
// VECTOR-NOT:          tir.if
// VECTOR:              tir.store %{{.*}}, %A[%{{.*}} : vector<8xi32>] : memref<64xf32>

// An innermost loop with another statement is copied for both sides, unless the copy exceeds the limit.
tir.func @copied("A" %A: memref<8xf32>, "B" %B: memref<8xf32>, "c" %c: i1) {
  tir.for serial "j" %j : i32 in [0 +: 8] {
    %x = tir.load %A[%j] : memref<8xf32>
    tir.store %x, %B[%j] : memref<8xf32>
    tir.if %c {
      %y = arith.constant 1.0 : f32
      tir.store %y, %A[%j] : memref<8xf32>
    } else {
      %z = arith.constant 2.0 : f32
      tir.store %z, %A[%j] : memref<8xf32>
    }
  }
}
// CHECK-LABEL: tir.func @copied(
// CHECK-NEXT:    tir.if %c {
// CHECK-NEXT:      tir.for serial "j"
// CHECK:             tir.store %{{.+}}, %B
// CHECK-NEXT:        arith.constant 1.0
// CHECK-NEXT:        tir.store %{{.+}}, %A
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for serial "j"
// CHECK:             tir.store %{{.+}}, %B
// CHECK-NEXT:        arith.constant 2.0
// CHECK-NEXT:        tir.store %{{.+}}, %A
// LIMIT-LABEL: tir.func @copied(
// LIMIT-NEXT:    tir.for serial "j"
// LIMIT:           tir.if %c {

// A loop nest with other statements is not copied.
tir.func @outer("A" %A: memref<8xf32>, "c" %c: i1) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %x = arith.constant 0.0 : f32
    tir.store %x, %A[%i] : memref<8xf32>
    tir.for serial "k" %k : i32 in [0 +: 4] {
      tir.if %c {
        %y = tir.load %A[%k] : memref<8xf32>
        tir.store %y, %A[%i] : memref<8xf32>
      }
    }
  }
}
// CHECK-LABEL: tir.func @outer(
// CHECK-NEXT:    tir.for serial "i"
// CHECK:           tir.if %c {
// CHECK-NEXT:        tir.for serial "k"

// A load leaves a loop with iterations that does not write the memory; a division leaves a loop only if its divisor is
// a constant other than 0.
tir.func @loads("A" %A: memref<8xf32>, "M" %M: memref<8xi32>, "n" %n: i32) attrs {tir.noalias = true} {
  tir.for serial "j" %j : i32 in [0 +: 8] {
    %m = tir.load %M[%n] : memref<8xi32>
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi sgt, %m, %c0 : i32
    tir.if %0 {
      %x = arith.constant 1.0 : f32
      tir.store %x, %A[%j] : memref<8xf32>
    }
  }
  tir.for serial "d" %d : i32 in [0 +: 8] {
    %c7 = arith.constant 7 : i32
    %q = arith.floordivsi %c7, %n : i32
    %1 = arith.cmpi sgt, %q, %n : i32
    tir.if %1 {
      %x = arith.constant 1.0 : f32
      tir.store %x, %A[%d] : memref<8xf32>
    }
  }
}
// CHECK-LABEL: tir.func @loads(
// CHECK-NEXT:    tir.load %M
// CHECK:         tir.if
// CHECK-NEXT:      tir.for serial "j"
// CHECK:         tir.for serial "d"
// CHECK:           arith.floordivsi
// CHECK:           tir.if

// A load stays in a loop that may have no iterations, that writes the memory, or whose branch is not always reached.
tir.func @stay("A" %A: memref<8xi32>, "M" %M: memref<8xi32>, "n" %n: i32) attrs {tir.noalias = true} {
  tir.for serial "empty" %e : i32 in [0 +: %n] {
    %t = tir.load %M[%n] : memref<8xi32>
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi sgt, %t, %c0 : i32
    tir.if %0 {
      tir.store %e, %A[%e] : memref<8xi32>
    }
  }
  tir.for serial "written" %w : i32 in [0 +: 8] {
    %t = tir.load %M[%n] : memref<8xi32>
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi sgt, %t, %c0 : i32
    tir.if %0 {
      tir.store %w, %M[%w] : memref<8xi32>
    }
  }
  tir.for serial "inner" %i : i32 in [0 +: 8] {
    %c2 = arith.constant 2 : i32
    %1 = arith.cmpi sgt, %i, %c2 : i32
    tir.if %1 {
      %t = tir.load %M[%n] : memref<8xi32>
      %0 = arith.cmpi sgt, %t, %c2 : i32
      tir.if %0 {
        tir.store %i, %A[%i] : memref<8xi32>
      }
    }
  }
}
// CHECK-LABEL: tir.func @stay(
// CHECK-NEXT:    tir.for serial "empty"
// CHECK-NEXT:      tir.load %M
// CHECK:         tir.for serial "written"
// CHECK-NEXT:      tir.load %M
// CHECK:         tir.for serial "inner"
// CHECK:           tir.if
// CHECK-NEXT:        tir.load %M

// Without `tir.noalias`, two parameters may be one memory.
tir.func @alias("A" %A: memref<8xi32>, "M" %M: memref<8xi32>, "n" %n: i32) {
  tir.for serial "j" %j : i32 in [0 +: 8] {
    %t = tir.load %M[%n] : memref<8xi32>
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi sgt, %t, %c0 : i32
    tir.if %0 {
      tir.store %j, %A[%j] : memref<8xi32>
    }
  }
}
// CHECK-LABEL: tir.func @alias(
// CHECK-NEXT:    tir.for serial "j"
// CHECK-NEXT:      tir.load %M

// A function with threads stays unchanged.
tir.func @threads("A" %A: memref<8xf32>, "c" %c: i1) {
  tir.for thread_binding "t" %t : i32 in [0 +: 8] thread "threadIdx.x" {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      tir.if %c {
        %y = tir.load %A[%k] : memref<8xf32>
        tir.store %y, %A[%t] : memref<8xf32>
      }
    }
  }
}
// CHECK-LABEL: tir.func @threads(
// CHECK-NEXT:    tir.for thread_binding
// CHECK-NEXT:      tir.for serial "k"
// CHECK-NEXT:        tir.if
