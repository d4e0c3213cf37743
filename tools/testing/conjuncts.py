"""Conditions as conjunctions, and integer conditions as sets of points, for the comparison of programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd

import islpy as isl
from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Region, SSAValue

from ...analysis.index import Analyzer, Lin, isl_text
from ...core.dtypes import dtype_of
from ...dialects.tir import IfThenElseOp, IntrinsicOp, YieldOp, comparison_name, constant_value

_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_ISL = {"ge": ">=", "eq": "=", "ne": "!="}


@dataclass(frozen=True)
class Conjunct:
    """A conjunct of a condition: `sum >= 0`, `sum == 0` or `sum != 0` by name (`ge`, `eq`, `ne`); a comparison of
    floats; or any other condition, negated or not.

    lin, operands, value: the argument of the form, one for each form.
    """

    name: str
    lin: Lin | None = None
    value: SSAValue | None = None
    operands: tuple[SSAValue, SSAValue] | None = None


def yielded_value(region: Region) -> SSAValue:
    """The value yielded by a region of an `if_then_else`."""
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return last.value


class Points:
    """The isl space of the variables of some sums, each variable in its range."""

    def __init__(self, analyzer: Analyzer, sums: Iterable[Lin]):
        leaves = dict.fromkeys(leaf for lin in sums for leaf in lin.leaves())
        self.names = {leaf: f"x{i}" for i, leaf in enumerate(leaves)}
        bounds = ((name, *analyzer.atom_bounds(leaf)) for leaf, name in self.names.items())
        self.ranges = [f"{low} <= {name} <= {high}" for name, low, high in bounds]

    def constraint(self, name: str, lin: Lin) -> str | None:
        """The constraint `lin >= 0`, `lin == 0` or `lin != 0`; None if it is not quasi-affine."""
        text = isl_text(lin, self.names.__getitem__)
        return None if text is None else f"({text}) {_ISL[name]} 0"

    def set(self, constraints: Iterable[str | None]) -> isl.Set | None:
        """The points that satisfy all constraints; None if a constraint is not quasi-affine."""
        known = [*self.ranges, *constraints]
        if None in known:
            return None
        where = " and ".join(filter(None, known)) or "true"
        return isl.Set(f"{{ [{', '.join(self.names.values())}] : {where} }}")


def conjunct_strategy(analyzer: Analyzer, value: SSAValue | None, truth: bool = True) -> Iterator[Conjunct]:
    """The conditions whose conjunction is equivalent to `value == truth`; none if that is always true."""
    if value is None or constant_value(value) == truth:
        return
    match value.owner:
        case arith.AndIOp(lhs=x, rhs=y) if truth:
            yield from (*conjunct_strategy(analyzer, x), *conjunct_strategy(analyzer, y))
        case arith.OrIOp(lhs=x, rhs=y) if not truth:
            yield from (*conjunct_strategy(analyzer, x, False), *conjunct_strategy(analyzer, y, False))
        case IfThenElseOp(condition=x, then=then, orelse=orelse) if (
            truth and constant_value(yielded_value(orelse)) == 0
        ):
            yield from (*conjunct_strategy(analyzer, x), *conjunct_strategy(analyzer, yielded_value(then)))
        case arith.XOrIOp(lhs=x, rhs=y) if constant_value(y) == 1:
            yield from conjunct_strategy(analyzer, x, not truth)
        case IntrinsicOp(intrinsic=StringAttr(data="likely"), args=args):
            yield from conjunct_strategy(analyzer, args[0], truth)
        case arith.CmpfOp() as op if (name := comparison_name(op)) is not None:
            operands = (op.rhs, op.lhs) if name in ("gt", "ge") else (op.lhs, op.rhs)
            yield Conjunct(f"{truth} {'lt' if name == 'gt' else 'le' if name == 'ge' else name}", operands=operands)
        case arith.CmpiOp() as op if comparison_name(op) is not None and dtype_of(op.lhs.type).kind == "int":
            yield _comparison(analyzer, op, truth)
        case _:
            yield Conjunct(str(truth), value=value)


def _comparison(analyzer: Analyzer, op: arith.CmpiOp, truth: bool) -> Conjunct:
    name = comparison_name(op)
    assert name is not None
    name = name if truth else _NEGATED[name]
    lhs, rhs = analyzer.exact(op.lhs), analyzer.exact(op.rhs)
    if name in ("lt", "le"):
        lhs, rhs, name = rhs, lhs, {"lt": "gt", "le": "ge"}[name]
    rest = analyzer.sub(lhs, rhs)
    return Conjunct("ge", rest - 1) if name == "gt" else Conjunct(name, rest)


def divide_by_gcd(lin: Lin, name: str) -> Lin:
    """`lin >= 0` divided by the greatest common divisor of the coefficients."""
    common = gcd(*lin.terms.values())
    if common < 2 or (name != "ge" and lin.const % common):
        return lin
    return Lin(lin.const // common, {atom: k // common for atom, k in lin.terms.items()})
