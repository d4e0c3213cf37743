"""Estimates of the time of blocks and loops on a processor."""

from __future__ import annotations

from math import inf, prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ..core.dtypes import element_byte_size
from ..core.walking import find_ops
from ..dialects.tir import BlockOp, ForOp, FuncOp, LoadOp, StoreOp
from ..dialects.tir.base import DYNAMIC
from .scopes import loops_around

_PER_OPERATION, _PER_FUNCTION = 0.01, 0.5
"""The nanoseconds of an operation, and of an elementary function, on an element of a vector."""
CALLS = ("math.", "tir.call")
"""The beginnings of the names of operations that compute functions."""
PER_BYTE = 0.04
"""The nanoseconds in which a thread loads or stores a byte."""


def static_extent(loop: ForOp) -> int | None:
    """The extent of a loop; None for a dynamic extent."""
    extent = loop.mixed_bounds[1]
    return extent if isinstance(extent, int) else None


def block_nanoseconds(block: BlockOp) -> float:
    """An estimate of the time of all instances of a block, computed on vectors. A dynamic extent counts as 1."""
    instances = prod(1 if (extent := static_extent(loop)) is None else extent for loop in loops_around(block))
    ops = list(block.body.walk())
    functions = sum(op.name.startswith(CALLS) for op in ops)
    buffers = dict.fromkeys(op.buffer for op in ops if isinstance(op, LoadOp | StoreOp))
    elements = sum(min(instances, _element_count(buffer)) * _element_size(buffer) for buffer in buffers)
    return instances * (len(ops) * _PER_OPERATION + functions * _PER_FUNCTION) + elements * PER_BYTE


def function_nanoseconds(func: FuncOp) -> float:
    """An estimate of the time of the blocks of a function; infinite with a loop of dynamic extent."""
    if any(static_extent(loop) is None for loop in find_ops(func, ForOp)):
        return inf
    return sum(map(block_nanoseconds, find_ops(func, BlockOp)))


def _element_count(buffer: SSAValue) -> float:
    assert isinstance(buffer.type, MemRefType)
    shape = buffer.type.get_shape()
    return inf if DYNAMIC in shape else prod(shape)


def _element_size(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return element_byte_size(buffer.type.element_type)
