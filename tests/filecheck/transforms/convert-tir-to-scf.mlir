// RUN: stepwell-opt %s -p convert-tir-to-scf | filecheck %s

// Parameters keep their names and data types; unsigned types lose their sign, operations keep it.
tir.func @unsigned("A" %A: memref<8xui8>, "x" %x: ui8, "b" %b: i1, "h" %h: !tir.handle) -> ui8 attrs {tir.noalias = true} {
  %c3 = tir.const 200 : ui8
  %y = arith.divui %x, %c3 : ui8
  %z = tir.cast %y : ui8 -> i32
  %w = tir.load %A[%z] : memref<8xui8>
  %s = arith.bitcast %w : ui8 to i8
  %t = tir.cast %s : i8 -> i32
  tir.store %w, %A[%t] : memref<8xui8>
  %c = arith.cmpi ult, %w, %y : ui8
  %m = arith.select %c, %w, %y : ui8
  tir.return %m : ui8
}
// CHECK:         func.func @unsigned(%A: memref<8xi8> {stepwell.name = "A", stepwell.dtype = "uint8"}, %x: i8 {stepwell.name = "x", stepwell.dtype = "uint8"}, %b: i1 {stepwell.name = "b", stepwell.dtype = "bool"}, %h: !llvm.ptr {stepwell.name = "h", stepwell.dtype = "handle"}) -> (i8 {stepwell.dtype = "uint8"}) attributes {stepwell.noalias} {
// CHECK-NEXT:        %cm56_i8 = arith.constant -56 : i8
// CHECK-NEXT:        %y = arith.divui %x, %cm56_i8 : i8
// CHECK-NEXT:        %z = arith.extui %y : i8 to i32
// CHECK-NEXT:        %0 = arith.index_cast %z : i32 to index
// CHECK-NEXT:        %w = memref.load %A[%0] : memref<8xi8>
// CHECK-NEXT:        %t = arith.extsi %w : i8 to i32
// CHECK-NEXT:        %1 = arith.index_cast %t : i32 to index
// CHECK-NEXT:        memref.store %w, %A[%1] : memref<8xi8>
// CHECK-NEXT:        %c = arith.cmpi ult, %w, %y : i8
// CHECK-NEXT:        %m = arith.select %c, %w, %y : i8
// CHECK-NEXT:        func.return %m : i8
// CHECK-NEXT:      }

