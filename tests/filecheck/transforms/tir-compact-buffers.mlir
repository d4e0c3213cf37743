// RUN: stepwell-opt %s -p tir-compact-buffers | filecheck %s
// RUN: stepwell-opt %s -p "tir-compact-buffers{scopes=local}" | filecheck %s --check-prefix=LOCAL

// Each round of k uses eight elements, and nothing of the rounds before; vectors are counted with their lanes.
tir.func @tile("A" %A: memref<64xf32>, "B" %B: memref<64xf32>) {
  %s = tir.alloc_buffer "S" : memref<64xf32, "shared">
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.for serial "i" %i : i32 in [0 +: 8] {
      %c8 = arith.constant 8 : i32
      %0 = arith.muli %k, %c8 : i32
      %j = arith.addi %0, %i : i32
      %x = tir.load %A[%j] : memref<64xf32>
      tir.store %x, %s[%j] : memref<64xf32, "shared">
    }
    tir.for serial "i" %i : i32 in [0 +: 2] {
      %c8 = arith.constant 8 : i32
      %0 = arith.muli %k, %c8 : i32
      %c4 = arith.constant 4 : i32
      %1 = arith.muli %i, %c4 : i32
      %j = arith.addi %0, %1 : i32
      %one = arith.constant 1 : i32
      %r = tir.ramp %j, %one : vector<4xi32>
      %y = tir.load %s[%r : vector<4xi32>] : memref<64xf32, "shared">
      tir.store %y, %B[%r : vector<4xi32>] : memref<64xf32>
    }
  }
}
// CHECK:       tir.func @tile(
// CHECK-NEXT:    tir.for serial "k"
// CHECK-NEXT:      tir.alloc_buffer "S" : memref<8xf32, "shared">
// CHECK:             tir.store %{{.*}}, %{{.*}}[%i] : memref<8xf32, "shared">
// CHECK:             %[[r:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK:             tir.load %{{.*}}[%{{.*}} : vector<4xi32>] : memref<8xf32, "shared">
// LOCAL:       tir.func @tile(
// LOCAL-NEXT:    tir.alloc_buffer "S" : memref<64xf32, "shared">

// What the next round reads stays whole.
tir.func @carried("A" %A: memref<64xf32>) {
  %s = tir.alloc_buffer "S" : memref<64xf32>
  tir.for serial "k" %k : i32 in [1 +: 63] {
    %one = arith.constant 1 : i32
    %p = arith.subi %k, %one : i32
    %x = tir.load %A[%p] : memref<64xf32>
    tir.store %x, %s[%p] : memref<64xf32>
    %c63 = arith.constant 63 : i32
    %q = arith.subi %c63, %k : i32
    %y = tir.load %s[%q] : memref<64xf32>
    tir.store %y, %A[%k] : memref<64xf32>
  }
}
// CHECK-LABEL: tir.func @carried(
// CHECK-NEXT:    tir.alloc_buffer "S" : memref<63xf32>

// The range of a data type is no extent.
tir.func @ranges("A" %A: memref<64xi32>, "n" %n: i32) {
  %s = tir.alloc_buffer "S" dims [%n] : memref<?xi32>
  tir.for serial "k" %k : i32 in [0 +: %n] {
    %a = tir.load %A[%k] : memref<64xi32>
    %most = arith.constant 2147483647 : i32
    %i = tir.floormod %a, %most : i32
    tir.store %a, %s[%i] : memref<?xi32>
  }
}
// CHECK-LABEL: tir.func @ranges(
// CHECK:         tir.alloc_buffer "S" dims [%n] : memref<?xi32>

// An element that only one iteration uses moves into the loop, whatever the conditions of its accesses.
tir.func @own("A" %A: memref<64xf32>, "n" %n: i32, "p" %p: i1) {
  %s = tir.alloc_buffer "S" : memref<64xf32>
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.for serial "i" %i : i32 in [0 +: 8] {
      %c8 = arith.constant 8 : i32
      %0 = arith.muli %k, %c8 : i32
      %j = arith.addi %0, %i : i32
      tir.if %p {
        %x = tir.load %A[%j] : memref<64xf32>
        tir.store %x, %s[%j] : memref<64xf32>
      }
      tir.for serial "m" %m : i32 in [0 +: %n] {
        %y = tir.load %s[%j] : memref<64xf32>
        tir.store %y, %A[%j] : memref<64xf32>
      }
    }
  }
}
// CHECK:       tir.func @own(
// CHECK-NEXT:    tir.for serial "k"
// CHECK-NEXT:      tir.for serial "i"
// CHECK:             tir.alloc_buffer "S" : memref<1xf32>

// Elements of the next round too: rounds overlap.
tir.func @overlapping("A" %A: memref<64xf32>, "p" %p: i1) {
  %s = tir.alloc_buffer "S" : memref<65xf32>
  tir.for serial "k" %k : i32 in [0 +: 8] {
    %c8 = arith.constant 8 : i32
    %0 = arith.muli %k, %c8 : i32
    tir.for serial "i" %i : i32 in [0 +: 9] {
      %j = arith.addi %0, %i : i32
      tir.if %p {
        %x = tir.load %A[%i] : memref<64xf32>
        tir.store %x, %s[%j] : memref<65xf32>
      }
      %y = tir.load %s[%j] : memref<65xf32>
      tir.store %y, %A[%i] : memref<64xf32>
    }
  }
}
// CHECK:       tir.func @overlapping(
// CHECK-NEXT:    tir.alloc_buffer "S" : memref<65xf32>

