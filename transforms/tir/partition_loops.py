"""The pass `tir-partition-loops`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise, takewhile

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export, render_sum
from ...analysis.index.conditions import compared_numbers
from ...analysis.scopes import loops_around
from ...analysis.thresholds import Thresholds, thresholds_of
from ...core.remarks import PassRemarks
from ...core.walking import count_ops, find_ops
from ...dialects.text import expression_text
from ...dialects.tir import AllocBufferOp, ForOp, FuncOp, IfOp, IntrinsicOp, Mixed, TirBuilder, comparison_name
from ...dialects.tir.tree import depends_on, is_pure_expression
from .allocations import sink_allocation
from .known_branches import KnownBranches, Place
from .preconditions import report_blocks

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
    tested. Loops are partitioned, the outermost first, unless the operations of the copies would exceed a limit. The
    ranges of a parallel loop are the sides of branches in it, so that threads share the iterations of all ranges. A
    loop of symbolic bounds is partitioned where a comparison is linear in its variable, and unknown in at most 64
    iterations whatever its extent: `i * 32 + j < n`, with j below 32, is known in the first `n // 32` iterations. It
    stays whole if j is the variable of a serial loop around other loops, as the comparison takes no time there. A
    serial loop whose only statement is a branch ends where its comparison with a symbolic bound no longer holds.
    Allocations move to their uses before (`tir-plan-allocations` states when), so that the ranges have memory of their
    own.

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
                report_blocks(_remarks, function)


class _Partition(KnownBranches):
    """The partition of the loops of a function. room: the number of operations that copies may still have."""

    def __init__(self, room: int):
        super().__init__(Analyzer())
        self.room = room

    def block(self, block: Block) -> None:
        """Partitions the loops in a block, the outermost first."""
        for op in list(block.ops):
            parts = self._parts(op) if isinstance(op, ForOp) else None
            if parts is None:
                for region in op.regions:
                    self.block(region.block)
            else:
                assert isinstance(op, ForOp)
                self._copy_parts(op, parts, Place.before_op(op))
                op.detach()
                op.erase()

    def copy_loop(self, loop: ForOp, place: Place) -> None:
        parts = self._parts(loop)
        if parts is None:
            super().copy_loop(loop, place)
        else:
            self._copy_parts(loop, parts, place)

    def _copy_parts(self, loop: ForOp, parts: Sequence[_Part], place: Place) -> None:
        """Copies the iterations of the parts of a loop to a place, without the branches that are never taken."""
        if loop.kind.data == "parallel" and len(parts) > 1:
            self._copy_as_branches(loop, parts, place)
            return
        builder = TirBuilder(InsertPoint.before(loop), loop.location)
        for part in parts:
            type = loop.variable.type
            low, extent = (
                self._bound(lin, builder, type) for lin in (part.low, self.analyzer.sub(part.high, part.low))
            )
            copy = loop.without_statements(low, extent)
            copy.location = loop.location
            copy.body.detach_block(0)
            with self._facts(part.facts(loop)):
                self.add_copy(loop, copy, place)

    def _copy_as_branches(self, loop: ForOp, parts: Sequence[_Part], place: Place) -> None:
        """Copies a parallel loop whose parts are the sides of branches, so that threads share the iterations of all
        parts."""
        before = TirBuilder(InsertPoint.before(loop), loop.location)
        low, extent, _ = loop.mixed_bounds
        copy = loop.without_statements(*(each if isinstance(each, int) else self.value(each) for each in (low, extent)))
        copy.location = loop.location
        block = copy.body.block
        for n, part in enumerate(parts):
            if n + 1 < len(parts):
                inside = TirBuilder(InsertPoint.at_end(block), loop.location)
                end = self._bound(part.high, before, loop.variable.type)
                branch = inside.insert(IfOp(inside.binary("lt", copy.variable, end)))
                side, block = branch.then.block, branch.orelse.block
            else:
                side = block
            with self._facts(part.facts(loop)):
                self.copy_block(loop.body.block, Place(side), [copy.variable])
        place.insert(copy)

    def _bound(self, lin: Lin, builder: TirBuilder, type: Attribute) -> Mixed:
        """A sum as a bound of the copy of a loop. builder: of operations before the original."""
        return self.value(export(self.analyzer, lin, builder, type)) if lin.constant is None else lin.constant

    def _parts(self, loop: ForOp) -> list[_Part] | None:
        """The parts into which a loop is divided, in order; None for a loop that is not divided."""
        low, extent, step = loop.mixed_bounds
        if loop.kind.data not in _KINDS or step != 1:
            return None
        if not isinstance(low, int) or not isinstance(extent, int):
            whole = _Part.of(self.analyzer.exact(low), self.analyzer.exact(low) + self.analyzer.exact(extent))
            parts = self._symbolic_parts(loop, whole, _MOST, [])
            return parts if len(parts) > 1 else None
        if extent < 2:
            return None
        bounds, conditions = self._bounds(loop, low, low + extent)
        added = count_ops(loop) * (len(bounds) - 2)
        if not added:
            parts = self._limited(loop, _Part.of(Lin(low), Lin(low + extent)))
            return parts if len(parts) > 1 else None
        if added > self.room:
            _remarks.missed(loop, lambda: f"{_whole(loop, conditions)}: {_excess(len(bounds) - 1, added, self.room)}")
            return None
        _remarks.applied(loop, lambda: _division(loop, bounds, conditions))
        self.room -= added
        return [part for start, end in pairwise(bounds) for part in self._limited(loop, _Part.of(Lin(start), Lin(end)))]

    def _limited(self, loop: ForOp, whole: _Part) -> list[_Part]:
        """The iterations of a part of a serial loop in which the only statement, a branch with one side, is taken, and
        the others, which are left out; the part itself for other loops and conditions."""
        return self._symbolic_parts(loop, whole, 2, whole.facts(loop)) if _is_around_branch(loop) else [whole]

    def _symbolic_parts(self, loop: ForOp, whole: _Part, most: int, facts: Sequence[Lin]) -> list[_Part]:
        """The parts into which a part of a loop of symbolic bounds is divided, in order.

        most: their maximum number.  facts: sums that are not negative in the iterations of the part. The part may have
        none, so that its bounds do not follow from the facts.
        """
        with self._facts(facts):
            conditions = self._comparisons(loop, are_all=False)
        for condition in conditions:
            if self._is_decided(condition, facts):
                continue
            division = self._division(loop, whole, condition, facts)
            if isinstance(division, str):
                _remarks.missed(loop, lambda: f"{_whole(loop, [condition])}: {division}")
                continue
            added = count_ops(loop) * (len(division) - 1)
            if len(division) > most or added > self.room:
                _remarks.missed(
                    loop, lambda: f"{_whole(loop, [condition])}: {_excess(len(division), added, self.room)}"
                )
                continue
            _remarks.applied(loop, lambda: _symbolic_division(loop, division, condition))
            self.room -= added
            most -= len(division) - 1
            result: list[_Part] = []
            for part in division:
                inner = [part]
                if part.is_known:
                    inner = self._symbolic_parts(loop, part, most, [*facts, *part.facts(loop)])
                most -= len(inner) - 1
                result += inner
            return result
        return [whole]

    def _division(self, loop: ForOp, whole: _Part, condition: SSAValue, facts: Sequence[Lin]) -> list[_Part] | str:
        """The parts of a part of a loop in which a comparison is known, and those between; the reason against a
        division. facts: as of `_symbolic_parts`."""
        assert isinstance(condition.owner, arith.CmpiOp)
        low, high = whole.low, whole.high
        with self._facts(facts):
            cuts = thresholds_of(self.analyzer, loop, condition.owner)
            numbers = () if cuts is None else (high, cuts.first, cuts.second)
            if cuts is None or not all(self.analyzer.fits(lin, loop.variable.type) for lin in numbers):
                return "it is not linear in the loop variable, or its numbers may exceed their type"
            if cuts.between > _BETWEEN:
                return f"it is unknown in more than {_BETWEEN} iterations"
            parts = self._parts_between(whole, cuts)
        known = [part for part in parts if part.is_known or cuts.is_known_between]
        if len(parts) < 2 or not known:
            return "no other iterations remain"
        if not all(self._is_decided(condition, [*facts, *part.facts(loop)]) for part in known):
            return "the ranges of the numbers do not prove it"
        return [
            replace(
                part, low=self._clamp(part.start, low, high, cuts.scale), high=self._end(part.end, high, cuts.scale)
            )
            for part in parts
        ]

    def _parts_between(self, whole: _Part, cuts: Thresholds) -> list[_Part]:
        """The parts before, between and after two thresholds, without those that have no iterations; their bounds may
        exceed the bounds of the loop."""
        parts: list[_Part] = []
        starts, ends = (whole.low, cuts.first, cuts.second), (cuts.first, cuts.second, whole.high)
        for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
            # the parts are cut at the ends of the loop, and a part whose end precedes its start has no iterations
            if self._is_at_most(end, start, cuts.scale) or self._is_at_most(end, whole.low, cuts.scale):
                continue
            if not self._is_at_most(whole.high, start, cuts.scale):
                parts.append(_Part(start, end, start, end, n != 1))
        return parts

    def _is_decided(self, condition: SSAValue, facts: Sequence[Lin]) -> bool:
        """Whether a comparison is known where sums are not negative."""
        with self._facts(facts):
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
        for condition in self._comparisons(loop):
            start, end = self._known_ends(condition, loop.variable, low, high)
            if 2 * (start - low + high - end) >= high - low:
                conditions += [] if {start, end} <= {low, high} else [condition]
                cuts |= {start, end}
            elif not _is_around_branch(loop):  # else `_limited` reports it
                known = start - low + high - end
                _remarks.missed(loop, lambda: _undecided(loop, condition, known, high - low))
        bounds = sorted(cuts)
        if len(bounds) - 1 <= _MOST:
            return bounds, conditions
        start, end = max(pairwise(bounds), key=lambda each: each[1] - each[0])
        return sorted({low, start, end, high}), conditions

    def _comparisons(self, loop: ForOp, *, are_all: bool = True) -> list[SSAValue]:
        """The comparisons that depend on the variable of a loop and that undecided branches and lazy choices need to
        hold. are_all: whether those that loops inside are invariant to are among them."""
        return list(
            dict.fromkeys(
                each
                for op in self.undecided_branches(loop.body.block)
                for each in _comparisons(loop, op.condition)
                if are_all or not _is_invariant_inside(loop, op, each)
            )
        )

    def _known_ends(self, condition: SSAValue, variable: SSAValue, low: int, high: int) -> tuple[int, int]:
        """The end of the longest range of values of a loop variable from `low` in which a condition is known, and the
        start of the longest such range up to `high`."""
        is_known = self._is_known(condition, variable)
        if is_known(low, high):
            return low, low
        start = _last(low, high, lambda end: is_known(low, end))
        if start > low and is_known(start, high):
            return start, start
        end = -_last(-high, -low, lambda end: is_known(-end, high))
        return start, end

    def _is_known(self, condition: SSAValue, variable: SSAValue) -> Callable[[int, int], bool]:
        """Whether a condition is known for all values of a variable from a number to before another. The difference of
        two numbers that a comparison compares tells this without facts if the variable is its only term."""
        op = condition.owner
        numbers = compared_numbers(self.analyzer, op) if isinstance(op, arith.CmpiOp) else None
        name = comparison_name(op) if isinstance(op, arith.CmpiOp) else None
        difference = Lin() if numbers is None else numbers[1] - numbers[0]
        if name is None or difference.terms.keys() != {variable}:
            return lambda low, high: self._decide(condition, variable, low, high) is not None
        factor = difference.terms[variable]

        def is_known(low: int, high: int) -> bool:
            ends = difference.const + factor * low, difference.const + factor * (high - 1)
            least, most = min(ends), max(ends)
            match name:
                case "lt" | "ge":
                    return least > 0 or most <= 0
                case "le" | "gt":
                    return least >= 0 or most < 0
                case _:
                    return least > 0 or most < 0 or least == most == 0 or difference.const % factor != 0

        return is_known

    def _decide(self, condition: SSAValue, variable: SSAValue, low: int, high: int) -> bool | None:
        """Whether a condition holds for all values of a variable from `low` to before `high`; None if that differs."""
        with self._facts([Lin.of(variable) - low, Lin(high - 1) - Lin.of(variable)]):
            return self.analyzer.decide(condition)

    @contextmanager
    def _facts(self, facts: Sequence[Lin]) -> Generator[None]:
        """Assumes that sums are not negative, in the body."""
        with self.analyzer.assumptions():
            for fact in facts:
                self.analyzer.assume_not_negative(fact)
            yield


@dataclass(frozen=True)
class _Part:
    """The iterations of a loop from `start` to before `end`.

    low, high: the same within the bounds of the loop; none where `high` precedes `low`.  is_known: whether a comparison
    is known.
    """

    start: Lin
    end: Lin
    low: Lin
    high: Lin
    is_known: bool

    @classmethod
    def of(cls, start: Lin, end: Lin) -> _Part:
        """The iterations from `start` to before `end`, within the bounds of the loop."""
        return cls(start, end, start, end, True)

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


def _comparisons(loop: ForOp, condition: SSAValue) -> Iterator[SSAValue]:
    """The comparisons that depend on the variable of a loop and that a condition needs to hold."""
    todo = [condition]
    while todo:
        owner = (value := todo.pop()).owner
        if isinstance(owner, arith.AndIOp):
            todo += owner.operands
        elif isinstance(owner, IntrinsicOp) and owner.intrinsic.data == "likely":
            todo.append(owner.args[0])
        elif isinstance(owner, arith.CmpiOp) and depends_on(value, (loop.variable,)):
            yield value


def _is_around_branch(loop: ForOp) -> bool:
    """Whether the only statement of a serial loop is a branch with one side."""
    branch = loop.body.block.last_op
    if loop.kind.data != "serial" or not isinstance(branch, IfOp) or branch.orelse.block.first_op is not None:
        return False
    return all(is_pure_expression(op) for op in loop.body.block.ops if op is not branch)


def _is_invariant_inside(loop: ForOp, branch: Operation, condition: SSAValue) -> bool:
    """Whether a comparison in the condition of a branch depends on a serial loop inside of a loop, but not on the loops
    inside of that one, which are at least one: it takes no time there (`tir-hoist-conditions`)."""
    between = list(takewhile(lambda each: each is not loop, reversed(loops_around(branch))))
    around = list(dropwhile(lambda each: not depends_on(condition, (each.variable,)), between))
    return isinstance(branch, IfOp) and 0 < len(around) < len(between) and around[0].kind.data == "serial"
