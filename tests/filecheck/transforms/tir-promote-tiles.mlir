// RUN: stepwell-opt %s -p tir-promote-tiles | filecheck %s
// RUN: stepwell-opt %s -p "tir-promote-tiles{max-bytes=12}" | filecheck %s --check-prefix=SMALL

// Rows that the comparison excludes compute the last row within it; the local buffer starts with the number.
tir.func @rows("A" %a: !tir.handle, "C" %c: !tir.handle) attrs {tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n : i32] : !tir.handle -> memref<?x8xf32>
  %C = tir.match_buffer "C" %c dims [%n : i32] : !tir.handle -> memref<?xf32>
  tir.for unrolled "i" %i : i32 in [0 +: 4] {
    %0 = arith.cmpi slt, %i, %n : i32
    tir.if %0 {
      %1 = arith.constant 0.0 : f32
      tir.store %1, %C[%i] : memref<?xf32>
    }
  }
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.for unrolled "i" %i_1 : i32 in [0 +: 4] {
      %2 = arith.cmpi slt, %i_1, %n : i32
      tir.if %2 {
        %3 = tir.load %C[%i_1] : memref<?xf32>
        %4 = tir.load %A[%i_1, %k] : memref<?x8xf32>
        %5 = arith.addf %3, %4 : f32
        tir.store %5, %C[%i_1] : memref<?xf32>
      }
    }
  }
}
// CHECK-LABEL: tir.func @rows(
// CHECK:         tir.if
// CHECK-NEXT:      %[[SUMS:.+]] = tir.alloc_buffer "C" : memref<4xf32, "local">
// CHECK:           %[[LAST:.+]] = tir.let "last_i"
// CHECK-NEXT:      tir.for unrolled "i"
// CHECK-NEXT:        arith.constant 0.0
// CHECK-NEXT:        tir.store %{{.+}}, %[[SUMS]]
// CHECK:           tir.for serial "k" %[[K:.+]] : i32
// CHECK-NEXT:        tir.for unrolled "i" %[[I:.+]] : i32
// CHECK-NEXT:          %[[ROW:.+]] = arith.minsi %[[I]], %[[LAST]] : i32
// CHECK-NEXT:          tir.load %[[SUMS]][%[[I]]]
// CHECK-NEXT:          tir.load %A[%[[ROW]], %[[K]]]
// CHECK-NEXT:          arith.addf
// CHECK-NEXT:          tir.store %{{.+}}, %[[SUMS]][%[[I]]]
// CHECK:           tir.for unrolled "i" %[[J:.+]] : i32
// CHECK-NEXT:        %[[ELEMENT:.+]] = arith.minsi %[[J]], %[[LAST]] : i32
// CHECK-NEXT:        tir.load %[[SUMS]][%[[J]]]
// CHECK-NEXT:        tir.store %{{.+}}, %C[%[[ELEMENT]]]

// SMALL-LABEL: tir.func @rows(
// SMALL-NOT:     tir.alloc_buffer

// The comparison of a row of several vectors stays.
tir.func @wide("A" %a: !tir.handle, "C" %c: !tir.handle) attrs {tir.noalias = true} {
  %n = tir.symbol "n" : i32
  %A = tir.match_buffer "A" %a dims [%n : i32] : !tir.handle -> memref<?x8xf32>
  %C = tir.match_buffer "C" %c dims [%n : i32] : !tir.handle -> memref<?x3xf32>
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.for unrolled "i" %i : i32 in [0 +: 4] {
      tir.for unrolled "j" %j : i32 in [0 +: 3] {
        %0 = arith.cmpi slt, %i, %n : i32
        tir.if %0 {
          %1 = tir.load %C[%i, %j] : memref<?x3xf32>
          %2 = tir.load %A[%i, %k] : memref<?x8xf32>
          %3 = arith.addf %1, %2 : f32
          tir.store %3, %C[%i, %j] : memref<?x3xf32>
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @wide(
// CHECK:         %[[SUMS:.+]] = tir.alloc_buffer "C" : memref<4x3xf32, "local">
// CHECK:         tir.for serial "k" %[[K:.+]] : i32
// CHECK-NEXT:      tir.for unrolled "i" %[[I:.+]] : i32
// CHECK-NEXT:        arith.cmpi slt, %[[I]], %n : i32
// CHECK-NEXT:        tir.if
// CHECK-NEXT:          tir.for unrolled "j" %[[J:.+]] : i32
// CHECK-NEXT:            tir.load %[[SUMS]][%[[I]], %[[J]]]
// CHECK-NEXT:            tir.load %A[%[[I]], %[[K]]]
// CHECK-NEXT:            arith.addf
// CHECK-NEXT:            tir.store %{{.+}}, %[[SUMS]][%[[I]], %[[J]]]

// Without masks, comparisons of the lanes of vectors stay.
tir.func @columns("C" %c: !tir.handle) {
  %n = tir.symbol "n" : i32
  %C = tir.match_buffer "C" %c dims [%n : i32] : !tir.handle -> memref<?xf32>
  tir.for serial "k" %k : i32 in [0 +: 8] {
    tir.for vectorized "i" %i : i32 in [0 +: 4] {
      %2 = arith.cmpi slt, %i, %n : i32
      tir.if %2 {
        %3 = tir.load %C[%i] : memref<?xf32>
        %4 = arith.addf %3, %3 : f32
        tir.store %4, %C[%i] : memref<?xf32>
      }
    }
  }
}
// CHECK-LABEL: tir.func @columns(
// CHECK-NOT:     tir.alloc_buffer