// A symbolic extent stays, although the limit on the elements of A bounds it.
tir.func @symbolic("a" %a: !tir.handle) {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?x65536xf32>
  %T = tir.alloc_buffer "T" dims [%n] : memref<?x65536xf32>
  %zero = arith.constant 0 : i32
  %x = arith.constant 1.0 : f32
  %some = arith.cmpi sgt, %n, %zero : i32
  tir.if %some {
    tir.for serial "i" %i : i32 in [0 +: %n] {
      tir.store %x, %T[%i, %zero] : memref<?x65536xf32>
    }
  }
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.if %some {
      %y = tir.load %T[%i, %zero] : memref<?x65536xf32>
      tir.store %y, %A[%i, %zero] : memref<?x65536xf32>
    }
  }
}
// CHECK:       tir.func @symbolic(
// CHECK:         tir.alloc_buffer "T" dims [%n] : memref<?x1xf32>

// Vectors of 4 lanes cross the rows of 6 elements: (4*i + lane) // 6 and (4*i + lane) mod 6. Each round of k uses two rows.
tir.func @quotients("A" %A: memref<12xf32>, "B" %B: memref<12xf32>) {
  %s = tir.alloc_buffer "S" : memref<16x6xf32, "shared">
  tir.for serial "k" %k : i32 in [0 +: 8] {
    %c2 = arith.constant 2 : i32
    %row = arith.muli %k, %c2 : i32
    tir.for serial "i" %i : i32 in [0 +: 3] {
      %c4 = arith.constant 4 : i32
      %c1 = arith.constant 1 : i32
      %c6 = arith.constant 6 : i32
      %base = arith.muli %i, %c4 : i32
      %r = tir.ramp %base, %c1 : vector<4xi32>
      %six = vector.broadcast %c6 : i32 to vector<4xi32>
      %rows = vector.broadcast %row : i32 to vector<4xi32>
      %q = arith.floordivsi %r, %six : vector<4xi32>
      %y = arith.addi %rows, %q : vector<4xi32>
      %x = tir.floormod %r, %six : vector<4xi32>
      %v = tir.load %A[%r : vector<4xi32>] : memref<12xf32>
      tir.store %v, %s[%y : vector<4xi32>, %x : vector<4xi32>] : memref<16x6xf32, "shared">
    }
    tir.for serial "y" %y : i32 in [0 +: 2] {
      tir.for serial "x" %x : i32 in [0 +: 6] {
        %c6 = arith.constant 6 : i32
        %0 = arith.muli %y, %c6 : i32
        %j = arith.addi %0, %x : i32
        %n = arith.addi %row, %y : i32
        %v = tir.load %s[%n, %x] : memref<16x6xf32, "shared">
        tir.store %v, %B[%j] : memref<12xf32>
      }
    }
  }
}
// CHECK:       tir.func @quotients(
// CHECK-NEXT:    tir.for serial "k"
// CHECK:           tir.alloc_buffer "S" : memref<2x6xf32, "shared">
// CHECK:             %[[Q:.+]] = arith.floordivsi
// CHECK:             tir.store %{{.*}}, %{{.*}}[%[[Q]] : vector<4xi32>, %{{.*}} : vector<4xi32>] : memref<2x6xf32, "shared">

// A mask bounds the lanes: 3 vectors of 4 lanes cover 10 elements.
tir.func @mask("A" %A: memref<80xf32>, "B" %B: memref<10xf32>) {
  %s = tir.alloc_buffer "S" : memref<80xf32, "shared">
  tir.for serial "k" %k : i32 in [0 +: 8] {
    %c10 = arith.constant 10 : i32
    %first = arith.muli %k, %c10 : i32
    tir.for serial "i" %i : i32 in [0 +: 3] {
      %c4 = arith.constant 4 : i32
      %c1 = arith.constant 1 : i32
      %limit = vector.broadcast %c10 : i32 to vector<4xi32>
      %base = arith.muli %i, %c4 : i32
      %r = tir.ramp %base, %c1 : vector<4xi32>
      %p = arith.cmpi slt, %r, %limit : vector<4xi32>
      %0 = arith.addi %first, %base : i32
      %e = tir.ramp %0, %c1 : vector<4xi32>
      %v = tir.load %A[%e : vector<4xi32>] if %p : vector<4xi1> : memref<80xf32>
      tir.store %v, %s[%e : vector<4xi32>] if %p : vector<4xi1> : memref<80xf32, "shared">
    }
    tir.for serial "x" %x : i32 in [0 +: 10] {
      %j = arith.addi %first, %x : i32
      %v = tir.load %s[%j] : memref<80xf32, "shared">
      tir.store %v, %B[%x] : memref<10xf32>
    }
  }
}
// CHECK:       tir.func @mask(
// CHECK-NEXT:    tir.for serial "k"
// CHECK:           tir.alloc_buffer "S" : memref<10xf32, "shared">
