"""Copies of a buffer in another memory scope, as `cache_read` and its relatives insert them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.names import block_name, buffer_name, fresh_block_name, fresh_buffer_name
from ...analysis.regions import AccessBox, IndexRange, access_box, required_region, shape_sides
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import BlockScope, loops_around, root_buffer, writes_of
from ...core.errors import ScheduleError
from ...dialects.tir import AccessOp, BlockOp, ForOp, FuncOp, scope_of
from ...dialects.tir.base import memory_space
from .copies import CopyAxis, Indices, Redirection, allocate_copy, copy_block, find_accesses, index_type
from .gaps import Gap
from .nest import function_of


@dataclass(frozen=True)
class Cache:
    """The plan of a copy: buffer, scope, position, region, and whether the copy has the shape of the whole buffer."""

    buffer: SSAValue
    scope: FuncOp | BlockOp
    gap: Gap
    region: Sequence[IndexRange]
    is_whole: bool

    def shape(self, analyzer: Analyzer) -> list[Lin]:
        if self.is_whole:
            return [analyzer.exact(extent) for extent in buffer_shape(self.buffer)]
        return [analyzer.maximum(side.extent, Lin()) for side in self.region]  # a box may lie outside of the buffer

    @property
    def offsets(self) -> list[Lin]:
        """The indices in the buffer of element 0 of the copy."""
        return [Lin() if self.is_whole else side.low for side in self.region]

    def has_layout_of_buffer(self, storage_scope: str) -> bool:
        """Whether the elements of a copy in a scope have the addresses of the buffer, relative to the first element."""
        type = cast("MemRefType[Attribute]", self.buffer.type)
        return self.is_whole and isinstance(type.layout, NoneAttr) and scope_of(type) == storage_scope

    def axes(self, analyzer: Analyzer) -> list[CopyAxis]:
        shape = self.shape(analyzer)
        starts = [side.low if self.is_whole else Lin() for side in self.region]
        return [CopyAxis(Lin(), n, s, side.extent) for n, s, side in zip(shape, starts, self.region, strict=True)]

    def in_buffer(self, analyzer: Analyzer) -> Indices:
        return lambda values: [analyzer.add(o, v) for o, v in zip(self.offsets, values, strict=True)]

    def in_copy(self) -> Indices | None:
        """The map from indices in the buffer to indices in the copy; None for the identity."""
        if not any(offset.terms or offset.const for offset in self.offsets):
            return None
        analyzer = Analyzer(through_lets=False)
        return lambda indices: [analyzer.sub(i, o) for i, o in zip(indices, self.offsets, strict=True)]

    def make(self, analyzer: Analyzer, storage_scope: str) -> SSAValue:
        """Allocate the copy; returns its buffer."""
        func = function_of(self.gap.outer) if not isinstance(self.scope, FuncOp) else self.scope
        name = fresh_buffer_name(func, f"{buffer_name(self.buffer)}_{storage_scope}".replace(".", "_"))
        space = memory_space(storage_scope)
        return allocate_copy(analyzer, self.scope, name, self.buffer, self.shape(analyzer), space)

    def copy(self, analyzer: Analyzer, copy: SSAValue, storage_scope: str, block: BlockOp, *, into: bool) -> BlockOp:
        """Build the block that copies the buffer to the copy (`into`), or the copy to the buffer."""
        name = fresh_block_name(function_of(block), f"{buffer_name(self.buffer)}_{storage_scope}")
        ends = [(self.buffer, self.in_buffer(analyzer)), (copy, lambda values: values)]
        source, target = ends if into else ends[::-1]
        return copy_block(analyzer, self.gap, name, self.axes(analyzer), source, target, index_type(block))


def require_one_name(scope: BlockScope, buffer: SSAValue) -> None:
    """Raise ScheduleError if a block of the scope accesses the memory of a buffer by another name."""
    root = root_buffer(buffer)
    for block in scope.blocks:
        for access in block.accesses:
            if root_buffer(access.buffer) is root and access.buffer is not buffer:
                raise ScheduleError(
                    f"block {block_name(block)} reaches the memory of buffer {buffer_name(buffer)} as "
                    f"{buffer_name(access.buffer)}, which is not supported yet",
                    [block],
                )


def reads_in(reader: BlockOp, buffer: SSAValue, *, moves: bool, pointers: bool = False) -> Redirection:
    """The reads of a buffer in a block; in a block that does not write the buffer, a view of it or a pointer to it
    counts as a read."""
    is_read = root_buffer(buffer) not in writes_of(reader)
    return find_accesses(reader, buffer, stores=is_read, moves=moves, pointers=pointers)


def touched_region(
    analyzer: Analyzer,
    buffer: SSAValue,
    accesses: Sequence[AccessOp],
    gap: Gap,
    relaxed: Collection[SSAValue] = (),
) -> tuple[list[AccessBox], list[IndexRange]]:
    """The boxes of declared accesses to a buffer, and the smallest region around them, each time the region of a gap
    runs, for all values of the variables `relaxed`."""
    whole = shape_sides(analyzer, buffer_shape(buffer))
    boxes = [access_box(analyzer, access, gap.outer) for access in accesses]
    region = required_region(analyzer, boxes, lambda v: gap.is_fixed(v) and v not in relaxed, whole)
    assert not isinstance(region, str), "a shape is given, so there is a region"
    return boxes, [side.intersect(analyzer, limits) for side, limits in zip(region, whole, strict=True)]


def threads_sharing(loop: ForOp, storage_scope: str) -> list[SSAValue]:
    """The variables of the loops from `loop` outwards that are bound to threads which share memory of a scope."""
    threads = _SHARING.get(storage_scope.partition(".")[0], ())
    around = [*loops_around(loop), loop]
    return [o.variable for o in around if o.thread is not None and o.thread.data.startswith(threads)]


_SHARING: dict[str, tuple[str, ...]] = {"shared": ("threadIdx", "vthread"), "warp": ("threadIdx.x",)}
"""The threads that share the memory of a scope. All threads share global memory, but each computes the elements that it
requires itself, as it cannot wait for the others."""
