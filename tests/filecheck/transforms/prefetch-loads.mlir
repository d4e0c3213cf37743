// RUN: stepwell-opt %s -p 'prefetch-loads{cpu="avx512,l1_bytes=4096"}' | filecheck %s
// RUN: stepwell-opt %s -p 'prefetch-loads{cpu="avx512,l1_bytes=4096,memory_cycles=10"}' | filecheck %s --check-prefix=NEAR
// RUN: stepwell-opt %s -p "prefetch-loads{cpu=avx512}" | filecheck %s --check-prefix=SMALL
// RUN: stepwell-opt %s -p 'prefetch-loads{cpu="avx512,l1_bytes=4096,l2_bytes=32768"}' | filecheck %s --check-prefix=ROWS

// A parameter that is known to fit the fastest cache is not requested.
// SMALL-NOT: stepwell.prefetch{{.*}}: memref<{{[0-9x]*}}xf32>

// Two streams of weights, 6 sums in 3 cycles: lines of 84 iterations later, or of 4 later. Neither the image, which is
// loaded element by element, nor a matrix by rows that fits the second cache is requested.
func.func @tile(%w: memref<2x256x16xf32>, %x: memref<256x4xf32>, %y: memref<256x64xf32>, %s: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %r:6 = scf.for %k = %c0 to %c256 step %c1
      iter_args(%a = %s, %b = %s, %c = %s, %d = %s, %e = %s, %f = %s)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %u = vector.load %w[%c0, %k, %c0] : memref<2x256x16xf32>, vector<16xf32>
    %v = vector.load %w[%c1, %k, %c0] : memref<2x256x16xf32>, vector<16xf32>
    %z = vector.load %y[%k, %c0] : memref<256x64xf32>, vector<16xf32>
    %n = memref.load %x[%k, %c0] : memref<256x4xf32>
    %m = vector.broadcast %n : f32 to vector<16xf32>
    %a2 = math.fma %u, %m, %a : vector<16xf32>
    %b2 = math.fma %v, %m, %b : vector<16xf32>
    %c2 = math.fma %u, %z, %c : vector<16xf32>
    %d2 = math.fma %v, %z, %d : vector<16xf32>
    %e2 = math.fma %z, %m, %e : vector<16xf32>
    %f2 = math.fma %z, %z, %f : vector<16xf32>
    scf.yield %a2, %b2, %c2, %d2, %e2, %f2 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  func.return %r#0 : vector<16xf32>
}
// CHECK:      func.func @tile(
// CHECK:        vector.load %w[%c0, %k, %c0] {stepwell.prefetch = array<i64: 5376>} : memref<2x256x16xf32>
// CHECK-NEXT:   vector.load %w[%c1, %k, %c0] {stepwell.prefetch = array<i64: 5376>} : memref<2x256x16xf32>
// CHECK-NEXT:   vector.load %y[%k, %c0] : memref<256x64xf32>
// NEAR:         vector.load %w[%c0, %k, %c0] {stepwell.prefetch = array<i64: 256>} : memref<2x256x16xf32>

// A matrix by rows that exceeds the second cache is requested into it.
// ROWS:         vector.load %w[%c0, %k, %c0] {stepwell.prefetch = array<i64: 5376>} : memref<2x256x16xf32>
// ROWS:         vector.load %y[%k, %c0] {stepwell.prefetch = array<i64: 21504>, stepwell.prefetch_level = 2 : i64} : memref<256x64xf32>

// Loads of a line request it once; a step of the loop advances addresses by several rows.
func.func @halves(%w: memref<512x8xf32>, %s: vector<4xf32>) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %v = arith.constant dense<1.0> : vector<80xf32>
  %r = scf.for %k = %c0 to %c512 step %c2 iter_args(%a = %s) -> (vector<4xf32>) {
    %high = vector.load %w[%k, %c4] : memref<512x8xf32>, vector<4xf32>
    %low = vector.load %w[%k, %c0] : memref<512x8xf32>, vector<4xf32>
    %b = arith.addf %high, %low : vector<4xf32>
    %more = arith.addf %v, %v : vector<80xf32>
    scf.yield %b : vector<4xf32>
  }
  func.return %r : vector<4xf32>
}
// CHECK:      func.func @halves(
// CHECK:        vector.load %w[%k, %c4] : memref<512x8xf32>
// CHECK-NEXT:   vector.load %w[%k, %c0] {stepwell.prefetch = array<i64: 6144>} : memref<512x8xf32>

