"""Sums bounded by sums: the minimum and maximum over variables that move, in terms of the fixed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.tir import BlockOp, ForOp, LaunchThreadOp
from ..index import Analyzer, Atom, Compound, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom, type_range

IsFixed: TypeAlias = Callable[[SSAValue], bool]
"""A predicate for constant values; the others move through their ranges."""

Ends: TypeAlias = tuple[Lin, Lin]
"""The minimum and the maximum, both included."""


def moving_range(analyzer: Analyzer, value: SSAValue) -> Ends | None:
    """The range of a moving value: the bounds of its loop or the domain of its axis, else its interval; None if only
    its type is known."""
    parent = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    match parent:
        case ForOp():
            low, extent, _ = parent.mixed_bounds
        case LaunchThreadOp():
            low, extent = 0, parent.mixed_extent
        case BlockOp() if isinstance(value, BlockArgument):
            low, extent = parent.axes[value.index].low, parent.axes[value.index].extent
        case _:
            bounds = analyzer.atom_bounds(value)
            is_known = isinstance(value.type, VectorType) or bounds != type_range(value.type)
            return (Lin(bounds[0]), Lin(bounds[1])) if is_known else None
    first = analyzer.exact(low)
    last = first + analyzer.exact(extent) - 1
    if isinstance(parent, ForOp) and not last.terms and not first.terms:
        last = Lin(analyzer.atom_bounds(value)[1])  # respects the step
    return first, last


class Relaxer:
    """Computes the minimum and maximum of sums.

    is_fixed: a predicate for the fixed values.  ranges: the ranges of moving values, where they differ from
    `moving_range`.  conditions: sums that are at least 0 where the values are taken; they bound equal sums.
    exact: False once a bound was returned that may not be reached: a sum since then has one moving value in two terms,
    or a part that is not analyzed.
    """

    def __init__(self, analyzer: Analyzer, is_fixed: IsFixed, ranges: Mapping[SSAValue, Ends] | None = None):
        self.analyzer = analyzer
        self.is_fixed = is_fixed
        self.ranges: dict[SSAValue, Ends | None] = dict(ranges or {})
        self.conditions: Sequence[Lin] = ()
        self.exact = True

    def moves(self, value: SSAValue) -> bool:
        """Whether a value moves through a range."""
        return value in self.ranges or not self.is_fixed(value)

    def moving(self, term: Lin | Atom) -> set[SSAValue]:
        """The moving values in a sum."""
        lin = term if isinstance(term, Lin) else Lin.of(term)
        return {value for value in lin.leaves() if self.moves(value)}

    def ends(self, lin: Lin) -> Ends | None:
        """The minimum and maximum of a sum; None if unknown."""
        low = high = Lin(lin.const)
        seen: set[SSAValue] = set()
        for atom, k in lin.terms.items():
            ends = self._atom(atom)
            if ends is None:
                return None
            self._note_shared(seen, self.moving(atom))
            low = low + ends[k < 0] * k
            high = high + ends[k > 0] * k
        return self._bounded(lin, self.analyzer.combine(low), self.analyzer.combine(high))

    def _bounded(self, lin: Lin, low: Lin, high: Lin) -> Ends:
        """The minimum and maximum of a sum, bounded by the conditions on the same sum, or on a multiple of it and
        others: `4*f + x < 288` bounds `f // 9`, where `f` is a sum of digits of several loops."""
        for condition in self.conditions if len(lin.terms) > 1 else ():
            scale = self._scale(lin, condition)
            if scale is None:
                continue
            rest = self._without_conditions(condition - lin * scale)
            if rest is None:
                continue
            if scale < 0 and self.analyzer.is_provably("lt", most := self.analyzer.floordiv(rest[1], -scale), high):
                high = most
            if scale > 0 and self.analyzer.is_provably("gt", least := -self.analyzer.floordiv(rest[1], scale), low):
                low = least
        return low, high

    def _scale(self, lin: Lin, condition: Lin) -> int | None:
        """The factor by which a condition contains the moving terms of a sum; None if it does not."""
        scales = {condition.terms.get(atom, 0) / k for atom, k in lin.terms.items() if self.moving(atom)}
        scale = scales.pop() if scales else 0.0
        return int(scale) if not scales and scale and scale.is_integer() else None

    def _without_conditions(self, lin: Lin) -> Ends | None:
        """The minimum and maximum of a sum, for all values."""
        conditions, exact = self.conditions, self.exact
        self.conditions = ()
        try:
            return self.ends(lin)
        finally:
            self.conditions, self.exact = conditions, exact

    def _note_shared(self, seen: set[SSAValue], more: set[SSAValue]) -> None:
        if not seen.isdisjoint(more):
            self.exact = False
        seen |= more

    def _atom(self, atom: Atom) -> Ends | None:
        if isinstance(atom, SSAValue):
            return self._value(atom)
        if not self.moving(atom):
            return Lin.of(atom), Lin.of(atom)
        rule = _ENDS.get(type(atom))
        return None if rule is None else rule(self, atom)

    def _value(self, value: SSAValue) -> Ends | None:
        if not self.moves(value):
            return Lin.of(value), Lin.of(value)
        if value not in self.ranges:
            self.ranges[value] = None  # during the analysis of its own range
            self.ranges[value] = moving_range(self.analyzer, value)
        ends = self.ranges[value]
        if ends is None:
            return None
        is_variable = isinstance(value, BlockArgument) or isinstance(value.type, VectorType)
        if not is_variable or self.moving(ends[0]) or self.moving(ends[1]):
            self.exact = False
        first, last = self.ends(ends[0]), self.ends(ends[1])
        return None if first is None or last is None else (first[0], last[1])

    def quotient(self, atom: DivAtom) -> Ends | None:
        """The minimum and maximum of a floor division; None if unknown."""
        ends = self.ends(atom.dividend)
        least, most = self.analyzer.bounds(atom.divisor)
        if ends is None or self.moving(atom.divisor) or least <= 0 <= most:
            return None
        low, high = (self.analyzer.floordiv(end, atom.divisor) for end in ends)
        return (low, high) if least > 0 else (high, low)

    def remainder(self, atom: ModAtom) -> Ends | None:
        """The minimum and maximum of a remainder; None if unknown."""
        divisor = atom.divisor
        if self.moving(divisor) or not self.analyzer.is_provably("gt", divisor, 0):
            return None
        ends = self.ends(atom.dividend)
        if ends is not None:
            first, last = (self.analyzer.floordiv(end, divisor) for end in ends)
            if self.analyzer.constant(last - first) == 0:
                low, high = (self.analyzer.floormod(end, divisor) for end in ends)
                return low, high
            self.exact &= self._is_dense(atom.dividend, divisor)
        else:
            self.exact = False
        return Lin(), divisor - 1

    def _is_dense(self, lin: Lin, count: Lin) -> bool:
        """Whether a sum takes `count` or more consecutive values, for all fixed values."""
        length = 1  # the number of consecutive values of the terms so far
        for atom, k in sorted(lin.terms.items(), key=lambda term: abs(term[1])):
            ends = self._value(atom) if isinstance(atom, SSAValue) and self.moves(atom) else None
            steps = None if ends is None else self.analyzer.constant(ends[1] - ends[0])
            if steps is not None and abs(k) <= length:
                length += abs(k) * steps
        return self.analyzer.is_provably("le", count, length)

    def extremum(self, atom: MinAtom | MaxAtom) -> Ends | None:
        """The minimum and maximum of a minimum or maximum; None if unknown."""
        pick = self.analyzer.minimum if isinstance(atom, MinAtom) else self.analyzer.maximum
        parts: list[Ends] = []
        seen: set[SSAValue] = set()
        for part in atom.sums:
            ends = self.ends(part)
            if ends is None:
                return None
            self._note_shared(seen, self.moving(part))
            parts.append(ends)
        return reduce(pick, (low for low, _ in parts)), reduce(pick, (high for _, high in parts))

    def product(self, atom: ProductAtom) -> Ends | None:
        """The minimum and maximum of a product; None if unknown."""
        moving = [factor for factor in atom.factors if self.moving(factor)]
        rest = reduce(self.analyzer.mul, (Lin.of(f) for f in atom.factors if f not in moving), Lin(1))
        low, high = self.analyzer.bounds(rest)
        if len(moving) == 1 and (low >= 0 or high <= 0):
            ends = self._atom(moving[0])
            if ends is None:
                return None
            first, last = (self.analyzer.mul(rest, end) for end in ends)
            return (first, last) if low >= 0 else (last, first)
        self.exact = False
        if any(_is_unbounded(self.analyzer, leaf) for leaf in Lin.of(atom).leaves()):
            return None
        low, high = self.analyzer.atom_bounds(atom)
        return Lin(low), Lin(high)


def _is_unbounded(analyzer: Analyzer, value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType) and analyzer.atom_bounds(value)[1] == type_range(value.type)[1]


_ENDS: dict[type[Compound], Callable[[Relaxer, Any], Ends | None]] = {
    DivAtom: Relaxer.quotient,
    ModAtom: Relaxer.remainder,
    MinAtom: Relaxer.extremum,
    MaxAtom: Relaxer.extremum,
    ProductAtom: Relaxer.product,
}


def hull(analyzer: Analyzer, ends: Sequence[Ends]) -> Ends:
    """The interval hull of intervals."""
    return reduce(analyzer.minimum, (low for low, _ in ends)), reduce(analyzer.maximum, (high for _, high in ends))
