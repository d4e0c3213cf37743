// RUN: stepwell-opt %s -p 'tir-version-overlaps{least-updates=16}' | filecheck %s
// RUN: stepwell-opt %s -p tir-version-overlaps | filecheck %s --check-prefix=FEW

// Sixteen updates of elements that stay in memory, as a load of A may read them.
tir.func @sums("A" %A: memref<4x4xf32>, "C" %C: memref<4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      %0 = tir.load %C[%i] : memref<4xf32>
      %1 = tir.load %A[%i, %k] : memref<4x4xf32>
      %2 = arith.addf %0, %1 : f32
      tir.store %2, %C[%i] : memref<4xf32>
    }
  }
}
// CHECK:       tir.func private @sums_disjoint({{.*}}) attrs {tir.noalias = true} {
// CHECK:       tir.func @sums({{.*}}) attrs {stepwell.disjoint_version = "sums_disjoint"} {
// FEW-NOT:     disjoint

// Each iteration stores an element of its own.
tir.func @copies("A" %A: memref<4x4xf32>, "C" %C: memref<4x4xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      %0 = tir.load %A[%i, %k] : memref<4x4xf32>
      tir.store %0, %C[%i, %k] : memref<4x4xf32>
    }
  }
}
// CHECK-NOT:   @copies_disjoint
// CHECK:       tir.func @copies(

// The parameters do not overlap.
tir.func @apart("A" %A: memref<4x4xf32>, "C" %C: memref<4xf32>) attrs {tir.noalias = true} {
  tir.for serial "i" %i : i32 in [0 +: 4] {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      %0 = tir.load %C[%i] : memref<4xf32>
      %1 = tir.load %A[%i, %k] : memref<4x4xf32>
      %2 = arith.addf %0, %1 : f32
      tir.store %2, %C[%i] : memref<4xf32>
    }
  }
}
// CHECK-NOT:   @apart_disjoint
// CHECK:       tir.func @apart(
