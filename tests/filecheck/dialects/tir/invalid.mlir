// RUN: stepwell-opt %s --verify-diagnostics --split-input-file | filecheck %s
// Each case breaks one numbered constraint.

// (C1) tir.func: one name for each parameter.
"tir.func"() <{sym_name = "f", param_names = ["a", "b"]}> ({
^bb0(%a: i32):
}) : () -> ()
// CHECK: (C1) 2 names for 1 parameters

// -----

// (C2) tir.func: a return returns the result type.
tir.func @f("a" %a: i32) -> i64 {
  tir.return %a : i32
}
// CHECK: (C2) returns i32, expected i64

// -----

// CHECK: (C3) parameter A of type memref<?x4xf32>: use a handle and tir.match_buffer
tir.func @main("A" %A: memref<?x4xf32>) {
}

// -----

// CHECK: (C3) parameter A of type memref<4xf32, strided<[?]>>: use a handle and tir.match_buffer
tir.func @main("A" %A: memref<4xf32, strided<[?]>>) {
}

// -----

// (C4) tir.func: attributes name parameters of the function.
tir.func @f("A" %A: memref<8xf32>) attrs {input_vars = [#tir.parameter<"B">]} {
}
// CHECK: (C4) the function has no parameter 'B'

// -----

// (C1) tir.match_buffer: one operand for each `?`.
tir.func @f("a" %a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.handle -> memref<?x4xf32>
}
// CHECK: (C1) 1 dynamic extents, 0 operands

// -----

// (C2) tir.match_buffer: the source is a parameter.
tir.func @f("a" %a: memref<4xf32>) {
  %d = tir.buffer_data %a : memref<4xf32> -> !tir.handle<f32>
  %A = tir.match_buffer "A" %d : !tir.handle<f32> -> memref<4xf32>
}
// CHECK: (C2) source must be a parameter of the function

// -----

// (C3) tir.match_buffer: separators are in order.
tir.func @f("a" %a: !tir.handle) {
  %A = tir.match_buffer "A" %a axis_separators [2, 1] : !tir.handle -> memref<4x4xf32>
}
// CHECK: (C3) buffer 'A': axis_separators [2, 1], expected positions from 0 to 2, none less than the one before it

// -----

// (C2) tir.alloc_buffer: memory is stack or heap.
tir.func @f() {
  %A = tir.alloc_buffer "A" on disk : memref<4x4xf32>
}
// CHECK: (C2) memory 'disk', expected stack or heap

// -----

// (C3) tir.alloc_buffer: separators are positions among the dimensions.
tir.func @f() {
  %A = tir.alloc_buffer "A" axis_separators [3] : memref<4x4xf32>
}
// CHECK: (C3) buffer 'A': axis_separators [3], expected positions from 0 to 2, none less than the one before it

// -----

// (C3) tir.alloc_buffer: no separators are a missing property.
tir.func @f() {
  %A = tir.alloc_buffer "A" axis_separators [] : memref<4x4xf32>
}
// CHECK: (C3) buffer 'A': axis_separators [], expected at least one position

// -----

// (C1) tir.alloc_buffer: one operand for each `?`, of strides too.
tir.func @f() {
  %A = tir.alloc_buffer "A" : memref<4x4xf32, strided<[?, 1]>>
}
// CHECK: (C1) 1 dynamic strides, 0 operands

// -----

// (C1) tir.alloc_buffer: one stride for each dimension.
tir.func @f() {
  %A = tir.alloc_buffer "A" : memref<8x8xf32, strided<[1]>>
}
// CHECK: (C1) 1 strides for a buffer of rank 2

// -----

// (C1) tir.alloc_buffer: fewer than 2**63 bytes.
tir.func @f() {
  %A = tir.alloc_buffer "A" : memref<8x4611686018427387904xf32>
}
// CHECK: (C1) buffer 'A': [8, 4611686018427387904] of 4 bytes an element, expected at most 9223372036854775807 bytes

// -----

// (C1) tir.alloc_buffer: fewer than 2**63 bytes, of all lanes of the elements.
tir.func @f() {
  %A = tir.alloc_buffer "A" : memref<1152921504606846976xvector<4xf32>>
}
// CHECK: (C1) buffer 'A': [1152921504606846976] of 16 bytes an element, expected at most 9223372036854775807 bytes

// -----

// (C1) tir.decl_buffer: one operand for each `?`, of the offset too.
tir.func @f("p" %p: !tir.handle<f32>) {
  %A = tir.decl_buffer "A" %p : !tir.handle<f32> -> memref<4xf32, strided<[1], offset: ?>>
}
// CHECK: (C1) 1 dynamic offsets, 0 operands

// -----

// (C2) tir.decl_buffer: separators are positions among the dimensions.
tir.func @f("p" %p: !tir.handle<f32>) {
  %A = tir.decl_buffer "A" %p axis_separators [-1] : !tir.handle<f32> -> memref<4xf32>
}
// CHECK: (C2) buffer 'A': axis_separators [-1], expected positions from 0 to 1, none less than the one before it

// -----

// (C1) tir.free_pointer: the type says what the memory holds.
tir.func @f() {
  %p = tir.free_pointer "p" : !tir.handle
}
// CHECK: (C1) the pointer has no element type

// -----

// (C1) tir.access_ptr: the type says which elements the offset counts.
tir.func @f("p" %p: !tir.handle, "n" %n: i32) {
  %q = tir.access_ptr %p[%n +: %n] access 1 : !tir.handle -> !tir.handle
}
// CHECK: (C1) the pointer has no scalar or vector as element type

// -----

// (C1) tir.access_ptr: an offset does not count pointers.
tir.func @f("p" %p: !tir.handle, "n" %n: i32) {
  %q = tir.access_ptr %p[%n +: %n] access 1 : !tir.handle -> !tir.handle<!tir.handle>
}
// CHECK: (C1) the pointer has no scalar or vector as element type

// -----

// (C1) tir.comm_reducer: the combiner takes two values.
tir.func @f("x" %x: f32) {
  %r = tir.comm_reducer %x (%a: f32) {
    tir.yield %a : f32
  }
}
// CHECK: (C1) expected a combiner of two values of type f32

// -----

// (C1) tir.match_region: one operand for each `?`.
tir.func @f("A" %A: memref<8x8xf32>, "n" %n: i32) {
  %B = tir.match_region "B" %A[0 +: 4, 0 +: 4] dims [%n] : memref<8x8xf32> -> memref<4x4xf32>
}
// CHECK: (C1) 0 dynamic extents, 1 operands

// -----

// (C2) tir.match_region: one range for each dimension of the source.
tir.func @f("A" %A: memref<8x8xf32>) {
  %B = tir.match_region "B" %A[0 +: 4] : memref<8x8xf32> -> memref<4xf32>
}
// CHECK: (C2) 1 mins for a buffer of rank 2

// -----

// (C3) tir.match_region: the element type stays.
tir.func @f("A" %A: memref<8xf32>) {
  %B = tir.match_region "B" %A[0 +: 4] : memref<8xf32> -> memref<4xi32>
}
// CHECK: (C3) element types differ

// -----

// (C4) tir.match_region: separators are positions among the dimensions of the source.
tir.func @f("A" %A: memref<8x8xf32>) {
  %B = tir.match_region "B" %A[0, 0 +: 4] axis_separators [3] : memref<8x8xf32> -> memref<4xf32>
}
// CHECK: (C4) buffer 'B': axis_separators [3], expected positions from 0 to 2, none less than the one before it

// -----

// (C1) tir.for: bounds have the type of the variable.
tir.func @f("n" %n: i64) {
  "tir.for"(%n) <{loop_var = "i", kind = "serial", static_bounds = array<i64: 0, -9223372036854775808, 1>}> ({
  ^bb0(%i: i32):
  }) : (i64) -> ()
}
// CHECK: (C1) bound of type i64, variable of type i32

// -----

// (C2) tir.for: the kind is known.
tir.func @f() {
  tir.for sideways "i" %i : i32 in [0 +: 8] {
  }
}
// CHECK: (C2) kind 'sideways', expected one of serial, parallel, vectorized, unrolled, thread_binding

// -----

// (C3) tir.for: a loop bound to a thread names it.
tir.func @f() {
  tir.for thread_binding "i" %i : i32 in [0 +: 8] {
  }
}
// CHECK: (C3) kind thread_binding with thread None

// -----

// (C4) tir.for: a step is positive.
tir.func @f() {
  tir.for serial "i" %i : i32 in [0 +: 8] step 0 {
  }
}
// CHECK: (C4) step 0, expected a positive one

// -----

// (C5) tir.for: one operand for each dynamic bound.
tir.func @f("n" %n: i32) {
  "tir.for"(%n) <{loop_var = "i", kind = "serial", static_bounds = array<i64: 0, 8, 1>}> ({
  ^bb0(%i: i32):
  }) : (i32) -> ()
}
// CHECK: (C5) bounds: 0 dynamic entries, 1 operands

// -----

// (C1) tir.while: the condition is a bool.
tir.func @f("x" %x: i32) {
  tir.while {
    tir.yield %x : i32
  } do {
  }
}
// CHECK: (C1) yields i32, expected i1

// -----

// (C1) tir.while: the condition is given.
tir.func @f() {
  tir.while {
  } do {
  }
}
// CHECK: (C1) expected a tir.yield at the end

// -----

// (C1) tir.attr: it is said of one node.
tir.func @f("x" %x: i32) {
  "tir.attr"(%x) <{key = "k", value_attr = "v", node_attr = "n", operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0:
  }) : (i32) -> ()
}
// CHECK: (C1) expected one node

