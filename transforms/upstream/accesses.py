"""Loads and stores, as passes of the upstream landing see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from xdsl.dialects import func, memref, scf, vector
from xdsl.dialects.builtin import MemRefType, NoneAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.index.terms import leaves
from ...core.dtypes import element_byte_size
from ...core.sizes import byte_count
from ...core.walking import loops_around

LINE = 64
"""The bytes of a cache line."""
FAR_PART = 4
"""The part of the second cache from which on a parameter is likely to have left it since the last run."""


def described(buffer: SSAValue) -> str:
    """A buffer in words, for remarks."""
    return " ".join(filter(None, ["buffer", buffer.name_hint, str(buffer.type)]))


def known_bytes(buffer: SSAValue) -> int | None:
    """The size of a buffer in bytes; None for another value, and for a dynamic size."""
    type = buffer.type
    if not isinstance(type, MemRefType) or not type.has_static_shape():
        return None
    return byte_count(type.get_shape(), element_byte_size(type.element_type))


def vector_bytes(access: vector.LoadOp | vector.StoreOp) -> int:
    """The bytes of the vector that an access loads or stores."""
    value = access.result if isinstance(access, vector.LoadOp) else access.vector
    return element_byte_size(value.type)


_UNKNOWN_EXTENT = (1 << 31) - 1
"""An extent that is far from all extents of buffers, for a dynamic one."""


def byte_offset(access: vector.LoadOp | vector.StoreOp | memref.LoadOp, analyzer: Analyzer) -> Lin:
    """The offset of a vector or an element in a contiguous buffer, in bytes, modulo 2**64. Offsets in a buffer with
    dynamic extents, except for its first dimension, compare as if these were very large."""
    buffer = access.memref if isinstance(access, memref.LoadOp) else access.base
    type = cast("MemRefType[Attribute]", buffer.type)
    offset, stride = Lin(0), element_byte_size(type.element_type)
    for index, extent in reversed(list(zip(access.indices, type.get_shape(), strict=True))):
        offset += analyzer.lin(index) * stride
        stride *= extent if extent >= 0 else _UNKNOWN_EXTENT
    return offset


def is_large_parameter(buffer: SSAValue, most: int) -> bool:
    """Whether a buffer is a parameter, or what a parameter points to, and is not known to have at most some bytes."""
    source = buffer
    while isinstance(source.owner, memref.ReinterpretCastOp | UnrealizedConversionCastOp):
        source = source.owner.operands[0]
    type, size = cast("MemRefType[Attribute]", buffer.type), known_bytes(buffer)
    is_parameter = isinstance(source.owner, Block) and isinstance(source.owner.parent_op(), func.FuncOp)
    return is_parameter and isinstance(type.layout, NoneAttr) and (size is None or size > most)


def loops_of_sum(load: vector.LoadOp | memref.LoadOp, offset: Lin) -> Iterator[scf.ForOp]:
    """The loops around a load, innermost first, up to a loop whose variable is in a quotient of its offset."""

    def is_term(loop: scf.ForOp) -> bool:
        variable = loop.body.block.args[0]
        return not any(variable in leaves(atom) for atom in offset.terms if atom is not variable)

    return takewhile(is_term, loops_around(load))


@dataclass(frozen=True)
class AccessLoop:
    """A loop around a load. stride: the bytes that an increment of its variable adds to the offset.  low, step, trips:
    the first value of the variable, its increment, and the number of iterations; 0 iterations if one is unknown."""

    stride: int
    low: int
    step: int
    trips: int

    @staticmethod
    def of(loop: scf.ForOp, offset: Lin, analyzer: Analyzer) -> AccessLoop:
        stride = offset.terms.get(loop.body.block.args[0], 0)
        low, high, step = (analyzer.number(bound) for bound in (loop.lb, loop.ub, loop.step))
        if low is None or high is None or step is None:
            return AccessLoop(stride, 0, step or 0, 0)
        return AccessLoop(stride, low, step, len(range(low, high, step)))