// No tile of sums, and memory of the function itself.
func.func @others(%w: memref<256x16xf32>, %s: vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %v = arith.constant dense<1.0> : vector<80xf32>
  %panel = memref.alloc() : memref<256x16xf32>
  scf.for %k = %c0 to %c256 step %c1 {
    %u = vector.load %w[%k, %c0] : memref<256x16xf32>, vector<16xf32>
    vector.store %u, %panel[%k, %c0] : memref<256x16xf32>, vector<16xf32>
  }
  scf.for %k = %c0 to %c256 step %c1 {
    %u = vector.load %panel[%k, %c0] : memref<256x16xf32>, vector<16xf32>
    %more = arith.addf %v, %v : vector<80xf32>
  }
  func.return
}
// CHECK:      func.func @others(
// CHECK-NOT:    stepwell.prefetch

// A parameter of dynamic size may exceed the cache. The distance of rows of dynamic length is unknown: both are
// requested, and neither is, if the loop runs over such rows.
func.func @dynamic(%p: !llvm.ptr, %y: memref<256x?xf32>, %n: index, %s: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %memory = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<?xf32>
  %stride = arith.muli %n, %n : index
  %w = memref.reinterpret_cast %memory to offset: [0], sizes: [2, %n, 16], strides: [%stride, 16, 1] : memref<?xf32> to memref<2x?x16xf32>
  %r:6 = scf.for %k = %c0 to %n step %c1
      iter_args(%a = %s, %b = %s, %c = %s, %d = %s, %e = %s, %f = %s)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %u = vector.load %w[%c0, %k, %c0] : memref<2x?x16xf32>, vector<16xf32>
    %v = vector.load %w[%c1, %k, %c0] : memref<2x?x16xf32>, vector<16xf32>
    %z = vector.load %y[%k, %c0] : memref<256x?xf32>, vector<16xf32>
    %a2 = math.fma %u, %z, %a : vector<16xf32>
    %b2 = math.fma %v, %z, %b : vector<16xf32>
    %c2 = math.fma %u, %z, %c : vector<16xf32>
    %d2 = math.fma %v, %z, %d : vector<16xf32>
    %e2 = math.fma %z, %z, %e : vector<16xf32>
    %f2 = math.fma %z, %z, %f : vector<16xf32>
    scf.yield %a2, %b2, %c2, %d2, %e2, %f2 : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  func.return %r#0 : vector<16xf32>
}
// CHECK:      func.func @dynamic(
// CHECK:        vector.load %w[%c0, %k, %c0] {stepwell.prefetch = array<i64: 5376>} : memref<2x?x16xf32>
// CHECK-NEXT:   vector.load %w[%c1, %k, %c0] {stepwell.prefetch = array<i64: 5376>} : memref<2x?x16xf32>
// CHECK-NEXT:   vector.load %y[%k, %c0] : memref<256x?xf32>

// Three passes over each panel of 64 by 16 weights, which is 4 KiB: a pass requests a third of the next panel, the
// iteration 22 bytes after those of the iteration before.
func.func @panels(%w: memref<4x64x16xf32>, %s: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %v = arith.constant dense<1.0> : vector<80xf32>
  %r = scf.for %o = %c0 to %c4 step %c1 iter_args(%a = %s) -> (vector<16xf32>) {
    %p = scf.for %t = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<16xf32>) {
      %q = scf.for %k = %c0 to %c64 step %c1 iter_args(%c = %b) -> (vector<16xf32>) {
        %u = vector.load %w[%o, %k, %c0] : memref<4x64x16xf32>, vector<16xf32>
        %d = arith.addf %u, %c : vector<16xf32>
        %more = arith.addf %v, %v : vector<80xf32>
        scf.yield %d : vector<16xf32>
      }
      scf.yield %q : vector<16xf32>
    }
    scf.yield %p : vector<16xf32>
  }
  func.return %r : vector<16xf32>
}
// ROWS:      func.func @panels(
// ROWS:        vector.load %w[%o, %k, %c0] {stepwell.prefetch_panel = array<i64: 4096, -42, 1365>, stepwell.prefetch = array<i64: {{[0-9]+}}>}
