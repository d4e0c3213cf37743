"""The memory that a pointer or a declared buffer refers to: its size, and the position of the pointer in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ....analysis.regions.access_regions import buffer_shape
from ....core.dtypes import DType, dtype_of
from ....dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BufferDataOp,
    BufferOp,
    DeclBufferOp,
    HandleType,
    LetOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    TirBuilder,
)

_INT64 = DType("int", 64)


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


def byte_size(element: Attribute) -> int:
    """Bytes of an element; the lanes of a vector are consecutive."""
    dtype = dtype_of(element)
    return dtype.scalar.bytes * dtype.lanes


class Positions:
    """Computes positions of pointers, as values before an operation."""

    def __init__(self, builder: TirBuilder):
        self.builder = builder

    # Numbers in 64 bits

    def _wide(self, number: Mixed) -> Mixed:
        return number if isinstance(number, int) else self.builder.cast(number, _INT64)

    def add(self, a: Mixed, b: Mixed) -> Mixed:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return b if a == 0 else a if b == 0 else self.builder.add(self._wide(a), self._wide(b))

    def mul(self, a: Mixed, b: Mixed) -> Mixed:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 0 in (a, b):
            return 0
        return b if a == 1 else a if b == 1 else self.builder.mul(self._wide(a), self._wide(b))

    def product(self, numbers: Sequence[Mixed]) -> Mixed:
        """The product of extents."""
        result: Mixed = prod(n for n in numbers if isinstance(n, int))
        for number in numbers:
            result = result if isinstance(number, int) else self.mul(result, number)
        return result

    # Layouts

    def _layout(self, buffer: SSAValue) -> tuple[list[Mixed], Mixed]:
        """The strides and the offset of a buffer, in elements."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        if isinstance(op := buffer.owner, BufferOp):
            strides, offset = op.mixed_strides, op.mixed_offset
        elif isinstance(layout := type.layout, StridedLayoutAttr):
            strides = [stride.data for stride in layout.strides.data if not isinstance(stride, NoneAttr)]
            offset = 0 if isinstance(layout.offset, NoneAttr) else layout.offset.data
        else:
            strides, offset = None, 0
        return (self._compact(buffer_shape(buffer)) if strides is None else list(strides)), offset

    def _compact(self, shape: Sequence[Mixed]) -> list[Mixed]:
        strides: list[Mixed] = [1]
        for extent in reversed(shape[1:]):
            strides.insert(0, self.mul(strides[0], extent))
        return strides[: len(shape)]

    def element(self, buffer: SSAValue, indices: Sequence[Mixed]) -> Mixed:
        """The position of an element from the data pointer of its buffer, in bytes."""
        strides, total = self._layout(buffer)
        for index, stride in zip(indices, strides, strict=True):
            total = self.add(total, self.mul(stride, index))
        return self.mul(total, _element_size(buffer))

    def _span(self, buffer: SSAValue) -> Mixed:
        """The bytes from the data pointer of a buffer to its end, for a buffer that is not empty."""
        last = [self.add(extent, -1) for extent in buffer_shape(buffer)]
        return self.add(self.element(buffer, last), _element_size(buffer))

    # Positions

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
                size = prod(op.value.get_shape()) * byte_size(op.value.get_element_type())
                return Position(pointer, 0, size)
            case BufferDataOp() as op:
                return self.of_buffer(op.buffer)
            case AddressOfOp() as op:
                return self._of_element(op.buffer, list(op.indices))
            case AccessPtrOp() as op:
                return self._move(self.of_pointer(op.data), self.mul(op.offset, pointee_size(op) or 0))
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
        size = self.mul(self.product(op.mixed_extents), byte_size(op.pointer.type.element))
        if op.condition is None:
            return size
        present = self.builder.value(size) if isinstance(size, SSAValue) else self.builder.const(size, _INT64)
        return self.builder.select(op.condition, present, self.builder.const(0, _INT64))

    def source_indices(self, op: MatchRegionOp, indices: Sequence[Mixed]) -> list[Mixed]:
        """The indices in the source of a region; the region may omit leading dimensions of extent 1."""
        missing = len(op.region) - len(indices)
        lows = [low for low, _ in op.region]
        inner = [self._sum(low, index) for low, index in zip(lows[missing:], indices, strict=True)]
        return [*lows[:missing], *inner]

    def _sum(self, low: Mixed, index: Mixed) -> Mixed:
        """The sum in the type of the operands, which indices have."""
        if isinstance(low, int) and isinstance(index, int):
            return low + index
        return index if low == 0 else low if index == 0 else self.builder.add(low, index)


def pointee_size(op: AccessPtrOp) -> int | None:
    """The bytes of an element of a derived pointer, in which its offset counts, by default of its base; None if
    unknown."""
    types = [op.pointer.type, op.data.type]
    elements = [t.element for t in types if isinstance(t, HandleType) and not isinstance(t.element, NoneAttr)]
    return byte_size(elements[0]) if elements else None


def _element_size(buffer: SSAValue) -> int:
    assert isinstance(buffer.type, MemRefType)
    return byte_size(buffer.type.element_type)
