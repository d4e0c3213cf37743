// RUN: STEPWELL_ROUNDTRIP

// Given tensors, one with a size that is known when the function is called, and an element for each index.
te.func @elements attrs {tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = te.placeholder "A" [%n, 8] : tensor<?x8xf32>
  %b = te.placeholder "b" [] : tensor<f32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: %n], spatial "j" %j : i32 in [0 +: 8]) tag "injective" annotations {key = 1 : i32} : tensor<?x8xf32> {
    %0 = te.read %A[%i, %j] : tensor<?x8xf32>
    %1 = te.read %b[] : tensor<f32>
    %2 = arith.addf %0, %1 : f32
    te.yield %2 : f32
  }
  te.params %A : tensor<?x8xf32>, %b : tensor<f32>, %B : tensor<?x8xf32>
}
// CHECK-LABEL: te.func @elements attrs {tir.noalias = true} {
// CHECK-NEXT:    %n = tir.symbol "n" : i32
// CHECK-NEXT:    %A = te.placeholder "A" [%n, 8] : tensor<?x8xf32>
// CHECK-NEXT:    %b = te.placeholder "b" [] : tensor<f32>
// CHECK-NEXT:    %B = te.compute "B" (spatial "i" %i : i32 in [0 +: %n], spatial "j" %j : i32 in [0 +: 8]) tag "injective" annotations {key = 1 : i32} : tensor<?x8xf32> {
// CHECK-NEXT:      %0 = te.read %A[%i, %j] : tensor<?x8xf32>
// CHECK-NEXT:      %1 = te.read %b[] : tensor<f32>
// CHECK-NEXT:      %2 = arith.addf %0, %1 : f32
// CHECK-NEXT:      te.yield %2 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    te.params %A : tensor<?x8xf32>, %b : tensor<f32>, %B : tensor<?x8xf32>
// CHECK-NEXT:  }

// A reduction: how two values become one, and what it starts from for each element. Only some of its steps count.
te.func @sums {
  %A = te.placeholder "A" [8, 4] : tensor<8x4xf32>
  %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8], reduce "k" %k : i32 in [1 +: 3]) : tensor<8xf32> {
    %0 = te.read %A[%i, %k] : tensor<8x4xf32>
    %1 = arith.cmpi slt, %k, %i : i32
    te.yield %0 : f32 where %1
  } combine (%x : f32, %y : f32) {
    %2 = arith.addf %x, %y : f32
    te.yield %2 : f32
  } init (%j : i32) {
    %3 = arith.constant 0.000000e+00 : f32
    te.yield %3 : f32
  }
  te.params %A : tensor<8x4xf32>, %C : tensor<8xf32>
}
// CHECK-LABEL: te.func @sums {
// CHECK:         %C = te.compute "C" (spatial "i" %i : i32 in [0 +: 8], reduce "k" %k : i32 in [1 +: 3]) : tensor<8xf32> {
// CHECK-NEXT:      %0 = te.read %A[%i, %k] : tensor<8x4xf32>
// CHECK-NEXT:      %1 = arith.cmpi slt, %k, %i : i32
// CHECK-NEXT:      te.yield %0 : f32 where %1
// CHECK-NEXT:    } combine (%x: f32, %y: f32) {
// CHECK-NEXT:      %2 = arith.addf %x, %y : f32
// CHECK-NEXT:      te.yield %2 : f32
// CHECK-NEXT:    } init (%j: i32) {
// CHECK-NEXT:      %3 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      te.yield %3 : f32
// CHECK-NEXT:    }

// Several tensors by one reduction, without spatial axes: the greatest number and where it is.
te.func @argmax {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %at, %most = te.compute "T" (reduce "k" %k : i32 in [0 +: 8]) : tensor<i32>, tensor<f32> {
    %0 = te.read %A[%k] : tensor<8xf32>
    te.yield %k : i32, %0 : f32
  } combine (%i : i32, %x : f32, %j : i32, %y : f32) {
    %1 = arith.cmpf oge, %x, %y : f32
    %2 = arith.select %1, %i, %j : i32
    %3 = arith.select %1, %x, %y : f32
    te.yield %2 : i32, %3 : f32
  } init () {
    %4 = arith.constant -1 : i32
    %5 = arith.constant -1.000000e+30 : f32
    te.yield %4 : i32, %5 : f32
  }
  te.params %A : tensor<8xf32>, %at : tensor<i32>, %most : tensor<f32>
}
// CHECK-LABEL: te.func @argmax {
// CHECK:         %at, %most = te.compute "T" (reduce "k" %k : i32 in [0 +: 8]) : tensor<i32>, tensor<f32> {
// CHECK:         } combine (%i: i32, %x: f32, %j: i32, %y: f32) {
// CHECK:         } init () {

