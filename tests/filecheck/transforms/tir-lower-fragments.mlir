// RUN: stepwell-opt %s -p tir-lower-fragments,tir-simplify | filecheck %s

// Each fragment is a tile of its buffer; that of a factor with contiguous columns is transposed.
tir.func @main("A" %A: memref<16x64xf16>, "B" %B: memref<64x16xf16>, "C" %C: memref<16x16xf32>) {
  %Af = tir.alloc_buffer "Af" : memref<16x64xf16, "wmma.matrix_a">
  %Bf = tir.alloc_buffer "Bf" : memref<1024xf16, "wmma.matrix_b">
  %Cf = tir.alloc_buffer "Cf" : memref<16x16xf32, "wmma.accumulator">
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant 0.0 : f32
  %row = tir.const "row_major" : !tir.handle
  %col = tir.const "col_major" : !tir.handle
  %a = tir.buffer_data %Af : memref<16x64xf16, "wmma.matrix_a"> -> !tir.handle<f16, "wmma.matrix_a">
  %b = tir.buffer_data %Bf : memref<1024xf16, "wmma.matrix_b"> -> !tir.handle<f16, "wmma.matrix_b">
  %c = tir.buffer_data %Cf : memref<16x16xf32, "wmma.accumulator"> -> !tir.handle<f32, "wmma.accumulator">
  tir.call_intrin "tvm_fill_fragment"(%c, %c16, %c16, %c16, %c0, %zero) : !tir.handle<f32, "wmma.accumulator">, i32, i32, i32, i32, f32
  tir.for serial "n" %n : i32 in [0 +: 4] {
    %p = arith.muli %n, %c16 : i32
    %x = tir.address_of %A[%c0, %p] : memref<16x64xf16> -> !tir.handle<f16>
    tir.call_intrin "tvm_load_matrix_sync"(%a, %c16, %c16, %c16, %n, %x, %c64, %row) : !tir.handle<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.handle<f16>, i32, !tir.handle
    %y = tir.address_of %B[%p, %c0] : memref<64x16xf16> -> !tir.handle<f16>
    tir.call_intrin "tvm_load_matrix_sync"(%b, %c16, %c16, %c16, %n, %y, %c16, %col) : !tir.handle<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.handle<f16>, i32, !tir.handle
    tir.call_intrin "tvm_mma_sync"(%c, %c0, %a, %n, %b, %n, %c, %c0) : !tir.handle<f32, "wmma.accumulator">, i32, !tir.handle<f16, "wmma.matrix_a">, i32, !tir.handle<f16, "wmma.matrix_b">, i32, !tir.handle<f32, "wmma.accumulator">, i32
  }
  %z = tir.address_of %C[%c0, %c0] : memref<16x16xf32> -> !tir.handle<f32>
  tir.call_intrin "tvm_store_matrix_sync"(%c, %c16, %c16, %c16, %c0, %z, %c16, %row) : !tir.handle<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.handle<f32>, i32, !tir.handle
}
// CHECK-LABEL: tir.func @main
// CHECK:       tir.attr "stepwell.fragments" of "tvm_fill_fragment" is "16x16x16" {
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: 16] {
// CHECK-NEXT:      tir.for serial "j" %j : i32 in [0 +: 16] {
// CHECK:             tir.store %{{.*}}, %Cf[%i, %j] : memref<16x16xf32, "wmma.accumulator">
// CHECK:       tir.for serial "n" %n : i32 in [0 +: 4] {
// CHECK-NEXT:    tir.attr "stepwell.fragments" of "tvm_load_matrix_sync" is "16x16x16 row_major" {
// CHECK-NEXT:      tir.for serial "i" %[[i:.*]] : i32 in [0 +: 16] {
// CHECK-NEXT:        tir.for serial "j" %[[j:.*]] : i32 in [0 +: 16] {
// CHECK:               %[[p:.*]] = arith.muli %n, %{{.*}} : i32
// CHECK-NEXT:          %[[q:.*]] = arith.addi %[[p]], %[[j]] : i32
// CHECK-NEXT:          tir.store %{{.*}}, %Af[%[[i]], %[[q]]] : memref<16x64xf16, "wmma.matrix_a">
// CHECK:         tir.attr "stepwell.fragments" of "tvm_load_matrix_sync" is "16x16x16 col_major" {
// CHECK:           tir.for serial "i" %[[i2:.*]] : i32 in [0 +: 16] {
// CHECK-NEXT:        tir.for serial "j" %[[j2:.*]] : i32 in [0 +: 16] {
// CHECK:               %{{.*}} = tir.load %B[%{{.*}} : i64, %{{.*}} : i64] : memref<64x16xf16>
// CHECK:               tir.store %{{.*}}, %Bf[%{{.*}}] : memref<1024xf16, "wmma.matrix_b">
// CHECK:         tir.attr "stepwell.fragments" of "tvm_mma_sync" is "16x16x16 row_major col_major" {
// CHECK:           tir.for serial "k" %[[k:.*]] : i32 in [0 +: 16] {
// CHECK-NEXT:        %[[sum:.*]] = tir.load %Cf
// CHECK:             %[[left:.*]] = tir.cast %{{.*}} : f16 -> f32
// CHECK:             %[[right:.*]] = tir.cast %{{.*}} : f16 -> f32
// CHECK-NEXT:        %[[product:.*]] = arith.mulf %[[left]], %[[right]] : f32
// CHECK-NEXT:        %[[result:.*]] = arith.addf %[[sum]], %[[product]] : f32
// CHECK-NEXT:        tir.store %[[result]], %Cf
// CHECK:       tir.attr "stepwell.fragments" of "tvm_store_matrix_sync" is "16x16x16 row_major" {
// CHECK-NOT:   tir.call_intrin

// Other functions stay as they are.
tir.func @other("A" %A: memref<16xf32>) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  tir.store %zero, %A[%c0] : memref<16xf32>
}
// CHECK-LABEL: tir.func @other
// CHECK-NOT:   tir.attr
