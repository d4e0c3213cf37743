"""Loads and stores of vectors, as passes of the upstream landing see them."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from ...analysis.index import Analyzer, Lin
from ...core.dtypes import element_byte_size
from ...core.sizes import byte_count


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


def byte_offset(access: vector.LoadOp | vector.StoreOp, analyzer: Analyzer) -> Lin:
    """The offset of a vector in a contiguous buffer, in bytes, modulo 2**64. Offsets in a buffer with dynamic extents,
    except for its first dimension, compare as if these were very large."""
    type = cast("MemRefType[Attribute]", access.base.type)
    offset, stride = Lin(0), element_byte_size(type.element_type)
    for index, extent in reversed(list(zip(access.indices, type.get_shape(), strict=True))):
        offset += analyzer.lin(index) * stride
        stride *= extent if extent >= 0 else _UNKNOWN_EXTENT
    return offset
