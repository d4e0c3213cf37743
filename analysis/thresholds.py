"""Thresholds of comparisons: the values of a loop variable up to which, and from which, a comparison is known."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ..dialects.tir import ForOp, comparison_name
from .index import Analyzer, Lin
from .index.conditions import compared_numbers


@dataclass(frozen=True)
class Thresholds:
    """The result of a comparison in a loop is the same in all iterations below `first`, and in all from `second` on.

    first, second: sums of values from outside of the loop; `second` is not less than `first`.  scale: the factor of the
    loop variable in the comparison.  between: the maximum number of iterations from `first` to below `second`.
    is_known_between: whether the result is the same in all of them.
    """

    first: Lin
    second: Lin
    scale: int
    between: int
    is_known_between: bool = False


def thresholds_of(analyzer: Analyzer, loop: ForOp, comparison: arith.CmpiOp) -> Thresholds | None:
    """The thresholds of a comparison in a loop, for all iterations of the loops inside; None unless it compares
    integers that are linear in the loop variable. The assumptions of `analyzer` hold in the loop.
    """
    numbers = compared_numbers(analyzer, comparison)
    if numbers is None:
        return None
    lhs, rhs = numbers
    name = comparison_name(comparison)
    if name in ("gt", "ge"):
        lhs, rhs, name = rhs, lhs, {"gt": "lt", "ge": "le"}[name]
    difference = rhs - lhs - (1 if name == "lt" else 0)
    factor = difference.terms.get(loop.variable, 0)
    rest = difference - Lin.of(loop.variable, factor)
    outside, inside = _split(loop, rest)
    if not factor or loop.variable in outside.leaves() or loop.variable in inside.leaves():
        return None
    least, most = analyzer.bounds(inside)
    scale = abs(factor)
    if name in ("eq", "ne"):
        if scale != 1 or least != most:
            return None
        equal = (outside + least) * -factor
        return Thresholds(equal, equal + 1, 1, 1, is_known_between=True)
    first, second = (analyzer.floordiv(outside + end, scale) for end in (least, most))
    if factor < 0:  # scale * variable <= rest
        first, second = first + 1, second + 1
    else:
        first, second = -second, -first
    return Thresholds(first, second, scale, -((least - most) // scale))


def _split(loop: ForOp, lin: Lin) -> tuple[Lin, Lin]:
    """A sum as a sum of values from outside of a loop, and the rest."""
    outside, inside = Lin(lin.const), Lin()
    for atom, k in lin.terms.items():
        term = Lin.of(atom, k)
        if any(_is_inside(loop, leaf) for leaf in term.leaves()):
            inside += term
        else:
            outside += term
    return outside, inside


def _is_inside(loop: ForOp, value: SSAValue) -> bool:
    return loop.is_ancestor(value.owner)
