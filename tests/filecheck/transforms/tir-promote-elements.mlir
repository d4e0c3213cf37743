// RUN: stepwell-opt %s -p tir-promote-elements | filecheck %s

// A sum: the result is in a register during both loops. The function has no tir.noalias, but %T is an allocation.
tir.func @sum("A" %A: memref<4x8x8xf32>, "x" %x: f32) {
  %T = tir.alloc_buffer "T" : memref<4xf32>
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.store %x, %T[%i] : memref<4xf32>
    tir.for serial "k" %k : i32 in [0 +: 8] {
      tir.for serial "l" %l : i32 in [0 +: 8] {
        %t = tir.load %T[%i] : memref<4xf32>
        %a = tir.load %A[%i, %k, %l] : memref<4x8x8xf32>
        %s = arith.addf %t, %a : f32
        tir.store %s, %T[%i] : memref<4xf32>
      }
    }
  }
}
// CHECK:       tir.func @sum(
// CHECK:           %[[copy:.+]] = tir.alloc_buffer "T" : memref<1xf32, "local">
// CHECK:           tir.store %x, %[[copy]][%{{.*}}] : memref<1xf32, "local">
// CHECK-NEXT:      tir.for serial "k"
// CHECK-NEXT:        tir.for serial "l"
// CHECK:               tir.load %[[copy]]
// CHECK:               tir.store %{{.*}}, %[[copy]]
// CHECK:           tir.store %{{.*}}, %T[%i] : memref<4xf32>

// The store before the loop has the next element as its value, and is a store of the copy; the one before it concerns no
// element of the loop.
tir.func @before("A" %A: memref<8xf32>, "x" %x: f32) attrs {tir.noalias = true} {
  %c1 = arith.constant 1 : i32
  tir.store %x, %A[%c1] : memref<8xf32>
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %y = tir.load %A[%c2] : memref<8xf32>
  tir.store %y, %A[%c0] : memref<8xf32>
  tir.for serial "k" %k : i32 in [0 +: 8] {
    %d0 = arith.constant 0 : i32
    %t = tir.load %A[%d0] : memref<8xf32>
    %s = arith.addf %t, %x : f32
    %e0 = arith.constant 0 : i32
    tir.store %s, %A[%e0] : memref<8xf32>
  }
}
// CHECK:       tir.func @before(
// CHECK:         tir.store %x, %A[%c1] : memref<8xf32>
// CHECK-NEXT:    %[[copy:.+]] = tir.alloc_buffer "A" : memref<1xf32, "local">
// CHECK:         %y = tir.load %A[%c2] : memref<8xf32>
// CHECK:         tir.store %y, %[[copy]]
// CHECK-NEXT:    tir.for serial "k"
// CHECK:         tir.store %{{.*}}, %A[%{{.*}}] : memref<8xf32>

// Two parameters may be the same memory, unless the function has tir.noalias.
tir.func @aliases("A" %A: memref<8xf32>, "B" %B: memref<4xf32>) {
  tir.for serial "k" %k : i32 in [0 +: 8] {
    %zero = arith.constant 0 : i32
    %a = tir.load %A[%k] : memref<8xf32>
    tir.store %a, %B[%zero] : memref<4xf32>
  }
}
// CHECK:       tir.func @aliases(
// CHECK-NOT:     tir.alloc_buffer

// The loop stores the elements before it loads them: nothing is copied before. One element is that of %i, one the next.
tir.func @first_stores("A" %A: memref<9xf32>, "B" %B: memref<9xf32>) attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "k" %k : i32 in [0 +: 9] {
      %a = tir.load %A[%k] : memref<9xf32>
      tir.store %a, %B[%i] : memref<9xf32>
      %one = arith.constant 1 : i32
      %next = arith.addi %i, %one : i32
      %b = tir.load %B[%i] : memref<9xf32>
      tir.store %b, %B[%next] : memref<9xf32>
    }
  }
}
// CHECK:       tir.func @first_stores(
// CHECK-NEXT:    tir.for serial "i"
// CHECK-NEXT:      tir.alloc_buffer "B" : memref<2xf32, "local">
// CHECK-NEXT:      tir.for serial "k"
// CHECK:           tir.store %{{.*}}, %B[%i] : memref<9xf32>
// CHECK:           tir.store %{{.*}}, %B[%{{.*}}] : memref<9xf32>

