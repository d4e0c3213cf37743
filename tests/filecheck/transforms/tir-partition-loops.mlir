// RUN: stepwell-opt %s -p tir-partition-loops,tir-simplify{unit-loops=true} | filecheck %s
// RUN: stepwell-opt %s -p "tir-partition-loops{max-ops=8}" | filecheck %s --check-prefix=LIMIT

// Tiles of four columns of ten: two are whole, and the last has two columns. Both have memory of their own.
tir.func @tiles("A" %A: memref<10xf32>, "B" %B: memref<10xf32>) {
  %t = tir.alloc_buffer "T" : memref<10xf32>
  tir.for serial "i" %i : i32 in [0 +: 3] {
    tir.for vectorized "j" %j : i32 in [0 +: 4] {
      %c4 = arith.constant 4 : i32
      %0 = arith.muli %i, %c4 : i32
      %k = arith.addi %0, %j : i32
      %c10 = arith.constant 10 : i32
      %1 = arith.cmpi slt, %k, %c10 : i32
      tir.if %1 {
        %x = tir.load %A[%k] : memref<10xf32>
        tir.store %x, %t[%k] : memref<10xf32>
      }
    }
    tir.for vectorized "j" %j : i32 in [0 +: 4] {
      %c4 = arith.constant 4 : i32
      %0 = arith.muli %i, %c4 : i32
      %k = arith.addi %0, %j : i32
      %c10 = arith.constant 10 : i32
      %1 = arith.cmpi slt, %k, %c10 : i32
      tir.if %1 {
        %x = tir.load %t[%k] : memref<10xf32>
        tir.store %x, %B[%k] : memref<10xf32>
      }
    }
  }
}
// CHECK:       tir.func @tiles(
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: 2] {
// CHECK-NEXT:      %t = tir.alloc_buffer "T"
// CHECK-NEXT:      tir.for vectorized "j" %j : i32 in [0 +: 4] {
// CHECK-NOT:         tir.if
// CHECK:         %t_1 = tir.alloc_buffer "T"
// CHECK-NEXT:    tir.for vectorized "j" %{{.+}} : i32 in [0 +: 2] {
// CHECK-NOT:       tir.if
// CHECK:         tir.for vectorized "j" %{{.+}} : i32 in [0 +: 2] {
// CHECK-NOT:       tir.if
// LIMIT:       tir.func @tiles(
// LIMIT-NEXT:    tir.for serial "i" %i : i32 in [0 +: 3] {
// LIMIT:           tir.if

// The border of an image, on both sides.
tir.func @border("A" %A: memref<6xf32>, "B" %B: memref<8xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %c1 = arith.constant 1 : i32
    %c7 = arith.constant 7 : i32
    %0 = arith.cmpi sge, %i, %c1 : i32
    %1 = arith.cmpi slt, %i, %c7 : i32
    %2 = arith.andi %0, %1 : i1
    %x = tir.if_then_else %2 {
      %c1_1 = arith.constant 1 : i32
      %3 = arith.subi %i, %c1_1 : i32
      %y = tir.load %A[%3] : memref<6xf32>
      tir.yield %y : f32
    } else {
      %z = arith.constant 0.0 : f32
      tir.yield %z : f32
    } : f32
    tir.store %x, %B[%i] : memref<8xf32>
  }
}
// CHECK:       tir.func @border(
// CHECK-NOT:     tir.if_then_else
// CHECK:         tir.for serial "i" %{{.+}} : i32 in [1 +: 6] {
// CHECK-NOT:       tir.if_then_else
// CHECK:         }
// CHECK-NOT:     tir.if_then_else
// CHECK:       tir.func @init(

// The init of a reduction is tested in the first iteration alone.
tir.func @init("A" %A: memref<8xf32>, "B" %B: memref<1xf32>) {
  tir.for serial "k" %k : i32 in [0 +: 8] {
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi eq, %k, %c0 : i32
    tir.if %0 {
      %z = arith.constant 0.0 : f32
      tir.store %z, %B[%c0] : memref<1xf32>
    }
    %x = tir.load %A[%k] : memref<8xf32>
    %y = tir.load %B[%c0] : memref<1xf32>
    %s = arith.addf %x, %y : f32
    tir.store %s, %B[%c0] : memref<1xf32>
  }
}
// CHECK-NOT:     tir.if
// CHECK:         tir.for serial "k" %{{.+}} : i32 in [1 +: 7] {
// CHECK-NOT:       tir.if
// CHECK:       tir.func @periodic(

