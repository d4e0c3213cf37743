"""Programs of upstream MLIR with which both emitters are tested, and the arrays that they get."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

ELEMENTS = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
"""The type in numpy of the elements of buffers, by the type in MLIR."""


def align_array(values: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """A copy of an array at an address that is a multiple of 16."""
    size = np.dtype(dtype).itemsize * len(values)
    room = np.zeros(size + 16, np.uint8)
    start = -room.ctypes.data % 16
    array = room[start : start + size].view(dtype)
    array[:] = np.asarray(values).astype(dtype)
    return array


# Loops


def loop(kind: str) -> str:
    """A loop over `kind` that appends each value to a decimal number, two digits for each."""
    return f"""func.func @main(%a: {kind}, %b: {kind}, %s: {kind}) -> i64 {{
  %zero = arith.constant 0 : i64
  %ten = arith.constant 100 : i64
  %r = scf.for %i = %a to %b step %s iter_args(%acc = %zero) -> (i64) {"" if kind == "index" else ": " + kind} {{
    %x = {"arith.index_cast %i : index to i64" if kind == "index" else f"arith.extsi %i : {kind} to i64"}
    %m = arith.muli %acc, %ten : i64
    %n = arith.addi %m, %x : i64
    scf.yield %n : i64
  }}
  func.return %r : i64
}}"""


def expected_of_loop(lower: int, upper: int, step: int) -> int:
    """The result of `loop`."""
    result = 0
    for i in range(lower, upper, step):
        result = result * 100 + i
    return result


def collatz(passed: str = "%k") -> str:
    """The number of steps from a number to 1. passed: the counter that the condition hands to the body."""
    return f"""func.func @main(%n: i64) -> i64 {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %r:2 = scf.while (%x = %n, %k = %zero) : (i64, i64) -> (i64, i64) {{
    %more = arith.cmpi ne, %x, %one : i64
    scf.condition(%more) %x, {passed} : i64, i64
  }} do {{
  ^bb0(%x: i64, %k: i64):
    %bit = arith.andi %x, %one : i64
    %odd = arith.cmpi eq, %bit, %one : i64
    %next = scf.if %odd -> (i64) {{
      %t = arith.muli %x, %three : i64
      %u = arith.addi %t, %one : i64
      scf.yield %u : i64
    }} else {{
      %h = arith.divsi %x, %two : i64
      scf.yield %h : i64
    }}
    %k1 = arith.addi %k, %one : i64
    scf.yield %next, %k1 : i64, i64
  }}
  func.return %r#1 : i64
}}"""


PARALLEL = """func.func @main(%a: memref<?x?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?x?xi32>
  %m = memref.dim %a, %c1 : memref<?x?xi32>
  "scf.parallel"(%c0, %c1, %n, %m, %c1, %c2) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %x = arith.addi %i, %j : index
    %y = arith.index_cast %x : index to i32
    memref.store %y, %a[%i, %j] : memref<?x?xi32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}"""
"""The sum of both indices in the elements of every second column, from the second on."""

# Buffers

STRIDED_COPY = """func.func @main(%a: memref<?x?xf32, strided<[?, ?], offset: ?>>, %b: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %m = memref.dim %a, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %x = memref.load %a[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
      memref.store %x, %b[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}"""
"""A copy of a matrix whose strides and offset are known when it runs."""

VIEWS = """func.func @main(%a: memref<6x8xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = memref.subview %a[1, %n] [3, 2] [2, 3] : memref<6x8xf32> to memref<3x2xf32, strided<[16, 3], offset: ?>>
  %x = memref.load %s[%c1, %c1] : memref<3x2xf32, strided<[16, 3], offset: ?>>
  %row = memref.subview %a[%n, 0] [1, 8] [1, 1] : memref<6x8xf32> to memref<8xf32, strided<[1], offset: ?>>
  %y = memref.load %row[%n] : memref<8xf32, strided<[1], offset: ?>>
  %flat = memref.reinterpret_cast %a to offset: [0], sizes: [48], strides: [1] : memref<6x8xf32> to memref<48xf32>
  %z = memref.load %flat[%c1] : memref<48xf32>
  %d = "memref.cast"(%flat) : (memref<48xf32>) -> memref<?xf32>
  %m = memref.dim %d, %c0 : memref<?xf32>
  memref.store %z, %d[%c0] : memref<?xf32>
  %mi = arith.index_cast %m : index to i32
  %mf = arith.sitofp %mi : i32 to f32
  %p = arith.addf %x, %y : f32
  %q = arith.addf %p, %mf : f32
  func.return %q : f32
}"""
"""Loads and a store by views of one buffer."""

POINTER = """func.func @main(%p: !llvm.ptr, %n: index) -> f32 {
  %a = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<?xf32>
  %b = memref.reinterpret_cast %a to offset: [1], sizes: [%n], strides: [2]
    : memref<?xf32> to memref<?xf32, strided<[2], offset: 1>>
  %c1 = arith.constant 1 : index
  %x = memref.load %b[%c1] : memref<?xf32, strided<[2], offset: 1>>
  %q = builtin.unrealized_conversion_cast %b : memref<?xf32, strided<[2], offset: 1>> to !llvm.ptr
  %c = builtin.unrealized_conversion_cast %q : !llvm.ptr to memref<3xf32>
  %y = memref.load %c[%c1] : memref<3xf32>
  %r = arith.addf %x, %y : f32
  func.return %r : f32
}"""
"""Two loads from a pointer that becomes a buffer, and from that buffer as a pointer again."""

LARGE_ADDRESS = """func.func @main(%p: !llvm.ptr, %i: i32, %j: i32) -> i64 {
  %a = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<70000x70000xf32>
  %x = arith.index_cast %i : i32 to index
  %y = arith.index_cast %j : i32 to index
  %s = memref.subview %a[%x, %y] [1, 1] [1, 1]
    : memref<70000x70000xf32> to memref<1x1xf32, strided<[70000, 1], offset: ?>>
  %q = builtin.unrealized_conversion_cast %s : memref<1x1xf32, strided<[70000, 1], offset: ?>> to !llvm.ptr
  %r = llvm.ptrtoint %q : !llvm.ptr to i64
  func.return %r : i64
}"""
"""The address of an element at 2**32 bytes or more from the start."""


# Vectors


def masked_copy(kind: str, name: str = "main") -> str:
    """A copy of the first elements of a vector, by masked accesses."""
    return f"""func.func @{name}(%a: memref<?x{kind}>, %b: memref<?x{kind}>, %n: index) {{
  %c0 = arith.constant 0 : index
  %m = vector.create_mask %n : vector<8xi1>
  %b0 = vector.load %b[%c0] : memref<?x{kind}>, vector<8x{kind}>
  %x = vector.maskedload %a[%c0], %m, %b0 : memref<?x{kind}>, vector<8xi1>, vector<8x{kind}> into vector<8x{kind}>
  vector.maskedstore %b[%c0], %m, %x : memref<?x{kind}>, vector<8xi1>, vector<8x{kind}>
  func.return
}}"""
