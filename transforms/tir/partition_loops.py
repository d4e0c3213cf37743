"""The pass `tir-partition-loops`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer, Lin
from ...core.remarks import PassRemarks
from ...dialects.text import expression_text
from ...dialects.tir import AllocBufferOp, ForOp, FuncOp, IfOp, IfThenElseOp, IntrinsicOp
from ...dialects.tir.base import split_mixed
from ...dialects.tir.tree import depends_on
from .allocations import sink_allocation
from .known_branches import copy_known_branches

_MOST = 4
"""The greatest number of ranges of a loop; of more, the longest one and the rest before and after it remain."""
_remarks = PassRemarks("tir-partition-loops")
_KINDS = ("serial", "parallel", "unrolled", "vectorized")


@dataclass(frozen=True)
class TirPartitionLoopsPass(ModulePass):
    """Partitions loops into ranges of iterations in which conditions are known.

    A comparison that is known in the first or the last iterations of a loop, for all iterations of the loops inside,
    and in at least half of the iterations, divides the loop there. `tir-simplify` then removes the conditions: a tile
    at the edge of a matrix is computed with predicates, all others without; the init of a reduction is no longer
    tested. Loops of static bounds are partitioned, the outermost first, unless the operations of the copies would
    exceed a limit. Allocations move to their uses before (`tir-plan-allocations` states when), so that the ranges have
    memory of their own.

    max-ops: the maximum number of operations of a function after the partition of a loop.

    Before
        tir.for serial "i" %i : i32 in [0 +: 3] {
          tir.for serial "j" %j : i32 in [0 +: 4] {
            %k = ... i * 4 + j
            %0 = arith.cmpi slt, %k, %c10 : i32
            tir.if %0 {
              ...
            }
          }
        }

    After
        tir.for serial "i" %i : i32 in [0 +: 2] {
          ...
        }
        tir.for serial "i" %i : i32 in [2 +: 1] {
          ...
        }

    Must hold before: no tir.block, whose name would no longer be unique (`tir-resolve-blocks`).

    Gone after: nothing.
    """

    name = "tir-partition-loops"

    max_ops: int = 4096

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                analyzer = Analyzer()
                for alloc in [each for each in function.walk() if isinstance(each, AllocBufferOp)]:
                    sink_allocation(alloc, analyzer, into_lanes=False)
                _Partition(self.max_ops - sum(1 for _ in function.walk())).block(function.body.block)


class _Partition:
    """The partition of the loops of a function. room: the number of operations that copies may still have."""

    def __init__(self, room: int):
        self.room = room
        self.analyzer = Analyzer()

    def block(self, block: Block) -> None:
        """Partitions the loops in a block, the outermost first."""
        for op in list(block.ops):
            pieces = self._divide(op) if isinstance(op, ForOp) else [op]
            for piece in pieces:
                for region in piece.regions:
                    self.block(region.block)

    def _divide(self, loop: ForOp) -> list[ForOp]:
        """The loops that replace a loop, in order."""
        low, extent, step = loop.mixed_bounds
        if loop.kind.data not in _KINDS or not isinstance(low, int) or not isinstance(extent, int) or step != 1:
            return [loop]
        if extent < 2:
            return [loop]
        bounds, conditions = self._bounds(loop, low, low + extent)
        added = sum(1 for _ in loop.walk()) * (len(bounds) - 2)
        if not added:
            return [loop]
        if added > self.room:
            _remarks.missed(loop, lambda: f"{_whole(loop, conditions)}: {_excess(len(bounds) - 1, added, self.room)}")
            return [loop]
        _remarks.applied(loop, lambda: _division(loop, bounds, conditions))
        self.room -= added
        pieces = [self._copy(loop, start, end) for start, end in pairwise(bounds)]
        loop.detach()
        loop.erase()
        return pieces

    def _bounds(self, loop: ForOp, low: int, high: int) -> tuple[list[int], list[SSAValue]]:
        """The first iterations of the ranges, and the end of the last; the conditions that divide the loop."""
        cuts, conditions = {low, high}, list[SSAValue]()
        for condition in dict.fromkeys(_comparisons(loop)):
            start, end = self._known_ends(condition, loop.variable, low, high)
            if 2 * (start - low + high - end) >= high - low:
                conditions += [] if {start, end} <= {low, high} else [condition]
                cuts |= {start, end}
            else:
                known = start - low + high - end
                _remarks.missed(loop, lambda: _undecided(loop, condition, known, high - low))
        bounds = sorted(cuts)
        if len(bounds) - 1 <= _MOST:
            return bounds, conditions
        start, end = max(pairwise(bounds), key=lambda each: each[1] - each[0])
        return sorted({low, start, end, high}), conditions

    def _known_ends(self, condition: SSAValue, variable: SSAValue, low: int, high: int) -> tuple[int, int]:
        """The end of the longest range of values of a loop variable from `low` in which a condition is known, and the
        start of the longest such range up to `high`."""
        if self._decide(condition, variable, low, high) is not None:
            return low, low
        start = _last(low, high, lambda end: self._decide(condition, variable, low, end) is not None)
        if start > low and self._decide(condition, variable, start, high) is not None:
            return start, start
        end = -_last(-high, -low, lambda end: self._decide(condition, variable, -end, high) is not None)
        return start, end

    def _decide(self, condition: SSAValue, variable: SSAValue, low: int, high: int) -> bool | None:
        """Whether a condition holds for all values of a variable from `low` to before `high`; None if that differs."""
        with self._values(variable, low, high):
            return self.analyzer.decide(condition)

    @contextmanager
    def _values(self, variable: SSAValue, low: int, high: int) -> Generator[None]:
        """Assumes that the values of a loop variable are from `low` to before `high`, in the body."""
        with self.analyzer.assumptions():
            self.analyzer.assume_not_negative(Lin.of(variable) - low)
            self.analyzer.assume_not_negative(Lin(high - 1) - Lin.of(variable))
            yield

    def _copy(self, loop: ForOp, start: int, end: int) -> ForOp:
        """A copy of a loop, before it, with the iterations from `start` to before `end`, and without the branches that
        these never take."""
        copy = loop.clone_without_regions()
        copy.static_bounds, _ = split_mixed([start, end - start, 1])
        assert loop.parent is not None
        loop.parent.insert_op_before(copy, loop)
        with self._values(loop.variable, start, end):
            copy_known_branches(loop, copy, self.analyzer, {})
        return copy


def _whole(loop: ForOp, conditions: Sequence[SSAValue]) -> str:
    return f"loop {loop.loop_var.data} is not divided where {_texts(conditions)} would be known"


def _excess(ranges: int, added: int, room: int) -> str:
    return f"{ranges} ranges would add {added} operations, max-ops permits {max(room, 0)}"


def _undecided(loop: ForOp, condition: SSAValue, known: int, count: int) -> str:
    return f"{_whole(loop, [condition])}: {known} of {count} iterations, less than half"


def _division(loop: ForOp, bounds: Sequence[int], conditions: Sequence[SSAValue]) -> str:
    ranges = ", ".join(str(start) if end - start == 1 else f"{start} to {end - 1}" for start, end in pairwise(bounds))
    return f"loop {loop.loop_var.data} is divided into the iterations {ranges}, where {_texts(conditions)} is known"


def _texts(conditions: Sequence[SSAValue]) -> str:
    return " and ".join(dict.fromkeys(f"`{expression_text(condition)}`" for condition in conditions))


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last number after `low` and before `high` up to which a property holds; `low` if it never does."""
    size = 1
    while 2 * size < high - low:  # the number is often near an end
        if not holds(low + size):
            high = low + size
            break
        if holds(high - size):
            low = high - size
            break
        low, high, size = low + size, high - size, 2 * size
    while low + 1 < high:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _comparisons(loop: ForOp) -> Iterator[SSAValue]:
    """The comparisons that depend on the variable of a loop and that its branches and lazy choices need to hold."""
    for op in loop.body.walk():
        if isinstance(op, IfOp | IfThenElseOp):
            todo = [op.condition]
            while todo:
                owner = (value := todo.pop()).owner
                if isinstance(owner, arith.AndIOp):
                    todo += owner.operands
                elif isinstance(owner, IntrinsicOp) and owner.intrinsic.data == "likely":
                    todo.append(owner.args[0])
                elif isinstance(owner, arith.CmpiOp) and depends_on(value, (loop.variable,)):
                    yield value