// Loops over index; an index that the program computes is cast, 64 bits wide from there.
tir.func @loops("A" %A: memref<8x8xf32>, "n" %n: i32, "m" %m: i64, "x" %x: f32) {
  %c1 = arith.constant 1 : i32
  tir.for serial "i" %i : i32 in [2 +: 4] {
    tir.for unrolled "j" %j : i32 in [%n +: %n] step 2 {
      %k = arith.addi %i, %c1 : i32
      tir.store %x, %A[%k, %j] : memref<8x8xf32>
      tir.store %x, %A[%j, %k] : memref<8x8xf32>
    }
  }
  tir.for vectorized "v" %v : i64 in [0 +: %m] {
    tir.store %x, %A[%v : i64, %c1] : memref<8x8xf32>
  }
  tir.for thread_binding "t" %t : i32 in [0 +: 2] thread "vthread" {
    tir.store %x, %A[%t, %t] : memref<8x8xf32>
  }
}
// CHECK:         func.func @loops(%A: memref<8x8xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %n: i32 {stepwell.name = "n", stepwell.dtype = "int32"}, %m: i64 {stepwell.name = "m", stepwell.dtype = "int64"}, %x: f32 {stepwell.name = "x", stepwell.dtype = "float32"}) {
// CHECK-NEXT:        %c2 = arith.constant 2 : index
// CHECK-NEXT:        %c6 = arith.constant 6 : index
// CHECK-NEXT:        %c1 = arith.constant 1 : index
// CHECK-NEXT:        %c0 = arith.constant 0 : index
// CHECK-NEXT:        scf.for %i = %c2 to %c6 step %c1 {
// CHECK-NEXT:          %0 = arith.index_cast %n : i32 to index
// CHECK-NEXT:          %1 = arith.addi %0, %0 : index
// CHECK-NEXT:          scf.for %j = %0 to %1 step %c2 {
// CHECK-NEXT:            %k = arith.addi %i, %c1 : index
// CHECK-NEXT:            memref.store %x, %A[%k, %j] : memref<8x8xf32>
// CHECK-NEXT:            memref.store %x, %A[%j, %k] : memref<8x8xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        %2 = arith.index_cast %m : i64 to index
// CHECK-NEXT:        scf.for %v = %c0 to %2 step %c1 {
// CHECK-NEXT:          memref.store %x, %A[%v, %c1] : memref<8x8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.for %t = %c0 to %c2 step %c1 {
// CHECK-NEXT:          memref.store %x, %A[%t, %t] : memref<8x8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// Memory: the heap is given back at the end of the region; what iterations that run at the same time keep on the
// stack is their own.
tir.func @memory("n" %n: i32, "x" %x: f32, "p" %p: i1) {
  %c0 = arith.constant 0 : i32
  %a = tir.alloc_buffer "a" on stack : memref<8xf32>
  tir.for parallel "i" %i : i32 in [0 +: %n] {
    %b = tir.alloc_buffer "b" on stack : memref<8xf32>
    %c = tir.alloc_buffer "c" dims [%n] align 128 on heap : memref<?xf32>
    %d = tir.alloc_buffer "d" : memref<4x4xf32, strided<[8, 1], offset: 2>>
    tir.store %x, %b[%i] : memref<8xf32>
    tir.store %x, %c[%i] : memref<?xf32>
    tir.store %x, %d[%c0, %i] : memref<4x4xf32, strided<[8, 1], offset: 2>>
  }
  tir.store %x, %a[%c0] : memref<8xf32>
}
// CHECK:         func.func @memory(%n: i32 {stepwell.name = "n", stepwell.dtype = "int32"}, %x: f32 {stepwell.name = "x", stepwell.dtype = "float32"}, %p: i1 {stepwell.name = "p", stepwell.dtype = "bool"}) {
// CHECK-NEXT:        %c0 = arith.constant 0 : index
// CHECK-NEXT:        %c1 = arith.constant 1 : index
// CHECK-NEXT:        %a = memref.alloca() : memref<8xf32>
// CHECK-NEXT:        %0 = arith.index_cast %n : i32 to index
// CHECK-NEXT:        "scf.parallel"(%c0, %0, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT:        ^bb0(%i: index):
// CHECK-NEXT:          %b = memref.alloca() : memref<8xf32>
// CHECK-NEXT:          %c = memref.alloc(%0) {alignment = 128 : i64} : memref<?xf32>
// CHECK-NEXT:          %1 = memref.alloc() : memref<30xf32>
// CHECK-NEXT:          %d = memref.reinterpret_cast %1 to offset: [2], sizes: [4, 4], strides: [8, 1] : memref<30xf32> to memref<4x4xf32, strided<[8, 1], offset: 2>>
// CHECK-NEXT:          memref.store %x, %b[%i] : memref<8xf32>
// CHECK-NEXT:          memref.store %x, %c[%i] : memref<?xf32>
// CHECK-NEXT:          memref.store %x, %d[%c0, %i] : memref<4x4xf32, strided<[8, 1], offset: 2>>
// CHECK-NEXT:          memref.dealloc %1 : memref<30xf32>
// CHECK-NEXT:          memref.dealloc %c : memref<?xf32>
// CHECK-NEXT:          scf.reduce
// CHECK-NEXT:        }) : (index, index, index) -> ()
// CHECK-NEXT:        memref.store %x, %a[%c0] : memref<8xf32>
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// Branches, lazy values, while, attributes, names and asserts.
tir.func @control("A" %A: memref<8xf32>, "n" %n: i32, "p" %p: i1) {
  %c0 = arith.constant 0 : i32
  %c = tir.alloc_buffer "count" on stack : memref<1xi32>
  tir.store %c0, %c[%c0] : memref<1xi32>
  %y = tir.if_then_else %p {
    %l = tir.load %A[%n] : memref<8xf32>
    tir.yield %l : f32
  } else {
    %z = arith.constant -0.0 : f32
    tir.yield %z : f32
  } : f32
  %named = tir.let "named" %y : f32
  tir.while {
    %i = tir.load %c[%c0] : memref<1xi32>
    %more = arith.cmpi slt, %i, %n : i32
    tir.yield %more : i1
  } do {
    %i = tir.load %c[%c0] : memref<1xi32>
    tir.store %named, %A[%i] : memref<8xf32>
    %c1 = arith.constant 1 : i32
    %next = arith.addi %i, %c1 : i32
    tir.store %next, %c[%c0] : memref<1xi32>
  }
  tir.attr "pragma" of 0 : i32 is 1 : i32 {
    tir.if %p {
      tir.assert %p, "never"
    } else {
      tir.evaluate %n : i32
    }
  }
}
// CHECK:         func.func @control(%A: memref<8xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %n: i32 {stepwell.name = "n", stepwell.dtype = "int32"}, %p: i1 {stepwell.name = "p", stepwell.dtype = "bool"}) {
// CHECK-NEXT:        %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:        %c0 = arith.constant 0 : index
// CHECK-NEXT:        %cst = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:        %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:        %c = memref.alloca() : memref<1xi32>
// CHECK-NEXT:        memref.store %c0_i32, %c[%c0] : memref<1xi32>
// CHECK-NEXT:        %y = scf.if %p -> (f32) {
// CHECK-NEXT:          %0 = arith.index_cast %n : i32 to index
// CHECK-NEXT:          %l = memref.load %A[%0] : memref<8xf32>
// CHECK-NEXT:          scf.yield %l : f32
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %cst : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.while () : () -> () {
// CHECK-NEXT:          %i = memref.load %c[%c0] : memref<1xi32>
// CHECK-NEXT:          %more = arith.cmpi slt, %i, %n : i32
// CHECK-NEXT:          scf.condition(%more)
// CHECK-NEXT:        } do {
// CHECK-NEXT:          %i_1 = memref.load %c[%c0] : memref<1xi32>
// CHECK-NEXT:          %1 = arith.index_cast %i_1 : i32 to index
// CHECK-NEXT:          memref.store %y, %A[%1] : memref<8xf32>
// CHECK-NEXT:          %next = arith.addi %i_1, %c1_i32 : i32
// CHECK-NEXT:          memref.store %next, %c[%c0] : memref<1xi32>
// CHECK-NEXT:          scf.yield
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.if %p {
// CHECK-NEXT:          cf.assert %p, "never"
// CHECK-NEXT:        } else {
// CHECK-NEXT:        }
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// The rest of a function behind a branch that returns is the rest of the other branch.
tir.func @returns("A" %A: memref<8xf32>, "n" %n: i32, "p" %p: i1, "q" %q: i1) -> i32 {
  %c1 = arith.constant 1 : i32
  tir.if %p {
    %t = tir.alloc_buffer "T" : memref<8xi32>
    %v = tir.load %t[%n] : memref<8xi32>
    tir.if %q {
      tir.return %v : i32
    }
  } else {
    tir.return %c1 : i32
  }
  tir.evaluate %n : i32
  tir.return %n : i32
}
// CHECK:         func.func @returns(%A: memref<8xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %n: i32 {stepwell.name = "n", stepwell.dtype = "int32"}, %p: i1 {stepwell.name = "p", stepwell.dtype = "bool"}, %q: i1 {stepwell.name = "q", stepwell.dtype = "bool"}) -> (i32 {stepwell.dtype = "int32"}) {
// CHECK-NEXT:        %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:        %0 = scf.if %p -> (i32) {
// CHECK-NEXT:          %t = memref.alloc() : memref<8xi32>
// CHECK-NEXT:          %1 = arith.index_cast %n : i32 to index
// CHECK-NEXT:          %v = memref.load %t[%1] : memref<8xi32>
// CHECK-NEXT:          %2 = scf.if %q -> (i32) {
// CHECK-NEXT:            scf.yield %v : i32
// CHECK-NEXT:          } else {
// CHECK-NEXT:            scf.yield %n : i32
// CHECK-NEXT:          }
// CHECK-NEXT:          memref.dealloc %t : memref<8xi32>
// CHECK-NEXT:          scf.yield %2 : i32
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %c1_i32 : i32
// CHECK-NEXT:        }
// CHECK-NEXT:        func.return %0 : i32
// CHECK-NEXT:      }

// Symbols are bound by the first extent, stride or offset that is one; everything else is checked.
tir.func @symbols("a" %a: !tir.handle, "b" %b: !tir.handle, "k" %k: i64) {
  %n = tir.symbol "n" : i32
  %s = tir.symbol "s" : i64
  %o = tir.symbol "o" : i64
  %c2 = arith.constant 2 : i32
  %twice = arith.muli %n, %c2 : i32
  %A = tir.match_buffer "A" %a dims [%twice, %k : i64] : !tir.handle -> memref<?x?xf32>
  %B = tir.match_buffer "B" %b dims [%n, %n] strides [%s : i64] offset [%o : i64] : !tir.handle -> memref<?x?xf32, strided<[?, 1], offset: ?>>
  %x = tir.load %B[%n, %n] : memref<?x?xf32, strided<[?, 1], offset: ?>>
  tir.store %x, %A[%n, %n] : memref<?x?xf32>
}
// CHECK:         func.func @symbols(%A: memref<?x?xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %B: memref<?x?xf32, strided<[?, 1], offset: ?>> {stepwell.name = "B", stepwell.dtype = "float32"}, %k: i64 {stepwell.name = "k", stepwell.dtype = "int64"}) {
// CHECK-NEXT:        %c0 = arith.constant 0 : index
// CHECK-NEXT:        %c1073741823 = arith.constant 1073741823 : index
// CHECK-NEXT:        %c1 = arith.constant 1 : index
// CHECK-NEXT:        %c2 = arith.constant 2 : index
// CHECK-NEXT:        %n = memref.dim %B, %c0 : memref<?x?xf32, strided<[?, 1], offset: ?>>
// CHECK-NEXT:        %n_1 = arith.index_cast %n : index to i32
// CHECK-NEXT:        %0 = arith.index_cast %n_1 : i32 to index
// CHECK-NEXT:        %1 = arith.cmpi eq, %0, %n : index
// CHECK-NEXT:        cf.assert %1, "B: shape[0] does not fit int32" {stepwell.argument}
// CHECK-NEXT:        %2, %o, %3, %4, %s, %5 = memref.extract_strided_metadata %B : memref<?x?xf32, strided<[?, 1], offset: ?>> -> memref<f32>, index, index, index, index, index
// CHECK-NEXT:        %6 = arith.cmpi sle, %n, %c1073741823 : index
// CHECK-NEXT:        cf.assert %6, "B: expected fewer than 1073741824 elements" {stepwell.argument}
// CHECK-NEXT:        %7 = arith.maxsi %n, %c1 : index
// CHECK-NEXT:        %8 = arith.divsi %c1073741823, %7 : index
// CHECK-NEXT:        %9 = memref.dim %B, %c1 : memref<?x?xf32, strided<[?, 1], offset: ?>>
// CHECK-NEXT:        %10 = arith.cmpi sle, %9, %8 : index
// CHECK-NEXT:        cf.assert %10, "B: expected fewer than 1073741824 elements" {stepwell.argument}
// CHECK-NEXT:        %twice = arith.muli %n, %c2 : index
// CHECK-NEXT:        %11 = memref.dim %A, %c0 : memref<?x?xf32>
// CHECK-NEXT:        %12 = arith.cmpi eq, %11, %twice : index
// CHECK-NEXT:        cf.assert %12, "A: shape[0] must be n * 2" {stepwell.argument}
// CHECK-NEXT:        %13 = arith.index_cast %k : i64 to index
// CHECK-NEXT:        %14 = memref.dim %A, %c1 : memref<?x?xf32>
// CHECK-NEXT:        %15 = arith.cmpi eq, %14, %13 : index
// CHECK-NEXT:        cf.assert %15, "A: shape[1] must be k" {stepwell.argument}
// CHECK-NEXT:        %16 = arith.cmpi eq, %9, %n : index
// CHECK-NEXT:        cf.assert %16, "B: shape[1] must be n" {stepwell.argument}
// CHECK-NEXT:        %x = memref.load %B[%n, %n] : memref<?x?xf32, strided<[?, 1], offset: ?>>
// CHECK-NEXT:        memref.store %x, %A[%n, %n] : memref<?x?xf32>
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }


// Casts between all kinds of types.
tir.func @casts("b" %b: i1, "i" %i: i8, "u" %u: ui8, "h" %h: f16, "g" %g: bf16, "f" %f: f32, "v" %v: vector<4xui8>) {
  %0 = tir.cast %b : i1 -> i32
  %1 = tir.cast %b : i1 -> f32
  %2 = tir.cast %i : i8 -> i1
  %3 = tir.cast %f : f32 -> i1
  %4 = tir.cast %i : i8 -> i32
  %5 = tir.cast %u : ui8 -> i32
  %6 = tir.cast %i : i8 -> ui8
  %7 = tir.cast %i : i8 -> ui16
  %8 = tir.cast %4 : i32 -> ui8
  %9 = tir.cast %i : i8 -> f32
  %10 = tir.cast %u : ui8 -> f32
  %11 = tir.cast %f : f32 -> i8
  %12 = tir.cast %f : f32 -> ui8
  %13 = tir.cast %h : f16 -> f32
  %14 = tir.cast %f : f32 -> bf16
  %15 = tir.cast %h : f16 -> bf16
  %16 = tir.cast %v : vector<4xui8> -> vector<4xf32>
  %17 = tir.cast %v : vector<4xui8> -> vector<4xi1>
  %18 = tir.reinterpret %f : f32 -> i32
  %19 = tir.reinterpret %18 : i32 -> vector<4xui8>
  %20 = tir.reinterpret %19 : vector<4xui8> -> f32
  %21 = tir.reinterpret %u : ui8 -> i8
  %22 = tir.reinterpret %v : vector<4xui8> -> vector<2xi16>
}
// CHECK:         func.func @casts(%b: i1 {stepwell.name = "b", stepwell.dtype = "bool"}, %i: i8 {stepwell.name = "i", stepwell.dtype = "int8"}, %u: i8 {stepwell.name = "u", stepwell.dtype = "uint8"}, %h: f16 {stepwell.name = "h", stepwell.dtype = "float16"}, %g: bf16 {stepwell.name = "g", stepwell.dtype = "bfloat16"}, %f: f32 {stepwell.name = "f", stepwell.dtype = "float32"}, %v: vector<4xi8> {stepwell.name = "v", stepwell.dtype = "uint8x4"}) {
// CHECK-NEXT:        %c0_i8 = arith.constant 0 : i8
// CHECK-NEXT:        %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        %cst_1 = arith.constant dense<0> : vector<4xi8>
// CHECK-NEXT:        %0 = arith.extui %b : i1 to i32
// CHECK-NEXT:        %1 = arith.uitofp %b : i1 to f32
// CHECK-NEXT:        %2 = arith.cmpi ne, %i, %c0_i8 : i8
// CHECK-NEXT:        %3 = arith.cmpf une, %f, %cst : f32
// CHECK-NEXT:        %4 = arith.extsi %i : i8 to i32
// CHECK-NEXT:        %5 = arith.extui %u : i8 to i32
// CHECK-NEXT:        %6 = arith.extsi %i : i8 to i16
// CHECK-NEXT:        %7 = arith.trunci %4 : i32 to i8
// CHECK-NEXT:        %8 = arith.sitofp %i : i8 to f32
// CHECK-NEXT:        %9 = arith.uitofp %u : i8 to f32
// CHECK-NEXT:        %10 = arith.fptosi %f : f32 to i8
// CHECK-NEXT:        %11 = arith.fptoui %f : f32 to i8
// CHECK-NEXT:        %12 = arith.extf %h : f16 to f32
// CHECK-NEXT:        %13 = arith.truncf %f : f32 to bf16
// CHECK-NEXT:        %14 = arith.extf %h : f16 to f32
// CHECK-NEXT:        %15 = arith.truncf %14 : f32 to bf16
// CHECK-NEXT:        %16 = arith.uitofp %v : vector<4xi8> to vector<4xf32>
// CHECK-NEXT:        %17 = arith.cmpi ne, %v, %cst_1 : vector<4xi8>
// CHECK-NEXT:        %18 = arith.bitcast %f : f32 to i32
// CHECK-NEXT:        %19 = vector.broadcast %18 : i32 to vector<1xi32>
// CHECK-NEXT:        %20 = vector.bitcast %19 : vector<1xi32> to vector<4xi8>
// CHECK-NEXT:        %21 = vector.bitcast %20 : vector<4xi8> to vector<1xf32>
// CHECK-NEXT:        %22 = vector.extract %21[0] : f32 from vector<1xf32>
// CHECK-NEXT:        %23 = vector.bitcast %v : vector<4xi8> to vector<2xi16>
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// What arith and math do not have.
tir.func @expressions("i" %i: i32, "j" %j: i32, "f" %f: f32, "g" %g: f32, "h" %h: f16, "u" %u: ui32, "p" %p: !tir.handle) {
  %0 = tir.floormod %i, %j : i32
  %1 = tir.min %f, %g : f32
  %2 = tir.max %f, %g : f32
  %3 = math.absi %u : ui32
  %4 = tir.intrinsic "sigmoid"(%h) : f16 -> f16
  %5 = tir.intrinsic "exp10"(%f) : f32 -> f32
  %6 = tir.intrinsic "hypot"(%f, %g) : f32, f32 -> f32
  %7 = tir.intrinsic "ldexp"(%h, %u) : f16, ui32 -> f16
  %8 = tir.intrinsic "fmod"(%f, %g) : f32, f32 -> f32
  %9 = tir.intrinsic "isnan"(%f) : f32 -> i1
  %10 = tir.intrinsic "isinf"(%f) : f32 -> i1
  %11 = tir.intrinsic "isfinite"(%i) : i32 -> i1
  %12 = tir.intrinsic "likely"(%9) : i1 -> i1
  %13 = tir.intrinsic "isnullptr"(%p) : !tir.handle -> i1
}
// CHECK:         func.func @expressions(%i: i32 {stepwell.name = "i", stepwell.dtype = "int32"}, %j: i32 {stepwell.name = "j", stepwell.dtype = "int32"}, %f: f32 {stepwell.name = "f", stepwell.dtype = "float32"}, %g: f32 {stepwell.name = "g", stepwell.dtype = "float32"}, %h: f16 {stepwell.name = "h", stepwell.dtype = "float16"}, %u: i32 {stepwell.name = "u", stepwell.dtype = "uint32"}, %p: !llvm.ptr {stepwell.name = "p", stepwell.dtype = "handle"}) {
// CHECK-NEXT:        %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:        %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:        %cst_1 = arith.constant 1.000000e+01 : f32
// CHECK-NEXT:        %c2147483647_i32 = arith.constant 2147483647 : i32
// CHECK-NEXT:        %cst_2 = arith.constant 0x7f800000 : f32
// CHECK-NEXT:        %c1_i1 = arith.constant true
// CHECK-NEXT:        %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:        %0 = arith.remsi %i, %j : i32
// CHECK-NEXT:        %1 = arith.xori %0, %j : i32
// CHECK-NEXT:        %2 = arith.cmpi slt, %1, %c0_i32 : i32
// CHECK-NEXT:        %3 = arith.cmpi ne, %0, %c0_i32 : i32
// CHECK-NEXT:        %4 = arith.andi %3, %2 : i1
// CHECK-NEXT:        %5 = arith.addi %0, %j : i32
// CHECK-NEXT:        %6 = arith.select %4, %5, %0 : i32
// CHECK-NEXT:        %7 = arith.cmpf olt, %f, %g : f32
// CHECK-NEXT:        %8 = arith.select %7, %f, %g : f32
// CHECK-NEXT:        %9 = arith.cmpf ogt, %f, %g : f32
// CHECK-NEXT:        %10 = arith.select %9, %f, %g : f32
// CHECK-NEXT:        %11 = arith.extf %h : f16 to f32
// CHECK-NEXT:        %12 = arith.negf %11 : f32
// CHECK-NEXT:        %13 = math.exp %12 : f32
// CHECK-NEXT:        %14 = arith.addf %cst, %13 : f32
// CHECK-NEXT:        %15 = arith.divf %cst, %14 : f32
// CHECK-NEXT:        %16 = arith.truncf %15 : f32 to f16
// CHECK-NEXT:        %17 = math.powf %cst_1, %f : f32
// CHECK-NEXT:        %18 = func.call @hypotf(%f, %g) : (f32, f32) -> f32
// CHECK-NEXT:        %19 = arith.extf %h : f16 to f64
// CHECK-NEXT:        %20 = arith.minui %u, %c2147483647_i32 : i32
// CHECK-NEXT:        %21 = func.call @ldexp(%19, %20) : (f64, i32) -> f64
// CHECK-NEXT:        %22 = arith.truncf %21 : f64 to f16
// CHECK-NEXT:        %23 = func.call @fmodf(%f, %g) : (f32, f32) -> f32
// CHECK-NEXT:        %24 = arith.cmpf uno, %f, %f : f32
// CHECK-NEXT:        %25 = math.absf %f : f32
// CHECK-NEXT:        %26 = arith.cmpf oeq, %25, %cst_2 : f32
// CHECK-NEXT:        %27 = llvm.ptrtoint %p : !llvm.ptr to i64
// CHECK-NEXT:        %28 = arith.cmpi eq, %27, %c0_i64 : i64
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

tir.func @nextafter("h" %h: f16, "g" %g: f16) {
  %0 = tir.intrinsic "nextafter"(%h, %g) : f16, f16 -> f16
}
// CHECK:         func.func @nextafter(%h: f16 {stepwell.name = "h", stepwell.dtype = "float16"}, %g: f16 {stepwell.name = "g", stepwell.dtype = "float16"}) {
// CHECK-NEXT:        %cst = arith.constant 0.000000e+00 : f16
// CHECK-NEXT:        %c1_i16 = arith.constant 1 : i16
// CHECK-NEXT:        %cm1_i16 = arith.constant -1 : i16
// CHECK-NEXT:        %0 = arith.bitcast %h : f16 to i16
// CHECK-NEXT:        %1 = arith.cmpf olt, %h, %g : f16
// CHECK-NEXT:        %2 = arith.cmpf ogt, %h, %cst : f16
// CHECK-NEXT:        %3 = arith.cmpi eq, %1, %2 : i1
// CHECK-NEXT:        %4 = arith.select %3, %c1_i16, %cm1_i16 : i16
// CHECK-NEXT:        %5 = arith.addi %0, %4 : i16
// CHECK-NEXT:        %6 = arith.bitcast %c1_i16 : i16 to f16
// CHECK-NEXT:        %7 = math.copysign %6, %g : f16
// CHECK-NEXT:        %8 = arith.cmpf oeq, %h, %cst : f16
// CHECK-NEXT:        %9 = arith.bitcast %5 : i16 to f16
// CHECK-NEXT:        %10 = arith.select %8, %7, %9 : f16
// CHECK-NEXT:        %11 = arith.cmpf oeq, %h, %g : f16
// CHECK-NEXT:        %12 = arith.select %11, %g, %10 : f16
// CHECK-NEXT:        %13 = arith.cmpf uno, %h, %g : f16
// CHECK-NEXT:        %14 = arith.addf %h, %g : f16
// CHECK-NEXT:        %15 = arith.select %13, %14, %12 : f16
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

tir.func @q_multiply_shift("i" %i: i32, "j" %j: i32) {
  %0 = tir.intrinsic "q_multiply_shift"(%i, %j, %i, %j) : i32, i32, i32, i32 -> i32
}
// CHECK:         func.func @q_multiply_shift(%i: i32 {stepwell.name = "i", stepwell.dtype = "int32"}, %j: i32 {stepwell.name = "j", stepwell.dtype = "int32"}) {
// CHECK-NEXT:        %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:        %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:        %0 = arith.extsi %i : i32 to i64
// CHECK-NEXT:        %1 = arith.extsi %j : i32 to i64
// CHECK-NEXT:        %2 = arith.extsi %i : i32 to i64
// CHECK-NEXT:        %3 = arith.extsi %j : i32 to i64
// CHECK-NEXT:        %4 = arith.maxsi %3, %c0_i64 : i64
// CHECK-NEXT:        %5 = arith.subi %c0_i64, %3 : i64
// CHECK-NEXT:        %6 = arith.maxsi %5, %c0_i64 : i64
// CHECK-NEXT:        %7 = arith.addi %2, %6 : i64
// CHECK-NEXT:        %8 = arith.shli %0, %4 : i64
// CHECK-NEXT:        %9 = arith.muli %8, %1 : i64
// CHECK-NEXT:        %10 = arith.subi %7, %c1_i64 : i64
// CHECK-NEXT:        %11 = arith.shli %c1_i64, %10 : i64
// CHECK-NEXT:        %12 = arith.addi %9, %11 : i64
// CHECK-NEXT:        %13 = arith.shrsi %12, %7 : i64
// CHECK-NEXT:        %14 = arith.trunci %13 : i64 to i32
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// Lanes at distances of up to 4 elements are loaded as vectors of contiguous elements, the last of which ends with the last
// lane.
tir.func @distances("A" %A: memref<64xf32>, "i" %i: i32) {
  %c2 = arith.constant 2 : i32
  %r = tir.ramp %i, %c2 : vector<4xi32>
  %x = tir.load %A[%r : vector<4xi32>] : memref<64xf32>
  %c3 = arith.constant 3 : i32
  %t = tir.ramp %i, %c3 : vector<8xi32>
  %y = tir.load %A[%t : vector<8xi32>] : memref<64xf32>
}
// CHECK:         func.func @distances
// CHECK:             %[[I:.+]] = arith.index_cast %i : i32 to index
// CHECK-NEXT:        %[[A:.+]] = vector.load %A[%[[I]]] : memref<64xf32>, vector<4xf32>
// CHECK-NEXT:        %[[J:.+]] = arith.addi %[[I]], %c3 : index
// CHECK-NEXT:        %[[B:.+]] = vector.load %A[%[[J]]] : memref<64xf32>, vector<4xf32>
// CHECK-NEXT:        %x = vector.shuffle %[[A]], %[[B]] [0, 2, 5, 7] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:        %[[C:.+]] = vector.load %A[%[[I]]] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:        %[[K:.+]] = arith.addi %[[I]], %c8 : index
// CHECK-NEXT:        %[[D:.+]] = vector.load %A[%[[K]]] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:        %[[L:.+]] = arith.addi %[[I]], %c14 : index
// CHECK-NEXT:        %[[E:.+]] = vector.load %A[%[[L]]] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:        %[[F:.+]] = vector.shuffle %[[C]], %[[D]] [0, 3, 6, 9, 12, 15, 6, 7] : vector<8xf32>, vector<8xf32>
// CHECK-NEXT:        %y = vector.shuffle %[[F]], %[[E]] [0, 1, 2, 3, 4, 5, 12, 15] : vector<8xf32>, vector<8xf32>

// Vectors: neighbours are one access, lanes at unknown distances are accesses of their own.
tir.func @vectors("A" %A: memref<8x8xf32>, "B" %B: memref<64xi1>, "i" %i: i32, "s" %s: i32, "p" %p: vector<2xi1>, "w" %w: vector<2xi32>) {
  %c1 = arith.constant 1 : i32
  %r = tir.ramp %i, %c1 : vector<2xi32>
  %x = tir.load %A[%i, %r : vector<2xi32>] : memref<8x8xf32>
  tir.store %x, %A[%s, %r : vector<2xi32>] : memref<8x8xf32>
  %m = tir.load %A[%i, %r : vector<2xi32>] if %p : vector<2xi1> : memref<8x8xf32>
  tir.store %m, %A[%i, %r : vector<2xi32>] if %p : vector<2xi1> : memref<8x8xf32>
  %t = tir.ramp %i, %s : vector<2xi32>
  %y = tir.load %A[%s, %t : vector<2xi32>] : memref<8x8xf32>
  tir.store %y, %A[%s, %w : vector<2xi32>] : memref<8x8xf32>
  %z = tir.load %A[%s, %t : vector<2xi32>] if %p : vector<2xi1> : memref<8x8xf32>
  tir.store %z, %A[%s, %t : vector<2xi32>] if %p : vector<2xi1> : memref<8x8xf32>
  %sum = arith.addi %t, %w : vector<2xi32>
  %sh = tir.shuffle %x, %y [0, 2, 1] : vector<2xf32>, vector<2xf32> -> vector<3xf32>
  %one = tir.shuffle %x [1] : vector<2xf32> -> f32
  %mix = tir.shuffle %one, %x, %one [3, 0] : f32, vector<2xf32>, f32 -> vector<2xf32>
}
// CHECK:         func.func @vectors(%A: memref<8x8xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %B: memref<64xi1> {stepwell.name = "B", stepwell.dtype = "bool"}, %i: i32 {stepwell.name = "i", stepwell.dtype = "int32"}, %s: i32 {stepwell.name = "s", stepwell.dtype = "int32"}, %p: vector<2xi1> {stepwell.name = "p", stepwell.dtype = "boolx2"}, %w: vector<2xi32> {stepwell.name = "w", stepwell.dtype = "int32x2"}) {
// CHECK-NEXT:        %cst = arith.constant dense<0.000000e+00> : vector<2xf32>
// CHECK-NEXT:        %cst_1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        %0 = arith.constant dense<[0, 1]> : vector<2xi32>
// CHECK-NEXT:        %1 = arith.index_cast %i : i32 to index
// CHECK-NEXT:        %x = vector.load %A[%1, %1] : memref<8x8xf32>, vector<2xf32>
// CHECK-NEXT:        %2 = arith.index_cast %s : i32 to index
// CHECK-NEXT:        vector.store %x, %A[%2, %1] : memref<8x8xf32>, vector<2xf32>
// CHECK-NEXT:        %m = vector.maskedload %A[%1, %1], %p, %cst : memref<8x8xf32>, vector<2xi1>, vector<2xf32> into vector<2xf32>
// CHECK-NEXT:        vector.maskedstore %A[%1, %1], %p, %m : memref<8x8xf32>, vector<2xi1>, vector<2xf32>
// CHECK-NEXT:        %3 = arith.addi %1, %2 : index
// CHECK-NEXT:        %4 = memref.load %A[%2, %1] : memref<8x8xf32>
// CHECK-NEXT:        %5 = vector.insert %4, %cst [0] : f32 into vector<2xf32>
// CHECK-NEXT:        %6 = memref.load %A[%2, %3] : memref<8x8xf32>
// CHECK-NEXT:        %y = vector.insert %6, %5 [1] : f32 into vector<2xf32>
// CHECK-NEXT:        %7 = vector.extract %w[0] : i32 from vector<2xi32>
// CHECK-NEXT:        %8 = arith.index_cast %7 : i32 to index
// CHECK-NEXT:        %9 = vector.extract %w[1] : i32 from vector<2xi32>
// CHECK-NEXT:        %10 = arith.index_cast %9 : i32 to index
// CHECK-NEXT:        %11 = vector.extract %y[0] : f32 from vector<2xf32>
// CHECK-NEXT:        memref.store %11, %A[%2, %8] : memref<8x8xf32>
// CHECK-NEXT:        %12 = vector.extract %y[1] : f32 from vector<2xf32>
// CHECK-NEXT:        memref.store %12, %A[%2, %10] : memref<8x8xf32>
// CHECK-NEXT:        %13 = arith.addi %1, %2 : index
// CHECK-NEXT:        %14 = vector.extract %p[0] : i1 from vector<2xi1>
// CHECK-NEXT:        %15 = scf.if %14 -> (f32) {
// CHECK-NEXT:          %16 = memref.load %A[%2, %1] : memref<8x8xf32>
// CHECK-NEXT:          scf.yield %16 : f32
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %cst_1 : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %17 = vector.insert %15, %cst [0] : f32 into vector<2xf32>
// CHECK-NEXT:        %18 = vector.extract %p[1] : i1 from vector<2xi1>
// CHECK-NEXT:        %19 = scf.if %18 -> (f32) {
// CHECK-NEXT:          %20 = memref.load %A[%2, %13] : memref<8x8xf32>
// CHECK-NEXT:          scf.yield %20 : f32
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %cst_1 : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        %z = vector.insert %19, %17 [1] : f32 into vector<2xf32>
// CHECK-NEXT:        %21 = arith.addi %1, %2 : index
// CHECK-NEXT:        %22 = vector.extract %z[0] : f32 from vector<2xf32>
// CHECK-NEXT:        %23 = vector.extract %p[0] : i1 from vector<2xi1>
// CHECK-NEXT:        scf.if %23 {
// CHECK-NEXT:          memref.store %22, %A[%2, %1] : memref<8x8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        %24 = vector.extract %z[1] : f32 from vector<2xf32>
// CHECK-NEXT:        %25 = vector.extract %p[1] : i1 from vector<2xi1>
// CHECK-NEXT:        scf.if %25 {
// CHECK-NEXT:          memref.store %24, %A[%2, %21] : memref<8x8xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        %26 = vector.broadcast %i : i32 to vector<2xi32>
// CHECK-NEXT:        %27 = vector.broadcast %s : i32 to vector<2xi32>
// CHECK-NEXT:        %28 = arith.muli %27, %0 : vector<2xi32>
// CHECK-NEXT:        %29 = arith.addi %26, %28 : vector<2xi32>
// CHECK-NEXT:        %sum = arith.addi %29, %w : vector<2xi32>
// CHECK-NEXT:        %sh = vector.shuffle %x, %y [0, 2, 1] : vector<2xf32>, vector<2xf32>
// CHECK-NEXT:        %one = vector.extract %x[1] : f32 from vector<2xf32>
// CHECK-NEXT:        %30 = vector.insert %one, %cst [0] : f32 into vector<2xf32>
// CHECK-NEXT:        %mix = vector.insert %one, %30 [1] : f32 into vector<2xf32>
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }


