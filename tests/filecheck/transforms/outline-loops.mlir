// RUN: stepwell-opt %s -p 'outline-loops{loops=2}' | filecheck %s

// Constants are copied; so is %m, which later statements use. The buffer %t is accessed at constant indices: its uses stay
// together. The larger %b is memory, and separate from %A.
func.func @f(%A: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.load %A[%c1] : memref<8xf32>
  %t = memref.alloca() : memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %t[%c0] : memref<4xf32>
  }
  %m = arith.addi %n, %c1 : index
  scf.for %i = %c0 to %m step %c1 {
    %y = memref.load %t[%c0] : memref<4xf32>
    memref.store %y, %A[%i] : memref<8xf32>
  }
  %b = memref.alloca() : memref<1000xf32>
  scf.for %i = %c0 to %m step %c1 {
    memref.store %x, %b[%i] : memref<1000xf32>
  }
  scf.for %i = %c0 to %m step %c1 {
    %y = memref.load %b[%i] : memref<1000xf32>
    memref.store %y, %A[%i] : memref<8xf32>
  }
  func.return
}
// CHECK:       func.func @f(%A: memref<8xf32>, %n: index) {
// CHECK:         %m = arith.addi %n, %c1 : index
// CHECK-NEXT:    %b = memref.alloca() : memref<1000xf32>
// CHECK-NEXT:    func.call @f.loops(%n, %A, %b) : (index, memref<8xf32>, memref<1000xf32>) -> ()
// CHECK-NEXT:    func.call @f.loops1(%m, %b, %A) : (index, memref<1000xf32>, memref<8xf32>) -> ()
// CHECK-NEXT:    func.return
// CHECK:       func.func private @f.loops(%n: index, %A: memref<8xf32>, %b: memref<1000xf32> {stepwell.noalias}) attributes {stepwell.noinline} {
// CHECK:         %m = arith.addi %n, %c1 : index
// CHECK-NEXT:    %x = memref.load %A[%c1] : memref<8xf32>
// CHECK-NEXT:    %t = memref.alloca() : memref<4xf32>
// CHECK-NEXT:    scf.for
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:       func.func private @f.loops1(%m: index, %b: memref<1000xf32> {stepwell.noalias}, %A: memref<8xf32>)
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    scf.for %i = %c0 to %m step %c1 {

// Two loops are not too many.
func.func @few(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
    }
  }
  func.return
}
// CHECK:       func.func @few(
// CHECK:           scf.for
// CHECK-NEXT:        scf.for

// The loops in a loop; the result of the last one is an operand of the terminator. Parameters of a function without aliases
// are separate, but not two views of one.
func.func @inner(%A: memref<8xf32>, %B: memref<8xf32>, %n: index) -> f32 attributes {stepwell.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %D = memref.reinterpret_cast %B to offset: [0], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32, strided<[1]>>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f32) {
    scf.for %j = %c0 to %i step %c1 {
      memref.store %a, %A[%j] : memref<8xf32>
    }
    scf.for %j = %c0 to %i step %c1 {
      memref.store %a, %B[%j] : memref<8xf32>
      memref.store %a, %D[%j] : memref<8xf32, strided<[1]>>
    }
    %t = scf.for %j = %c0 to %i step %c1 iter_args(%b = %a) -> (f32) {
      %y = memref.load %A[%j] : memref<8xf32>
      %z = arith.addf %b, %y : f32
      scf.yield %z : f32
    }
    scf.yield %t : f32
  }
  func.return %s : f32
}
// CHECK:       func.func @inner(
// CHECK:         scf.for
// CHECK-NEXT:      func.call @inner.loops(%i, %a, %A, %B, %D)
// CHECK-NEXT:      %t = scf.for
// CHECK:       func.func private @inner.loops(%i: index, %a: f32, %A: memref<8xf32> {stepwell.noalias}, %B: memref<8xf32>, %D: memref<8xf32, strided<[1]>>) attributes

// Addresses that are numbers may be those of any buffer.
func.func @addresses(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 0.0 : f32
  %b = memref.alloca() : memref<1000xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %b[%i] : memref<1000xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %p = "memref.extract_aligned_pointer_as_index"(%b) : (memref<1000xf32>) -> index
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %b[%i] : memref<1000xf32>
  }
  func.return
}
// CHECK:       func.func private @addresses.loops(%n: index, %b: memref<1000xf32>) attributes
// CHECK:       func.func private @addresses.loops1(%n: index, %b: memref<1000xf32> {stepwell.noalias}) attributes

// A buffer in registers of another block: a call would put it into memory.
func.func @registers(%A: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %x = memref.load %A[%i] : memref<8xf32>
      memref.store %x, %t[%c0] : memref<4xf32>
    }
    scf.for %j = %c0 to %n step %c1 {
      %x = memref.load %t[%c0] : memref<4xf32>
      memref.store %x, %A[%i] : memref<8xf32>
    }
  }
  func.return
}
// CHECK:       func.func @registers(
// CHECK-NEXT:    func.call @registers.loops(
// CHECK-NEXT:    func.return
// CHECK:       func.func private @registers.loops(
// CHECK:         %t = memref.alloca() : memref<4xf32>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      scf.for
// CHECK:           scf.for
// CHECK-NOT:   func.call

// A disjoint part of memory that later statements use stays before the call, and becomes a parameter; its view is copied.
func.func @g(%A: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %workspace = memref.alloc() : memref<64xi8>
  %part = memref.view %workspace[%c0][] {stepwell.disjoint} : memref<64xi8> to memref<32xi8>
  %T = memref.view %part[%c0][] : memref<32xi8> to memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %A[%i] : memref<8xf32>
    memref.store %x, %T[%i] : memref<8xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %T[%i] : memref<8xf32>
    memref.store %x, %T[%c0] : memref<8xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %T[%i] : memref<8xf32>
    memref.store %x, %A[%i] : memref<8xf32>
  }
  memref.dealloc %workspace : memref<64xi8>
  func.return
}
// CHECK:       func.func @g(%A: memref<8xf32>) {
// CHECK:         %part = memref.view %workspace[%c0][] {stepwell.disjoint} : memref<64xi8> to memref<32xi8>
// CHECK:         func.call @g.loops(%part, %A) : (memref<32xi8>, memref<8xf32>) -> ()
// CHECK-NEXT:    func.call @g.loops1(%T, %A) : (memref<8xf32>, memref<8xf32>) -> ()
// CHECK:       func.func private @g.loops(%part: memref<32xi8>
// CHECK-NOT:     stepwell.disjoint
// CHECK:         memref.view %part[%c0][] : memref<32xi8> to memref<8xf32>
