"""Requests of cache lines."""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute

from ...core.walking import loops_around
from ...dialects.attributes import PREFETCH, PREFETCH_LEVEL, PREFETCH_PANEL
from .function import LlvmFunctionEmitter

_LOCALITY = 4
"""The locality of a request in LLVM's intrinsic, plus the level of the cache that the line is requested into."""


def request_lines(f: LlvmFunctionEmitter, op: memref.LoadOp | vector.LoadOp, pointer: str) -> None:
    """Requests the cache lines for later loads, at the distances from the address that a load states."""
    level = op.attributes.get(PREFETCH_LEVEL)
    _request(f, op, pointer, op.attributes.get(PREFETCH_PANEL), 2)
    _request(f, op, pointer, op.attributes.get(PREFETCH), level.value.data if isinstance(level, IntegerAttr) else 1)


def _request(
    f: LlvmFunctionEmitter, op: memref.LoadOp | vector.LoadOp, pointer: str, distances: Attribute | None, level: int
) -> None:
    """Requests a cache line into the cache of a level. distances: its distance from the address, and the coefficients
    of the variables of the loops around the load; None for no request."""
    if not isinstance(distances, DenseArrayBase):
        return
    distance, *coefficients = distances.get_values()
    line = f.emit_value(f"getelementptr i8, ptr {pointer}, i64 {distance}")
    for loop, coefficient in zip(loops_around(op), coefficients, strict=False):
        bytes = f.emit_value(f"mul i64 {f.operand(loop.body.block.args[0])}, {coefficient}")
        line = f.emit_value(f"getelementptr i8, ptr {line}, i64 {bytes}")
    arguments = [("ptr", line), ("i32", "0"), ("i32", str(_LOCALITY - level)), ("i32", "1")]  # for a load, of data
    f.emit(f.intrinsic("prefetch", "void", arguments, overloads=["ptr"]))
