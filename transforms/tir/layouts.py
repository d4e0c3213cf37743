"""Positions of elements in memory, computed at run time from the layouts of buffers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import SSAValue

from ...analysis.regions.access_regions import buffer_shape
from ...dialects.tir import BufferOp, MatchRegionOp, Mixed, RampOp, TirBuilder, constant_value


class Layouts:
    """Emits the computation of positions at the insertion point of a builder; products and sums are of 64 bits."""

    def __init__(self, builder: TirBuilder):
        self.builder = builder

    # Numbers

    def wide(self, number: Mixed) -> Mixed:
        """A number in 64 bits."""
        return number if isinstance(number, int) else self.builder.cast(number, "int64")

    def add(self, a: Mixed, b: Mixed) -> Mixed:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return b if a == 0 else a if b == 0 else self.builder.add(self.wide(a), self.wide(b))

    def mul(self, a: Mixed, b: Mixed) -> Mixed:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 0 in (a, b):
            return 0
        return b if a == 1 else a if b == 1 else self.builder.mul(self.wide(a), self.wide(b))

    # Buffers

    def strides(self, buffer: SSAValue) -> list[Mixed]:
        """The strides of a buffer, in elements."""
        if isinstance(buffer.owner, BufferOp):
            strides = buffer.owner.mixed_strides
            return self._compact(buffer.owner.mixed_shape) if strides is None else strides
        layout = _layout_of(buffer)
        if layout is None:
            return self._compact(buffer_shape(buffer))
        return [stride.data for stride in layout.strides.data if not isinstance(stride, NoneAttr)]

    def _compact(self, shape: Sequence[Mixed]) -> list[Mixed]:
        strides: list[Mixed] = [1]
        for extent in reversed(shape[1:]):
            strides.insert(0, self.mul(strides[0], self.wide(extent)))
        return strides[: len(shape)]

    def position(self, buffer: SSAValue, indices: Sequence[Mixed]) -> Mixed:
        """The position of an element from the data pointer of its buffer, in elements."""
        total = _offset_of(buffer)
        for index, stride in zip(indices, self.strides(buffer), strict=True):
            total = self.add(total, self.mul(index, stride))
        return total

    def indices_at(self, position: SSAValue, strides: Sequence[Mixed]) -> list[SSAValue]:
        """The indices of the element at a position, from the strides of a buffer."""
        indices: list[SSAValue] = []
        for stride in strides[:-1]:
            indices.append(self.builder.binary("floordiv", position, stride))
            position = self.builder.binary("floormod", position, stride)
        for stride in strides[-1:]:
            indices.append(position if stride == 1 else self.builder.binary("floordiv", position, stride))
        return indices

    def source_indices(self, op: MatchRegionOp, indices: Sequence[Mixed]) -> list[Mixed]:
        """The indices in the source of a region, in their type; the region may omit leading dimensions of extent 1."""
        missing = len(op.region) - len(indices)
        lows = [low for low, _ in op.region]
        inner = [self._shift(low, index) for low, index in zip(lows[missing:], indices, strict=True)]
        return [*lows[:missing], *inner]

    def _shift(self, low: Mixed, index: Mixed) -> Mixed:
        """`low + index`; the sum with a ramp is a ramp, so that its lanes are known to be contiguous."""
        a, b = constant_int(low), constant_int(index)
        if a is not None and b is not None and (isinstance(low, int) or isinstance(index, int)):
            return a + b
        if a == 0:
            return index
        if b == 0:
            return low
        if isinstance(index, SSAValue) and isinstance(ramp := index.owner, RampOp):
            base = self.builder.value(self._shift(low, ramp.base))
            return self.builder.ramp(base, ramp.stride, ramp.lanes)
        return self.builder.add(low, index)


def _layout_of(buffer: SSAValue) -> StridedLayoutAttr | None:
    type = buffer.type
    assert isinstance(type, MemRefType)
    return type.layout if isinstance(type.layout, StridedLayoutAttr) else None


def _offset_of(buffer: SSAValue) -> Mixed:
    """The offset of element 0 from the data pointer, in elements."""
    if isinstance(buffer.owner, BufferOp):
        return buffer.owner.mixed_offset
    layout = _layout_of(buffer)
    return 0 if layout is None or isinstance(layout.offset, NoneAttr) else layout.offset.data


def constant_int(number: Mixed) -> int | None:
    """The integer that a number is known to be; None for any other number."""
    known = number if isinstance(number, int) else constant_value(number)
    return known if isinstance(known, int) else None
