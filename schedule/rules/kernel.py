"""The view that rules have of a block: its axes, its loops, and the indices of its accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import BlockArgument, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.scopes import child_blocks, loops_around, only_child, reads_of, statements
from ...core.dtypes import element_byte_size
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, ForOp, LoadOp, StoreOp
from .. import Schedule
from ..handles import BlockRV, LoopRV


@dataclass(frozen=True)
class AffineAccess:
    """An access of a block: a buffer, and its indices as linear combinations of axes."""

    buffer: SSAValue
    indices: tuple[Lin, ...]

    def axes(self) -> set[SSAValue]:
        """The axes in the indices."""
        return {value for index in self.indices for value in index.terms if isinstance(value, BlockArgument)}

    def fastest(self) -> SSAValue | None:
        """The axis along which the access is contiguous in memory; None without such an axis."""
        axis = _only_axis(self.indices[-1]) if self.indices else None
        return None if any(axis in index.terms for index in self.indices[:-1]) else axis

    def element_bytes(self) -> int:
        """The size of an element in bytes."""
        return element_bytes(self.buffer)

    def is_plain(self) -> bool:
        """Whether each index is an axis or a constant, and no axis occurs twice."""
        axes = [_only_axis(index) for index in self.indices if index.terms]
        return None not in axes and len(set(axes)) == len(axes)


def element_bytes(buffer: SSAValue) -> int:
    """The size of an element of a buffer in bytes."""
    assert isinstance(buffer.type, MemRefType)
    return element_byte_size(buffer.type.element_type)


def _only_axis(index: Lin) -> SSAValue | None:
    """The axis that equals an index; None for other indices."""
    axis = next(iter(index.terms), None)
    return axis if isinstance(axis, BlockArgument) and index == Lin.of(axis) else None


@dataclass(frozen=True)
class Kernel:
    """A block to be scheduled, as seen by a rule. `rv`: its handle."""

    rv: BlockRV
    block: BlockOp

    @property
    def name(self) -> str:
        """The name of the block."""
        return self.block.block_name.data

    # Axes and loops

    @cached_property
    def axes(self) -> list[SSAValue]:
        """The axes, as block arguments."""
        return list(self.block.variables)

    @cached_property
    def kinds(self) -> dict[SSAValue, str]:
        """The kind of each axis: spatial, reduce, ..."""
        return {axis: of.kind for axis, of in zip(self.axes, self.block.axes, strict=True)}

    @cached_property
    def extents(self) -> dict[SSAValue, int | None]:
        """The extent of each axis; None for dynamic extents."""
        pairs = zip(self.axes, self.block.axes, strict=True)
        return {axis: of.extent if isinstance(of.extent, int) else None for axis, of in pairs}

    @cached_property
    def spatial_axes(self) -> list[SSAValue]:
        """The spatial axes."""
        return [axis for axis in self.axes if self.kinds[axis] == "spatial"]

    @cached_property
    def reduction_axes(self) -> list[SSAValue]:
        """The reduction axes."""
        return [axis for axis in self.axes if self.kinds[axis] == "reduce"]

    @cached_property
    def loops(self) -> list[ForOp]:
        """The loops around the block, outermost first."""
        return loops_around(self.block)

    @cached_property
    def loop_of(self) -> dict[SSAValue, int]:
        """{ axis -> index of its loop, from the outermost }, without axes of extent 1 that are bound to no loop."""
        indices: dict[SSAValue, int] = {loop.variable: n for n, loop in enumerate(self.loops)}
        return {
            axis: indices[of.binding]
            for axis, of in zip(self.axes, self.block.axes, strict=True)
            if of.binding in indices
        }

    def has_plain_loops(self) -> bool:
        """Whether the loops are perfectly nested, start at 0, and correspond to the axes, except axes of extent 1."""
        bound = [axis for axis in self.axes if axis in self.loop_of]
        rest = [axis for axis in self.axes if axis not in self.loop_of]
        return (
            len(bound) == len(self.loops)
            and all(only_child(a) is b for a, b in zip(self.loops, [*self.loops[1:], self.block], strict=False))
            and len(set(self.loop_of.values())) == len(bound)
            and all(self.extents[axis] == 1 for axis in rest)
            and all(loop.mixed_bounds[0] == 0 and loop.mixed_bounds[2] == 1 for loop in self.loops)
            and all(loop.annotations is None for loop in self.loops)
            and self.block.predicate is None
            and not any(_depends_on_loop(loop) for loop in self.loops)
        )

    def is_one_store(self) -> bool:
        """Whether the only statement of the block, apart from its init, stores one element."""
        return [type(op) for op in statements(self.block.body.block) if op is not self.block.init] == [StoreOp]

    # Accesses

    @cached_property
    def writes(self) -> list[AffineAccess]:
        """The stores of the block, apart from its init."""
        return list(self._accesses(StoreOp))

    @cached_property
    def reads(self) -> list[AffineAccess]:
        """The loads of the block, apart from loads of its accumulators."""
        written = {access.buffer for access in self.writes}
        return [access for access in self._accesses(LoadOp) if self.init is None or access.buffer not in written]

    @property
    def init(self) -> object | None:
        """The init of a reduction."""
        return self.block.init

    def _accesses(self, kind: type[LoadOp | StoreOp]) -> Iterator[AffineAccess]:
        analyzer = Analyzer()
        for op in self.block.body.block.walk():
            if isinstance(op, kind) and not (self.block.init is not None and self.block.init.is_ancestor(op)):
                yield AffineAccess(op.buffer, tuple(_sum(analyzer, index) for index in op.indices))

    def read_buffers(self) -> list[AffineAccess]:
        """The first load from each buffer that the block declares to read, in that order."""
        first: dict[SSAValue, AffineAccess] = {}
        for read in self.reads:
            first.setdefault(read.buffer, read)
        return [first[buffer] for buffer in reads_of(self.block) if buffer in first]

    # Handles

    def loop_handles(self, sch: Schedule, axes: Sequence[SSAValue]) -> list[LoopRV]:
        """The loops of `axes`, in their order, without axes that have no loop."""
        return self.loop_handle_groups(sch, axes)[0]

    def loop_handle_groups(self, sch: Schedule, *groups: Sequence[SSAValue]) -> list[list[LoopRV]]:
        """The `loop_handles` of several groups of axes."""
        handles = sch.get_loops(self.rv)
        return [[handles[self.loop_of[axis]] for axis in axes if axis in self.loop_of] for axes in groups]

    def size(self, axes: Sequence[SSAValue]) -> int | None:
        """The product of the extents of some axes; None if an extent is dynamic."""
        total = 1
        for axis in axes:
            extent = self.extents[axis]
            if extent is None:
                return None
            total *= extent
        return total


def _sum(analyzer: Analyzer, index: SSAValue) -> Lin:
    """An index as a linear combination; a vector index is an atom, not an axis."""
    return Lin.of(index) if isinstance(index.type, VectorType) else analyzer.lin(index)


def block_of(sch: Schedule, block: BlockRV) -> BlockOp:
    """The block of a handle."""
    op = sch.get(block)
    assert isinstance(op, BlockOp)
    return op


def result_of(block: BlockOp) -> SSAValue:
    """The buffer that a block declares to write. ValueError for several declarations."""
    (buffer,) = (access.buffer for access in block.accesses if access.is_write)
    return buffer


def index_of_read(block: BlockOp, buffer: SSAValue) -> int:
    """The index of a buffer among those that a block declares to read, as primitives count them."""
    return [access.buffer for access in block.accesses if not access.is_write].index(buffer)


def are_equal_in(block: BlockOp, a: Lin, b: Lin) -> bool:
    """Whether two indices in a block are equal: they differ by nothing but axes whose only value is 0."""
    difference = a - b
    single = {axis for axis, of in zip(block.variables, block.axes, strict=True) if (of.low, of.extent) == (0, 1)}
    return difference.const == 0 and difference.terms.keys() <= single


def handle_of(sch: Schedule, function: str, block: BlockOp) -> BlockRV:
    """The handle of a block of a function: by name if the name is unique, else by position."""
    func = sch.mod.function_ops[function]
    name = block.block_name.data
    if sum(each.block_name.data == name for each in find_ops(func, BlockOp)) == 1:
        return sch.get_block(name, function)
    blocks = child_blocks(func)
    return sch.get_child_blocks(sch.get_block("root", function))[blocks.index(block)]


def _depends_on_loop(loop: ForOp) -> bool:
    """Whether the extent of a loop is computed inside of a loop."""
    extent = loop.mixed_bounds[1]
    if isinstance(extent, int):
        return False
    return isinstance(extent.owner.parent_op(), ForOp)
