// RUN: stepwell-opt %s -p tir-lower-match-buffers | filecheck %s

// Indices move by where the box starts; leading dimensions that the box drops come back.
tir.func @access("A" %A: memref<8x16x16xf32>, "k" %k: i32, "i" %i: i32) {
  %B = tir.match_region "B" %A[%k, 4 +: 8, %k +: 4] : memref<8x16x16xf32> -> memref<8x4xf32>
  %c0 = arith.constant 0 : i32
  %x = tir.load %B[%c0, %i] : memref<8x4xf32>
  tir.store %x, %B[%i, %c0] : memref<8x4xf32>
  %C = tir.match_region "C" %A[0, 0 +: 16, 0 +: 16] : memref<8x16x16xf32> -> memref<16x16xf32>
  tir.store %x, %C[%i, %k] : memref<16x16xf32>
}
// CHECK:         tir.func @access("A" %A: memref<8x16x16xf32>, "k" %k: i32, "i" %i: i32) {
// CHECK-NEXT:        %c0 = arith.constant 0 : i32
// CHECK-NEXT:        %0 = arith.addi %k, %i : i32
// CHECK-NEXT:        %1 = arith.constant 4 : i32
// CHECK-NEXT:        %x = tir.load %A[%k, %1, %0] : memref<8x16x16xf32>
// CHECK-NEXT:        %2 = arith.constant 4 : i32
// CHECK-NEXT:        %3 = arith.addi %2, %i : i32
// CHECK-NEXT:        tir.store %x, %A[%k, %3, %k] : memref<8x16x16xf32>
// CHECK-NEXT:        %4 = arith.constant 0 : i32
// CHECK-NEXT:        tir.store %x, %A[%4, %i, %k] : memref<8x16x16xf32>
// CHECK-NEXT:      }

// A ramp stays a ramp, so that its lanes are seen to be neighbours; a predicate stays.
tir.func @vector("A" %A: memref<8x16xf32>, "k" %k: i32, "p" %p: vector<4xi1>, "v" %v: vector<4xi32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tir.ramp %c0, %c1 : vector<4xi32>
  %B = tir.match_region "B" %A[%k, 8 +: 4] : memref<8x16xf32> -> memref<4xf32>
  %x = tir.load %B[%r : vector<4xi32>] if %p : vector<4xi1> : memref<4xf32>
  tir.store %x, %B[%v : vector<4xi32>] if %p : vector<4xi1> : memref<4xf32>
}
// CHECK:         tir.func @vector("A" %A: memref<8x16xf32>, "k" %k: i32, "p" %p: vector<4xi1>, "v" %v: vector<4xi32>) {
// CHECK-NEXT:        %c0 = arith.constant 0 : i32
// CHECK-NEXT:        %c1 = arith.constant 1 : i32
// CHECK-NEXT:        %r = tir.ramp %c0, %c1 : vector<4xi32>
// CHECK-NEXT:        %0 = arith.constant 8 : i32
// CHECK-NEXT:        %1 = tir.ramp %0, %c1 : vector<4xi32>
// CHECK-NEXT:        %x = tir.load %A[%k, %1 : vector<4xi32>] if %p : vector<4xi1> : memref<8x16xf32>
// CHECK-NEXT:        %2 = arith.constant 8 : i32
// CHECK-NEXT:        %3 = vector.broadcast %2 : i32 to vector<4xi32>
// CHECK-NEXT:        %4 = arith.addi %3, %v : vector<4xi32>
// CHECK-NEXT:        tir.store %x, %A[%k, %4 : vector<4xi32>] if %p : vector<4xi1> : memref<8x16xf32>
// CHECK-NEXT:      }

// A box of a box is a box of the buffer; what blocks say they access moves too.
tir.func @nested("A" %A: memref<16x16xf32>, "k" %k: i32) {
  %B = tir.match_region "B" %A[%k +: 8, 4 +: 8] : memref<16x16xf32> -> memref<8x8xf32>
  %C = tir.match_region "C" %B[%k, 2 +: 4] : memref<8x8xf32> -> memref<4xf32>
  tir.block "b" () {
    tir.access reads %C[%k +: 2] : memref<4xf32>
    %x = tir.load %C[%k] : memref<4xf32>
    tir.evaluate %x : f32
  }
}
// CHECK:         tir.func @nested("A" %A: memref<16x16xf32>, "k" %k: i32) {
// CHECK-NEXT:        %0 = arith.addi %k, %k : i32
// CHECK-NEXT:        tir.block "b" () {
// CHECK-NEXT:          %1 = arith.constant 6 : i32
// CHECK-NEXT:          %2 = arith.addi %1, %k : i32
// CHECK-NEXT:          tir.access reads %A[%0, %2 +: 2] : memref<16x16xf32>
// CHECK-NEXT:          %3 = arith.constant 6 : i32
// CHECK-NEXT:          %4 = arith.addi %3, %k : i32
// CHECK-NEXT:          %x = tir.load %A[%0, %4] : memref<16x16xf32>
// CHECK-NEXT:          tir.evaluate %x : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }

