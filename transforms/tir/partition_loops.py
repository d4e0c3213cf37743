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
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export, render_sum
from ...analysis.thresholds import thresholds_of
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.text import expression_text
from ...dialects.tir import AllocBufferOp, ForOp, FuncOp, IfOp, IfThenElseOp, IntrinsicOp, Mixed, TirBuilder
from ...dialects.tir.tree import depends_on
from .allocations import sink_allocation
from .known_branches import copy_known_branches

_MOST = 4
"""The greatest number of ranges of a loop; of more, the longest one and the rest before and after it remain."""
_BETWEEN = 64
"""The greatest number of iterations of a loop of symbolic bounds in which a comparison that divides it is unknown."""
_remarks = PassRemarks("tir-partition-loops")
_KINDS = ("serial", "parallel", "unrolled", "vectorized")


@dataclass(frozen=True)
class TirPartitionLoopsPass(ModulePass):
    """Partitions loops into ranges of iterations in which conditions are known.

    A comparison that is known in the first or the last iterations of a loop, for all iterations of the loops inside,
    and in at least half of the iterations, divides the loop there. `tir-simplify` then removes the conditions: a tile
    at the edge of a matrix is computed with predicates, all others without; the init of a reduction is no longer
    tested. Loops are partitioned, the outermost first, unless the operations of the copies would exceed a limit. A loop
    of symbolic bounds is partitioned where a comparison is linear in its variable, and unknown in at most 64 iterations
    whatever its extent: `i * 32 + j < n`, with j below 32, is known in the first `n // 32` iterations. Allocations move
    to their uses before (`tir-plan-allocations` states when), so that the ranges have memory of their own.

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
                for alloc in list(find_ops(function, AllocBufferOp)):
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
        if loop.kind.data not in _KINDS or step != 1:
            return [loop]
        if not isinstance(low, int) or not isinstance(extent, int):
            return self._divide_symbolic(loop, _MOST)
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
        pieces = [self._copy_range(loop, start, end) for start, end in pairwise(bounds)]
        loop.detach()
        loop.erase()
        return pieces

    def _divide_symbolic(self, loop: ForOp, most: int) -> list[ForOp]:
        """The loops that replace a loop of symbolic bounds, in order. most: their maximum number."""
        for condition in dict.fromkeys(_comparisons(loop)):
            if self.analyzer.decide(condition) is not None:
                continue
            division = self._division(loop, condition)
            if isinstance(division, str):
                _remarks.missed(loop, lambda: f"{_whole(loop, [condition])}: {division}")
                continue
            added = sum(1 for _ in loop.walk()) * (len(division) - 1)
            if len(division) > most or added > self.room:
                _remarks.missed(
                    loop, lambda: f"{_whole(loop, [condition])}: {_excess(len(division), added, self.room)}"
                )
                continue
            _remarks.applied(loop, lambda: _symbolic_division(loop, division, condition))
            self.room -= added
            pieces = [self._copy_part(loop, part) for part in division]
            loop.detach()
            loop.erase()
            most -= len(division) - 1
            result: list[ForOp] = []
            for part, piece in zip(division, pieces, strict=True):
                inner = self._divide_symbolic(piece, most) if part.is_known else [piece]
                most -= len(inner) - 1
                result += inner
            return result
        return [loop]

    def _division(self, loop: ForOp, condition: SSAValue) -> list[_Part] | str:
        """The parts of a loop of symbolic bounds in which a comparison is known, and those between; the reason against
        a division."""
        assert isinstance(condition.owner, arith.CmpiOp)
        analyzer, type = self.analyzer, loop.variable.type
        low, extent, _ = (analyzer.exact(bound) for bound in loop.mixed_bounds)
        high = low + extent
        cuts = thresholds_of(analyzer, loop, condition.owner)
        if cuts is None or not all(analyzer.fits(lin, type) for lin in (high, cuts.first, cuts.second)):
            return "it is not linear in the loop variable, or its numbers may exceed their type"
        if cuts.between > _BETWEEN:
            return f"it is unknown in more than {_BETWEEN} iterations"
        parts: list[_Part] = []
        starts, ends = (low, cuts.first, cuts.second), (cuts.first, cuts.second, high)
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            # the parts are cut at the ends of the loop, and a part whose end precedes its start has no iterations
            if self._is_at_most(end, start, cuts.scale) or self._is_at_most(end, low, cuts.scale):
                continue
            if self._is_at_most(high, start, cuts.scale):
                continue
            bounds = self._clamp(start, low, high, cuts.scale), self._end(end, high, cuts.scale)
            parts.append(_Part(start, end, *bounds, n != 1))
        known = [part for part in parts if part.is_known or cuts.is_known_between]
        if len(parts) < 2 or not known:
            return "no other iterations remain"
        if not all(self._is_decided(condition, loop, part) for part in known):
            return "the ranges of the numbers do not prove it"
        return parts

    def _is_decided(self, condition: SSAValue, loop: ForOp, part: _Part) -> bool:
        with self._facts(part.facts(loop)):
            return self.analyzer.decide(condition) is not None

    def _is_at_most(self, a: Lin, b: Lin, scale: int) -> bool:
        """Whether a sum of quotients by `scale` is provably at most another one."""
        return self.analyzer.is_provably("le", a * scale, b * scale)

    def _end(self, end: Lin, high: Lin, scale: int) -> Lin:
        """The smaller of the end of a part and the end of the loop."""
        return end if self._is_at_most(end, high, scale) else self.analyzer.minimum(end, high)

    def _clamp(self, start: Lin, low: Lin, high: Lin, scale: int) -> Lin:
        """The start of a part, but at least that of the loop, and at most its end."""
        end = self._end(start, high, scale)
        return end if self._is_at_most(low, end, scale) else self.analyzer.maximum(end, low)

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
        with self._facts([Lin.of(variable) - low, Lin(high - 1) - Lin.of(variable)]):
            yield

    @contextmanager
    def _facts(self, facts: Sequence[Lin]) -> Generator[None]:
        """Assumes that sums are not negative, in the body."""
        with self.analyzer.assumptions():
            for fact in facts:
                self.analyzer.assume_not_negative(fact)
            yield

    def _copy_range(self, loop: ForOp, start: int, end: int) -> ForOp:
        """A copy of a loop, before it, with the iterations from `start` to before `end`."""
        with self._values(loop.variable, start, end):
            return self._copy(loop, start, end - start)

    def _copy_part(self, loop: ForOp, part: _Part) -> ForOp:
        """A copy of a loop, before it, with the iterations of a part."""
        builder = TirBuilder(InsertPoint.before(loop), loop.location)
        bounds: list[Mixed] = []
        for lin in (part.low, self.analyzer.sub(part.high, part.low)):
            constant = lin.constant
            bounds.append(export(self.analyzer, lin, builder, loop.variable.type) if constant is None else constant)
        with self._facts(part.facts(loop)):
            return self._copy(loop, *bounds)

    def _copy(self, loop: ForOp, low: Mixed, extent: Mixed) -> ForOp:
        """A copy of a loop, before it, with other bounds, and without the branches that are never taken."""
        copy = ForOp(
            loop.loop_var.data, low, extent, loop.variable.type, kind=loop.kind.data, annotations=loop.annotations
        )
        copy.attributes = dict(loop.attributes)
        copy.location = loop.location
        copy.body.detach_block(0)
        assert loop.parent is not None
        loop.parent.insert_op_before(copy, loop)
        copy_known_branches(loop, copy, self.analyzer, {})
        return copy


@dataclass(frozen=True)
class _Part:
    """The iterations of a loop of symbolic bounds from `start` to before `end`.

    low, high: the same within the bounds of the loop; none where `high` precedes `low`.  is_known: whether a comparison
    is known.
    """

    start: Lin
    end: Lin
    low: Lin
    high: Lin
    is_known: bool

    def facts(self, loop: ForOp) -> list[Lin]:
        """Sums that are not negative in these iterations."""
        return [Lin.of(loop.variable) - self.start, self.end - 1 - Lin.of(loop.variable)]


def _whole(loop: ForOp, conditions: Sequence[SSAValue]) -> str:
    return f"loop {loop.loop_var.data} is not divided where {_texts(conditions)} would be known"


def _excess(ranges: int, added: int, room: int) -> str:
    return f"{ranges} ranges would add {added} operations, max-ops permits {max(room, 0)}"


def _undecided(loop: ForOp, condition: SSAValue, known: int, count: int) -> str:
    return f"{_whole(loop, [condition])}: {known} of {count} iterations, less than half"


def _division(loop: ForOp, bounds: Sequence[int], conditions: Sequence[SSAValue]) -> str:
    ranges = ", ".join(str(start) if end - start == 1 else f"{start} to {end - 1}" for start, end in pairwise(bounds))
    return f"loop {loop.loop_var.data} is divided into the iterations {ranges}, where {_texts(conditions)} is known"


def _symbolic_division(loop: ForOp, parts: Sequence[_Part], condition: SSAValue) -> str:
    ranges = ", ".join(f"{_sum(part.start)} to {_sum(part.end - 1)}" for part in parts)
    return f"loop {loop.loop_var.data} is divided into the iterations {ranges}, where {_texts([condition])} is known"


def _sum(lin: Lin) -> str:
    return f"`{render_sum(lin)}`" if lin.terms else str(lin.const)


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
    for op in find_ops(loop.body, IfOp, IfThenElseOp):
        todo = [op.condition]
        while todo:
            owner = (value := todo.pop()).owner
            if isinstance(owner, arith.AndIOp):
                todo += owner.operands
            elif isinstance(owner, IntrinsicOp) and owner.intrinsic.data == "likely":
                todo.append(owner.args[0])
            elif isinstance(owner, arith.CmpiOp) and depends_on(value, (loop.variable,)):
                yield value
