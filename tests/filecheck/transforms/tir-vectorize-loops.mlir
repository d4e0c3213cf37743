// RUN: stepwell-opt %s -p tir-vectorize-loops | filecheck %s
// RUN: stepwell-opt %s -p "tir-vectorize-loops{max-lanes=4}" | filecheck %s --check-prefix=FEWER
// RUN: stepwell-opt %s -p "tir-vectorize-loops{masks=true}" | filecheck %s --check-prefix=MASKS
// RUN: stepwell-opt %s -p "tir-vectorize-loops{vector-bytes=0}" | filecheck %s --check-prefix=SERIAL

// The variable is a ramp, what does not depend on it is broadcast.
tir.func @add("A" %A: memref<16xf32>, "B" %B: memref<16xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for vectorized "i" %i : i32 in [0 +: 8] {
    %j = arith.addi %n, %i : i32
    %a = tir.load %A[%j] : memref<16xf32>
    %b = arith.addf %a, %x : f32
    tir.store %b, %B[%i] : memref<16xf32>
  }
}
// CHECK:         tir.func @add(
// CHECK-NEXT:      %[[one:.*]] = arith.constant 1 : i32
// CHECK-NEXT:      %[[r:.*]] = tir.ramp %n, %[[one]] : vector<8xi32>
// CHECK-NEXT:      %[[a:.*]] = tir.load %A[%[[r]] : vector<8xi32>] : memref<16xf32>
// CHECK-NEXT:      %[[x:.*]] = vector.broadcast %x : f32 to vector<8xf32>
// CHECK-NEXT:      %[[b:.*]] = arith.addf %[[a]], %[[x]] : vector<8xf32>
// CHECK-NEXT:      %[[zero:.*]] = arith.constant 0 : i32
// CHECK-NEXT:      %[[step:.*]] = arith.constant 1 : i32
// CHECK-NEXT:      %[[s:.*]] = tir.ramp %[[zero]], %[[step]] : vector<8xi32>
// CHECK-NEXT:      tir.store %[[b]], %B[%[[s]] : vector<8xi32>] : memref<16xf32>
// CHECK-NEXT:    }

// FEWER:         tir.func @add(
// FEWER:           tir.for serial "i" %{{.*}} : i32 in [0 +: 8] step 4 {
// FEWER:             tir.store %{{.*}}, %B[%{{.*}} : vector<4xi32>] : memref<16xf32>

// A branch on lanes: predicates.
tir.func @tail("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for vectorized "i" %i : i32 in [0 +: 8] {
    %c = arith.cmpi slt, %i, %n : i32
    tir.if %c {
      tir.store %x, %A[%i] : memref<8xf32>
    }
  }
}
// CHECK-NEXT:    tir.func @tail(
// CHECK:           %[[c:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK:           tir.store %{{.*}}, %A[%{{.*}} : vector<8xi32>] if %[[c]] : vector<8xi1> : memref<8xf32>
// CHECK-NEXT:    }