// Symbols of the box are what the buffer says: strides, offset (in 64 bits), extents.
tir.func @symbols("a" %a: !tir.handle, "k" %k: i32, "m" %m: i32) {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n, %n] : !tir.handle -> memref<?x?xf32>
  %s = tir.symbol "s" : i32
  %o = tir.symbol "o" : i64
  %e = tir.symbol "e" : i32
  %B = tir.match_region "B" %A[%k +: 4, 2 +: %m] dims [%e] strides [%s] offset [%o : i64] : memref<?x?xf32> -> memref<4x?xf32, strided<[?, 1], offset: ?>>
  tir.evaluate %s : i32
  tir.evaluate %o : i64
  tir.evaluate %e : i32
}
// CHECK:         tir.func @symbols("a" %a: !tir.handle, "k" %k: i32, "m" %m: i32) {
// CHECK-NEXT:        %n = tir.symbol "n" : i32
// CHECK-NEXT:        %A = tir.match_buffer "A" %a dims [%n, %n] : !tir.handle -> memref<?x?xf32>
// CHECK-NEXT:        %0 = tir.cast %n : i32 -> i64
// CHECK-NEXT:        %s = tir.cast %0 : i64 -> i32
// CHECK-NEXT:        %1 = tir.cast %n : i32 -> i64
// CHECK-NEXT:        %2 = tir.cast %k : i32 -> i64
// CHECK-NEXT:        %3 = arith.muli %2, %1 : i64
// CHECK-NEXT:        %4 = arith.constant 2 : i64
// CHECK-NEXT:        %o = arith.addi %3, %4 : i64
// CHECK-NEXT:        tir.evaluate %s : i32
// CHECK-NEXT:        tir.evaluate %o : i64
// CHECK-NEXT:        tir.evaluate %m : i32
// CHECK-NEXT:      }

// What is no symbol of the box alone is checked.
tir.func @checked("a" %a: !tir.handle, "k" %k: i32, "m" %m: i32) {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
  %B = tir.match_region "B" %A[%k +: %m] dims [%n] : memref<?xf32> -> memref<?xf32>
  %C = tir.match_region "C" %A[%k +: %m] : memref<?xf32> -> memref<4xf32>
  %x = tir.load %B[%k] : memref<?xf32>
}
// CHECK:         tir.func @checked("a" %a: !tir.handle, "k" %k: i32, "m" %m: i32) {
// CHECK-NEXT:        %n = tir.symbol "n" : i32
// CHECK-NEXT:        %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
// CHECK-NEXT:        %0 = arith.cmpi eq, %m, %n : i32
// CHECK-NEXT:        tir.assert %0, "B: shape[0] must be n"
// CHECK-NEXT:        %1 = arith.constant 4 : i32
// CHECK-NEXT:        %2 = arith.cmpi eq, %m, %1 : i32
// CHECK-NEXT:        tir.assert %2, "C: shape[0] must be 4"
// CHECK-NEXT:        %3 = arith.addi %k, %k : i32
// CHECK-NEXT:        %x = tir.load %A[%3] : memref<?xf32>
// CHECK-NEXT:      }

