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
