// RUN: stepwell-opt %s -p canonicalize --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p canonicalize --split-input-file | filecheck %s

// CHECK-LABEL: tir.func @branches
tir.func @branches("A" %A: memref<8xi32>, "n" %n: i32, "c" %c: i1) {
  %true = arith.constant true
  %false = arith.constant false
  // CHECK-NEXT: tir.store %n, %A[%n]
  tir.if %true {
    tir.store %n, %A[%n] : memref<8xi32>
  } else {
    tir.assert %c, "not run"
  }
  tir.if %false {
    tir.assert %c, "not run"
  }
  tir.if %c {
  }
  // CHECK-NEXT: tir.if %c {
  tir.if %c {
    tir.store %n, %A[%n] : memref<8xi32>
  }
  // CHECK: }
  // CHECK-NEXT: %[[x:.*]] = tir.load %A[%n]
  // CHECK-NEXT: tir.store %[[x]], %A[%n]
  %v = tir.if_then_else %false {
    tir.yield %n : i32
  } else {
    %x = tir.load %A[%n] : memref<8xi32>
    tir.yield %x : i32
  } : i32
  tir.store %v, %A[%n] : memref<8xi32>
  // CHECK-NEXT: tir.store %n, %A[%n]
  %w = tir.if_then_else %c {
    tir.yield %n : i32
  } else {
    tir.yield %n : i32
  } : i32
  tir.store %w, %A[%n] : memref<8xi32>
  // CHECK-NEXT: tir.assert %c, "may fail"
  tir.assert %true, "holds"
  tir.assert %c, "may fail"
  // CHECK-NEXT: }
  tir.while {
    tir.yield %false : i1
  } do {
    tir.store %n, %A[%n] : memref<8xi32>
  }
}

// -----

// CHECK-LABEL: tir.func @loops
tir.func @loops("A" %A: memref<8xi32>) {
  // CHECK-NEXT: tir.for thread_binding "t" %t : i32 in [0 +: 0] thread "threadIdx.x" {
  // CHECK-NEXT:   tir.store
  // CHECK-NEXT: }
  // CHECK-NEXT: tir.for serial "k" %k : i32 in [0 +: 4] {
  tir.for serial "i" %i : i32 in [2 +: 0] {
    tir.store %i, %A[%i] : memref<8xi32>
  }
  tir.for parallel "j" %j : i32 in [0 +: 8] {
  }
  tir.for thread_binding "t" %t : i32 in [0 +: 0] thread "threadIdx.x" {
    tir.store %t, %A[%t] : memref<8xi32>
  }
  %n = arith.constant 4 : i32
  tir.for serial "k" %k : i32 in [0 +: %n] {
    tir.store %k, %A[%k] : memref<8xi32>
  }
  // CHECK: tir.launch_thread "tx" %tx : i32 in 4 thread "threadIdx.x"
  tir.launch_thread "tx" %tx : i32 in %n thread "threadIdx.x" {
    tir.store %tx, %A[%tx] : memref<8xi32>
  }
}

// -----

// CHECK-LABEL: tir.func @blocks
tir.func @blocks("A" %A: memref<8xi32>, "n" %n: i32, "c" %c: i1) {
  %true = arith.constant true
  %false = arith.constant false
  %four = arith.constant 4 : i32
  // CHECK-NEXT: tir.block "always" (spatial "v" %v : i32 in [0 +: 4] = %n) {
  // CHECK-NEXT:   tir.access writes %A[4 +: 4]
  tir.block "always" (spatial "v" %v : i32 in [0 +: %four] = %n) where %true {
    tir.access writes %A[%four +: %four] : memref<8xi32>
    tir.store %v, %A[%v] : memref<8xi32>
  }
  // CHECK-NOT: "never"
  tir.block "never" (spatial "v" %v : i32 in [0 +: 8] = %n) where %false {
    tir.store %v, %A[%v] : memref<8xi32>
  }
  // CHECK: tir.block "maybe" (spatial "v" %{{.*}} : i32 in [0 +: 8] = %n) where %c {
  tir.block "maybe" (spatial "v" %v : i32 in [0 +: 8] = %n) where %c {
    tir.store %v, %A[%v] : memref<8xi32>
  }
}

// -----

// Casts, and operators that arith lacks, on constants.
// CHECK-LABEL: tir.func @values
tir.func @values("A" %A: memref<8xi32>, "F" %F: memref<8xf32>, "n" %n: i32, "x" %x: f32) {
  %c = arith.constant 252 : i32
  %i8 = tir.cast %c : i32 -> i8
  %a = tir.cast %i8 : i8 -> i32
  // CHECK-NEXT: %[[m4:.*]] = arith.constant -4 : i32
  // CHECK-NEXT: tir.store %[[m4]], %A[%n]
  tir.store %a, %A[%n] : memref<8xi32>
  %l = arith.constant 1.0 : f32
  %h = arith.constant 2.0 : f32
  %m = tir.max %l, %h : f32
  // CHECK-NEXT: %[[two:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK-NEXT: tir.store %[[two]], %F[%n]
  tir.store %m, %F[%n] : memref<8xf32>
  %minus = arith.constant -3 : i32
  %pos = arith.constant 4 : i32
  %r = tir.floormod %minus, %pos : i32
  // CHECK-NEXT: %[[mod:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: tir.store %[[mod]], %A[%n]
  tir.store %r, %A[%n] : memref<8xi32>
  %same = tir.cast %n : i32 -> i32
  // CHECK-NEXT: tir.store %n, %A[%n]
  tir.store %same, %A[%n] : memref<8xi32>
  %wide = tir.cast %n : i32 -> i64
  %back = tir.cast %wide : i64 -> i32
  // CHECK-NEXT: tir.store %n, %A[%n]
  tir.store %back, %A[%n] : memref<8xi32>
  %half = tir.cast %x : f32 -> f16
  %lost = tir.cast %half : f16 -> f32
  // CHECK: %[[lost:.*]] = tir.cast %{{.*}} : f16 -> f32
  // CHECK-NEXT: tir.store %[[lost]], %F[%n]
  tir.store %lost, %F[%n] : memref<8xf32>
}
