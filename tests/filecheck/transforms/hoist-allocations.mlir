// RUN: stepwell-opt %s -p hoist-allocations | filecheck %s

// The size is computed before the loops; where a loop has no iterations it is 0.
func.func @nest(%n: i32, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %size = arith.index_cast %n : i32 to index
      %a = memref.alloc(%size) : memref<?x4xf32>
      memref.dealloc %a : memref<?x4xf32>
    }
  }
  func.return
}
// CHECK:       func.func @nest(
// CHECK:         %size = arith.index_cast %n : i32 to index
// CHECK-NEXT:    %[[some:.+]] = arith.cmpi slt, %c0, %m : index
// CHECK-NEXT:    %[[zero:.+]] = arith.constant 0 : index
// CHECK-NEXT:    %[[used:.+]] = arith.select %[[some]], %size, %[[zero]] : index
// CHECK-NEXT:    %a = memref.alloc(%[[used]]) : memref<?x4xf32>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      scf.for
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.dealloc %a : memref<?x4xf32>
// CHECK-NEXT:    func.return

// The size differs between iterations, or a branch may not need the memory.
func.func @stay(%n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc(%i) : memref<?xf32>
    memref.dealloc %a : memref<?xf32>
    scf.if %p {
      %b = memref.alloc(%n) : memref<?xf64>
      memref.dealloc %b : memref<?xf64>
    }
  }
  func.return
}
// CHECK:       func.func @stay(
// CHECK:         scf.for
// CHECK-NEXT:      memref.alloc(%i)
// CHECK:           scf.if
// CHECK-NEXT:        memref.alloc(%n)