// A condition that changes all the time divides nothing.
tir.func @periodic("B" %B: memref<64xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 64] {
    %c4 = arith.constant 4 : i32
    %r = arith.remsi %i, %c4 : i32
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi eq, %r, %c0 : i32
    tir.if %0 {
      %z = arith.constant 0.0 : f32
      tir.store %z, %B[%i] : memref<64xf32>
    }
  }
}
// CHECK-NEXT:    tir.for serial "i" %{{.+}} : i32 in [0 +: 64] {
// CHECK:       tir.func @dynamic(

// A constant threshold in a loop of symbolic extent: the condition is known on both sides.
tir.func @dynamic("n" %n: i32, "B" %B: memref<8xf32>) {
  tir.for serial "i" %i : i32 in [0 +: %n] {
    %c7 = arith.constant 7 : i32
    %0 = arith.cmpi slt, %i, %c7 : i32
    tir.if %0 {
      %z = arith.constant 0.0 : f32
      tir.store %z, %B[%i] : memref<8xf32>
    }
  }
}
// CHECK-NEXT:    %[[seven:.+]] = arith.constant 7 : i32
// CHECK-NEXT:    %[[end:.+]] = arith.minsi %[[seven]], %n : i32
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: %[[end]]] {
// CHECK-NEXT:      %z = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      tir.store %z, %B[%i] : memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// Tiles of 32 rows of n: n // 32 are whole, and the last one has conditions.
tir.func @symbolic("a" %a: !tir.handle, "b" %b: !tir.handle) {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
  %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<?xf32>
  %c31 = arith.constant 31 : i32
  %c32 = arith.constant 32 : i32
  %more = arith.addi %n, %c31 : i32
  %tiles = arith.floordivsi %more, %c32 : i32
  tir.for serial "i" %i : i32 in [0 +: %tiles] {
    tir.for vectorized "j" %j : i32 in [0 +: 32] {
      %c32_1 = arith.constant 32 : i32
      %0 = arith.muli %i, %c32_1 : i32
      %k = arith.addi %0, %j : i32
      %1 = arith.cmpi slt, %k, %n : i32
      tir.if %1 {
        %x = tir.load %A[%k] : memref<?xf32>
        tir.store %x, %B[%k] : memref<?xf32>
      }
    }
  }
}
// CHECK-NEXT:  tir.func @symbolic(
// CHECK:         %[[whole:.+]] = arith.floordivsi %n, %{{.+}} : i32
// CHECK-NEXT:    tir.for serial "i" %{{.+}} : i32 in [0 +: %[[whole]]] {
// CHECK-NEXT:      tir.for vectorized "j"
// CHECK-NOT:         tir.if
// CHECK:         tir.for serial "i" %{{.+}} : i32 in [%{{.+}} +: %{{.+}}] {
// CHECK-NEXT:      tir.for vectorized "j"
// CHECK:             tir.if
// CHECK:       tir.func @between(

// Where another symbol determines the unknown iterations, or numbers may wrap, a loop stays whole.
tir.func @between("n" %n: i32, "m" %m: i32, "B" %B: memref<99xf32>, "x" %x: f32) {
  tir.for serial "i" %i : i32 in [0 +: %n] {
    tir.for serial "j" %j : i32 in [0 +: %m] {
      %c50 = arith.constant 50 : i32
      %k = arith.addi %i, %j : i32
      %0 = arith.cmpi slt, %k, %c50 : i32
      tir.if %0 {
        tir.store %x, %B[%k] : memref<99xf32>
      }
    }
  }
}
// CHECK-NEXT:    tir.for serial "i" %{{.+}} : i32 in [0 +: %n] {
// CHECK-NEXT:      tir.for serial "j"
// CHECK:             tir.if

// The number of rows is compared once for each row: the loop over tiles of rows stays whole, the loop over columns in
// tiles is divided.
tir.func @rows("a" %a: !tir.handle, "x" %x: f32) {
  %n = tir.symbol "n" : i32
  %m = tir.symbol "m" : i32
  %A = tir.match_buffer "A" %a dims [%n, %m] : !tir.handle -> memref<?x?xf32>
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %0 = arith.addi %n, %c7 : i32
  %rows = arith.floordivsi %0, %c8 : i32
  %1 = arith.addi %m, %c7 : i32
  %columns = arith.floordivsi %1, %c8 : i32
  tir.for serial "i" %i : i32 in [0 +: %rows] {
    tir.for serial "i_1" %i_1 : i32 in [0 +: 8] {
      tir.for serial "j" %j : i32 in [0 +: %columns] {
        tir.for vectorized "j_1" %j_1 : i32 in [0 +: 8] {
          %c8_1 = arith.constant 8 : i32
          %2 = arith.muli %i, %c8_1 : i32
          %r = arith.addi %2, %i_1 : i32
          %3 = arith.muli %j, %c8_1 : i32
          %c = arith.addi %3, %j_1 : i32
          %4 = arith.cmpi slt, %r, %n : i32
          %5 = arith.cmpi slt, %c, %m : i32
          %6 = arith.andi %4, %5 : i1
          tir.if %6 {
            tir.store %x, %A[%r, %c] : memref<?x?xf32>
          }
        }
      }
    }
  }
}
// CHECK:       tir.func @rows(
// CHECK:         tir.for serial "i"
// CHECK-NEXT:      tir.for serial "i_1" %{{.+}} : i32 in [0 +: 8] {
// CHECK:             tir.for serial "j"
// CHECK:               tir.if
// CHECK:             tir.for serial "j"
// CHECK:               tir.if
// CHECK-NOT:     tir.for serial "i"

// The only statement of a loop, a branch, is taken in its first iterations, of which the first one is divided.
tir.func @limit("n" %n: i32, "A" %A: memref<16xf32>, "S" %S: memref<1xf32>) {
  tir.for serial "k" %k : i32 in [0 +: 16] {
    %0 = arith.cmpi slt, %k, %n : i32
    tir.if %0 {
      %c0 = arith.constant 0 : i32
      %1 = arith.cmpi eq, %k, %c0 : i32
      tir.if %1 {
        %z = arith.constant 0.0 : f32
        tir.store %z, %S[%c0] : memref<1xf32>
      }
      %s = tir.load %S[%c0] : memref<1xf32>
      %a = tir.load %A[%k] : memref<16xf32>
      %r = arith.addf %s, %a : f32
      tir.store %r, %S[%c0] : memref<1xf32>
    }
  }
}
// CHECK:       tir.func @limit(
// CHECK:         tir.if %{{.+}} {
// CHECK:         %[[end:.+]] = arith.minsi %n, %{{.+}} : i32
// CHECK:         tir.for serial "k" %{{.+}} : i32 in [1 +: %{{.+}}] {
// CHECK-NOT:       tir.if
// CHECK:         }
// CHECK-NEXT:  }

// The ranges of a parallel loop are the sides of a branch, and threads share all iterations.
tir.func @shared("A" %A: memref<10xf32>) {
  tir.for parallel "i" %i : i32 in [0 +: 3] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      %c4 = arith.constant 4 : i32
      %0 = arith.muli %i, %c4 : i32
      %k = arith.addi %0, %j : i32
      %c10 = arith.constant 10 : i32
      %1 = arith.cmpi slt, %k, %c10 : i32
      tir.if %1 {
        %z = arith.constant 0.0 : f32
        tir.store %z, %A[%k] : memref<10xf32>
      }
    }
  }
}
// CHECK:       tir.func @shared(
// CHECK:         tir.for parallel "i" %[[i:.+]] : i32 in [0 +: 3] {
// CHECK:           arith.cmpi slt, %[[i]], %{{.+}} : i32
// CHECK-NEXT:      tir.if %{{.+}} {
// CHECK-NEXT:        tir.for serial "j" %{{.+}} : i32 in [0 +: 4] {
// CHECK-NOT:           tir.if
// CHECK:           } else {
// CHECK-NEXT:        tir.for serial "j" %{{.+}} : i32 in [0 +: 2] {
// CHECK-NOT:           tir.if
