"""Tensor intrinsics of sums of four products of bytes, by the names of TVM: `dot_4x4_i8i8s32_sdot`, `dp4a_s8s8s32`."""

from __future__ import annotations

from functools import cache

from xdsl.parser import Parser

from ..core.dtypes import mlir_type
from ..dialects import mlir_context
from ..module import Module

DOTS: dict[str, tuple[int, str, str, str]] = {
    "dot_16x4_vnni": (16, "uint8", "int8", "int32"),
    "dot_16x4_avx512": (16, "uint8", "int8", "int32"),
    "dot_4x4_i8i8s32_neon": (4, "int8", "int8", "int32"),
    "dot_4x4_i8i8s32_sdot": (4, "int8", "int8", "int32"),
    "dot_4x4_u8u8u32_udot": (4, "uint8", "uint8", "uint32"),
    "dot_4x4_u8u8i32_hdot": (4, "uint8", "uint8", "int32"),
}
"""The intrinsics that add `A[k] * B[i, k]` to `C[i]`, for k from 0 to 3: the number of sums, and the data types of A, B
and C."""
DP4A: dict[str, tuple[str, str, str]] = {
    "dp4a_s8s8s32": ("int8", "int8", "int32"),
    "dp4a_u8s8s32": ("uint8", "int8", "int32"),
    "dp4a_s8u8s32": ("int8", "uint8", "int32"),
    "dp4a_u8u8u32": ("uint8", "uint8", "uint32"),
    "sdot4": ("int8", "int8", "int32"),
}
"""The intrinsics that add `A[k] * B[k]` to `C[0]`, with A and B in shared memory and C in that of a thread: the data
types."""


@cache
def dot_intrinsic(name: str) -> tuple[Module, Module] | None:
    """The description and the implementation of the intrinsic of a name, None for another name."""
    if name in DOTS:
        lanes, *dtypes = DOTS[name]
        return _function(lanes, dtypes, "serial"), _function(lanes, dtypes, "vectorized")
    if name in DP4A:
        return _function(None, [*DP4A[name]], "serial"), _function(None, [*DP4A[name]], "unrolled")
    return None


def _function(lanes: int | None, dtypes: list[str], kind: str) -> Module:
    """The sums. lanes: their number; None for one sum of a kernel.  kind: of the loop over sums, or else over k."""
    a, b, c = (str(mlir_type(dtype)) for dtype in dtypes)
    shared, local = (', "shared"', ', "local"') if lanes is None else ("", "")
    layout = "strided<[1], offset: ?>"
    right = (
        f"memref<4x{b}, {layout}{shared}>" if lanes is None else f"memref<{lanes}x4x{b}, strided<[?, 1], offset: ?>>"
    )
    types = {"A": f"memref<4x{a}, {layout}{shared}>", "B": right, "C": f"memref<{lanes or 1}x{c}, {layout}{local}>"}
    stride = "" if lanes is None else " strides [%stride]"
    is_described = kind == "serial"
    i, k = ("%vi", "%vk") if is_described else ("%i", "%k")
    zero, place, there, axes = "", i, f"{i}, {k}", f'spatial "vi" %vi : i32 in [0 +: {lanes}] = %i, '
    if lanes is None:
        zero, place, there, axes = "%zero = arith.constant 0 : i32", "%zero", k, ""
    reads = ((place, "C"), (k, "A"), (there, "B"))
    accesses = [f"tir.access reads %{name}[{index}] : {types[name]}" for index, name in reads]
    accesses.append(f"tir.access writes %C[{place}] : {types['C']}")
    head = f'tir.block "update" ({axes}reduce "vk" %vk : i32 in [0 +: 4] = %k) {{'
    is_vector = lanes is not None and kind == "vectorized"
    inner = "serial" if lanes is not None else kind
    loops = [f'tir.for {inner} "k" %k : i32 in [0 +: 4] {{']
    if lanes is not None:
        outer = f'tir.for {kind} "i" %i : i32 in [0 +: {lanes}] {{'
        loops = [*loops, outer] if is_vector else [outer, *loops]
    text = f"""
    tir.func @dot("a" %a: !tir.handle, "b" %b: !tir.handle, "c" %c: !tir.handle) {{
      %a_offset = tir.symbol "a_offset" : i32
      %b_offset = tir.symbol "b_offset" : i32
      %c_offset = tir.symbol "c_offset" : i32
      {'%stride = tir.symbol "stride" : i32' if stride else ""}
      %A = tir.match_buffer "A" %a offset [%a_offset] : !tir.handle -> {types["A"]}
      %B = tir.match_buffer "B" %b{stride} offset [%b_offset] : !tir.handle -> {types["B"]}
      %C = tir.match_buffer "C" %c offset [%c_offset] : !tir.handle -> {types["C"]}
      {" ".join(loops)}
        {head if is_described else ""}
          {zero}
          {" ".join(accesses) if is_described else ""}
          %sum = tir.load %C[{place}] : {types["C"]}
          %x = tir.load %A[{k}] : {types["A"]}
          %y = tir.load %B[{there}] : {types["B"]}
          %left = tir.cast %x : {a} -> {c}
          %right = tir.cast %y : {b} -> {c}
          %product = arith.muli %left, %right : {c}
          %result = arith.addi %sum, %product : {c}
          tir.store %result, %C[{place}] : {types["C"]}
        {"}" if is_described else ""}
      {"}" * len(loops)}
    }}
    """
    return Module(Parser(mlir_context(), text).parse_module())