// -----

// (C1) tir.launch_thread: one operand if the extent is dynamic.
tir.func @f("n" %n: i32) {
  "tir.launch_thread"(%n) <{var_name = "tx", thread = "threadIdx.x", static_extent = array<i64: 8>}> ({
  ^bb0(%tx: i32):
  }) : (i32) -> ()
}
// CHECK: (C1) extent: 0 dynamic entries, 1 operands

// -----

// (C2) tir.launch_thread: one integer variable.
tir.func @f() {
  tir.launch_thread "tx" %tx : f32 in 8 thread "threadIdx.x" {
  }
}
// CHECK: (C2) expected one integer variable

// -----

// (C1) tir.block: one name for each axis.
tir.func @f("i" %i: i32) {
  "tir.block"(%i) <{block_name = "b", axis_names = [], axis_kinds = ["spatial"], static_domains = array<i64: 0, 8>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%vi: i32):
  }) : (i32) -> ()
}
// CHECK: (C1) 0 names for 1 axes

// -----

// (C2) tir.block: an axis has the type of its binding.
tir.func @f("i" %i: i64) {
  "tir.block"(%i) <{block_name = "b", axis_names = ["vi"], axis_kinds = ["spatial"], static_domains = array<i64: 0, 8>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%vi: i32):
  }) : (i64) -> ()
}
// CHECK: (C2) axis vi has type i32, expected that of its binding and domain