// A function without parameters.
te.func @nothing {
  te.params
}
// CHECK-LABEL: te.func @nothing {
// CHECK-NEXT:    te.params
// CHECK-NEXT:  }

// Rows computed from rows, of two tensors at once; a stage between them; sizes of their own.
te.func @rows {
  %m = tir.symbol "m" : i32
  %n = tir.symbol "n" : i32
  %X = te.placeholder "X" [%m, %n] : tensor<?x?xf32>
  %I = te.placeholder "I" [1, %n] : tensor<1x?xf32>
  %J = te.placeholder "J" [1] : tensor<1xf32>
  %S, %T = te.scan "S" time "t" init %I : tensor<1x?xf32>, %J : tensor<1xf32> dims [%m, %n, %m] tag "sums" annotations {why = 1 : i32} (%t : i32, %s : tensor<?x?xf32>, %r : tensor<?xf32>) {
    %V = te.compute "V" () : tensor<f32> {
      %one = arith.constant 1 : i32
      %before = arith.subi %t, %one : i32
      %0 = te.read %r[%before] : tensor<?xf32>
      te.yield %0 : f32
    }
    %U = te.compute "U" (spatial "i" %i : i32 in [0 +: %n]) : tensor<?xf32> {
      %1 = te.read %X[%t, %i] : tensor<?x?xf32>
      %2 = te.read %V[] : tensor<f32>
      %3 = arith.addf %1, %2 : f32
      te.yield %3 : f32
    }
    te.yield %U : tensor<?xf32>, %V : tensor<f32>
  }
  te.params %X : tensor<?x?xf32>, %I : tensor<1x?xf32>, %J : tensor<1xf32>, %S : tensor<?x?xf32>, %T : tensor<?xf32>
}
// CHECK-LABEL: te.func @rows {
// CHECK:         %S, %T = te.scan "S" time "t" init %I : tensor<1x?xf32>, %J : tensor<1xf32> dims [%m, %n, %m] tag "sums" annotations {why = 1 : i32} (%t: i32, %s: tensor<?x?xf32>, %r: tensor<?xf32>) {
// CHECK-NEXT:      %V = te.compute "V" () : tensor<f32> {
// CHECK:           te.yield %U : tensor<?xf32>, %V : tensor<f32>
// CHECK-NEXT:    }

// Tensors that calls write, of what they read.
te.func @calls {
  %m = tir.symbol "m" : i32
  %A = te.placeholder "A" [%m] : tensor<?xf32>
  %B, %C = te.extern "B" in %A : tensor<?xf32> dims [%m] tag "sort" annotations {why = 1 : i32} (%a : memref<?xf32>, %b : memref<?xf32>, %c : memref<8xi32>) {
    %n = arith.constant 3 : i32
    tir.call_packed "sort"(%a, %b, %c, %n) : memref<?xf32>, memref<?xf32>, memref<8xi32>, i32
  }
  %D = te.extern "D" (%d : memref<f32>) {
  }
  te.params %A : tensor<?xf32>, %B : tensor<?xf32>, %C : tensor<8xi32>, %D : tensor<f32>
}
// CHECK-LABEL: te.func @calls {
// CHECK:         %B, %C = te.extern "B" in %A : tensor<?xf32> dims [%m] tag "sort" annotations {why = 1 : i32} (%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<8xi32>) {
// CHECK-NEXT:      %n = arith.constant 3 : i32
// CHECK-NEXT:      tir.call_packed "sort"(%a, %b, %c, %n) : memref<?xf32>, memref<?xf32>, memref<8xi32>, i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %D = te.extern "D" (%d: memref<f32>) {
