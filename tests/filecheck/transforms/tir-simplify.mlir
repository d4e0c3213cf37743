// RUN: stepwell-opt %s -p tir-simplify | filecheck %s
// RUN: stepwell-opt %s -p 'tir-simplify{unit-loops=true}' | filecheck %s --check-prefix UNIT

// Indices that put a split loop together are what was split.
// CHECK-LABEL: tir.func @split
tir.func @split("A" %A: memref<32xf32>, "B" %B: memref<8x4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      %c0 = arith.constant 4 : i32
      %0 = arith.muli %i, %c0 : i32
      %1 = arith.addi %0, %j : i32
      %2 = tir.load %A[%1] : memref<32xf32>
      %c1 = arith.constant 4 : i32
      %3 = arith.muli %i, %c1 : i32
      %4 = arith.addi %3, %j : i32
      %c2 = arith.constant 4 : i32
      %5 = arith.floordivsi %4, %c2 : i32
      %c3 = arith.constant 4 : i32
      %6 = arith.muli %i, %c3 : i32
      %7 = arith.addi %6, %j : i32
      %c4 = arith.constant 4 : i32
      %8 = tir.floormod %7, %c4 : i32
      // CHECK:      %[[four:.*]] = arith.constant 4 : i32
      // CHECK-NEXT: %[[row:.*]] = arith.muli %i, %[[four]] : i32
      // CHECK-NEXT: %[[both:.*]] = arith.addi %[[row]], %j : i32
      // CHECK-NEXT: %[[x:.*]] = tir.load %A[%[[both]]]
      // CHECK-NEXT: tir.store %[[x]], %B[%i, %j]
      tir.store %2, %B[%5, %8] : memref<8x4xf32>
    }
  }
}

// A product that may overflow is not taken apart.
// CHECK-LABEL: tir.func @may_wrap
tir.func @may_wrap("n" %n: i32, "B" %B: memref<2xi32>) {
  %c0 = arith.constant 8 : i32
  %0 = arith.muli %n, %c0 : i32
  %c1 = arith.constant 8 : i32
  %1 = arith.floordivsi %0, %c1 : i32
  %c2 = arith.constant 0 : i32
  // CHECK: arith.muli
  // CHECK: arith.floordivsi
  tir.store %1, %B[%c2] : memref<2xi32>
  // But sums are right modulo 2**32.
  %c3 = arith.constant 8 : i32
  %2 = arith.muli %n, %c3 : i32
  %c4 = arith.constant 7 : i32
  %3 = arith.muli %n, %c4 : i32
  %4 = arith.subi %2, %3 : i32
  %c5 = arith.constant 1 : i32
  // CHECK-NOT: arith.muli
  // CHECK: tir.store %n, %B
  tir.store %4, %B[%c5] : memref<2xi32>
}

// Division by zero stays.
// CHECK-LABEL: tir.func @by_zero
tir.func @by_zero("B" %B: memref<1xi32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // CHECK: arith.divsi
  %0 = arith.divsi %one, %zero : i32
  %i = arith.constant 0 : i32
  tir.store %0, %B[%i] : memref<1xi32>
}