// Pointers: buffers over the same memory with another shape, another element type, another start.
tir.func @pointers("A" %A: memref<8x8xf32>, "h" %h: !tir.handle, "n" %n: i32, "z" %z: i1) {
  %p = tir.buffer_data %A : memref<8x8xf32> -> !tir.handle<f32>
  %B = tir.decl_buffer "B" %p dims [%n] offset [%n] : !tir.handle<f32> -> memref<?xf32, strided<[1], offset: ?>>
  %C = tir.decl_buffer "C" %p : !tir.handle<f32> -> memref<64xi32>
  %D = tir.decl_buffer "D" %h dims [%n, %n] : !tir.handle -> memref<?x?xf32>
  %q = tir.allocate "q" [%n, 4] if %z : !tir.handle<f32>
  %E = tir.decl_buffer "E" %q : !tir.handle<f32> -> memref<8x4xf32>
  %r = tir.allocate "r" [8] on stack : !tir.handle<f32, "local">
  %F = tir.decl_buffer "F" %r : !tir.handle<f32, "local"> -> memref<8xf32, "local">
  %w = tir.allocate_const "w" dense<[1, 2, 255]> : tensor<3xui8> : !tir.handle<ui8>
  %G = tir.decl_buffer "G" %w : !tir.handle<ui8> -> memref<3xui8>
  %x = tir.load %B[%n] : memref<?xf32, strided<[1], offset: ?>>
  tir.store %x, %F[%n] : memref<8xf32, "local">
}
// CHECK:         func.func @pointers(%A: memref<8x8xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %h: !llvm.ptr {stepwell.name = "h", stepwell.dtype = "handle"}, %n: i32 {stepwell.name = "n", stepwell.dtype = "int32"}, %z: i1 {stepwell.name = "z", stepwell.dtype = "bool"}) {
// CHECK-NEXT:        %c0 = arith.constant 0 : index
// CHECK-NEXT:        %F = memref.alloca() : memref<8xf32, "local">
// CHECK-NEXT:        %0 = arith.index_cast %n : i32 to index
// CHECK-NEXT:        %B = memref.reinterpret_cast %A to offset: [%0], sizes: [%0], strides: [1] : memref<8x8xf32> to memref<?xf32, strided<[1], offset: ?>>
// CHECK-NEXT:        %1 = "memref.extract_aligned_pointer_as_index"(%A) : (memref<8x8xf32>) -> index
// CHECK-NEXT:        %2 = arith.index_cast %1 : index to i64
// CHECK-NEXT:        %3 = llvm.inttoptr %2 : i64 to !llvm.ptr
// CHECK-NEXT:        %4 = builtin.unrealized_conversion_cast %3 : !llvm.ptr to memref<?xi32>
// CHECK-NEXT:        %C = memref.reinterpret_cast %4 to offset: [0], sizes: [64], strides: [1] : memref<?xi32> to memref<64xi32>
// CHECK-NEXT:        %5 = builtin.unrealized_conversion_cast %h : !llvm.ptr to memref<?xf32>
// CHECK-NEXT:        %D = memref.reinterpret_cast %5 to offset: [0], sizes: [%0, %0], strides: [%0, 1] : memref<?xf32> to memref<?x?xf32>
// CHECK-NEXT:        %6 = arith.select %z, %0, %c0 : index
// CHECK-NEXT:        %7 = memref.alloc(%6) : memref<?x4xf32>
// CHECK-NEXT:        %E = memref.reinterpret_cast %7 to offset: [0], sizes: [8, 4], strides: [4, 1] : memref<?x4xf32> to memref<8x4xf32>
// CHECK-NEXT:        %G = memref.get_global @pointers.w : memref<3xi8>
// CHECK-NEXT:        %x = memref.load %B[%0] : memref<?xf32, strided<[1], offset: ?>>
// CHECK-NEXT:        memref.store %x, %F[%0] : memref<8xf32, "local">
// CHECK-NEXT:        memref.dealloc %7 : memref<?x4xf32>
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// Arithmetic on loop variables that does not wrap is done in index, what may wrap or comes from data in its own type.
tir.func @indices("A" %A: memref<64xf32>, "I" %I: memref<64xi32>, "n" %n: i32, "x" %x: f32) {
  %c4 = arith.constant 4 : i32
  %c40 = arith.constant 40 : i32
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.for serial "j" %j : i32 in [0 +: 4] {
      %0 = arith.muli %i, %c4 : i32
      %1 = arith.addi %0, %j : i32
      %2 = arith.floordivsi %1, %c4 : i32
      %3 = tir.floormod %1, %c4 : i32
      %4 = arith.maxsi %2, %3 : i32
      %5 = arith.cmpi slt, %4, %c40 : i32
      tir.if %5 {
        tir.store %x, %A[%4] : memref<64xf32>
      }
      tir.store %4, %I[%1] : memref<64xi32>
      %6 = arith.addi %n, %i : i32
      %7 = tir.load %I[%6] : memref<64xi32>
      %8 = arith.addi %7, %j : i32
      tir.store %x, %A[%8] : memref<64xf32>
      %9 = arith.subi %j, %i : i32
      %10 = tir.floormod %9, %c4 : i32
      tir.store %x, %A[%10] : memref<64xf32>
    }
  }
}
// CHECK:         func.func @indices(%A: memref<64xf32> {stepwell.name = "A", stepwell.dtype = "float32"}, %I: memref<64xi32> {stepwell.name = "I", stepwell.dtype = "int32"}, %n: i32 {stepwell.name = "n", stepwell.dtype = "int32"}, %x: f32 {stepwell.name = "x", stepwell.dtype = "float32"}) {
// CHECK-NEXT:        %c0 = arith.constant 0 : index
// CHECK-NEXT:        %c8 = arith.constant 8 : index
// CHECK-NEXT:        %c1 = arith.constant 1 : index
// CHECK-NEXT:        %c4 = arith.constant 4 : index
// CHECK-NEXT:        %c40 = arith.constant 40 : index
// CHECK-NEXT:        %c4_i32 = arith.constant 4 : i32
// CHECK-NEXT:        %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:        scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:          scf.for %j = %c0 to %c4 step %c1 {
// CHECK-NEXT:            %0 = arith.muli %i, %c4 : index
// CHECK-NEXT:            %1 = arith.addi %0, %j : index
// CHECK-NEXT:            %2 = arith.divui %1, %c4 : index
// CHECK-NEXT:            %3 = arith.remui %1, %c4 : index
// CHECK-NEXT:            %4 = arith.maxsi %2, %3 : index
// CHECK-NEXT:            %5 = arith.cmpi slt, %4, %c40 : index
// CHECK-NEXT:            scf.if %5 {
// CHECK-NEXT:              memref.store %x, %A[%4] : memref<64xf32>
// CHECK-NEXT:            }
// CHECK-NEXT:            %6 = arith.index_cast %4 : index to i32
// CHECK-NEXT:            memref.store %6, %I[%1] : memref<64xi32>
// CHECK-NEXT:            %i_1 = arith.index_cast %i : index to i32
// CHECK-NEXT:            %7 = arith.addi %n, %i_1 : i32
// CHECK-NEXT:            %8 = arith.index_cast %7 : i32 to index
// CHECK-NEXT:            %9 = memref.load %I[%8] : memref<64xi32>
// CHECK-NEXT:            %j_1 = arith.index_cast %j : index to i32
// CHECK-NEXT:            %10 = arith.addi %9, %j_1 : i32
// CHECK-NEXT:            %11 = arith.index_cast %10 : i32 to index
// CHECK-NEXT:            memref.store %x, %A[%11] : memref<64xf32>
// CHECK-NEXT:            %12 = arith.subi %j, %i : index
// CHECK-NEXT:            %13 = arith.index_cast %12 : index to i32
// CHECK-NEXT:            %14 = arith.remsi %13, %c4_i32 : i32
// CHECK-NEXT:            %15 = arith.xori %14, %c4_i32 : i32
// CHECK-NEXT:            %16 = arith.cmpi slt, %15, %c0_i32 : i32
// CHECK-NEXT:            %17 = arith.cmpi ne, %14, %c0_i32 : i32
// CHECK-NEXT:            %18 = arith.andi %17, %16 : i1
// CHECK-NEXT:            %19 = arith.addi %14, %c4_i32 : i32
// CHECK-NEXT:            %20 = arith.select %18, %19, %14 : i32
// CHECK-NEXT:            %21 = arith.index_cast %20 : i32 to index
// CHECK-NEXT:            memref.store %x, %A[%21] : memref<64xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }

// An assertion with values passes them to the runtime where it fails.
tir.func @reported("c" %c: i1, "n" %n: i32) {
  tir.assert %c, "n is {}" values %n : i32
}
// CHECK-LABEL: func.func @reported
// CHECK:             %[[failed:.+]] = arith.xori %c, %{{.+}} : i1
// CHECK-NEXT:        scf.if %[[failed]] {
// CHECK:               func.call @stepwell.failed_assertion(%{{.+}}, %n) : (!llvm.ptr, i32) -> ()
// CHECK-NEXT:          cf.assert %{{.+}}, "n is {}"
// CHECK-NEXT:        }{{ ?}}{stepwell.unlikely}
