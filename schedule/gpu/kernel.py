"""What rules ask of a block: its axes, its loops, and at which indices it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import BlockArgument, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.scopes import ancestors, child_blocks, loops_around, only_child, reads_of, statements
from ...analysis.threads.axes import axis_of
from ...core.dtypes import byte_size
from ...dialects.tir import BlockOp, ForOp, LoadOp, StoreOp
from .. import Schedule
from ..handles import BlockRV, LoopRV


@dataclass(frozen=True)
class Access:
    """Where a block reads or writes: a buffer, and its indices as sums of axes."""

    buffer: SSAValue
    indices: tuple[Lin, ...]

    def axes(self) -> set[SSAValue]:
        """The axes that the indices are sums of."""
        return {value for index in self.indices for value in index.terms if isinstance(value, BlockArgument)}

    def fastest(self) -> SSAValue | None:
        """The axis along which neighbours lie one behind the other in memory; None if there is none."""
        axis = _only_axis(self.indices[-1]) if self.indices else None
        return None if any(axis in index.terms for index in self.indices[:-1]) else axis

    def element_bytes(self) -> int:
        """How many bytes an element has."""
        return element_bytes(self.buffer)

    def is_plain(self) -> bool:
        """Whether each index is an axis or a number, and no axis comes twice."""
        axes = [_only_axis(index) for index in self.indices if index.terms]
        return None not in axes and len(set(axes)) == len(axes)


def element_bytes(buffer: SSAValue) -> int:
    """How many bytes an element of a buffer has."""
    assert isinstance(buffer.type, MemRefType)
    return byte_size(buffer.type.element_type)


def _only_axis(index: Lin) -> SSAValue | None:
    """The axis that an index is; None if it is something else."""
    axis = next(iter(index.terms), None)
    return axis if isinstance(axis, BlockArgument) and index == Lin.of(axis) else None


@dataclass(frozen=True)
class Kernel:
    """A block that is to be scheduled, as a rule sees it. `rv`: its handle."""

    rv: BlockRV
    block: BlockOp

    @property
    def name(self) -> str:
        """What the block is called."""
        return self.block.block_name.data

    # Axes and loops

    @cached_property
    def axes(self) -> list[SSAValue]:
        """The axes, as the body of the block sees them."""
        return list(self.block.variables)

    @cached_property
    def kinds(self) -> dict[SSAValue, str]:
        """Of each axis, whether it is spatial, reduce, ..."""
        return {axis: of.kind for axis, of in zip(self.axes, self.block.axes, strict=True)}

    @cached_property
    def extents(self) -> dict[SSAValue, int | None]:
        """How many values each axis has; None if that is not known."""
        pairs = zip(self.axes, self.block.axes, strict=True)
        return {axis: of.extent if isinstance(of.extent, int) else None for axis, of in pairs}

    @cached_property
    def spatial(self) -> list[SSAValue]:
        """The spatial axes."""
        return [axis for axis in self.axes if self.kinds[axis] == "spatial"]

    @cached_property
    def reduced(self) -> list[SSAValue]:
        """The reduction axes."""
        return [axis for axis in self.axes if self.kinds[axis] == "reduce"]

    @cached_property
    def loops(self) -> list[ForOp]:
        """The loops around the block, outermost first."""
        return loops_around(self.block)

    @cached_property
    def loop_of(self) -> dict[SSAValue, int]:
        """Which loop each axis is, counted from outside; axes of one value that are bound to no loop are not there."""
        numbers: dict[SSAValue, int] = {loop.variable: n for n, loop in enumerate(self.loops)}
        return {
            axis: numbers[of.binding]
            for axis, of in zip(self.axes, self.block.axes, strict=True)
            if of.binding in numbers
        }

    def has_plain_loops(self) -> bool:
        """Whether each axis is one loop that counts from 0, directly in each other, but for axes of one value."""
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
        """Whether a block does nothing but to store one element, apart from its init."""
        return [type(op) for op in statements(self.block.body.block) if op is not self.block.init] == [StoreOp]

    # Accesses

    @cached_property
    def writes(self) -> list[Access]:
        """What the block writes, apart from its init."""
        return list(self._accesses(StoreOp))

    @cached_property
    def reads(self) -> list[Access]:
        """What the block reads, apart from what it adds to."""
        written = {access.buffer for access in self.writes}
        return [access for access in self._accesses(LoadOp) if self.init is None or access.buffer not in written]

    @property
    def init(self) -> object | None:
        """What a reduction starts from."""
        return self.block.init

    def _accesses(self, kind: type[LoadOp | StoreOp]) -> Iterator[Access]:
        analyzer = Analyzer()
        for op in self.block.body.block.walk():
            if isinstance(op, kind) and not (self.block.init is not None and self.block.init.is_ancestor(op)):
                yield Access(op.buffer, tuple(_sum(analyzer, index) for index in op.indices))

    def read_buffers(self) -> list[Access]:
        """The first access to each buffer that the block says it reads, in that order."""
        first: dict[SSAValue, Access] = {}
        for read in self.reads:
            first.setdefault(read.buffer, read)
        return [first[buffer] for buffer in reads_of(self.block) if buffer in first]

    # Handles

    def loop_handles(self, sch: Schedule, axes: Sequence[SSAValue]) -> list[LoopRV]:
        """The loops of some axes, in their order; none for axes that have no loop."""
        return self.groups_of_loops(sch, axes)[0]

    def groups_of_loops(self, sch: Schedule, *groups: Sequence[SSAValue]) -> list[list[LoopRV]]:
        """`loop_handles` of several groups of axes."""
        handles = sch.get_loops(self.rv)
        return [[handles[self.loop_of[axis]] for axis in axes if axis in self.loop_of] for axes in groups]

    def size(self, axes: Sequence[SSAValue]) -> int | None:
        """How many values some axes have together; None if that is not known."""
        total = 1
        for axis in axes:
            extent = self.extents[axis]
            if extent is None:
                return None
            total *= extent
        return total


def _sum(analyzer: Analyzer, index: SSAValue) -> Lin:
    """An index as a sum; lanes of a vector are no axis."""
    return Lin.of(index) if isinstance(index.type, VectorType) else analyzer.lin(index)


def block_of(sch: Schedule, block: BlockRV) -> BlockOp:
    """The block that a handle is of."""
    op = sch.get(block)
    assert isinstance(op, BlockOp)
    return op


def handle_of(sch: Schedule, function: str, block: BlockOp) -> BlockRV:
    """The handle of a block of a function: by name, if no other block has it, else by its place."""
    func = sch.mod.functions[function]
    name = block.block_name.data
    if sum(isinstance(op, BlockOp) and op.block_name.data == name for op in func.walk()) == 1:
        return sch.get_block(name, function)
    blocks = child_blocks(func)
    return sch.get_child_blocks(sch.get_block("root", function))[blocks.index(block)]


def kernel_around(block: BlockOp) -> ForOp:
    """The outermost loop over blocks or threads around a block that is in one."""
    return [op for op in ancestors(block) if isinstance(op, ForOp) and op.thread is not None][-1]


def is_in_kernel(block: BlockOp) -> bool:
    """Whether a block is in a loop over blocks or threads."""
    return any(axis_of(op) is not None for op in ancestors(block))


def _depends_on_loop(loop: ForOp) -> bool:
    """Whether the extent of a loop is another thing than a number or a value that is there before all loops."""
    extent = loop.mixed_bounds[1]
    if isinstance(extent, int):
        return False
    return isinstance(extent.owner.parent_op(), ForOp)
