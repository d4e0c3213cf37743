// RUN: stepwell-opt %s -p "stream-stores{from-bytes=4096}" | filecheck %s
// RUN: stepwell-opt %s -p stream-stores | filecheck %s --check-prefix=SMALL

// SMALL-NOT: nontemporal

// The loop streams if the address is a multiple of 16; its two vectors are consecutive.
func.func @add(%x: memref<4096xf32>, %y: memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %c128 step %c1 {
    %a = arith.muli %i, %c32 : index
    %b = arith.addi %a, %c16 : index
    %v = vector.load %x[%a] : memref<4096xf32>, vector<16xf32>
    vector.store %v, %y[%b] : memref<4096xf32>, vector<16xf32>
    vector.store %v, %y[%a] : memref<4096xf32>, vector<16xf32>
  }
  func.return
}
// CHECK:       func.func @add(
// CHECK-NEXT:    %[[ADDRESS:.+]] = "memref.extract_aligned_pointer_as_index"(%y)
// CHECK-NEXT:    %[[ALIGNMENT:.+]] = arith.constant 16 : index
// CHECK-NEXT:    %[[REST:.+]] = arith.remui %[[ADDRESS]], %[[ALIGNMENT]] : index
// CHECK-NEXT:    %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-NEXT:    %[[CHECK:.+]] = arith.cmpi eq, %[[REST]], %[[ZERO]] : index
// CHECK:         scf.if %[[CHECK]] {
// CHECK-NEXT:      scf.for
// CHECK:             vector.store {{.*}} {alignment = 16 : i64, nontemporal = true} :
// CHECK-NEXT:        vector.store {{.*}} {alignment = 16 : i64, nontemporal = true} :
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.for
// CHECK:             vector.store %{{.+}}, %y[%{{.+}}] : memref
// CHECK-NEXT:        vector.store %{{.+}}, %y[%{{.+}}] : memref
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// One branch for two buffers; the results of the loop are those of the branch; loops around remain.
func.func @rows(%x: f32, %y: memref<8x1024xf32>, %z: memref<8x512xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c512 = arith.constant 512 : index
  %v = arith.constant dense<0.0> : vector<4xf64>
  %w = arith.constant dense<0.0> : vector<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %r = scf.for %j = %c0 to %c512 step %c4 iter_args(%s = %x) -> (f32) {
      %k = arith.addi %j, %j : index
      vector.store %w, %y[%i, %k] : memref<8x1024xf32>, vector<8xf32>
      vector.store %v, %z[%i, %j] : memref<8x512xf64>, vector<4xf64>
      scf.yield %s : f32
    }
    "test.op"(%r) : (f32) -> ()
  }
  func.return
}
// CHECK:       func.func @rows(
// CHECK:         scf.for
// CHECK-NEXT:      %[[BOTH:.+]] = arith.andi
// CHECK-NEXT:      %[[R:.+]] = scf.if %[[BOTH]] -> (f32) {
// CHECK-NEXT:        %[[S:.+]] = scf.for
// CHECK:               nontemporal
// CHECK-NEXT:          nontemporal
// CHECK:             scf.yield %[[S]] : f32
// CHECK-NEXT:      } else {
// CHECK:           "test.op"(%[[R]])

// Stores at offsets of 8 bytes, and into memory that is loaded from, stay.
func.func @stay(%x: memref<4098xf32>, %y: memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  %v = arith.constant dense<0.0> : vector<4xf32>
  scf.for %i = %c0 to %c4096 step %c4 {
    %a = arith.addi %i, %c2 : index
    vector.store %v, %x[%a] : memref<4098xf32>, vector<4xf32>
    %w = vector.load %y[%i] : memref<4096xf32>, vector<4xf32>
    vector.store %w, %y[%i] : memref<4096xf32>, vector<4xf32>
  }
  func.return
}
// CHECK:       func.func @stay(
// CHECK-NOT:     nontemporal