// A column: the lanes are in the first index. A statement that stores a vector already stays in a serial loop.
tir.func @column("A" %A: memref<8x8xf32>, "C" %C: memref<8x8xf32>, "B" %B: memref<8xf32>, "x" %x: f32, "j" %j: i32) {
  tir.for vectorized "i" %i : i32 in [0 +: 8] annotations {a = 1 : i32} {
    tir.store %x, %B[%i] : memref<8xf32>
    tir.store %x, %A[%i, %j] : memref<8x8xf32>
    %v = vector.broadcast %x : f32 to vector<8xf32>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = tir.ramp %zero, %one : vector<8xi32>
    tir.store %v, %C[%i, %r : vector<8xi32>] : memref<8x8xf32>
  }
}
// CHECK-NEXT:    tir.func @column(
// CHECK:           tir.store %{{.*}}, %B[%{{.*}} : vector<8xi32>] : memref<8xf32>
// CHECK:           tir.store %{{.*}}, %A[%{{.*}} : vector<8xi32>, %j] : memref<8x8xf32>
// CHECK:           tir.for serial "i" %[[i:.*]] : i32 in [0 +: 8] annotations {a = 1 : i32} {
// CHECK:             tir.store %{{.*}}, %C[%[[i]], %{{.*}} : vector<8xi32>] : memref<8x8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A reduction: each lane has a partial result during both loops, and the lanes are combined by halves.
tir.func @sum("A" %A: memref<32xf32>, "s" %s: memref<1xf32>) attrs {tir.noalias = true} {
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.for vectorized "i" %i : i32 in [0 +: 4] {
      %four = arith.constant 4 : i32
      %zero = arith.constant 0 : i32
      %row = arith.muli %k, %four : i32
      %j = arith.addi %row, %i : i32
      %a = tir.load %A[%j] : memref<32xf32>
      %old = tir.load %s[%zero] : memref<1xf32>
      %new = arith.addf %old, %a : f32
      tir.store %new, %s[%zero] : memref<1xf32>
    }
  }
}
// CHECK-NEXT:    tir.func @sum(
// CHECK-NEXT:      %[[p:.*]] = tir.alloc_buffer "s" : memref<4xf32, "local">
// CHECK-NEXT:      %[[zero:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:      %[[start:.*]] = vector.broadcast %[[zero]] : f32 to vector<4xf32>
// CHECK:           tir.store %[[start]], %[[p]][%{{.*}} : vector<4xi32>] : memref<4xf32, "local">
// CHECK-NEXT:      tir.for serial "k"
// CHECK:             %[[a:.*]] = tir.load %A[%{{.*}} : vector<4xi32>] : memref<32xf32>
// CHECK:             %[[old:.*]] = tir.load %[[p]][%{{.*}} : vector<4xi32>] : memref<4xf32, "local">
// CHECK-NEXT:        %[[new:.*]] = arith.addf %[[old]], %[[a]] : vector<4xf32>
// CHECK:             tir.store %[[new]], %[[p]][%{{.*}} : vector<4xi32>] : memref<4xf32, "local">
// CHECK-NEXT:      }
// CHECK:           %[[all:.*]] = tir.let "s" %{{.*}} : vector<4xf32>
// CHECK-NEXT:      %[[low:.*]] = tir.shuffle %[[all]] [0, 1]
// CHECK-NEXT:      %[[high:.*]] = tir.shuffle %[[all]] [2, 3]
// CHECK-NEXT:      arith.addf %[[low]], %[[high]] : vector<2xf32>
// CHECK:           %[[s:.*]] = tir.load %s[%{{.*}}] : memref<1xf32>
// CHECK-NEXT:      %[[sum:.*]] = arith.addf %[[s]], %{{.*}} : f32
// CHECK:           tir.store %[[sum]], %s[%{{.*}}] : memref<1xf32>
// CHECK-NEXT:    }

