// RUN: stepwell-opt %s -p merge-allocations | filecheck %s

// B follows A in its place; C is in use beside both. The loop has memory of its own in each iteration: one part for all.
func.func @loop(%x: memref<100xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloc() : memref<100xf32>
    %b = memref.alloc() : memref<50xi8>
    %c = memref.alloc() {alignment = 128 : i64} : memref<8xf64, "local">
    "memref.copy"(%x, %a) : (memref<100xf32>, memref<100xf32>) -> ()
    %d = memref.load %c[%c0] : memref<8xf64, "local">
    "memref.copy"(%a, %x) : (memref<100xf32>, memref<100xf32>) -> ()
    %e = memref.load %b[%c0] : memref<50xi8>
    memref.store %d, %c[%c1] : memref<8xf64, "local">
    memref.dealloc %c : memref<8xf64, "local">
    memref.dealloc %b : memref<50xi8>
    memref.dealloc %a : memref<100xf32>
  }
  func.return
}
// CHECK:       func.func @loop(
// CHECK:         %workspace = memref.alloc() {alignment = 128 : i64, stepwell.workspace} : memref<576xi8>
// CHECK:         %[[P0:.+]] = memref.view %workspace[%c0][] {stepwell.disjoint} : memref<576xi8> to memref<448xi8>
// CHECK-NEXT:    %a = memref.view %[[P0]][%c0][] : memref<448xi8> to memref<100xf32>
// CHECK-NEXT:    %b = memref.view %[[P0]][%c0][] : memref<448xi8> to memref<50xi8>
// CHECK:         %[[P1:.+]] = memref.view %workspace[%c512][] {stepwell.disjoint} : memref<576xi8> to memref<64xi8>
// CHECK-NEXT:    %[[C:.+]] = memref.view %[[P1]][%c0][] : memref<64xi8> to memref<8xf64>
// CHECK-NEXT:    %c = "memref.memory_space_cast"(%[[C]]) : (memref<8xf64>) -> memref<8xf64, "local">
// CHECK-NEXT:    scf.for
// CHECK-NOT:     memref.dealloc
// CHECK:         }
// CHECK-NEXT:    memref.dealloc %workspace : memref<576xi8>
// CHECK-NEXT:    func.return

// The loop reads A in every iteration, after it has written B.
func.func @carried(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<16xf32>
  memref.store %x, %a[%c0] : memref<16xf32>
  scf.for %i = %c0 to %n step %c1 {
    %y = memref.load %a[%c0] : memref<16xf32>
    %b = memref.alloc() : memref<16xf32>
    memref.store %y, %b[%c0] : memref<16xf32>
    memref.dealloc %b : memref<16xf32>
  }
  memref.dealloc %a : memref<16xf32>
  func.return
}
// CHECK:       func.func @carried(
// CHECK:         memref.alloc() {{.*}} : memref<128xi8>

// A function that keeps the address of A may use it to the end of the block.
func.func @kept(%pointers: memref<1x!llvm.ptr>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<16xf32>
  %p = builtin.unrealized_conversion_cast %a : memref<16xf32> to !llvm.ptr
  memref.store %p, %pointers[%c0] : memref<1x!llvm.ptr>
  %b = memref.alloc() : memref<16xf32>
  memref.store %x, %b[%c0] : memref<16xf32>
  memref.dealloc %b : memref<16xf32>
  memref.dealloc %a : memref<16xf32>
  func.return
}
// CHECK:       func.func @kept(
// CHECK:         memref.alloc() {{.*}} : memref<128xi8>

// Memory of dynamic size is a workspace of its own; memory on the stack, or released elsewhere, stays as it is.
func.func @left(%n: index) -> memref<16xf32> {
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloca() : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  memref.dealloc %a : memref<?xf32>
  func.return %c : memref<16xf32>
}
// CHECK:       func.func @left(
// CHECK-NEXT:    %a = memref.alloc(%n) {stepwell.workspace} : memref<?xf32>
// CHECK-NEXT:    %b = memref.alloca() : memref<16xf32>
// CHECK-NEXT:    %c = memref.alloc() : memref<16xf32>
// CHECK-NEXT:    memref.dealloc %a : memref<?xf32>
