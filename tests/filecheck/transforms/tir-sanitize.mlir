// RUN: stepwell-opt %s -p tir-sanitize | filecheck %s

// Indices that ranges prove stay unchecked; any other is asserted before the access, per dimension.
tir.func @bounds("A" %A: memref<4x8xf32>, "n" %n: i32) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    %x = tir.load %A[%i, %n] : memref<4x8xf32>
    tir.store %x, %A[%i, %i] : memref<4x8xf32>
  }
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @bounds("A" %A: memref<4x8xf32>, "n" %n: i32) {
// CHECK-NEXT:      tir.for serial "i" %i : i32 in [0 +: 4] {
// CHECK:             %[[low:\d+]] = arith.cmpi sge, %n, %{{.+}} : i32
// CHECK:             %[[high:\d+]] = arith.cmpi slt, %n, %{{.+}} : i32
// CHECK-NEXT:        %[[both:\d+]] = arith.andi %[[low]], %[[high]] : i1
// CHECK-NEXT:        tir.assert %[[both]], "{{.+}}: error: tir.load: A[{}, {}] is out of bounds: index {} of dimension 1, expected 0 <= index < 8" kind "UndefinedBehaviorError" values %i, %n, %n : i32, i32, i32
// CHECK-NEXT:        %x = tir.load %A[%i, %n] : memref<4x8xf32>
// CHECK-NEXT:        tir.store %x, %A[%i, %i] : memref<4x8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// An allocation that is read has a shadow, which is false at first and true for the elements that were written.
tir.func @written("A" %A: memref<8xf32>, "n" %n: i32) {
  %S = tir.alloc_buffer "S" : memref<8xf32>
  %z = arith.constant 0.0 : f32
  %two = arith.constant 2 : i32
  tir.store %z, %S[%two] : memref<8xf32>
  tir.for serial "i" %i : i32 in [0 +: 8] {
    %x = tir.load %S[%i] : memref<8xf32>
    tir.store %x, %A[%i] : memref<8xf32>
  }
}
// CHECK-LABEL: tir.func @written
// CHECK-NEXT:      %S = tir.alloc_buffer "S" : memref<8xf32>
// CHECK-NEXT:      %S_written = tir.alloc_buffer "S_written" : memref<8xi1>
// CHECK-NEXT:      tir.for serial "i0" %[[i0:.+]] : i32 in [0 +: 8] {
// CHECK-NEXT:        %[[false:\d+]] = arith.constant false
// CHECK-NEXT:        tir.store %[[false]], %S_written[%[[i0]]] : memref<8xi1>
// CHECK-NEXT:      }
// CHECK:           tir.store %z, %S[%two] : memref<8xf32>
// CHECK:           tir.store %{{.+}}, %S_written[%{{.+}}] : memref<8xi1>
// CHECK-NEXT:      tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:        %[[written:\d+]] = tir.load %S_written[%i] : memref<8xi1>
// CHECK-NEXT:        tir.assert %[[written]], "{{.+}}: error: tir.load: S[{}] is read, but was never written" kind "UndefinedBehaviorError" values %i : i32
// CHECK-NEXT:        %x = tir.load %S[%i] : memref<8xf32>

// The checks of a lazily evaluated operand are in a branch on its condition.
tir.func @lazy("A" %A: memref<8xf32>, "n" %n: i32, "c" %c: i1) {
  %x = tir.if_then_else %c {
    %y = tir.load %A[%n] : memref<8xf32>
    tir.yield %y : f32
  } else {
    %z = arith.constant 0.0 : f32
    tir.yield %z : f32
  } : f32
  %zero = arith.constant 0 : i32
  tir.store %x, %A[%zero] : memref<8xf32>
}
// CHECK-LABEL: tir.func @lazy
// CHECK-NEXT:      tir.if %c {
// CHECK:             tir.assert %{{.+}}, "{{.+}}: error: tir.load: A[{}] is out of bounds: index {} of dimension 0, expected 0 <= index < 8" kind "UndefinedBehaviorError" values %n, %n : i32, i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %x = tir.if_then_else %c {
// CHECK-NEXT:        %y = tir.load %A[%n] : memref<8xf32>

// A function of a GPU stays as it is.
tir.func @kernel("A" %A: memref<8xf32>, "n" %n: i32) {
  tir.for thread_binding "t" %t : i32 in [0 +: 8] thread "threadIdx.x" {
    %x = tir.load %A[%n] : memref<8xf32>
    tir.store %x, %A[%t] : memref<8xf32>
  }
}
// CHECK-LABEL: tir.func @kernel
// CHECK-NOT:       tir.assert