// One iteration is its statements, none is nothing; other kinds stay.
tir.func @others("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for vectorized "i" %i : i32 in [%n +: 1] {
    tir.store %x, %A[%i] : memref<8xf32>
  }
  tir.for vectorized "i" %i : i32 in [0 +: 0] {
    tir.store %x, %A[%i] : memref<8xf32>
  }
  tir.for parallel "i" %i : i32 in [0 +: 8] {
    tir.store %x, %A[%i] : memref<8xf32>
  }
}
// CHECK-NEXT:    tir.func @others(
// CHECK-NEXT:      tir.store %x, %A[%n] : memref<8xf32>
// CHECK-NEXT:      tir.for parallel "i"
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// An unknown number of iterations: a loop over whole vectors, and a serial loop or a vector with a mask.
tir.func @symbolic("A" %A: memref<99xf64>, "x" %x: f64, "n" %n: i32) {
  tir.for vectorized "i" %i : i32 in [3 +: %n] {
    tir.store %x, %A[%i] : memref<99xf64>
  }
}
// CHECK-NEXT:    tir.func @symbolic(
// CHECK-NEXT:      %[[zero:.*]] = arith.constant 0 : i32
// CHECK-NEXT:      %[[size:.*]] = arith.maxsi %n, %[[zero]] : i32
// CHECK-NEXT:      %[[eight:.*]] = arith.constant 8 : i32
// CHECK-NEXT:      %[[chunks:.*]] = arith.floordivsi %[[size]], %[[eight]] : i32
// CHECK-NEXT:      %[[lanes:.*]] = arith.constant 8 : i32
// CHECK-NEXT:      %[[whole:.*]] = arith.muli %[[chunks]], %[[lanes]] : i32
// CHECK-NEXT:      tir.for serial "i" %[[i:.*]] : i32 in [3 +: %[[whole]]] step 8 {
// CHECK:             %[[r:.*]] = tir.ramp %[[i]], %{{.*}} : vector<8xi32>
// CHECK-NEXT:        tir.store %{{.*}}, %A[%[[r]] : vector<8xi32>] : memref<99xf64>
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[low:.*]] = arith.constant 3 : i32
// CHECK-NEXT:      %[[first:.*]] = arith.addi %[[low]], %[[whole]] : i32
// CHECK-NEXT:      %[[rest:.*]] = arith.subi %n, %[[whole]] : i32
// CHECK-NEXT:      tir.for serial "i" %[[j:.*]] : i32 in [%[[first]] +: %[[rest]]] {
// CHECK-NEXT:        tir.store %x, %A[%[[j]]] : memref<99xf64>
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// MASKS:         tir.func @symbolic(
// MASKS:           tir.for serial "i" %{{.*}} : i32 in [3 +: %[[whole:.*]]] step 8 {
// MASKS:           %[[rest:.*]] = arith.subi %n, %[[whole]] : i32
// MASKS:           %[[any:.*]] = arith.cmpi sgt, %[[rest]], %{{.*}} : i32
// MASKS-NEXT:      tir.if %[[any]] {
// MASKS:             %[[mask:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<8xi32>
// MASKS:             tir.store %{{.*}}, %A[%{{.*}} : vector<8xi32>] if %[[mask]] : vector<8xi1> : memref<99xf64>
// MASKS-NEXT:      }
// MASKS-NEXT:    }

// SERIAL:        tir.func @symbolic(
// SERIAL-NEXT:     tir.for serial "i" %[[i:.*]] : i32 in [3 +: %n] {
// SERIAL-NEXT:       tir.store %x, %A[%[[i]]] : memref<99xf64>
// SERIAL-NEXT:     }
// SERIAL-NEXT:   }

// The lanes of 8 consecutive numbers from a multiple of 8 have one quotient by 16, and consecutive remainders; by 12
// they may have two.
tir.func @divisions("A" %A: memref<4x16xf32>, "B" %B: memref<99xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for vectorized "i" %i : i32 in [0 +: 8] {
    %c8 = arith.constant 8 : i32
    %first = arith.muli %n, %c8 : i32
    %k = arith.addi %first, %i : i32
    %c16 = arith.constant 16 : i32
    %q = arith.floordivsi %k, %c16 : i32
    %r = tir.floormod %k, %c16 : i32
    tir.store %x, %A[%q, %r] : memref<4x16xf32>
  }
  tir.for vectorized "i" %i : i32 in [0 +: 8] {
    %c8 = arith.constant 8 : i32
    %first = arith.muli %n, %c8 : i32
    %k = arith.addi %first, %i : i32
    %c12 = arith.constant 12 : i32
    %r = tir.floormod %k, %c12 : i32
    tir.store %x, %B[%r] : memref<99xf32>
  }
}
// CHECK:         tir.func @divisions(
// CHECK:           %[[first:.*]] = arith.muli %n, %{{.*}} : i32
// CHECK:           %[[q:.*]] = arith.floordivsi %[[first]], %{{.*}} : i32
// CHECK:           %[[m:.*]] = tir.floormod %[[first]], %{{.*}} : i32
// CHECK:           %[[r:.*]] = tir.ramp %[[m]], %{{.*}} : vector<8xi32>
// CHECK-NEXT:      tir.store %{{.*}}, %A[%[[q]], %[[r]] : vector<8xi32>] : memref<4x16xf32>
// CHECK:           %[[r:.*]] = tir.floormod %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK:           tir.store %{{.*}}, %B[%[[r]] : vector<8xi32>] : memref<99xf32>
