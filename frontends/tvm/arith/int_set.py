"""Intervals of integers: `tvm.arith.IntervalSet`, and those that regions of buffers take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....analysis.index import Lin
from ....analysis.iter_map import box_of_values, iteration_domain
from ....analysis.regions.relax import Relaxer
from ....expressions.axes import Range
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, Var, as_condition, as_expr
from ..nodes.expr import Ramp
from .program import IndexProgram


class Infinity(Var):
    """An end of an interval without one: larger, or smaller, than every integer."""

    __slots__ = ()


_POSITIVE, _NEGATIVE = Infinity("pos_inf", "int64"), Infinity("neg_inf", "int64")


def pos_inf() -> Infinity:
    """The end of an interval without an upper bound."""
    return _POSITIVE


def neg_inf() -> Infinity:
    """The end of an interval without a lower bound."""
    return _NEGATIVE


class IntSet:
    """A set of integers."""

    min_value: PrimExpr
    max_value: PrimExpr

    def is_nothing(self) -> bool:
        """Whether the set is empty."""
        return self.min_value is _POSITIVE and self.max_value is _NEGATIVE

    def is_everything(self) -> bool:
        """Whether the set has all integers."""
        return self.min_value is _NEGATIVE and self.max_value is _POSITIVE

    @staticmethod
    def vector(vec: PrimExpr) -> IntervalSet:
        """The interval around the lanes of a `Ramp` with a known stride; a scalar is its only number. TeError for
        another vector."""
        if isinstance(vec, Ramp) and isinstance(vec.stride, IntImm):
            last = vec.base + vec.stride * (vec.lanes - 1)
            return IntervalSet(vec.base, last) if vec.stride.value >= 0 else IntervalSet(last, vec.base)
        if vec.data_type.lanes > 1:
            raise TeError(f"IntSet.vector of {vec!r}, expected a Ramp with a number as stride")
        return IntervalSet(vec, vec)

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """The set of one number."""
        return IntervalSet(point, point)


class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`, both included."""

    def __init__(self, min_value: Any, max_value: Any):
        self.min_value, self.max_value = as_expr(min_value), as_expr(max_value)

    @staticmethod
    def nothing() -> IntervalSet:
        """The empty set."""
        return IntervalSet(_POSITIVE, _NEGATIVE)

    @staticmethod
    def everything() -> IntervalSet:
        """All integers."""
        return IntervalSet(_NEGATIVE, _POSITIVE)

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"


def interval_of(expr: PrimExpr, sets: Mapping[Var, IntSet], ranges: Mapping[Var, Range]) -> IntervalSet:
    """The interval that an expression takes where variables take all numbers of their sets. ranges: of variables that
    have no set, whose values the ends may contain."""
    moving = {var: Range(each.min_value, each.max_value - each.min_value + 1) for var, each in sets.items()}
    program = IndexProgram({**{var: r for var, r in ranges.items() if var not in moving}, **moving}, [expr])
    count = len(program.loops) - len(moving)
    inner = {loop.variable for loop in program.loops[count:]}
    relaxer = Relaxer(program.analyzer, lambda value: value not in inner)
    ends = relaxer.ends(program.lin(0))
    if ends is None:
        return IntervalSet.everything()
    return IntervalSet(*(program.expr(end) for end in ends))


def _region_program(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: Any
) -> tuple[IndexProgram, list[tuple[Lin, Lin]]]:
    """The program of a region, and the begin and the extent of each side."""
    exprs = [each for side in region for each in (side.min, side.extent)]
    program = IndexProgram(var_dom, [*exprs, as_condition(predicate)])
    sides = [(program.lin(2 * n), program.lin(2 * n + 1)) for n in range(len(region))]
    return program, sides


def estimate_region_lower_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: Any = True
) -> list[IntervalSet] | None:
    """The interval of each dimension of a region whose elements are all accessed where variables take the values of
    their ranges for which a predicate holds; None where the form of the region does not show it."""
    program, sides = _region_program(region, var_dom, predicate)
    analyzer = program.analyzer
    with analyzer.inside(program.place):
        domain = iteration_domain(analyzer, program.loops, program.values[-1])
        found: list[IntervalSet] = []
        widths = [extent.constant for _, extent in sides]
        scales = [_step(low, width) for (low, _), width in zip(sides, widths, strict=True)]
        box = box_of_values(
            analyzer, domain, [_divided(low, scale) for (low, _), scale in zip(sides, scales, strict=True)]
        )
        if box is None or any(width is None for width in widths):
            return None
        for (low, extent), (_, width), scale in zip(box, sides, scales, strict=True):
            base = low * scale
            last = base + extent * scale - scale + width - 1
            found.append(IntervalSet(program.expr(base), program.expr(last)))
    return found


def _step(low: Lin, width: int | None) -> int:
    """The distance of positions of a side with gaps that its width covers, else 1."""
    if not low.terms or width is None:
        return 1
    least = min(abs(factor) for factor in low.terms.values())
    fits = all(factor % least == 0 for factor in (*low.terms.values(), low.const))
    return least if fits and 1 < least <= width else 1


def _divided(low: Lin, scale: int) -> Lin:
    return Lin(low.const // scale, {atom: factor // scale for atom, factor in low.terms.items()})


estimate_region_strict_bound = estimate_region_lower_bound


def estimate_region_upper_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: Any = True
) -> list[IntervalSet]:
    """An interval for each dimension of a region that contains all elements which are accessed where variables take the
    values of their ranges for which a predicate holds."""
    program, sides = _region_program(region, var_dom, predicate)
    inner = {loop.variable for loop in program.loops}
    found: list[IntervalSet] = []
    domain = iteration_domain(program.analyzer, program.loops, program.values[-1])
    for low, extent in sides:
        relaxer = Relaxer(program.analyzer, lambda value: value not in inner)
        relaxer.conditions = domain.constraints
        first, last = relaxer.ends(low), relaxer.ends(low + extent - 1)
        if first is None or last is None:
            found.append(IntervalSet.everything())
        else:
            found.append(IntervalSet(program.expr(first[0]), program.expr(last[1])))
    return found


__all__ = [
    "Infinity",
    "IntSet",
    "IntervalSet",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "interval_of",
    "neg_inf",
    "pos_inf",
]
