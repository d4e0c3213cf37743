// RUN: stepwell-opt %s -p convert-te-to-tir | filecheck %s

// A producer is allocated, a reduction becomes a block with an init.
te.func @rows attrs {tir.noalias = true} {
  %A = te.placeholder "A" [8, 4] : tensor<8x4xf32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8], spatial "k" %k : i32 in [0 +: 4]) : tensor<8x4xf32> {
    %0 = te.read %A[%i, %k] : tensor<8x4xf32>
    %1 = arith.mulf %0, %0 : f32
    te.yield %1 : f32
  }
  %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8], reduce "k" %k : i32 in [0 +: 4]) : tensor<8xf32> {
    %2 = te.read %B[%i, %k] : tensor<8x4xf32>
    te.yield %2 : f32
  } combine (%x : f32, %y : f32) {
    %3 = arith.addf %x, %y : f32
    te.yield %3 : f32
  } init (%j : i32) {
    %4 = arith.constant 0.000000e+00 : f32
    te.yield %4 : f32
  }
  te.params %A : tensor<8x4xf32>, %C : tensor<8xf32>
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @rows("A" %A: memref<8x4xf32>, "C" %C: memref<8xf32>) attrs {tir.noalias = true} {
// CHECK-NEXT:      %B = tir.alloc_buffer "B" : memref<8x4xf32>
// CHECK-NEXT:      tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:        tir.for serial "k" %k : i32 in [0 +: 4] {
// CHECK-NEXT:          tir.block "B" (spatial "v_i" %v_i : i32 in [0 +: 8] = %i, spatial "v_k" %v_k : i32 in [0 +: 4] = %k) {
// CHECK-NEXT:            tir.access reads %A[%v_i, %v_k] : memref<8x4xf32>
// CHECK-NEXT:            tir.access writes %B[%v_i, %v_k] : memref<8x4xf32>
// CHECK-NEXT:            %[[a:\d+]] = tir.load %A[%v_i, %v_k] : memref<8x4xf32>
// CHECK-NEXT:            %[[b:\d+]] = arith.mulf %[[a]], %[[a]] : f32
// CHECK-NEXT:            tir.store %[[b]], %B[%v_i, %v_k] : memref<8x4xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for serial "i" {{.*}} in [0 +: 8] {
// CHECK-NEXT:        tir.for serial "k" {{.*}} in [0 +: 4] {
// CHECK-NEXT:          tir.block "C" (spatial "v_i" %[[i:.*]] : i32 in [0 +: 8] = {{.*}}, reduce "v_k" %[[k:.*]] : i32 in [0 +: 4] = {{.*}}) {
// CHECK-NEXT:            tir.access reads %B[%[[i]], %[[k]]] : memref<8x4xf32>
// CHECK-NEXT:            tir.access writes %C[%[[i]]] : memref<8xf32>
// CHECK-NEXT:            tir.init {
// CHECK-NEXT:              %[[z:\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:              tir.store %[[z]], %C[%[[i]]] : memref<8xf32>
// CHECK-NEXT:            }
// CHECK-NEXT:            %[[x:\d+]] = tir.load %B[%[[i]], %[[k]]] : memref<8x4xf32>
// CHECK-NEXT:            %[[c:\d+]] = tir.load %C[%[[i]]] : memref<8xf32>
// CHECK-NEXT:            %[[s:\d+]] = arith.addf %[[c]], %[[x]] : f32
// CHECK-NEXT:            tir.store %[[s]], %C[%[[i]]] : memref<8xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A parameter whose size is found out when it is called is a handle; only steps that count are done.
te.func @some {
  %n = tir.symbol "n" : i32
  %A = te.placeholder "A" [%n] : tensor<?xi32>
  %B = te.compute "B" (reduce "k" %k : i32 in [0 +: %n]) : tensor<i32> {
    %0 = te.read %A[%k] : tensor<?xi32>
    %1 = arith.constant 2 : i32
    %2 = arith.cmpi sgt, %k, %1 : i32
    te.yield %0 : i32 where %2
  } combine (%x : i32, %y : i32) {
    %3 = arith.maxsi %x, %y : i32
    te.yield %3 : i32
  } init () {
    %4 = arith.constant -1 : i32
    te.yield %4 : i32
  }
  te.params %A : tensor<?xi32>, %B : tensor<i32>
}
// CHECK-LABEL: tir.func @some("A" %A: !tir.handle, "B" %B: memref<i32>) {
// CHECK-NEXT:      %n = tir.symbol "n" : i32
// CHECK-NEXT:      %[[A:.*]] = tir.match_buffer "A" %A dims [%n] : !tir.handle -> memref<?xi32>
// CHECK:           tir.if
// CHECK:             tir.load %[[A]]
// CHECK:             arith.maxsi
// CHECK:             tir.store

// A loop over time around the blocks of a row: first rows are computed where they are kept, stages have memory for one
// row, and a block has the time as an axis.
te.func @sums {
  %X = te.placeholder "X" [8, 4] : tensor<8x4xf32>
  %I = te.compute "I" (spatial "r" %r : i32 in [0 +: 1], spatial "i" %i : i32 in [0 +: 4]) : tensor<1x4xf32> {
    %0 = te.read %X[%r, %i] : tensor<8x4xf32>
    te.yield %0 : f32
  }
  %S = te.scan "S" time "t" init %I : tensor<1x4xf32> annotations {why = 1 : i32} (%t : i32, %s : tensor<8x4xf32>) {
    %V = te.compute "V" (spatial "i" %j : i32 in [0 +: 4]) : tensor<4xf32> {
      %one = arith.constant 1 : i32
      %before = arith.subi %t, %one : i32
      %1 = te.read %s[%before, %j] : tensor<8x4xf32>
      te.yield %1 : f32
    }
    %U = te.compute "U" (spatial "i" %k : i32 in [0 +: 4]) : tensor<4xf32> {
      %2 = te.read %V[%k] : tensor<4xf32>
      %3 = te.read %X[%t, %k] : tensor<8x4xf32>
      %4 = arith.addf %2, %3 : f32
      te.yield %4 : f32
    }
    te.yield %U : tensor<4xf32>
  }
  te.params %X : tensor<8x4xf32>, %S : tensor<8x4xf32>
}
// CHECK-LABEL: tir.func @sums("X" %X: memref<8x4xf32>, "S" %S: memref<8x4xf32>) {
// CHECK-NEXT:      %V = tir.alloc_buffer "V" : memref<4xf32>
// CHECK:           tir.block "I"
// CHECK:             tir.store %{{.+}}, %S[%{{.+}}, %{{.+}}] : memref<8x4xf32>
// CHECK:           tir.for serial "t" %[[t:.+]] : i32 in [1 +: 7] annotations {why = 1 : i32} {
// CHECK-NEXT:        tir.for serial "i" %[[j:.+]] : i32 in [0 +: 4] {
// CHECK-NEXT:          tir.block "V" (scan "v_t" %[[vt:.+]] : i32 in [1 +: 7] = %[[t]], spatial "v_i" %[[vj:.+]] : i32 in [0 +: 4] = %[[j]]) {
// CHECK:                 tir.access writes %V[%[[vj]]] : memref<4xf32>
// CHECK:                 %[[before:.+]] = arith.subi %[[vt]],
// CHECK-NEXT:            %[[last:.+]] = tir.load %S[%[[before]], %[[vj]]] : memref<8x4xf32>
// CHECK-NEXT:            tir.store %[[last]], %V[%[[vj]]] : memref<4xf32>
// CHECK:               tir.block "U" (scan "v_t" %[[ut:.+]] : i32 in [1 +: 7] = %[[t]], spatial "v_i" %[[uk:.+]] : i32
// CHECK:                 tir.load %V[%[[uk]]] : memref<4xf32>
// CHECK-NEXT:            tir.load %X[%[[ut]], %[[uk]]] : memref<8x4xf32>
// CHECK:                 tir.store %{{.+}}, %S[%[[ut]], %[[uk]]] : memref<8x4xf32>

// First rows that are a parameter are copied; a reduction of the tensor that it gives rows of has memory of its own.
// Where sizes are not known, only rows that there are.
te.func @powers {
  %m = tir.symbol "m" : i32
  %I = te.placeholder "I" [1, 4] : tensor<1x4xf32>
  %S = te.scan "S" time "t" init %I : tensor<1x4xf32> dims [%m] (%t : i32, %s : tensor<?x4xf32>) {
    %U = te.compute "U" (spatial "i" %i : i32 in [0 +: 4], reduce "k" %k : i32 in [0 +: 4]) : tensor<4xf32> {
      %one = arith.constant 1 : i32
      %before = arith.subi %t, %one : i32
      %0 = te.read %s[%before, %k] : tensor<?x4xf32>
      te.yield %0 : f32
    } combine (%x : f32, %y : f32) {
      %1 = arith.addf %x, %y : f32
      te.yield %1 : f32
    } init (%j : i32) {
      %2 = arith.constant 0.000000e+00 : f32
      te.yield %2 : f32
    }
    te.yield %U : tensor<4xf32>
  }
  te.params %I : tensor<1x4xf32>, %S : tensor<?x4xf32>
}
// CHECK-LABEL: tir.func @powers("I" %I: memref<1x4xf32>, "S" %S: !tir.handle) {
// CHECK:           %[[B:.+]] = tir.match_buffer "S" %S
// CHECK:           %U = tir.alloc_buffer "U" : memref<4xf32>
// CHECK:           %[[c:.+]] = arith.cmpi slt, %[[row:.+]], %m : i32
// CHECK-NEXT:      tir.block "S_init" (spatial "v_ax0" {{.*}} = %[[row]], spatial "v_ax1" {{.*}}) where %[[c]] {
// CHECK:           tir.block "U"
// CHECK:             tir.access reads %[[B]]
// CHECK:             tir.store %{{.+}}, %U
// CHECK:           tir.block "S"
// CHECK:             tir.load %U
// CHECK:             tir.store %{{.+}}, %[[B]]

// A call is in a block without axes that reads all of its inputs and writes all of its results.
te.func @calls {
  %m = tir.symbol "m" : i32
  %A = te.placeholder "A" [%m] : tensor<?xf32>
  %B, %C = te.extern "B" in %A : tensor<?xf32> dims [%m] annotations {why = 1 : i32} (%a : memref<?xf32>, %b : memref<?xf32>, %c : memref<8xi32>) {
    tir.call_packed "sort"(%a, %b, %c, %m) : memref<?xf32>, memref<?xf32>, memref<8xi32>, i32
  }
  te.params %A : tensor<?xf32>, %C : tensor<8xi32>
}
// CHECK-LABEL: tir.func @calls("A" %A: !tir.handle, "B_v1" %B_v1: memref<8xi32>) {
// CHECK:           %[[A:.+]] = tir.match_buffer "A" %A
// CHECK:           %[[B:.+]] = tir.alloc_buffer "B_v0" dims [%m] : memref<?xf32>
// CHECK-NEXT:      tir.block "B" () annotations {why = 1 : i32} {
// CHECK-NEXT:        tir.access reads %[[A]][0 +: %m] : memref<?xf32>
// CHECK-NEXT:        tir.access writes %[[B]][0 +: %m] : memref<?xf32>
// CHECK-NEXT:        tir.access writes %B_v1[0 +: 8] : memref<8xi32>
// CHECK-NEXT:        tir.call_packed "sort"(%[[A]], %[[B]], %B_v1, %m) : memref<?xf32>, memref<?xf32>, memref<8xi32>, i32
// CHECK-NEXT:      }

// Statements with blocks of their own are in no other block.
te.func @nests {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.extern "B" in %A : tensor<8xf32> dims [] (%a : memref<8xf32>, %b : memref<8xf32>) {
    tir.for serial "i" %i : i32 in [0 +: 8] {
      tir.block "B" (spatial "v_i" %v_i : i32 in [0 +: 8] = %i) {
        %x = tir.load %a[%v_i] : memref<8xf32>
        tir.store %x, %b[%v_i] : memref<8xf32>
      }
    }
  }
  te.params %A : tensor<8xf32>, %B : tensor<8xf32>
}
// CHECK-LABEL: tir.func @nests("A" %A: memref<8xf32>, "B" %B: memref<8xf32>) {
// CHECK-NEXT:      tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:        tir.block "B" (spatial "v_i" %v_i : i32 in [0 +: 8] = %i) {
// CHECK-NEXT:          tir.access reads %A[%v_i] : memref<8xf32>
// CHECK-NEXT:          tir.access writes %B[%v_i] : memref<8xf32>