// A branch may not execute an access; an element of %B may be that of another index; a call may use any memory.
tir.func @stay("p" %p: i1, "n" %n: i32, "A" %A: memref<9xf32>, "B" %B: memref<9xf32>, "C" %C: memref<9xf32>)
    attrs {tir.noalias = true} {
  tir.for serial "k" %k : i32 in [0 +: 9] {
    %a = tir.load %A[%k] : memref<9xf32>
    tir.if %p {
      tir.store %a, %C[%n] : memref<9xf32>
    }
  }
  tir.for serial "k" %k : i32 in [0 +: 9] {
    %a = tir.load %B[%k] : memref<9xf32>
    tir.store %a, %B[%n] : memref<9xf32>
  }
  tir.for serial "k" %k : i32 in [0 +: 9] {
    %a = tir.load %A[%k] : memref<9xf32>
    tir.store %a, %B[%n] : memref<9xf32>
    tir.call_extern "f"(%n) : i32
  }
}
// CHECK:       tir.func @stay(
// CHECK-NOT:     tir.alloc_buffer
// CHECK:       tir.func @unknown(

// An unknown number of iterations: the element is loaded and stored if the loop has any, but a store before it always.
tir.func @unknown("n" %n: i32, "A" %A: memref<9xf32>, "B" %B: memref<9xf32>, "C" %C: memref<9xf32>, "x" %x: f32)
    attrs {tir.noalias = true} {
  tir.for serial "k" %k : i32 in [0 +: %n] {
    %a = tir.load %A[%k] : memref<9xf32>
    %b = tir.load %B[%n] : memref<9xf32>
    %c = arith.addf %a, %b : f32
    tir.store %c, %B[%n] : memref<9xf32>
  }
  tir.store %x, %C[%n] : memref<9xf32>
  tir.for serial "k" %k : i32 in [0 +: %n] {
    %a = tir.load %A[%k] : memref<9xf32>
    %b = tir.load %C[%n] : memref<9xf32>
    %c = arith.addf %a, %b : f32
    tir.store %c, %C[%n] : memref<9xf32>
  }
}
// CHECK:         %[[B:.+]] = tir.alloc_buffer "B" : memref<1xf32, "local">
// CHECK:         %[[runs:.+]] = arith.cmpi sgt, %n, %{{.+}} : i32
// CHECK-NEXT:    tir.if %[[runs]] {
// CHECK-NEXT:      %[[b:.+]] = tir.load %B[%n] : memref<9xf32>
// CHECK:           tir.store %[[b]], %[[B]][%{{.+}}] : memref<1xf32, "local">
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for serial "k"
// CHECK:         %[[ran:.+]] = arith.cmpi sgt, %n, %{{.+}} : i32
// CHECK-NEXT:    tir.if %[[ran]] {
// CHECK:           %[[sum:.+]] = tir.load %[[B]]
// CHECK:           tir.store %[[sum]], %B[%n] : memref<9xf32>
// CHECK-NEXT:    }
// CHECK:         %[[C:.+]] = tir.alloc_buffer "C" : memref<1xf32, "local">
// CHECK:         tir.store %x, %[[C]]
// CHECK-NEXT:    tir.for serial "k"
// CHECK-NOT:     tir.if
// CHECK:         tir.store %{{.+}}, %C[%n] : memref<9xf32>
// CHECK:       tir.func @masks(

