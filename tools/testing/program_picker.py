"""Picks of loops, blocks and buffers of a program for random schedule steps, which prefer some kinds of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...analysis.scopes import depends_on
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.tir import AccessOp, AllocBufferOp, BlockOp, ForOp, FuncOp, IfThenElseOp, InitOp
from ...dialects.tir.functions import integer_sizes
from ...schedule import BlockRV, LoopRV, Schedule
from ...schedule.handles import ParameterRV
from ...schedule.rewriting.nest import function_of
from .choices import Choices, flag, pick


class ProgramPicker:
    """Picks loops, blocks and buffers of the current program of a schedule.

    initial: the names of the blocks of the initial program. The other blocks are preferred: inits, copies, partial
    results and outer blocks that earlier primitives have created.
    """

    def __init__(self, choices: Choices, schedule: Schedule, initial: frozenset[str] = frozenset()):
        self.choices = choices
        self.schedule = schedule
        self.initial = initial

    def integer(self, low: int, high: int) -> int:
        return self.choices.integer(low, high)

    def flag(self) -> bool:
        return flag(self.choices)

    def block(self, wanted: Callable[[BlockOp], bool] | None = None) -> BlockRV:
        """A random block, nested blocks included.

        wanted: a predicate that the block usually satisfies.
        """
        blocks = list(find_ops(self.schedule.mod.op, BlockOp))
        fitting = [op for op in blocks if wanted is not None and wanted(op)]
        candidates = fitting if fitting and not flag(self.choices, 8) else blocks
        created = [op for op in candidates if op.block_name.data not in self.initial]
        return self.handle(pick(self.choices, created if created and flag(self.choices) else candidates))

    def handle(self, block: BlockOp) -> BlockRV:
        return self.schedule.get_block(block.block_name.data, function_of(block).sym_name.data)

    def loops(self, block: BlockRV | None = None) -> list[LoopRV]:
        loops = self.schedule.get_loops(block or self.block())
        if not loops:
            raise ScheduleError("no loops")
        return loops

    def loop(self, block: BlockRV | None = None) -> LoopRV:
        return pick(self.choices, self.loops(block))

    def extent(self, loop: LoopRV) -> int:
        op = self.schedule.get(loop)
        extent = op.mixed_bounds[1] if isinstance(op, ForOp) else None
        return extent if isinstance(extent, int) else 4

    def rank(self, block: BlockRV, index: int, *, write: bool) -> int:
        """The number of dimensions of a buffer that a block reads or writes."""
        op = self.schedule.get(block)
        accesses = [a for a in op.accesses if a.is_write is write] if isinstance(op, BlockOp) else []
        return len(accesses[index].region) if index < len(accesses) else 1

    def buffers(self, block: BlockRV, *, write: bool) -> int:
        """The number of buffers that a block reads or writes; at least one."""
        op = self.schedule.get(block)
        accesses = [a for a in op.accesses if a.is_write is write] if isinstance(op, BlockOp) else []
        return max(len(accesses), 1)

    def determining_axes(self, block: BlockRV, index: int, *, write: bool) -> list[int]:
        """The positions of the axes that determine the elements of a buffer that a block reads or writes."""
        op = self.schedule.get(block)
        accesses = [a for a in op.accesses if a.is_write is write] if isinstance(op, BlockOp) else []
        if not isinstance(op, BlockOp) or index >= len(accesses):
            return []
        return [n for n, variable in enumerate(op.variables) if depends_on(accesses[index].mins, variable)]

    def parameter(self, block: BlockRV) -> ParameterRV | int:
        """A parameter of an index map: a size of the function that contains a block, usually, or a sampled number."""
        op = self.schedule.get(block)
        func = function_of(op) if isinstance(op, BlockOp) else op
        sizes = [name for name, _ in integer_sizes(func)] if isinstance(func, FuncOp) else []
        if isinstance(func, FuncOp) and sizes and not flag(self.choices, 4):
            return self.schedule.get_size(pick(self.choices, sizes), func.sym_name.data)
        a, b = self.schedule.sample_perfect_tile(self.loop(block), 2)
        return pick(self.choices, [a, b])

    def axes(self, block: BlockRV) -> int:
        op = self.schedule.get(block)
        return len(op.axes) if isinstance(op, BlockOp) else 0


def is_reduction(block: BlockOp) -> bool:
    return block.init is not None


def adds_to_sum(block: BlockOp) -> bool:
    """Whether a block reads a buffer that the init of another block initializes."""
    buffers = [a.buffer for a in block.accesses if not a.is_write]
    return block.init is None and any(isinstance(use.operation.parent_op(), InitOp) for b in buffers for use in b.uses)


def is_windowed(block: BlockOp) -> bool:
    """Whether a block writes a buffer of which another block reads several elements at once."""
    uses = [use.operation for a in block.accesses if a.is_write for use in a.buffer.uses]
    reads = [op for op in uses if isinstance(op, AccessOp) and not op.is_write and not block.is_ancestor(op)]
    return writes_temporary(block) and any(extent != 1 for op in reads for _, extent in op.region)


def is_initialized(op: Any) -> bool:
    return isinstance(op, BlockOp) and is_reduction(op)


def is_copy(block: BlockOp) -> bool:
    """Whether a block is a candidate for inlining into its consumers."""
    owners = [a.buffer.owner for a in block.accesses if a.is_write]
    return block.init is None and all(isinstance(owner, AllocBufferOp) for owner in owners)


def is_epilogue(block: BlockOp) -> bool:
    """Whether a block is a candidate for inlining into its producer."""
    reads, writes = ([a.buffer for a in block.accesses if a.is_write is side] for side in (False, True))
    return (
        block.init is None and not set(reads) & set(writes) and any(isinstance(b.owner, AllocBufferOp) for b in reads)
    )


def is_padding(block: BlockOp) -> bool:
    return any(find_ops(block, IfThenElseOp))


def updates(block: BlockOp) -> bool:
    """Whether a block reads a buffer that it writes."""
    reads, writes = ({a.buffer for a in block.accesses if a.is_write is side} for side in (False, True))
    return bool(reads & writes)


def writes_temporary(block: BlockOp) -> bool:
    return any(a.is_write and isinstance(a.buffer.owner, AllocBufferOp) for a in block.accesses)
