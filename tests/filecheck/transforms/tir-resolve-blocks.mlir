// RUN: stepwell-opt %s -p tir-resolve-blocks | filecheck %s

// Axes become their bindings, the init runs at the first reduction step, accesses go.
tir.func @reduce("A" %A: memref<8x4xf32>, "C" %C: memref<8xf32>) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "k" %k : i32 in [0 +: 4] {
      tir.block "C" (spatial "vi" %vi : i32 in [0 +: 8] = %i, reduce "vk" %vk : i32 in [0 +: 4] = %k) {
        tir.access reads %A[%vi, %vk] : memref<8x4xf32>
        tir.access writes %C[%vi] : memref<8xf32>
        tir.init {
          %z = arith.constant 0.0 : f32
          tir.store %z, %C[%vi] : memref<8xf32>
        }
        %c = tir.load %C[%vi] : memref<8xf32>
        %a = tir.load %A[%vi, %vk] : memref<8x4xf32>
        %s = arith.addf %c, %a : f32
        tir.store %s, %C[%vi] : memref<8xf32>
      }
    }
  }
}
// CHECK:       builtin.module {
// CHECK-NEXT:    tir.func @reduce("A" %A: memref<8x4xf32>, "C" %C: memref<8xf32>) {
// CHECK-NEXT:      tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:        tir.for serial "k" %k : i32 in [0 +: 4] {
// CHECK-NEXT:          %[[zero:\d+]] = arith.constant 0 : i32
// CHECK-NEXT:          %[[first:\d+]] = arith.cmpi eq, %k, %[[zero]] : i32
// CHECK-NEXT:          tir.if %[[first]] {
// CHECK-NEXT:            %z = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:            tir.store %z, %C[%i] : memref<8xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:          %c = tir.load %C[%i] : memref<8xf32>
// CHECK-NEXT:          %a = tir.load %A[%i, %k] : memref<8x4xf32>
// CHECK-NEXT:          %s = arith.addf %c, %a : f32
// CHECK-NEXT:          tir.store %s, %C[%i] : memref<8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// A predicate guards everything; every reduce axis must be at the start of its domain, wherever that is.
tir.func @predicate("C" %C: memref<8xf32>, "x" %x: f32, "a" %a: i32, "b" %b: i32, "n" %n: i32, "p" %p: i1) {
  tir.block "C" (reduce "u" %u : i32 in [2 +: 4] = %a, reduce "v" %v : i32 in [%n +: %n] = %b) where %p annotations {x = 1 : i32} {
    tir.init {
      tir.store %x, %C[%u] : memref<8xf32>
    }
    tir.store %x, %C[%v] : memref<8xf32>
  }
}
// CHECK-NEXT:    tir.func @predicate(
// CHECK-NEXT:      tir.if %p {
// CHECK-NEXT:        %[[two:\d+]] = arith.constant 2 : i32
// CHECK-NEXT:        %[[first:\d+]] = arith.cmpi eq, %a, %[[two]] : i32
// CHECK-NEXT:        %[[second:\d+]] = arith.cmpi eq, %b, %n : i32
// CHECK-NEXT:        %[[both:\d+]] = arith.andi %[[first]], %[[second]] : i1
// CHECK-NEXT:        tir.if %[[both]] {
// CHECK-NEXT:          tir.store %x, %C[%a] : memref<8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.store %x, %C[%b] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// No condition where it always holds: no reduce axis, a domain of one value, a binding that is the first value.
tir.func @always("C" %C: memref<8xf32>, "x" %x: f32, "i" %i: i32, "n" %n: i32) {
  %c3 = arith.constant 3 : i32
  tir.block "a" (spatial "v" %v : i32 in [0 +: 8] = %i) {
    tir.init {
      tir.store %x, %C[%v] : memref<8xf32>
    }
  }
  tir.block "b" (reduce "v" %v : i32 in [5 +: 1] = %i, reduce "w" %w : i32 in [3 +: 8] = %c3, reduce "u" %u : i32 in [%n +: 8] = %n) {
    tir.init {
      tir.store %x, %C[%w] : memref<8xf32>
    }
  }
}
// CHECK-NEXT:    tir.func @always(
// CHECK-NEXT:      %c3 = arith.constant 3 : i32
// CHECK-NEXT:      tir.store %x, %C[%i] : memref<8xf32>
// CHECK-NEXT:      tir.store %x, %C[%c3] : memref<8xf32>
// CHECK-NEXT:    }

// Opaque and nested blocks; what a block allocates or matches now belongs to the region around it.
tir.func @nested("A" %A: memref<8x8xf32>, "x" %x: f32, "i" %i: i32, "p" %p: i1) {
  tir.block "root" () {
    %t = tir.alloc_buffer "T" : memref<8xf32>
    tir.block "outer" (opaque "o" %o : i32 in [0 +: 8] = %i) where %p {
      %row = tir.match_region "row" %A[%o, 0 +: 8] : memref<8x8xf32> -> memref<8xf32>
      tir.block "inner" (spatial "w" %w : i32 in [0 +: 8] = %o) {
        %s = tir.alloc_buffer "S" : memref<8xf32>
        tir.store %x, %s[%w] : memref<8xf32>
        tir.store %x, %row[%w] : memref<8xf32>
      }
    }
    tir.store %x, %t[%i] : memref<8xf32>
  }
}
// CHECK-NEXT:    tir.func @nested(
// CHECK-NEXT:      %t = tir.alloc_buffer "T" : memref<8xf32>
// CHECK-NEXT:      tir.if %p {
// CHECK-NEXT:        %row = tir.match_region "row" %A[%i, 0 +: 8] : memref<8x8xf32> -> memref<8xf32>
// CHECK-NEXT:        %s = tir.alloc_buffer "S" : memref<8xf32>
// CHECK-NEXT:        tir.store %x, %s[%i] : memref<8xf32>
// CHECK-NEXT:        tir.store %x, %row[%i] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.store %x, %t[%i] : memref<8xf32>
// CHECK-NEXT:    }

// For a GPU, statements keep the name of the innermost block they are in; what blocks are in has none.
tir.func @names("A" %A: memref<8xf32>, "x" %x: f32) {
  tir.block "root" () {
    tir.for thread_binding "i" %i : i32 in [0 +: 2] thread "threadIdx.x" {
      tir.block "outer" (spatial "vi" %vi : i32 in [0 +: 2] = %i) {
        tir.store %x, %A[%vi] : memref<8xf32>
        tir.for serial "j" %j : i32 in [0 +: 4] {
          tir.block "inner" (spatial "vj" %vj : i32 in [0 +: 4] = %j) {
            tir.for serial "k" %k : i32 in [0 +: 2] {
              tir.store %x, %A[%vj] : memref<8xf32>
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @names
// CHECK-NEXT:  tir.for thread_binding "i" %i : i32 in [0 +: 2] thread "threadIdx.x" {
// CHECK-NEXT:    tir.store %x, %A[%i] attributes {stepwell.block = "outer"} : memref<8xf32>
// CHECK-NEXT:    tir.for serial "j" %j : i32 in [0 +: 4] {
// CHECK-NEXT:      tir.for serial "k" %k : i32 in [0 +: 2] attributes {stepwell.block = "inner"} {
// CHECK-NEXT:        tir.store %x, %A[%j] attributes {stepwell.block = "inner"} : memref<8xf32>