// All accesses have the same mask: the copy is accessed without it. Other masks, and one that the loop changes, stay.
tir.func @masks("n" %n: i32, "A" %A: memref<9xf32>, "B" %B: memref<9xf32>, "C" %C: memref<9xf32>, "D" %D: memref<9xf32>)
    attrs {tir.noalias = true} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = tir.ramp %zero, %one : vector<8xi32>
  %ns = vector.broadcast %n : i32 to vector<8xi32>
  tir.for serial "k" %k : i32 in [0 +: 9] {
    %m = arith.cmpi slt, %r, %ns : vector<8xi32>
    %b = tir.load %B[%r : vector<8xi32>] if %m : vector<8xi1> : memref<9xf32>
    %c = arith.addf %b, %b : vector<8xf32>
    %m1 = arith.cmpi slt, %r, %ns : vector<8xi32>
    tir.store %c, %B[%r : vector<8xi32>] if %m1 : vector<8xi1> : memref<9xf32>
  }
  tir.for serial "k" %k : i32 in [0 +: 9] {
    %m = arith.cmpi slt, %r, %ns : vector<8xi32>
    %b = tir.load %C[%r : vector<8xi32>] if %m : vector<8xi1> : memref<9xf32>
    %c = arith.addf %b, %b : vector<8xf32>
    %m1 = arith.cmpi sle, %r, %ns : vector<8xi32>
    tir.store %c, %C[%r : vector<8xi32>] if %m1 : vector<8xi1> : memref<9xf32>
    %ks = vector.broadcast %k : i32 to vector<8xi32>
    %m2 = arith.cmpi slt, %r, %ks : vector<8xi32>
    tir.store %c, %D[%r : vector<8xi32>] if %m2 : vector<8xi1> : memref<9xf32>
  }
}
// CHECK:         %[[copy:.+]] = tir.alloc_buffer "B" : memref<8xf32, "local">
// CHECK:         %[[before:.+]] = arith.cmpi slt, %r, %ns : vector<8xi32>
// CHECK-NEXT:    %[[old:.+]] = tir.load %B[%{{.+}} : vector<8xi32>] if %[[before]] : vector<8xi1> : memref<9xf32>
// CHECK:         tir.store %[[old]], %[[copy]][%{{.+}} : vector<8xi32>] : memref<8xf32, "local">
// CHECK-NEXT:    tir.for serial "k"
// CHECK:           tir.load %[[copy]][%{{.+}} : vector<8xi32>] : memref<8xf32, "local">
// CHECK:           tir.store %{{.+}}, %[[copy]][%{{.+}} : vector<8xi32>] : memref<8xf32, "local">
// CHECK-NEXT:    }
// CHECK:         %[[after:.+]] = arith.cmpi slt, %r, %ns : vector<8xi32>
// CHECK:         tir.store %{{.+}}, %B[%{{.+}} : vector<8xi32>] if %[[after]] : vector<8xi1> : memref<9xf32>
// CHECK-NOT:     tir.alloc_buffer
// CHECK:       tir.func @conditional_stores(

// The first stores of a number to an allocation need no conditions; those of another number, and later ones, keep theirs.
tir.func @conditional_stores("n" %n: i32, "A" %A: memref<9xf32>) attrs {tir.noalias = true} {
  %a = arith.constant 0.0 : f32
  %b = arith.constant 1.0 : f32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tir.for serial "i" %i : i32 in [0 +: 9] {
    %T = tir.alloc_buffer "T" : memref<2xf32>
    %c = arith.cmpi slt, %i, %n : i32
    tir.store %a, %T[%zero] : memref<2xf32>
    tir.if %c {
      tir.store %a, %T[%one] : memref<2xf32>
    }
    tir.if %c {
      tir.store %b, %T[%one] : memref<2xf32>
    }
    %x = tir.load %T[%one] : memref<2xf32>
    tir.store %x, %A[%i] : memref<9xf32>
  }
}
// CHECK:         tir.store %a, %T[%zero]
// CHECK-NEXT:    tir.store %a, %T[%one]
// CHECK-NEXT:    tir.if %c {
// CHECK-NEXT:      tir.store %b, %T[%one]
