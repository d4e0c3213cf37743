"""Inverse regions: the values of a block's axes that touch a box of a buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, SSAValue

from ...dialects.tir import BlockOp
from .. import isl
from ..index import Analyzer, Atom, Compound, DivAtom, Lin, ModAtom
from ..isl_budget import REGIONS, isl_operation_limit
from .boxes import AccessBox, IndexRange
from .exact import IslNames, NotAffineSum, ends_of, with_constant_extent
from .relax import Ends, IsFixed, Relaxer


@dataclass(frozen=True)
class BoxDemand:
    """The box that a block touches in each instance, over its axes, and a box of the same buffer over fixed values."""

    touched: AccessBox
    box: Sequence[IndexRange]


def axes_region(
    analyzer: Analyzer, block: BlockOp, demands: Sequence[BoxDemand], is_fixed: IsFixed
) -> list[IndexRange]:
    """The values per axis of `block` with which it touches an element of one of the boxes, or a superset.

    An axis in no index, or without a solution, takes its whole domain. Regions whose ends are numbers are clipped to
    the domain; others may extend beyond it.

        B[vi*4 + vj] with vj < 4 is wanted in [i*8 +: 8]:    vi in [i*2 +: 2], vj in [0 +: 4]
    """

    def merge_any(variable: SSAValue, domain: IndexRange, found: Sequence[Mapping[SSAValue, IndexRange]]) -> IndexRange:
        return _merge(analyzer, [sides.get(variable, domain) for sides in found], analyzer.minimum, analyzer.maximum)

    return _axes(analyzer, block, demands, is_fixed, _touching, merge_any)


def finishing_region(
    analyzer: Analyzer, block: BlockOp, demands: Sequence[BoxDemand], is_fixed: IsFixed, *, last: bool = True
) -> list[IndexRange]:
    """The values per axis of `block` with which its last (or first) touched element is in one of the boxes, and no
    touched element comes after (before) them.

    These are the instances of a consumer that become possible once the elements in the boxes are written, if all
    earlier (later) elements already are: the boxes belong to one iteration of a loop, and start where the boxes of the
    previous iteration end. An axis in no index takes its whole domain.

        B[vi], B[vi + 1] are read, and [i*4 +: 4] was just written:    vi in [i*4 - 1 +: 4]
    """
    pick = analyzer.minimum if last else analyzer.maximum

    def merge_all(variable: SSAValue, domain: IndexRange, found: Sequence[Mapping[SSAValue, IndexRange]]) -> IndexRange:
        return _merge(analyzer, [s[variable] for s in found if variable in s] or [domain], pick, pick)

    return _axes(analyzer, block, demands, is_fixed, _ending if last else _starting, merge_all)


def _merge(analyzer: Analyzer, sides: Sequence[IndexRange], pick_low: _Pick, pick_high: _Pick) -> IndexRange:
    if len(sides) == 1:
        return sides[0]
    return IndexRange.between(
        analyzer, reduce(pick_low, (s.low for s in sides)), reduce(pick_high, (s.high for s in sides))
    )


_Pick = Callable[[Lin, Lin], Lin]


@dataclass(frozen=True)
class _Equation:
    """An equation: `sum`, over axes, is one of `count` numbers from `low` on, which are fixed."""

    sum: Lin
    low: Lin
    count: Lin


Reading = Callable[[Lin, Lin, IndexRange], _Equation]


def _touching(low: Lin, extent: Lin, box: IndexRange) -> _Equation:
    return _Equation(low, box.low - extent + 1, box.extent + extent - 1)


def _ending(low: Lin, extent: Lin, box: IndexRange) -> _Equation:
    return _Equation(low, box.low - extent + 1, box.extent)


def _starting(low: Lin, _extent: Lin, box: IndexRange) -> _Equation:
    return _Equation(low, box.low, box.extent)


def _axes(
    analyzer: Analyzer,
    block: BlockOp,
    demands: Sequence[BoxDemand],
    is_fixed: IsFixed,
    reading: Reading,
    merge: Callable[[SSAValue, IndexRange, Sequence[Mapping[SSAValue, IndexRange]]], IndexRange],
) -> list[IndexRange]:
    domains = [IndexRange.of(analyzer, axis.low, axis.extent) for axis in block.axes]
    solver = _Solver(analyzer, block, domains, is_fixed)
    solutions = [
        solver.solve([reading(*side, box) for side, box in zip(demand.touched.sides, demand.box, strict=True)])
        for demand in demands
    ]
    return [
        with_constant_extent(
            analyzer, (merge(variable, domain, solutions) if solutions else domain).clip_to(analyzer, domain), is_fixed
        )
        for variable, domain in zip(block.variables, domains, strict=True)
    ]


class _Solver:
    """Solves equations for the axes of a block, one by one; unsolved equations are left to isl."""

    def __init__(self, analyzer: Analyzer, block: BlockOp, domains: Sequence[IndexRange], is_fixed: IsFixed):
        self.analyzer = analyzer
        self.domains = dict(zip(block.variables, domains, strict=True))
        self.is_fixed = is_fixed

    def solve(self, equations: Sequence[_Equation]) -> dict[SSAValue, IndexRange]:
        """The ranges of the axes that satisfy all equations, or a superset."""
        solution: dict[SSAValue, IndexRange] = {}
        is_solved = True
        for equation in _join(self.analyzer, [self._normalize(e) for e in equations if self._axes_in(e.sum)]):
            solved = self._digits(equation) if self._is_steady(equation) else None
            is_solved &= solved is not None
            self._add(solution, solved or {})
        if not is_solved:
            self._add(solution, self._solve_exactly(equations))
        return solution

    def _add(self, solution: dict[SSAValue, IndexRange], more: Mapping[SSAValue, IndexRange]) -> None:
        for axis, side in more.items():
            solution[axis] = _intersect(self.analyzer, solution[axis], side) if axis in solution else side

    def _axes_in(self, lin: Lin) -> list[SSAValue]:
        return list(dict.fromkeys(leaf for leaf in lin.leaves() if leaf in self.domains))

    def _is_steady(self, equation: _Equation) -> bool:
        lins = (equation.low, equation.count)
        return all(leaf not in self.domains and self.is_fixed(leaf) for lin in lins for leaf in lin.leaves())

    def _normalize(self, equation: _Equation) -> _Equation:
        """The equation with the terms without axes on the right side."""
        fixed = Lin(equation.sum.const)
        for atom, k in equation.sum.terms.items():
            if not self._axes_in(Lin.of(atom)):
                fixed = fixed + Lin.of(atom, k)
        varying, low = equation.sum - fixed, self.analyzer.combine(equation.low - fixed)
        if len(varying.terms) > 1 or isinstance(atom := next(iter(varying.terms)), SSAValue):
            return _Equation(varying, low, equation.count)
        return self._divide(atom, varying.terms[atom], low, low + equation.count - 1)

    def _divide(self, atom: Atom, k: int, low: Lin, high: Lin) -> _Equation:
        """The equation for `atom` where `k * atom` is between `low` and `high`."""
        low, high = (low, high) if k > 0 else (-high, -low)
        least = self.analyzer.floordiv(low + (abs(k) - 1), abs(k))
        most = self.analyzer.floordiv(high, abs(k))
        return _Equation(Lin.of(atom), least, self.analyzer.combine(most - least + 1))

    def _digits(self, equation: _Equation) -> dict[SSAValue, IndexRange] | None:
        """The solution for a sum that is one axis, or a number with axes as digits; else None."""
        terms = sorted(equation.sum.terms.items(), key=lambda term: -abs(term[1]))
        if not all(isinstance(atom, SSAValue) for atom, _ in terms):
            return None
        with self.analyzer.assumptions():
            position = Block(arg_types=[i64]).args[0]  # the position among the `count` numbers
            last = equation.count - 1
            self.analyzer.assume_not_negative(Lin.of(position))
            self.analyzer.assume_not_negative(last - Lin.of(position))
            relaxer = Relaxer(self.analyzer, self.is_fixed, {position: (Lin(), last)})
            rest, solution = equation.low + Lin.of(position), dict[SSAValue, IndexRange]()
            lows = [self.domains[a].low if k > 0 else -self.domains[a].high for a, k in terms]  # pyright: ignore[reportArgumentType]
            for (_, k), low in zip(terms, lows, strict=True):
                rest = rest - low * abs(k) if len(terms) > 1 else rest
            for n, (axis, k) in enumerate(terms):
                assert isinstance(axis, SSAValue)
                ends = self._digit(relaxer, rest, terms[n:])
                if ends is None:
                    return None
                low, high = ends if len(terms) == 1 else (ends[0] + lows[n], ends[1] + lows[n])
                low, high = (low, high) if k > 0 else (-high, -low)
                solution[axis] = IndexRange.between(self.analyzer, low, high)
                rest = self.analyzer.floormod(rest, abs(k)) if n + 1 < len(terms) else rest
        return solution

    def _digit(self, relaxer: Relaxer, rest: Lin, terms: Sequence[tuple[object, int]]) -> Ends | None:
        """The range of the leading digit when the number is `rest`; None if the other digits may carry into it."""
        (_, k), *lower = terms
        if lower and not self._fits(lower, abs(k)):
            return None
        high = relaxer.ends(self.analyzer.floordiv(rest, abs(k)))
        # The last digit has no lower digits: only multiples are reached.
        up = rest if lower or abs(k) == 1 else rest + (abs(k) - 1)
        low = relaxer.ends(self.analyzer.floordiv(up, abs(k)))
        return None if low is None or high is None else (low[0], high[1])

    def _fits(self, terms: Sequence[tuple[object, int]], size: int) -> bool:
        """Whether the numbers that digits represent are less than `size`."""
        total = Lin()
        for axis, k in terms:
            total = total + (self.domains[axis].extent - 1) * abs(k)  # pyright: ignore[reportArgumentType]
        return self.analyzer.is_provably("lt", total, size)

    def _solve_exactly(self, equations: Sequence[_Equation]) -> dict[SSAValue, IndexRange]:
        """The solution by isl; empty if an equation is not affine. An axis without simple ends is left out."""
        axes = set(self.domains)
        names = IslNames(self.analyzer, lambda value: value not in axes and self.is_fixed(value))
        solution: dict[SSAValue, IndexRange] = {}
        try:
            conditions = [
                f"{names.text(e.low)} <= {names.text(e.sum)} < {names.text(e.low + e.count)}" for e in equations
            ]
            with isl_operation_limit(REGIONS):
                for axis in axes:
                    if axis in names.of:
                        ends = ends_of(names, names.set([names.of[axis]], conditions).coalesce())
                        if ends is not None:
                            solution[axis] = IndexRange.between(self.analyzer, *ends)
        except (NotAffineSum, isl.Error):
            return {}
        return solution


def _intersect(analyzer: Analyzer, a: IndexRange, b: IndexRange) -> IndexRange:
    """The intersection of two ranges if its ends are simple; else one of the ranges."""
    low = reduce(analyzer.maximum, (a.low, b.low))
    high = reduce(analyzer.minimum, (a.high, b.high))
    side = IndexRange.between(analyzer, low, high)
    return min((a, b, side), key=lambda s: (bool(s.extent.terms), s.most, len(repr(s.low))))


def _join(analyzer: Analyzer, equations: list[_Equation]) -> list[_Equation]:
    """Combines quotient and remainder of one number; a quotient alone bounds its dividend, and a remainder alone bounds
    nothing."""
    todo, done = list(equations), list[_Equation]()
    while todo:
        todo.sort(key=_is_inner)  # the inner first: they produce the remainders that others are paired with
        equation = todo.pop()
        atom = equation.sum.atom
        if not isinstance(atom, DivAtom | ModAtom) or (c := atom.divisor.constant) is None or c <= 0:
            done.append(equation)
            continue
        if isinstance(atom, ModAtom):
            if any(_pairs(other.sum.atom, atom, c) for other in (*todo, *done)):
                done.append(equation)  # waits for its quotient
            continue
        partner = next((o for o in (*todo, *done) if _pairs(atom, o.sum.atom, c)), None)
        low, count = equation.low * c, equation.count * c
        if partner is not None:
            todo = [o for o in todo if o is not partner]
            done = [o for o in done if o is not partner]
            low, count = low + partner.low, (equation.count - 1) * c + partner.count
        todo.append(_without_constant(analyzer, atom.dividend, low, count))
    return done


def _is_inner(equation: _Equation) -> bool:
    atom = equation.sum.atom
    return isinstance(atom, DivAtom) and isinstance(atom.dividend.atom, ModAtom)


def _without_constant(analyzer: Analyzer, dividend: Lin, low: Lin, count: Lin) -> _Equation:
    """The equation for `dividend` without its constant."""
    return _Equation(dividend - dividend.const, analyzer.combine(low - dividend.const), count)


def _pairs(div: object, mod: object, c: int) -> bool:
    """Whether `mod` is the remainder that belongs to the quotient `div`."""
    if not isinstance(div, DivAtom) or not isinstance(mod, ModAtom):
        return False
    if div.divisor.constant != c or mod.divisor.constant != c:
        return False
    if div.dividend == mod.dividend:
        return True
    inner: Compound | object = div.dividend.atom
    return isinstance(inner, ModAtom) and inner.dividend == mod.dividend and (inner.divisor.constant or 1) % c == 0
