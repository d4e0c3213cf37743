"""Tensor intrinsics of matrix operations of a warp, by the names of TVM: `wmma_load_16x16x16_f16_a_shared`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from xdsl.parser import Parser

from ..analysis.threads.fragments import (
    COLUMNS,
    FILL,
    LEFT,
    LOAD,
    MULTIPLY,
    RIGHT,
    ROWS,
    SHAPES,
    STORE,
    SUMS,
    SUMS_OF,
    FragmentType,
)
from ..core.dtypes import DType, mlir_type, parse_dtype
from ..dialects import mlir_context
from ..module import Module

MATRIX_DTYPES = {"f16": "float16", "bf16": "bfloat16", "s8": "int8", "u8": "uint8", "f32": "float32", "s32": "int32"}
"""The data types of matrices, by their names in the names of intrinsics."""

_SHAPE = r"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)"
_SCOPE = r"(?P<scope>global|shared|shared_dyn)"
_DTYPE = "|".join(MATRIX_DTYPES)
_PATTERNS = {
    LOAD: re.compile(rf"wmma_load_{_SHAPE}_(?P<dtype>{_DTYPE})_(?P<factor>a|b)(?P<trans>_trans)?_{_SCOPE}"),
    FILL: re.compile(rf"wmma_fill_{_SHAPE}_(?P<dtype>{_DTYPE})"),
    STORE: re.compile(rf"wmma_store_{_SHAPE}_(?P<dtype>{_DTYPE})_{_SCOPE}"),
    MULTIPLY: re.compile(rf"wmma_sync_{_SHAPE}_(?P<dtype>{_DTYPE})(?P=dtype)(?P<sums>{_DTYPE})(?P<trans>_trans)?"),
}
Shape = tuple[int, int, int]
Functions = tuple[Module, Module]
"""The description of an intrinsic, and its implementation."""


@cache
def matrix_intrinsic(name: str) -> Functions | None:
    """The functions of the intrinsic of a name; None if the name is of no matrix operation."""
    for builtin, pattern in _PATTERNS.items():
        found = pattern.fullmatch(name)
        if found is None:
            continue
        words = found.groupdict()
        shape = (int(words["m"]), int(words["n"]), int(words["k"]))
        dtype, sums = MATRIX_DTYPES[words["dtype"]], MATRIX_DTYPES.get(words.get("sums", ""))
        known = SUMS_OF if builtin in (LOAD, MULTIPLY) else [each for sums in SUMS_OF.values() for each in sums]
        if shape not in SHAPES or dtype not in known or (sums is not None and sums not in SUMS_OF[dtype]):
            return None
        scope, is_transposed = words.get("scope", "").replace("_", "."), words.get("trans") is not None
        if builtin == LOAD:
            return load_intrinsic(shape, dtype, scope, words["factor"] == "b", is_transposed)
        if builtin == FILL:
            return fill_intrinsic(shape, dtype)
        return (
            store_intrinsic(shape, dtype, scope)
            if sums is None
            else multiply_intrinsic(shape, dtype, sums, is_transposed)
        )
    return None


def load_intrinsic(shape: Shape, dtype: str, scope: str, is_right: bool, is_transposed: bool) -> Functions:
    """The intrinsic that copies a matrix in memory to a fragment.

    shape: of the product (m, n, k).  scope: of the memory.  is_right: whether the matrix is the right factor.
    is_transposed: whether the columns of the matrix are the rows of the memory.
    """
    layout = COLUMNS if is_transposed else ROWS
    type = FragmentType(RIGHT if is_right else LEFT, shape, mlir_type(dtype), layout)
    buffers = [_Buffer("A", dtype, type.tile, scope), _Buffer("C", dtype, type.tile, type.scope)]
    call = f"""
      {_numbers(buffers[1], shape)}
      {_address(buffers[0], 1)}
      %layout = tir.const "{layout}" : !tir.handle
      tir.call_intrin "{LOAD}"(%C_data, %m, %n, %k, %C_number, %A_place, %A_s1, %layout)
        : {buffers[1].pointer}, i32, i32, i32, i32, {buffers[0].pointer}, i32, !tir.handle
    """
    return _functions("load", buffers, _copy(buffers), call)


def fill_intrinsic(shape: Shape, dtype: str) -> Functions:
    """The intrinsic that sets sums to zero. shape: of the product (m, n, k)."""
    buffers = [_Buffer("C", dtype, shape[:2], SUMS)]
    zero = _constant(0, parse_dtype(dtype))
    body = _block(
        "init", buffers, shape[:2], [], f"%x = {zero}\n tir.store %x, %C[%vi, %vj] : {buffers[0].type}", ["C[%vi, %vj]"]
    )
    call = f"""
      {_numbers(buffers[0], shape)}
      %zero = {zero}
      tir.call_intrin "{FILL}"(%C_data, %m, %n, %k, %C_number, %zero)
        : {buffers[0].pointer}, i32, i32, i32, i32, {buffers[0].element}
    """
    return _functions("fill", buffers, body, call)


def store_intrinsic(shape: Shape, dtype: str, scope: str) -> Functions:
    """The intrinsic that copies sums to memory. shape: of the product (m, n, k).  scope: of the memory."""
    buffers = [_Buffer("A", dtype, shape[:2], SUMS), _Buffer("C", dtype, shape[:2], scope)]
    call = f"""
      {_numbers(buffers[0], shape)}
      {_address(buffers[1], 2)}
      %layout = tir.const "{ROWS}" : !tir.handle
      tir.call_intrin "{STORE}"(%A_data, %m, %n, %k, %A_number, %C_place, %C_s1, %layout)
        : {buffers[0].pointer}, i32, i32, i32, i32, {buffers[1].pointer}, i32, !tir.handle
    """
    return _functions("store", buffers, _copy(buffers), call)


def multiply_intrinsic(shape: Shape, dtype: str, sums: str, is_transposed: bool) -> Functions:
    """The intrinsic that adds the product of two matrices to sums.

    shape: of the product (m, n, k).  dtype, sums: the data types of the factors and the sums.  is_transposed: whether
    the columns of the right factor are the rows of its tile.
    """
    m, n, k = shape
    right = FragmentType(RIGHT, shape, mlir_type(dtype), COLUMNS if is_transposed else ROWS)
    buffers = [
        _Buffer("A", dtype, (m, k), LEFT), _Buffer("B", dtype, right.tile, RIGHT), _Buffer("C", sums, (m, n), SUMS)
    ]  # fmt: skip
    a, b, c = buffers
    there = "%vj, %vk" if is_transposed else "%vk, %vj"
    kind = "f" if parse_dtype(sums).is_float else "i"
    casts = dtype != sums
    left, other = ("%l", "%r") if casts else ("%x", "%y")
    converted = f"""
      %l = tir.cast %x : {a.element} -> {c.element}
      %r = tir.cast %y : {b.element} -> {c.element}
    """
    body = f"""
      %z = tir.load %C[%vi, %vj] : {c.type}
      %x = tir.load %A[%vi, %vk] : {a.type}
      %y = tir.load %B[{there}] : {b.type}
      {converted if casts else ""}
      %p = arith.mul{kind} {left}, {other} : {c.element}
      %s = arith.add{kind} %z, %p : {c.element}
      tir.store %s, %C[%vi, %vj] : {c.type}
    """
    reads = ["C[%vi, %vj]", "A[%vi, %vk]", f"B[{there}]"]
    call = f"""
      {"".join(_number(buffer) for buffer in buffers)}
      tir.call_intrin "{MULTIPLY}"(%C_data, %C_number, %A_data, %A_number, %B_data, %B_number, %C_data, %C_number)
        : {c.pointer}, i32, {a.pointer}, i32, {b.pointer}, i32, {c.pointer}, i32
    """
    return _functions("multiply", buffers, _block("update", buffers, shape, reads, body, ["C[%vi, %vj]"]), call)


# Text


class _Buffer:
    """A parameter of an intrinsic, as text. tile: its rows and columns."""

    def __init__(self, name: str, dtype: str, tile: Sequence[int], scope: str):
        self.name, self.tile = name, tuple(tile)
        self.element = str(mlir_type(dtype))
        self.is_fragment = scope in (LEFT, RIGHT, SUMS)
        shape = "x".join(map(str, tile))
        self.space = "" if scope == "global" else f', "{scope}"'
        self.type = f"memref<{shape}x{self.element}, strided<[?, 1], offset: ?>{self.space}>"
        self.pointer = f"!tir.handle<{self.element}{self.space}>"

    def declaration(self) -> str:
        """The operations that declare the buffer over its parameter, with a stride and an offset."""
        name = self.name
        return f"""
          %{name}_s1 = tir.symbol "{name}_s1" : i32
          %{name}_offset = tir.symbol "{name}_offset" : i32
          %{name} = tir.match_buffer "{name}" %{name.lower()} strides [%{name}_s1] offset [%{name}_offset]
            : !tir.handle -> {self.type}
        """


def _functions(name: str, buffers: Sequence[_Buffer], description: str, implementation: str) -> Functions:
    def function(body: str) -> Module:
        parameters = ", ".join(f'"{each.name.lower()}" %{each.name.lower()}: !tir.handle' for each in buffers)
        declarations = "".join(each.declaration() for each in buffers)
        text = f"tir.func @{name}({parameters}) {{\n{declarations}\n{body}\n}}"
        return Module(Parser(mlir_context(), text).parse_module())

    return function(description), function(implementation)


def _block(
    name: str,
    buffers: Sequence[_Buffer],
    extents: Sequence[int],
    reads: Sequence[str],
    body: str,
    writes: Sequence[str],
) -> str:
    """A block in a loop for each extent."""
    types = {each.name: each.type for each in buffers}
    variables = "ijk"[: len(extents)]
    kinds = ("spatial", "spatial", "reduce")
    axes = ", ".join(
        f'{kind} "v{v}" %v{v} : i32 in [0 +: {n}] = %{v}' for kind, v, n in zip(kinds, variables, extents, strict=False)
    )
    accesses = [
        f"tir.access {kind} %{each} : {types[each[0]]}"
        for kind, all in (("reads", reads), ("writes", writes))
        for each in all
    ]
    lines = "\n".join(accesses)
    text = f'tir.block "{name}" ({axes}) {{\n{lines}\n{body}\n}}'
    for v, n in reversed(list(zip(variables, extents, strict=True))):
        text = f'tir.for serial "{v}" %{v} : i32 in [0 +: {n}] {{\n{text}\n}}'
    return text


def _copy(buffers: Sequence[_Buffer]) -> str:
    """The copy of one buffer to another."""
    source, target = buffers
    body = f"""
      %x = tir.load %{source.name}[%vi, %vj] : {source.type}
      tir.store %x, %{target.name}[%vi, %vj] : {target.type}
    """
    names = [f"{each.name}[%vi, %vj]" for each in buffers]
    return _block("copy", buffers, source.tile, names[:1], body, names[1:])


def _numbers(buffer: _Buffer, shape: Shape) -> str:
    """The shape of a product as values, and the data and the number of a fragment."""
    numbers = [f"%{letter} = arith.constant {n} : i32\n" for letter, n in zip("mnk", shape, strict=True)]
    return "".join(numbers) + _number(buffer)


def _number(buffer: _Buffer) -> str:
    """The data and the number of a fragment: its tile, counted along the rows of the buffer that it is a part of."""
    name = buffer.name
    rows, columns = buffer.tile
    return f"""
      %{name}_data = tir.buffer_data %{name} : {buffer.type} -> {buffer.pointer}
      %{name}_rows = arith.constant {rows} : i32
      %{name}_columns = arith.constant {columns} : i32
      %{name}_line = arith.floordivsi %{name}_offset, %{name}_s1 : i32
      %{name}_place = tir.floormod %{name}_offset, %{name}_s1 : i32
      %{name}_above = arith.floordivsi %{name}_line, %{name}_rows : i32
      %{name}_beside = arith.floordivsi %{name}_s1, %{name}_columns : i32
      %{name}_first = arith.muli %{name}_above, %{name}_beside : i32
      %{name}_before = arith.floordivsi %{name}_place, %{name}_columns : i32
      %{name}_number = arith.addi %{name}_first, %{name}_before : i32
    """


def _address(buffer: _Buffer, access: int) -> str:
    """The address of the first element of a buffer. access: 1 for reads, 2 for writes."""
    name = buffer.name
    return f"""
      %{name}_data = tir.buffer_data %{name} : {buffer.type} -> {buffer.pointer}
      %{name}_size = arith.constant {buffer.tile[0] * buffer.tile[1]} : i32
      %{name}_place = tir.access_ptr %{name}_data[%{name}_offset +: %{name}_size] access {access}
        : {buffer.pointer} -> {buffer.pointer}
    """


def _constant(number: int, dtype: DType) -> str:
    type = mlir_type(dtype)
    return f"arith.constant {float(number) if dtype.is_float else number} : {type}"
