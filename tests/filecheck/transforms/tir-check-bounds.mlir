// RUN: stepwell-opt %s -p tir-check-bounds | filecheck %s

// Accesses that may lie inside the buffer, or may not be executed, stay as they are.
tir.func @main("A" %A: memref<3xf32>, "B" %B: memref<64xf32>, "n" %n: i32) {
  %c3 = arith.constant 3 : i32
  tir.for serial "i" %i : i32 in [0 +: 64] {
    %inside = arith.cmpi slt, %i, %c3 : i32
    tir.if %inside {
      %x = tir.load %A[%i] : memref<3xf32>
      tir.store %x, %B[%i] : memref<64xf32>
    }
  }
  tir.for serial "j" %j : i32 in [0 +: %n] {
    %y = tir.load %A[%c3] : memref<3xf32>
    tir.store %y, %B[%j] : memref<64xf32>
  }
  %z = tir.load %A[%n] : memref<3xf32>
  tir.store %z, %B[%c3] : memref<64xf32>
}
// CHECK:      tir.if
// CHECK-NEXT:   {{.*}} = tir.load %A
// CHECK:      tir.for serial "j"
// CHECK-NEXT:   {{.*}} = tir.load %A
// CHECK:      tir.load %A[%n]
