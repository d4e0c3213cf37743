// RUN: stepwell-opt %s -p tir-interleave-vthreads | filecheck %s
// RUN: stepwell-opt %s -p "tir-interleave-vthreads{serial=true}" | filecheck %s --check-prefix SERIAL

// Loops that are the same for all stay, once, and so does a statement that is; memory in which they store different
// values is there for each.
tir.func @statements("A" %A: memref<2x8xf32>, "S" %S: memref<8xf32>, "x" %x: f32) {
  %L = tir.alloc_buffer "L" : memref<8xf32, "local">
  tir.for thread_binding "v" %v : i32 in [0 +: 2] thread "vthread.x" {
    tir.for serial "k" %k : i32 in [0 +: 8] {
      tir.store %x, %S[%k] : memref<8xf32>
      %y = tir.load %A[%v, %k] : memref<2x8xf32>
      tir.store %y, %L[%k] : memref<8xf32, "local">
    }
    %c3 = arith.constant 3 : i32
    %z = tir.load %L[%c3] : memref<8xf32, "local">
    tir.store %z, %A[%v, %c3] : memref<2x8xf32>
  }
}
// CHECK-LABEL: tir.func @statements
// CHECK-NEXT:    %[[L:.+]] = tir.alloc_buffer "L" : memref<2x8xf32, "local">
// CHECK-NEXT:    tir.for serial "k" %k : i32 in [0 +: 8] {
// CHECK-NEXT:      tir.store %x, %S[%k] : memref<8xf32>
// CHECK-NEXT:      %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-NEXT:      %[[Y:.+]] = tir.load %A[%[[ZERO]], %k] : memref<2x8xf32>
// CHECK-NEXT:      tir.store %[[Y]], %[[L]][%[[ZERO]], %k] : memref<2x8xf32, "local">
// CHECK-NEXT:      %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT:      %[[Y:.+]] = tir.load %A[%[[ONE]], %k] : memref<2x8xf32>
// CHECK-NEXT:      tir.store %[[Y]], %[[L]][%[[ONE]], %k] : memref<2x8xf32, "local">
// CHECK-NEXT:    }
// CHECK:         tir.store %{{.+}}, %A[%{{.+}}, %{{.+}}] : memref<2x8xf32>
// CHECK:         tir.store %{{.+}}, %A[%{{.+}}, %{{.+}}] : memref<2x8xf32>
// CHECK-NEXT:  }
// SERIAL-LABEL: tir.func @statements
// SERIAL:        tir.for serial "v" %v : i32 in [0 +: 2] {
// SERIAL-NEXT:     tir.for serial "k"

// What differs between virtual threads is done by one after the other: a branch, and all that is behind a name.
tir.func @differ("A" %A: memref<20xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for thread_binding "v" %v : i32 in [0 +: 20] thread "vthread" {
    %p = arith.cmpi slt, %v, %n : i32
    tir.if %p {
      tir.store %x, %A[%v] : memref<20xf32>
    }
  }
}
// CHECK-LABEL: tir.func @differ
// CHECK-NEXT:    tir.for serial "v" %v : i32 in [0 +: 20] {
// CHECK-NEXT:      arith.cmpi slt, %v, %n : i32
// CHECK-NEXT:      tir.if

// A loop inside of another over the same virtual threads runs for the one that is there.
tir.func @same("A" %A: memref<2x2xf32>, "x" %x: f32) {
  tir.for thread_binding "v" %v : i32 in [0 +: 2] thread "vthread.x" {
    tir.for thread_binding "w" %w : i32 in [0 +: 2] thread "vthread.x" {
      tir.store %x, %A[%v, %w] : memref<2x2xf32>
    }
  }
}
// CHECK-LABEL: tir.func @same
// CHECK-NEXT:    %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-NEXT:    tir.store %x, %A[%[[ZERO]], %[[ZERO]]] : memref<2x2xf32>
// CHECK-NEXT:    %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT:    tir.store %x, %A[%[[ONE]], %[[ONE]]] : memref<2x2xf32>

// It is a serial loop if nobody knows how many there are.
tir.func @symbolic("A" %A: memref<99xf32>, "x" %x: f32, "n" %n: i32) {
  tir.for thread_binding "v" %v : i32 in [0 +: %n] thread "vthread.x" {
    tir.store %x, %A[%v] : memref<99xf32>
  }
}
// CHECK-LABEL: tir.func @symbolic
// CHECK-NEXT:    tir.for serial "v" %v : i32 in [0 +: %n] {

// A launch of virtual threads is a loop over them.
tir.func @launch("A" %A: memref<2xf32>, "x" %x: f32) {
  tir.launch_thread "v" %v : i32 in 2 thread "vthread" {
    tir.store %x, %A[%v] : memref<2xf32>
  }
}
// CHECK:       tir.func @launch(
// CHECK-NOT:     tir.launch_thread
// CHECK:         tir.store %x, %A[%{{.*}}] : memref<2xf32>
// CHECK:         tir.store %x, %A[%{{.*}}] : memref<2xf32>