// A predicate that always holds goes; a block whose predicate never holds goes itself.
// CHECK-LABEL: tir.func @predicates
tir.func @predicates("A" %A: memref<32xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      %c0 = arith.constant 4 : i32
      %0 = arith.muli %i, %c0 : i32
      %1 = arith.addi %0, %j : i32
      %c1 = arith.constant 32 : i32
      %p = arith.cmpi slt, %1, %c1 : i32
      // CHECK: tir.block "always" (spatial "v" %v : i32 in [0 +: 32] = %{{[^ ]*}}) {
      tir.block "always" (spatial "v" %v : i32 in [0 +: 32] = %1) where %p {
        %x = arith.constant 1.0 : f32
        tir.store %x, %A[%v] : memref<32xf32>
      }
      %c2 = arith.constant 8 : i32
      %q = arith.cmpi sge, %i, %c2 : i32
      // CHECK-NOT: "never"
      tir.block "never" (spatial "v" %v : i32 in [0 +: 8] = %i) where %q {
        %y = arith.constant 1.0 : f32
        tir.store %y, %A[%v] : memref<32xf32>
      }
      // Of a conjunction only what may fail is left.
      // CHECK: %[[p:.*]] = arith.cmpi slt, %i, %{{.*}} : i32
      // CHECK-NEXT: tir.block "sometimes" (spatial "v" %{{.*}} : i32 in [0 +: 8] = %i) where %[[p]]
      %c3 = arith.constant 7 : i32
      %r0 = arith.cmpi slt, %i, %c3 : i32
      %c4 = arith.constant 4 : i32
      %r1 = arith.cmpi slt, %j, %c4 : i32
      %r = arith.andi %r0, %r1 : i1
      tir.block "sometimes" (spatial "v" %v : i32 in [0 +: 8] = %i) where %r {
        // Inside the predicate is known.
        // CHECK-NOT: tir.if
        %c5 = arith.constant 7 : i32
        %s = arith.cmpi slt, %v, %c5 : i32
        tir.if %s {
          %z = arith.constant 1.0 : f32
          tir.store %z, %A[%v] : memref<32xf32>
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @branches
tir.func @branches("n" %n: i32, "A" %A: memref<64xi32>) {
  // A loop that never runs.
  // CHECK-NOT: "never"
  tir.for parallel "never" %i : i32 in [3 +: 0] {
    tir.store %i, %A[%i] : memref<64xi32>
  }
  // A symbolic end is known inside.
  // CHECK: tir.for serial "i" %i : i32 in [0 +: %n]
  tir.for serial "i" %i : i32 in [0 +: %n] {
    // CHECK-NEXT: tir.store %i, %A[%i]
    // CHECK-NEXT: }
    %c = arith.cmpi slt, %i, %n : i32
    tir.if %c {
      tir.store %i, %A[%i] : memref<64xi32>
    } else {
      tir.store %n, %A[%i] : memref<64xi32>
    }
  }
  %c9 = arith.constant 9 : i32
  %d = arith.cmpi slt, %n, %c9 : i32
  // CHECK: tir.if
  tir.if %d {
    // CHECK-NOT: tir.if_then_else
    // CHECK: tir.store %n, %A
    %c10 = arith.constant 10 : i32
    %e = arith.cmpi slt, %n, %c10 : i32
    %v = tir.if_then_else %e {
      tir.yield %n : i32
    } else {
      %w = tir.load %A[%n] : memref<64xi32>
      tir.yield %w : i32
    } : i32
    %i0 = arith.constant 0 : i32
    tir.store %v, %A[%i0] : memref<64xi32>
  } else {
    // CHECK: arith.minsi
    // CHECK-NOT: tir.assert
    %c10 = arith.constant 10 : i32
    %m = arith.minsi %n, %c10 : i32
    %i1 = arith.constant 1 : i32
    tir.store %m, %A[%i1] : memref<64xi32>
    %c8 = arith.constant 8 : i32
    %f = arith.cmpi sgt, %n, %c8 : i32
    tir.assert %f, "n is at least 9 here"
  }
  tir.return
}

// Bounds that become known become static, and a loop of one iteration goes if asked for.
// CHECK-LABEL: tir.func @bounds
// UNIT-LABEL: tir.func @bounds
tir.func @bounds("A" %A: memref<8xi32>) {
  %c3 = arith.constant 3 : i32
  %c2 = arith.constant 2 : i32
  %e = arith.subi %c3, %c2 : i32
  // CHECK-NEXT: tir.for serial "i" %i : i32 in [4 +: 1] {
  // CHECK-NEXT:   tir.for thread_binding "t" %t : i32 in [0 +: 1] thread "threadIdx.x" {
  // UNIT-NEXT:  tir.for thread_binding "t" %t : i32 in [0 +: 1] thread "threadIdx.x" {
  // UNIT-NEXT:    %[[four:.*]] = arith.constant 4 : i32
  tir.for serial "i" %i : i32 in [4 +: %e] {
    tir.for thread_binding "t" %t : i32 in [0 +: 1] thread "threadIdx.x" {
      tir.store %i, %A[%t] : memref<8xi32>
    }
  }
}

// Constants have the meaning of their types; what is infinite stays an operation.
// CHECK-LABEL: tir.func @constants
tir.func @constants("A" %A: memref<8xf32>, "U" %U: memref<8xui8>, "b" %b: memref<8xi1>) {
  %i = arith.constant 0 : i32
  %x = arith.constant 16777216.0 : f32
  %y = arith.constant 1.0 : f32
  %z = arith.addf %x, %y : f32
  // CHECK-DAG: arith.constant 0x4B800000 : f32
  tir.store %z, %A[%i] : memref<8xf32>
  %u = tir.const 255 : ui8
  %v = tir.const 2 : ui8
  %w = arith.addi %u, %v : ui8
  // CHECK: tir.const 1 : ui8
  tir.store %w, %U[%i] : memref<8xui8>
  %zero = arith.constant 0.0 : f32
  // CHECK: arith.divf
  %inf = arith.divf %y, %zero : f32
  tir.store %inf, %A[%i] : memref<8xf32>
  %f = tir.cast %x : f32 -> i1
  // CHECK: arith.constant true
  tir.store %f, %b[%i] : memref<8xi1>
}

// A launch of no blocks is none.
tir.func @no_blocks("A" %A: memref<0xf32>, "x" %x: f32) {
  tir.launch_thread "bx" %bx : i32 in 0 thread "blockIdx.x" {
    tir.store %x, %A[%bx] : memref<0xf32>
  }
}
// CHECK:         tir.func @no_blocks(
// CHECK-NEXT:    }
