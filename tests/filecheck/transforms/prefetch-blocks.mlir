// RUN: stepwell-opt %s -p 'prefetch-blocks{cpu="avx2,l2_bytes=65536"}' | filecheck %s
// RUN: stepwell-opt %s -p 'prefetch-blocks{cpu="avx2,l2_bytes=8388608"}' | filecheck %s --check-prefix=NEAR
// RUN: stepwell-opt %s -p 'prefetch-blocks{cpu="avx512,l2_bytes=65536"}' | filecheck %s --check-prefix=NEAR

// An image that is known to fit a fourth of the second cache is not requested, nor one for a fast core.
// NEAR-NOT: stepwell.prefetch

// A tile of two pixels in steps of two: the iterations over 16 channels are preceded by requests of the two lines of the
// next block. Both loads of an element are in one line.
func.func @pixels(%x: memref<32x20x16xf32>, %pixel: index, %s: vector<80xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %block = %c0 to %c32 step %c1 {
    scf.for %channel = %c0 to %c16 step %c1 {
      %first = arith.muli %pixel, %c2 : index
      %second = arith.addi %first, %c2 : index
      %a = memref.load %x[%block, %first, %channel] : memref<32x20x16xf32>
      %b = memref.load %x[%block, %second, %channel] : memref<32x20x16xf32>
      %c = memref.load %x[%block, %second, %channel] : memref<32x20x16xf32>
      %sum = arith.addf %s, %s : vector<80xf32>
    }
  }
  func.return
}
// CHECK:      func.func @pixels(
// CHECK:        scf.for %block = %c0 to %c32 step %c1 {
// CHECK-NEXT:     %first = arith.muli %pixel, %c2 : index
// CHECK-NEXT:     %0 = memref.load %x[%block, %first, %c0] {stepwell.prefetch = array<i64: 1280>} : memref<32x20x16xf32>
// CHECK-NEXT:     %1 = memref.load %x[%block, %first, %c0] {stepwell.prefetch = array<i64: 1408>} : memref<32x20x16xf32>
// CHECK-NEXT:     scf.for %channel

// A window of 3x3: the iterations over a channel request a line of each of its three rows, which have four lines.
func.func @windows(%x: memref<16x30x30x16xf32>, %h: index, %w: index, %s: vector<80xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  scf.for %block = %c0 to %c16 step %c1 {
    scf.for %channel = %c0 to %c16 step %c1 {
      scf.for %y = %c0 to %c3 step %c1 {
        scf.for %z = %c0 to %c3 step %c1 {
          %row = arith.addi %h, %y : index
          %first = arith.addi %w, %z : index
          %second = arith.addi %first, %c1 : index
          %a = memref.load %x[%block, %row, %first, %channel] : memref<16x30x30x16xf32>
          %b = memref.load %x[%block, %row, %second, %channel] : memref<16x30x30x16xf32>
          %sum = arith.addf %s, %s : vector<80xf32>
        }
      }
    }
  }
  func.return
}
// CHECK:      func.func @windows(
// CHECK:          scf.for %channel = %c0 to %c16 step %c1 {
// CHECK-NEXT:       %row = arith.addi %h, %c0 : index
// CHECK-NEXT:       %first = arith.addi %w, %c0 : index
// CHECK-NEXT:       %0 = memref.load %x[%block, %row, %first, %channel] {stepwell.prefetch = array<i64: 57600, 60>} : memref<16x30x30x16xf32>
// CHECK-NEXT:       %1 = memref.load %x[%block, %row, %first, %channel] {stepwell.prefetch = array<i64: 59520, 60>} : memref<16x30x30x16xf32>
// CHECK-NEXT:       %2 = memref.load %x[%block, %row, %first, %channel] {stepwell.prefetch = array<i64: 61440, 60>} : memref<16x30x30x16xf32>
// CHECK-NEXT:       scf.for %y

// Too few blocks, elements whose lines change at each iteration, an index that is loaded, and a quotient of the variable.
func.func @others(%few: memref<8x64x16xf32>, %rows: memref<256x16x64xf32>, %x: memref<32x64x16xf32>, %at: memref<16xindex>, %s: vector<80xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %block = %c0 to %c8 step %c1 {
    scf.for %channel = %c0 to %c16 step %c1 {
      %a = memref.load %few[%block, %c0, %channel] : memref<8x64x16xf32>
      %sum = arith.addf %s, %s : vector<80xf32>
    }
  }
  scf.for %block = %c0 to %c32 step %c1 {
    scf.for %channel = %c0 to %c16 step %c1 {
      %n = memref.load %at[%channel] : memref<16xindex>
      %q = arith.divui %channel, %c5 : index
      %a = memref.load %rows[%block, %channel, %c0] : memref<256x16x64xf32>
      %b = memref.load %x[%block, %n, %channel] : memref<32x64x16xf32>
      %c = memref.load %x[%block, %q, %channel] : memref<32x64x16xf32>
      %sum = arith.addf %s, %s : vector<80xf32>
    }
  }
  func.return
}
// CHECK:      func.func @others(
// CHECK-NOT:    stepwell.prefetch
