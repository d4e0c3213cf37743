"""The memory that a pointer or a declared buffer refers to: its size, and the position of the pointer in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, SSAValue

from ....analysis.regions.access_regions import buffer_shape
from ....core.dtypes import element_byte_size
from ....dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    DeclBufferOp,
    HandleType,
    LetOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
)
from ..layouts import Layouts
from .checks import INT64, wide


@dataclass(frozen=True)
class Position:
    """A position in a memory, in bytes from its start.

    root: the allocation or parameter.  start: the position.  size: of the memory.
    """

    root: SSAValue
    start: Mixed
    size: Mixed

    @property
    def is_allocation(self) -> bool:
        """Whether the function allocates the memory, aligned for all types."""
        return isinstance(self.root.owner, AllocateOp | AllocBufferOp | AllocateConstOp)


def byte_size_of(value: SSAValue) -> int:
    """The bytes of an element of a buffer, or of the memory of a pointer."""
    type = value.type
    assert isinstance(type, MemRefType | HandleType)
    return element_byte_size(type.element_type if isinstance(type, MemRefType) else type.element)


class Positions(Layouts):
    """Emits the computation of positions of pointers."""

    def product(self, numbers: Sequence[Mixed]) -> Mixed:
        """The product of extents."""
        result: Mixed = prod(n for n in numbers if isinstance(n, int))
        for number in numbers:
            result = result if isinstance(number, int) else self.mul(result, number)
        return result

    # Positions

    def element(self, buffer: SSAValue, indices: Sequence[Mixed]) -> Mixed:
        """The position of an element from the data pointer of its buffer, in bytes."""
        return self.mul(self.position(buffer, indices), byte_size_of(buffer))

    def _span(self, buffer: SSAValue) -> Mixed:
        """The bytes from the data pointer of a buffer to its end, for a buffer that is not empty."""
        last = [self.add(extent, -1) for extent in buffer_shape(buffer)]
        return self.add(self.element(buffer, last), byte_size_of(buffer))

    def of_buffer(self, buffer: SSAValue) -> Position | None:
        """The position of the data pointer of a buffer; None if its memory is unknown."""
        match buffer.owner:
            case AllocBufferOp() | MatchBufferOp():
                return Position(buffer, 0, self._span(buffer))
            case DeclBufferOp() as op:
                return self.of_pointer(op.data)
            case MatchRegionOp() as op if op.mixed_offset != 0:
                return self.of_buffer(op.source)
            case MatchRegionOp() as op:
                return self._of_element(op.source, [low for low, _ in op.region])
            case _:
                return Position(buffer, 0, self._span(buffer)) if isinstance(buffer, BlockArgument) else None

    def of_pointer(self, pointer: SSAValue) -> Position | None:
        """The position of a pointer; None if its memory is unknown."""
        match pointer.owner:
            case AllocateOp() as op:
                return Position(pointer, 0, self._size_of_allocation(op))
            case AllocateConstOp() as op:
                size = prod(op.value.get_shape()) * element_byte_size(op.value.get_element_type())
                return Position(pointer, 0, size)
            case BufferDataOp() as op:
                return self.of_buffer(op.buffer)
            case AddressOfOp() as op:
                return self._of_element(op.buffer, list(op.indices))
            case AccessPtrOp() as op:
                return self._move(self.of_pointer(op.data), self.mul(op.offset, byte_size_of(op.pointer)))
            case LetOp() as op:
                return self.of_pointer(op.value)
            case _:
                return None

    def _of_element(self, buffer: SSAValue, indices: Sequence[Mixed]) -> Position | None:
        if isinstance(op := buffer.owner, MatchRegionOp):
            return self._of_element(op.source, self.source_indices(op, indices))
        return self._move(self.of_buffer(buffer), self.element(buffer, indices))

    def _move(self, position: Position | None, bytes_: Mixed) -> Position | None:
        return None if position is None else Position(position.root, self.add(position.start, bytes_), position.size)

    def _size_of_allocation(self, op: AllocateOp) -> Mixed:
        size = self.mul(self.product(op.mixed_extents), byte_size_of(op.pointer))
        if op.condition is None:
            return size
        return self.builder.select(op.condition, wide(self.builder, size), self.builder.const(0, INT64))