// Pointers: the data of a box starts at its first element, or, with an offset, where the data of the buffer does.
tir.func @pointers("A" %A: memref<8x16xf32>, "k" %k: i32) {
  %o = tir.symbol "o" : i32
  %B = tir.match_region "B" %A[%k, 4 +: 8] : memref<8x16xf32> -> memref<8xf32>
  %p = tir.buffer_data %B : memref<8xf32> -> !tir.handle<f32>
  %q = tir.address_of %B[%k] : memref<8xf32> -> !tir.handle<f32>
  %C = tir.match_region "C" %A[%k, 4 +: 8] offset [%o] : memref<8x16xf32> -> memref<8xf32, strided<[1], offset: ?>>
  %r = tir.buffer_data %C : memref<8xf32, strided<[1], offset: ?>> -> !tir.handle<f32>
  tir.call_extern "f"(%p, %q, %r) : !tir.handle<f32>, !tir.handle<f32>, !tir.handle<f32>
}
// CHECK:         tir.func @pointers("A" %A: memref<8x16xf32>, "k" %k: i32) {
// CHECK-NEXT:        %0 = arith.constant 4 : i32
// CHECK-NEXT:        %p = tir.address_of %A[%k, %0] : memref<8x16xf32> -> !tir.handle<f32>
// CHECK-NEXT:        %1 = arith.constant 4 : i32
// CHECK-NEXT:        %2 = arith.addi %1, %k : i32
// CHECK-NEXT:        %q = tir.address_of %A[%k, %2] : memref<8x16xf32> -> !tir.handle<f32>
// CHECK-NEXT:        %3 = tir.cast %k : i32 -> i64
// CHECK-NEXT:        %4 = arith.constant 16 : i64
// CHECK-NEXT:        %5 = arith.muli %3, %4 : i64
// CHECK-NEXT:        %6 = arith.constant 4 : i64
// CHECK-NEXT:        %7 = arith.addi %5, %6 : i64
// CHECK-NEXT:        %o = tir.cast %7 : i64 -> i32
// CHECK-NEXT:        %r = tir.buffer_data %A : memref<8x16xf32> -> !tir.handle<f32>
// CHECK-NEXT:        tir.call_extern "f"(%p, %q, %r) : !tir.handle<f32>, !tir.handle<f32>, !tir.handle<f32>
// CHECK-NEXT:      }

// Calls get the box as a buffer over the same memory, with the strides it has.
tir.func @calls("A" %A: memref<8x16xf32>, "k" %k: i32) {
  %B = tir.match_region "B" %A[%k, 4 +: 8] : memref<8x16xf32> -> memref<8xf32>
  tir.call @callee(%B) : memref<8xf32>
  %C = tir.match_region "C" %A[0 +: 4, 4 +: 8] : memref<8x16xf32> -> memref<4x8xf32>
  tir.call_packed "g"(%C) : memref<4x8xf32>
}
// CHECK:         tir.func @calls("A" %A: memref<8x16xf32>, "k" %k: i32) {
// CHECK-NEXT:        %0 = arith.constant 4 : i32
// CHECK-NEXT:        %1 = tir.address_of %A[%k, %0] : memref<8x16xf32> -> !tir.handle<f32>
// CHECK-NEXT:        %B = tir.decl_buffer "B" %1 : !tir.handle<f32> -> memref<8xf32>
// CHECK-NEXT:        tir.call @callee(%B) : memref<8xf32>
// CHECK-NEXT:        %2 = arith.constant 0 : i32
// CHECK-NEXT:        %3 = arith.constant 4 : i32
// CHECK-NEXT:        %4 = tir.address_of %A[%2, %3] : memref<8x16xf32> -> !tir.handle<f32>
// CHECK-NEXT:        %C = tir.decl_buffer "C" %4 : !tir.handle<f32> -> memref<4x8xf32, strided<[16, 1]>>
// CHECK-NEXT:        tir.call_packed "g"(%C) : memref<4x8xf32, strided<[16, 1]>>
// CHECK-NEXT:      }
tir.func private @callee("A" %A: memref<8xf32>) {
}
// CHECK:         tir.func private @callee("A" %A: memref<8xf32>) {
// CHECK-NEXT:      }

// In a function with a kernel, a pointer becomes a buffer, of one dimension if views differ.
tir.func @pointer("A" %A: memref<8xf32>, "i" %i: i32) {
  %p = tir.allocate "p" [8] : !tir.handle<f32, "local">
  %V = tir.decl_buffer "V" %p : !tir.handle<f32, "local"> -> memref<8xf32, "local">
  %W = tir.decl_buffer "W" %p : !tir.handle<f32, "local"> -> memref<2x4xf32, "local">
  tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
    %x = tir.load %A[%tx] : memref<8xf32>
    tir.store %x, %V[%i] : memref<8xf32, "local">
    %y = tir.load %W[%i, %tx] : memref<2x4xf32, "local">
    tir.store %y, %A[%tx] : memref<8xf32>
  }
}
// CHECK:       %[[V:.*]] = tir.alloc_buffer "p" : memref<8xf32, "local">
// CHECK-NEXT:  tir.for thread_binding "tx" %[[tx:.*]] : i32
// CHECK:         tir.store %{{.*}}, %[[V]][%i] : memref<8xf32, "local">
// CHECK:         %[[row:.*]] = arith.muli %i, %{{.*}} : i32
// CHECK-NEXT:    %[[at:.*]] = arith.addi %[[row]], %[[tx]] : i32
// CHECK-NEXT:    %{{.*}} = tir.load %[[V]][%[[at]]] : memref<8xf32, "local">