// -----

// (C3) tir.block: the kind of an axis is known.
tir.func @f("i" %i: i32) {
  tir.block "b" (sideways "vi" %vi : i32 in [0 +: 8] = %i) {
  }
}
// CHECK: (C3) kind 'sideways' of axis vi

// -----

// (C4) tir.block: at most one tir.init.
tir.func @f() {
  tir.block "b" () {
    tir.init {
    }
    tir.init {
    }
  }
}
// CHECK: (C4) 2 tir.init ops

// -----

// (C1) tir.init: only directly inside a tir.block.
tir.func @f() {
  tir.init {
  }
}
// CHECK: (C1) expected a tir.block around it

// -----

// (C1) tir.access: one range for each dimension.
tir.func @f("A" %A: memref<8x8xf32>) {
  tir.access reads %A[0] : memref<8x8xf32>
}
// CHECK: (C1) 1 mins for a buffer of rank 2

// -----

// (C2) tir.access: it reads or writes.
tir.func @f("A" %A: memref<8xf32>) {
  tir.access likes %A[0] : memref<8xf32>
}
// CHECK: (C2) kind 'likes', expected reads or writes

// -----

// (C1) tir.allocate: one operand for each dynamic extent.
tir.func @f("n" %n: i32) {
  %p = "tir.allocate"(%n) <{var_name = "p", static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> !tir.handle<f32>
}
// CHECK: (C1) extents: 0 dynamic entries, 1 operands

// -----

// (C2) tir.allocate: the element type is known.
tir.func @f() {
  %p = tir.allocate "p" [8] : !tir.handle
}
// CHECK: (C2) the pointer has no element type

// -----

// (C3) tir.allocate: memory is stack or heap.
tir.func @f() {
  %p = tir.allocate "p" [8] on disk : !tir.handle<f32>
}
// CHECK: (C3) memory 'disk', expected stack or heap

// -----

// (C1) tir.address_of: one index for each dimension.
tir.func @f("A" %A: memref<8x8xf32>, "i" %i: i32) {
  %p = tir.address_of %A[%i] : memref<8x8xf32> -> !tir.handle<f32>
}
// CHECK: (C1) 1 indices for a buffer of rank 2

// -----

// (C1) tir.load: one index for each dimension.
tir.func @f("A" %A: memref<8x8xf32>, "i" %i: i32) {
  %x = tir.load %A[%i] : memref<8x8xf32>
}
// CHECK: (C1) 1 indices for a buffer of rank 2

// -----

// (C2) tir.load: indices are integers.
tir.func @f("A" %A: memref<8xf32>, "x" %x: f32) {
  %y = tir.load %A[%x : f32] : memref<8xf32>
}
// CHECK: (C2) index of type f32, expected an integer

// -----

// (C2) tir.load: vectors of indices have the same number of lanes.
tir.func @f("A" %A: memref<8x8xf32>, "v" %v: vector<4xi32>, "w" %w: vector<8xi32>) {
  %y = tir.load %A[%v : vector<4xi32>, %w : vector<8xi32>] : memref<8x8xf32>
}
// CHECK: (C2) vectors of indices have different numbers of lanes

// -----

// (C3) tir.load: a predicate has the lanes of the index.
tir.func @f("A" %A: memref<8xf32>, "v" %v: vector<4xi32>, "m" %m: vector<2xi1>) {
  %y = tir.load %A[%v : vector<4xi32>] if %m : vector<2xi1> : memref<8xf32>
}
// CHECK: (C3) predicate of type vector<2xi1> for an access of vector<4xf32>

// -----

// (C4) tir.load: the result is an element.
tir.func @f("A" %A: memref<8xf32>, "i" %i: i32) {
  %y = "tir.load"(%A, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<8xf32>, i32) -> f64
}
// CHECK: (C4) result of type f64, expected f32

// -----

// (C1) tir.store: one index for each dimension.
tir.func @f("A" %A: memref<8x8xf32>, "x" %x: f32) {
  tir.store %x, %A[] : memref<8x8xf32>
}
// CHECK: (C1) 0 indices for a buffer of rank 2

// -----

// (C2) tir.store: indices are integers.
tir.func @f("A" %A: memref<8xf32>, "x" %x: f32) {
  tir.store %x, %A[%x : f32] : memref<8xf32>
}
// CHECK: (C2) index of type f32, expected an integer

// -----

// (C3) tir.store: a predicate needs a vector of indices.
tir.func @f("A" %A: memref<8xf32>, "x" %x: f32, "i" %i: i32, "m" %m: vector<4xi1>) {
  tir.store %x, %A[%i] if %m : vector<4xi1> : memref<8xf32>
}
// CHECK: (C3) predicate of type vector<4xi1> for an access of f32

// -----

// (C4) tir.store: the value is an element.
tir.func @f("A" %A: memref<8xf32>, "x" %x: f64, "i" %i: i32) {
  "tir.store"(%x, %A, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (f64, memref<8xf32>, i32) -> ()
}
// CHECK: (C4) value of type f64, expected f32

// -----

// (C1) tir.const: a signed integer is arith's.
tir.func @f() {
  %x = tir.const 3 : i32
}
// CHECK: (C1) expected an unsigned integer

// -----

// (C1) tir.const: a string is a handle.
tir.func @f() {
  %x = "tir.const"() <{value = "shared"}> : () -> i32
}
// CHECK: (C1) "shared" of type i32

// -----

// (C1) tir.floormod: operands and result have one type.
tir.func @f("x" %x: i32) {
  %y = "tir.floormod"(%x, %x) : (i32, i32) -> i64
}
// CHECK: (C1) operands and result have different types

// -----

// (C2) tir.floormod: on signed integers.
tir.func @f("x" %x: f32) {
  %y = tir.floormod %x, %x : f32
}
// CHECK: (C2) type f32, expected a signed integer type

// -----

// (C1) tir.min: operands and result have one type.
tir.func @f("x" %x: f32, "y" %y: f64) {
  %z = "tir.min"(%x, %y) : (f32, f64) -> f32
}
// CHECK: (C1) operands and result have different types

// -----

// (C2) tir.min: on floats.
tir.func @f("x" %x: i32) {
  %y = tir.min %x, %x : i32
}
// CHECK: (C2) type i32, expected a float type

// -----

// (C1) tir.max: operands and result have one type.
tir.func @f("x" %x: f32, "y" %y: f64) {
  %z = "tir.max"(%x, %y) : (f32, f64) -> f32
}
// CHECK: (C1) operands and result have different types

// -----

// (C2) tir.max: on floats, no buffer.
tir.func @f("A" %A: memref<8xf32>) {
  %y = tir.max %A, %A : memref<8xf32>
}
// CHECK: (C2) type memref<8xf32>, expected a float type

// -----

// (C1) tir.cast: the number of lanes stays.
tir.func @f("x" %x: vector<4xi32>) {
  %y = tir.cast %x : vector<4xi32> -> vector<2xi64>
}
// CHECK: (C1) 4 lanes to 2 lanes

// -----

// (C1) tir.cast: between scalars or vectors.
tir.func @f("A" %A: memref<8xf32>) {
  %y = tir.cast %A : memref<8xf32> -> f32
}
// CHECK: (C1) type memref<8xf32>, expected a scalar or vector type

// -----

// (C1) tir.reinterpret: the number of bits stays.
tir.func @f("x" %x: f32) {
  %y = tir.reinterpret %x : f32 -> i64
}
// CHECK: (C1) 32 bits as 64 bits

// -----

// (C1) tir.reinterpret: only types that have bits.
tir.func @f("A" %A: memref<8xf32>) {
  %y = tir.reinterpret %A : memref<8xf32> -> i64
}
// CHECK: (C1) type memref<8xf32>, expected a scalar or vector type

// -----

// (C1) tir.ramp: base and stride have the element type.
tir.func @f("x" %x: i32) {
  %y = "tir.ramp"(%x, %x) : (i32, i32) -> vector<4xi64>
}
// CHECK: (C1) base and stride must be i64

// -----

// (C1) tir.shuffle: one element type.
tir.func @f("x" %x: f32, "y" %y: i32) {
  %z = tir.shuffle %x, %y [0, 1] : f32, i32 -> vector<2xf32>
}
// CHECK: (C1) element types differ

// -----

// (C1) tir.shuffle: no buffers.
tir.func @f("A" %A: memref<8xf32>) {
  %z = tir.shuffle %A [0, 1] : memref<8xf32> -> vector<2xf32>
}
// CHECK: (C1) type memref<8xf32>, expected a scalar or vector type

// -----

// (C2) tir.shuffle: an index for each lane of the result.
tir.func @f("x" %x: f32) {
  %z = tir.shuffle %x [0, 0] : f32 -> vector<4xf32>
}
// CHECK: (C2) 2 indices for 4 lanes

// -----

// (C2) tir.shuffle: indices point into the operands.
tir.func @f("x" %x: f32) {
  %z = tir.shuffle %x [0, 1] : f32 -> vector<2xf32>
}
// CHECK: (C2) an index is not in [0, 1)

// -----

// (C1) tir.call_llvm: a known intrinsic.
tir.func @f("x" %x: f32) {
  %z = tir.call_llvm "llvm.x86.avx2.pmadd.wx"(%x) : f32 -> vector<8xi32>
}
// CHECK: (C1) unknown intrinsic of LLVM 'llvm.x86.avx2.pmadd.wx'

// -----

// (C1) tir.call_llvm: its number of operands.
tir.func @f("x" %x: vector<16xi16>) {
  %z = tir.call_llvm "llvm.x86.avx2.pmadd.wd"(%x) : vector<16xi16> -> vector<8xi32>
}
// CHECK: (C1) 1 operands for llvm.x86.avx2.pmadd.wd, expected 2

// -----

// (C2) tir.call_llvm: the bits of operands.
tir.func @f("x" %x: vector<16xi16>, "y" %y: vector<8xi16>) {
  %z = tir.call_llvm "llvm.x86.avx2.pmadd.wd"(%x, %y) : vector<16xi16>, vector<8xi16> -> vector<8xi32>
}
// CHECK: (C2) operand 1 of llvm.x86.avx2.pmadd.wd is int16x8, expected int16x16

// -----

// (C2) tir.call_llvm: the type of the result.
tir.func @f("x" %x: vector<16xi16>) {
  %z = tir.call_llvm "llvm.x86.avx2.pmadd.wd"(%x, %x) : vector<16xi16>, vector<16xi16> -> vector<16xi16>
}
// CHECK: (C2) result of type vector<16xi16>, expected vector<8xi32>

// -----

// (C1) tir.let: the result has the type of the value.
tir.func @f("x" %x: f32) {
  %z = "tir.let"(%x) <{var_name = "z"}> : (f32) -> f64
}
// CHECK: (C1) the value has another type than the name

// -----

// (C1) tir.if_then_else: both regions yield the result's type.
tir.func @f("c" %c: i1, "x" %x: f32, "y" %y: f64) {
  %z = tir.if_then_else %c {
    tir.yield %x : f32
  } else {
    tir.yield %y : f64
  } : f32
}
// CHECK: (C1) yields f64, expected f32

// -----

// (C1) tir.intrinsic: the intrinsic is known.
tir.func @f("x" %x: f32) {
  %y = tir.intrinsic "frobnicate"(%x) : f32 -> f32
}
// CHECK: (C1) unknown intrinsic 'frobnicate'

// -----

// (C1) tir.intrinsic: it has the operands it takes.
tir.func @f("x" %x: f32) {
  %y = tir.intrinsic "hypot"(%x) : f32 -> f32
}
// CHECK: (C1) 1 operands for hypot, expected 2

// -----

// (C2) tir.intrinsic: the result has the type the intrinsic says.
tir.func @f("x" %x: f32) {
  %y = tir.intrinsic "isnan"(%x) : f32 -> f32
}
// CHECK: (C2) result of type f32, expected i1

// -----

// (C2) tir.intrinsic: on scalars, vectors and handles.
tir.func @f("A" %A: memref<8xf32>) {
  %y = tir.intrinsic "sigmoid"(%A) : memref<8xf32> -> memref<8xf32>
}
// CHECK: (C2) type memref<8xf32>, expected a scalar, vector or handle type

// -----

// (C1) tir.call: the function exists.
tir.func @f() {
  tir.call @nobody()
}
// CHECK: (C1) no function 'nobody' in the module

// -----

// (C2) tir.call: as many arguments as parameters.
tir.func @g("x" %x: f32) {
}
tir.func @f() {
  tir.call @g()
}
// CHECK: (C2) 0 arguments, expected 1

// -----

// (C2) tir.call: arguments of the parameters' types.
tir.func @g("x" %x: f32) {
}
tir.func @f("x" %x: i32) {
  tir.call @g(%x) : i32
}
// CHECK: (C2) argument 0 is i32, expected f32

// -----

// (C3) tir.call: the result is what the function returns.
tir.func @g() {
}
tir.func @f() {
  %x = tir.call @g() -> i32
}
// CHECK: (C3) result i32, expected None

// -----

// (C1) tir.assert: one value for each placeholder.
tir.func @f("c" %c: i1, "n" %n: i32) {
  tir.assert %c, "{} and {}" values %n : i32
}
// CHECK: (C1) 1 values for 2 placeholders

// -----

// (C2) tir.assert: values are scalars.
tir.func @f("c" %c: i1, "p" %p: !tir.handle) {
  tir.assert %c, "{}" values %p : !tir.handle
}
// CHECK: (C2) value of type !tir.handle

// -----

// (C1) tir.print: one value for each placeholder.
tir.func @f("n" %n: i32) {
  tir.print "{} and {}" values %n : i32
}
// CHECK: (C1) 1 values for 2 placeholders

// -----

// (C2) tir.print: values are scalars.
tir.func @f("p" %p: !tir.handle) {
  tir.print "{}" values %p : !tir.handle
}
// CHECK: (C2) value of type !tir.handle
