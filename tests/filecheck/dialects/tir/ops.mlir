// RUN: STEPWELL_ROUNDTRIP

// A function names its parameters; attributes and the type it returns follow.
tir.func @returns("n" %n: i32) -> i32 attrs {tir.noalias = true} {
  tir.return %n : i32
}
// CHECK-LABEL: tir.func @returns("n" %n: i32) -> i32 attrs {tir.noalias = true} {
// CHECK-NEXT:    tir.return %n : i32
// CHECK-NEXT:  }

// Attributes of a function may name its parameters.
tir.func @named("A" %A: memref<8xf32>) attrs {input_vars = [#tir.parameter<"A">]} {
}
// CHECK-LABEL: tir.func @named("A" %A: memref<8xf32>) attrs {input_vars = [#tir.parameter<"A">]} {

// Nothing provides the memory of a free pointer.
tir.func @free() {
  %p = tir.free_pointer "B_data" : !tir.handle<f32>
  %B = tir.decl_buffer "B" %p : !tir.handle<f32> -> memref<8xf32>
}
// CHECK-LABEL: tir.func @free() {
// CHECK-NEXT:    %p = tir.free_pointer "B_data" : !tir.handle<f32>
// CHECK-NEXT:    %B = tir.decl_buffer "B" %p : !tir.handle<f32> -> memref<8xf32>

// A reducer is the node of an attribute.
tir.func @reducer("x" %x: f32) {
  %r = tir.comm_reducer %x (%a: f32, %b: f32) {
    %c = tir.max %a, %b : f32
    tir.yield %c : f32
  }
  tir.attr "reduce_scope" of %r : !tir.handle is 0 : i32 {
  }
}
// CHECK-LABEL: tir.func @reducer("x" %x: f32) {
// CHECK-NEXT:    %r = tir.comm_reducer %x (%a: f32, %b: f32) {
// CHECK-NEXT:      %c = tir.max %a, %b : f32
// CHECK-NEXT:      tir.yield %c : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.attr "reduce_scope" of %r : !tir.handle is 0 : i32 {

// A private function has no global symbol, and may leave without a value.
tir.func private @helper() {
  tir.return
}
// CHECK-LABEL: tir.func private @helper() {
// CHECK-NEXT:    tir.return
// CHECK-NEXT:  }

// A symbolic size is bound by the buffers it appears in; a handle parameter is matched to a buffer.
tir.func @matched("a" %a: !tir.handle, "b" %b: !tir.handle) {
  %n = tir.symbol "n" : i32
  %s = tir.symbol "s" : i64
  %A = tir.match_buffer "A" %a dims [%n] align 64 offset_factor 1 : !tir.handle -> memref<?x128xf32>
  %B = tir.match_buffer "B" %b dims [%n] strides [%s : i64] offset [%n] : !tir.handle -> memref<?x4xf32, strided<[?, 1], offset: ?>, "shared">
}
// CHECK-LABEL: tir.func @matched("a" %a: !tir.handle, "b" %b: !tir.handle) {
// CHECK-NEXT:    %n = tir.symbol "n" : i32
// CHECK-NEXT:    %s = tir.symbol "s" : i64
// CHECK-NEXT:    %A = tir.match_buffer "A" %a dims [%n] align 64 offset_factor 1 : !tir.handle -> memref<?x128xf32>
// CHECK-NEXT:    %B = tir.match_buffer "B" %b dims [%n] strides [%s : i64] offset [%n] : !tir.handle -> memref<?x4xf32, strided<[?, 1], offset: ?>, "shared">
// CHECK-NEXT:  }

// Axis separators divide the dimensions of a buffer into groups, which may be empty; those of a region count the
// dimensions that its view omits.
tir.func @separated("a" %a: !tir.handle, "p" %p: !tir.handle<f32>) {
  %A = tir.match_buffer "A" %a align 64 axis_separators [1] : !tir.handle -> memref<8x4xf32>
  %B = tir.alloc_buffer "B" axis_separators [0, 2, 2] on heap : memref<8x4xf32>
  %D = tir.decl_buffer "D" %p axis_separators [1] : !tir.handle<f32> -> memref<8x4xf32>
  %R = tir.match_region "R" %B[0, 0 +: 4] axis_separators [2] : memref<8x4xf32> -> memref<4xf32>
}
// CHECK-LABEL: tir.func @separated("a" %a: !tir.handle, "p" %p: !tir.handle<f32>) {
// CHECK-NEXT:    %A = tir.match_buffer "A" %a align 64 axis_separators [1] : !tir.handle -> memref<8x4xf32>
// CHECK-NEXT:    %B = tir.alloc_buffer "B" axis_separators [0, 2, 2] on heap : memref<8x4xf32>
// CHECK-NEXT:    %D = tir.decl_buffer "D" %p axis_separators [1] : !tir.handle<f32> -> memref<8x4xf32>
// CHECK-NEXT:    %R = tir.match_region "R" %B[0, 0 +: 4] axis_separators [2] : memref<8x4xf32> -> memref<4xf32>
// CHECK-NEXT:  }

// Loops are of five kinds; bounds are numbers or values of the variable's type.
tir.func @loops("n" %n: i32, "m" %m: i64) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.evaluate %i : i32
  }
  tir.for parallel "j" %j : i32 in [%n +: %n] annotations {pragma = 1 : i32} {
    tir.evaluate %j : i32
  }
  tir.for vectorized "k" %k : i64 in [0 +: %m] step 2 {
    tir.evaluate %k : i64
  }
  tir.for unrolled "l" %l : i64 in [0 +: 8] step %m {
    tir.evaluate %l : i64
  }
  tir.for thread_binding "t" %t : i32 in [0 +: 8] thread "threadIdx.x" {
    tir.evaluate %t : i32
  }
}
// CHECK-LABEL: tir.func @loops("n" %n: i32, "m" %m: i64) {
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: 8] {
// CHECK-NEXT:      tir.evaluate %i : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for parallel "j" %j : i32 in [%n +: %n] annotations {pragma = 1 : i32} {
// CHECK-NEXT:      tir.evaluate %j : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for vectorized "k" %k : i64 in [0 +: %m] step 2 {
// CHECK-NEXT:      tir.evaluate %k : i64
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for unrolled "l" %l : i64 in [0 +: 8] step %m {
// CHECK-NEXT:      tir.evaluate %l : i64
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for thread_binding "t" %t : i32 in [0 +: 8] thread "threadIdx.x" {
// CHECK-NEXT:      tir.evaluate %t : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// Control flow: while, if with and without else, attributes, thread axes, assertions; printed lines.
tir.func @control("c" %c: i1, "n" %n: i32, "p" %p: !tir.handle) {
  tir.while {
    tir.yield %c : i1
  } do {
    tir.evaluate %n : i32
  }
  tir.if %c {
    tir.evaluate %n : i32
  }
  tir.if %c {
    tir.evaluate %n : i32
  } else {
    tir.evaluate %c : i1
  }
  tir.attr "scope" of %p : !tir.handle is "shared" {
    tir.evaluate %n : i32
  }
  tir.attr "unroll" of 0 : i32 is %n : i32 {
    tir.evaluate %n : i32
  }
  tir.launch_thread "tx" %tx : i32 in 32 thread "threadIdx.x" {
    tir.evaluate %tx : i32
  }
  tir.launch_thread "bx" %bx : i32 in %n thread "blockIdx.x" {
    tir.evaluate %bx : i32
  }
  tir.assert %c, "n must be even"
  tir.assert %c, "n must be even" kind "ValueError"
  tir.assert %c, "{} is odd" values %n : i32
  tir.print "no values: {}"
  tir.print "n is {}, c is {}" values %n, %c : i32, i1
}
// CHECK-LABEL: tir.func @control("c" %c: i1, "n" %n: i32, "p" %p: !tir.handle) {
// CHECK-NEXT:    tir.while {
// CHECK-NEXT:      tir.yield %c : i1
// CHECK-NEXT:    } do {
// CHECK-NEXT:      tir.evaluate %n : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.if %c {
// CHECK-NEXT:      tir.evaluate %n : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.if %c {
// CHECK-NEXT:      tir.evaluate %n : i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.evaluate %c : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.attr "scope" of %p : !tir.handle is "shared" {
// CHECK-NEXT:      tir.evaluate %n : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.attr "unroll" of 0 : i32 is %n : i32 {
// CHECK-NEXT:      tir.evaluate %n : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.launch_thread "tx" %tx : i32 in 32 thread "threadIdx.x" {
// CHECK-NEXT:      tir.evaluate %tx : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.launch_thread "bx" %bx : i32 in %n thread "blockIdx.x" {
// CHECK-NEXT:      tir.evaluate %bx : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.assert %c, "n must be even"
// CHECK-NEXT:    tir.assert %c, "n must be even" kind "ValueError"
// CHECK-NEXT:    tir.assert %c, "{} is odd" values %n : i32
// CHECK-NEXT:    tir.print "no values: {}"
// CHECK-NEXT:    tir.print "n is {}, c is {}" values %n, %c : i32, i1
// CHECK-NEXT:  }

// A block binds its axes to values, says what it reads and writes, and may begin with an init.
tir.func @blocks("A" %A: memref<8x4xf32>, "C" %C: memref<8xf32>, "i" %i: i32, "k" %k: i32, "p" %p: i1, "n" %n: i32) {
  tir.block "C" (spatial "vi" %vi : i32 in [0 +: 8] = %i, reduce "vk" %vk : i32 in [%n +: %n] = %k) where %p annotations {a = 1 : i32} {
    tir.access reads %A[%vi, 0 +: 4] : memref<8x4xf32>
    tir.access reads %C[%vi +: %n] : memref<8xf32>
    tir.access writes %C[%vi] : memref<8xf32>
    %s = tir.alloc_buffer "s" : memref<4xf32, "shared">
    %t = tir.alloc_buffer "t" dims [%n] align 128 on heap : memref<?x4xf32>
    %R = tir.match_region "R" %A[%vi, 0 +: 4] : memref<8x4xf32> -> memref<4xf32>
    %S = tir.match_region "S" %A[0 +: 8, %vk +: 2] strides [%n] offset [%vk] : memref<8x4xf32> -> memref<8x2xf32, strided<[?, 1], offset: ?>>
    tir.init {
      %z = arith.constant 0.000000e+00 : f32
      tir.store %z, %C[%vi] : memref<8xf32>
    }
    %x = tir.load %A[%vi, %vk] : memref<8x4xf32>
    tir.store %x, %C[%vi] : memref<8xf32>
  }
  tir.block "root" () {
    tir.block "scan" (scan "v" %v : i32 in [0 +: 8] = %i, opaque "o" %o : i32 in [0 +: 4] = %k) {
      tir.evaluate %v : i32
    }
  }
}
// CHECK-LABEL: tir.func @blocks("A" %A: memref<8x4xf32>, "C" %C: memref<8xf32>, "i" %i: i32, "k" %k: i32, "p" %p: i1, "n" %n: i32) {
// CHECK-NEXT:    tir.block "C" (spatial "vi" %vi : i32 in [0 +: 8] = %i, reduce "vk" %vk : i32 in [%n +: %n] = %k) where %p annotations {a = 1 : i32} {
// CHECK-NEXT:      tir.access reads %A[%vi, 0 +: 4] : memref<8x4xf32>
// CHECK-NEXT:      tir.access reads %C[%vi +: %n] : memref<8xf32>
// CHECK-NEXT:      tir.access writes %C[%vi] : memref<8xf32>
// CHECK-NEXT:      %s = tir.alloc_buffer "s" : memref<4xf32, "shared">
// CHECK-NEXT:      %t = tir.alloc_buffer "t" dims [%n] align 128 on heap : memref<?x4xf32>
// CHECK-NEXT:      %R = tir.match_region "R" %A[%vi, 0 +: 4] : memref<8x4xf32> -> memref<4xf32>
// CHECK-NEXT:      %S = tir.match_region "S" %A[0 +: 8, %vk +: 2] strides [%n] offset [%vk] : memref<8x4xf32> -> memref<8x2xf32, strided<[?, 1], offset: ?>>
// CHECK-NEXT:      tir.init {
// CHECK-NEXT:        %z = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        tir.store %z, %C[%vi] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %x = tir.load %A[%vi, %vk] : memref<8x4xf32>
// CHECK-NEXT:      tir.store %x, %C[%vi] : memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.block "root" () {
// CHECK-NEXT:      tir.block "scan" (scan "v" %v : i32 in [0 +: 8] = %i, opaque "o" %o : i32 in [0 +: 4] = %k) {
// CHECK-NEXT:        tir.evaluate %v : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// Memory without a buffer: allocations, constants, pointers and buffers declared over them.
tir.func @memory("A" %A: memref<8xf32, "shared">, "n" %n: i32, "c" %c: i1) {
  %p = tir.allocate "p" [%n, 8] : !tir.handle<f32, "shared">
  %q = tir.allocate "q" [64] if %c on stack annotations {tag = 1 : i32} : !tir.handle<f32>
  %w = tir.allocate_const "w" dense<[1, 2, 3]> : tensor<3xi32> : !tir.handle<i32>
  %B = tir.decl_buffer "B" %q : !tir.handle<f32> -> memref<8x8xf32>
  %D = tir.decl_buffer "D" %q strides [%n] align 16 : !tir.handle<f32> -> memref<8x8xf32, strided<[?, 1]>>
  %d = tir.buffer_data %A : memref<8xf32, "shared"> -> !tir.handle<f32, "shared">
  %e = tir.address_of %A[%n] : memref<8xf32, "shared"> -> !tir.handle<f32, "shared">
  %f = tir.access_ptr %q[%n +: %n] access 3 : !tir.handle<f32> -> !tir.handle<f32>
  tir.evaluate %f : !tir.handle<f32>
}
// CHECK-LABEL: tir.func @memory("A" %A: memref<8xf32, "shared">, "n" %n: i32, "c" %c: i1) {
// CHECK-NEXT:    %p = tir.allocate "p" [%n, 8] : !tir.handle<f32, "shared">
// CHECK-NEXT:    %q = tir.allocate "q" [64] if %c on stack annotations {tag = 1 : i32} : !tir.handle<f32>
// CHECK-NEXT:    %w = tir.allocate_const "w" dense<[1, 2, 3]> : tensor<3xi32> : !tir.handle<i32>
// CHECK-NEXT:    %B = tir.decl_buffer "B" %q : !tir.handle<f32> -> memref<8x8xf32>
// CHECK-NEXT:    %D = tir.decl_buffer "D" %q strides [%n] align 16 : !tir.handle<f32> -> memref<8x8xf32, strided<[?, 1]>>
// CHECK-NEXT:    %d = tir.buffer_data %A : memref<8xf32, "shared"> -> !tir.handle<f32, "shared">
// CHECK-NEXT:    %e = tir.address_of %A[%n] : memref<8xf32, "shared"> -> !tir.handle<f32, "shared">
// CHECK-NEXT:    %f = tir.access_ptr %q[%n +: %n] access 3 : !tir.handle<f32> -> !tir.handle<f32>
// CHECK-NEXT:    tir.evaluate %f : !tir.handle<f32>
// CHECK-NEXT:  }

// Elements: scalars, vectors by a vector index, and lanes under a predicate.
tir.func @elements("A" %A: memref<8x8xf32>, "i" %i: i32, "j" %j: i64) {
  %x = tir.load %A[%i, %j : i64] : memref<8x8xf32>
  tir.store %x, %A[%i, %j : i64] : memref<8x8xf32>
  %one = arith.constant 1 : i32
  %r = tir.ramp %i, %one : vector<4xi32>
  %m = arith.constant dense<true> : vector<4xi1>
  %v = tir.load %A[%i, %r : vector<4xi32>] : memref<8x8xf32>
  %u = tir.load %A[%i, %r : vector<4xi32>] if %m : vector<4xi1> : memref<8x8xf32>
  tir.store %v, %A[%i, %r : vector<4xi32>] if %m : vector<4xi1> : memref<8x8xf32>
  tir.store %u, %A[%r : vector<4xi32>, %i] if %m : vector<4xi1> : memref<8x8xf32>
  %w = tir.load %A[%r : vector<4xi32>, %r : vector<4xi32>] : memref<8x8xf32>
  %s = tir.shuffle %v, %u [0, 4, 1, 5] : vector<4xf32>, vector<4xf32> -> vector<4xf32>
  %t = tir.shuffle %s [2] : vector<4xf32> -> f32
  %b = tir.reinterpret %s : vector<4xf32> -> vector<8xi16>
  %p = tir.call_llvm "llvm.x86.sse2.pmadd.wd"(%b, %s) : vector<8xi16>, vector<4xf32> -> vector<4xi32>
  tir.evaluate %t : f32
}
// CHECK-LABEL: tir.func @elements("A" %A: memref<8x8xf32>, "i" %i: i32, "j" %j: i64) {
// CHECK-NEXT:    %x = tir.load %A[%i, %j : i64] : memref<8x8xf32>
// CHECK-NEXT:    tir.store %x, %A[%i, %j : i64] : memref<8x8xf32>
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %r = tir.ramp %i, %one : vector<4xi32>
// CHECK-NEXT:    %m = arith.constant dense<true> : vector<4xi1>
// CHECK-NEXT:    %v = tir.load %A[%i, %r : vector<4xi32>] : memref<8x8xf32>
// CHECK-NEXT:    %u = tir.load %A[%i, %r : vector<4xi32>] if %m : vector<4xi1> : memref<8x8xf32>
// CHECK-NEXT:    tir.store %v, %A[%i, %r : vector<4xi32>] if %m : vector<4xi1> : memref<8x8xf32>
// CHECK-NEXT:    tir.store %u, %A[%r : vector<4xi32>, %i] if %m : vector<4xi1> : memref<8x8xf32>
// CHECK-NEXT:    %w = tir.load %A[%r : vector<4xi32>, %r : vector<4xi32>] : memref<8x8xf32>
// CHECK-NEXT:    %s = tir.shuffle %v, %u [0, 4, 1, 5] : vector<4xf32>, vector<4xf32> -> vector<4xf32>
// CHECK-NEXT:    %t = tir.shuffle %s [2] : vector<4xf32> -> f32
// CHECK-NEXT:    %b = tir.reinterpret %s : vector<4xf32> -> vector<8xi16>
// CHECK-NEXT:    %p = tir.call_llvm "llvm.x86.sse2.pmadd.wd"(%b, %s) : vector<8xi16>, vector<4xf32> -> vector<4xi32>
// CHECK-NEXT:    tir.evaluate %t : f32
// CHECK-NEXT:  }

// What arith and math do not have: unsigned and string constants, TIR's min, max and modulo, conversions, lazy choice.
tir.func @expressions("x" %x: f32, "a" %a: i32, "c" %c: i1) {
  %k = tir.const 255 : ui8
  %s = tir.const "shared" : !tir.handle
  %r = tir.floormod %a, %a : i32
  %l = tir.min %x, %x : f32
  %h = tir.max %x, %x : f32
  %y = tir.cast %k : ui8 -> f32
  %z = tir.reinterpret %x : f32 -> i32
  %g = tir.intrinsic "sigmoid"(%x) : f32 -> f32
  %t = tir.let "t" %g : f32
  %v = tir.if_then_else %c {
    tir.yield %t : f32
  } else {
    tir.yield %y : f32
  } : f32
  tir.evaluate %v : f32
}
// CHECK-LABEL: tir.func @expressions("x" %x: f32, "a" %a: i32, "c" %c: i1) {
// CHECK-NEXT:    %k = tir.const 255 : ui8
// CHECK-NEXT:    %s = tir.const "shared" : !tir.handle
// CHECK-NEXT:    %r = tir.floormod %a, %a : i32
// CHECK-NEXT:    %l = tir.min %x, %x : f32
// CHECK-NEXT:    %h = tir.max %x, %x : f32
// CHECK-NEXT:    %y = tir.cast %k : ui8 -> f32
// CHECK-NEXT:    %z = tir.reinterpret %x : f32 -> i32
// CHECK-NEXT:    %g = tir.intrinsic "sigmoid"(%x) : f32 -> f32
// CHECK-NEXT:    %t = tir.let "t" %g : f32
// CHECK-NEXT:    %v = tir.if_then_else %c {
// CHECK-NEXT:      tir.yield %t : f32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.yield %y : f32
// CHECK-NEXT:    } : f32
// CHECK-NEXT:    tir.evaluate %v : f32
// CHECK-NEXT:  }

// Calls of functions of the module, C symbols, registered Python functions and builtins of a target.
tir.func @calls("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32, "s" %s: !tir.handle) {
  %r = tir.call @returns(%n) : i32 -> i32
  tir.call @helper()
  %y = tir.call_extern "sinf"(%x) : f32 -> f32
  %z = tir.call_extern pure "cosf"(%x) : f32 -> f32
  tir.call_extern "flush"()
  tir.call_packed "env.add"(%A, %n) : memref<8xf32>, i32
  %q = tir.call_packed "env.count"() -> i32
  tir.call_intrin "tvm_storage_sync"(%s) : !tir.handle
}
// CHECK-LABEL: tir.func @calls("A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32, "s" %s: !tir.handle) {
// CHECK-NEXT:    %r = tir.call @returns(%n) : i32 -> i32
// CHECK-NEXT:    tir.call @helper()
// CHECK-NEXT:    %y = tir.call_extern "sinf"(%x) : f32 -> f32
// CHECK-NEXT:    %z = tir.call_extern pure "cosf"(%x) : f32 -> f32
// CHECK-NEXT:    tir.call_extern "flush"()
// CHECK-NEXT:    tir.call_packed "env.add"(%A, %n) : memref<8xf32>, i32
// CHECK-NEXT:    %q = tir.call_packed "env.count"() -> i32
// CHECK-NEXT:    tir.call_intrin "tvm_storage_sync"(%s) : !tir.handle
// CHECK-NEXT:  }

// Attributes we do not know stay, and a target is an attribute.
tir.func @attributes() attributes {mine = 1 : i32, target = #tir.target<"cuda">} {
  tir.for serial "i" %i : i32 in [0 +: 8] attributes {mine} {
    tir.evaluate %i : i32
  }
}
// CHECK-LABEL: tir.func @attributes() attributes {mine = 1 : i32, target = #tir.target<"cuda">} {
// CHECK-NEXT:    tir.for serial "i" %i : i32 in [0 +: 8] attributes {mine} {
// CHECK-NEXT:      tir.evaluate %i : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// Lanes are compared and chosen one by one.
tir.func @lanes("m" %a: vector<4xf32>, "n" %b: vector<4xf32>) {
  %m = arith.cmpf olt, %a, %b : vector<4xf32>
  %v = arith.select %m, %a, %b : vector<4xi1>, vector<4xf32>
  tir.evaluate %v : vector<4xf32>
}
// CHECK-LABEL: tir.func @lanes("m" %a: vector<4xf32>, "n" %b: vector<4xf32>) {
// CHECK-NEXT:    %m = arith.cmpf olt, %a, %b : vector<4xf32>
// CHECK-NEXT:    %v = arith.select %m, %a, %b : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:    tir.evaluate %v : vector<4xf32>
// CHECK-NEXT:  }
