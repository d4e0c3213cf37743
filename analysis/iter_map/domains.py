"""Iteration domains of loops and predicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType
from xdsl.ir import SSAValue

from ...core.comparisons import UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import dtype_of
from ...dialects.tir import ForOp, IfThenElseOp, IntrinsicOp, LaunchThreadOp, LetOp, YieldOp, comparison_name
from ...dialects.tir import constant_value as known
from ..index import Analyzer, Lin
from ..vector_indices import Lanes
from .terms import Domain, DomainVar


def iteration_variable(analyzer: Analyzer, loop: ForOp | LaunchThreadOp) -> DomainVar | None:
    """The range of the variable of a loop; None if its step is not a known number."""
    if isinstance(loop, LaunchThreadOp):
        return DomainVar(loop.variable, Lin(), analyzer.exact(loop.mixed_extent))
    low, extent, step = (analyzer.exact(bound) for bound in loop.mixed_bounds)
    width = analyzer.constant(step)
    if width is None or width <= 0:
        return None
    count = extent if width == 1 else analyzer.floordiv(extent + (width - 1), width)
    return DomainVar(loop.variable, low, count, width)


def iteration_domain(
    analyzer: Analyzer, loops: Sequence[ForOp | LaunchThreadOp], predicate: SSAValue | None = None
) -> Domain:
    """The iteration points of loops (outermost first) for which `predicate` holds.

    The variable of a loop with an unknown step counts as taking any value, and a condition other than a comparison of
    integers is left out: the domain is not exact then.
    """
    variables: list[DomainVar] = []
    constraints, exact = predicate_constraints(analyzer, predicate)
    for loop in loops:
        variable = iteration_variable(analyzer, loop)
        if variable is None:
            low, high = analyzer.atom_bounds(loop.variable)
            variable, exact = DomainVar(loop.variable, Lin(low), Lin(high - low + 1)), False
        variables.append(variable)
    return Domain(tuple(variables), constraints, exact)


def predicate_constraints(
    analyzer: Analyzer, predicate: SSAValue | None, lanes: Lanes | None = None
) -> tuple[tuple[Lin, ...], bool]:
    """Sums that are at least 0 where `predicate` holds, and whether the constraints imply it. Sums that are always at
    least 0 are left out. lanes: those of a predicate that is a vector of bools."""
    constraints: list[Lin] = []
    exact = True
    todo = [] if predicate is None else [predicate]
    while todo:
        condition = todo.pop()
        if not isinstance(condition.type, VectorType) and analyzer.decide(condition) is True:
            continue
        op: Any = condition.owner
        match op:
            case arith.AndIOp() if dtype_of(condition.type).is_bool:
                todo += [op.rhs, op.lhs]
            case IfThenElseOp() if _is_lazy_and(op):
                todo += [_yielded_value(op.then), op.condition]
            case LetOp():
                todo.append(op.value)
            case IntrinsicOp() if op.intrinsic.data == "likely":
                todo.append(op.args[0])
            case vector.BroadcastOp():
                todo.append(op.source)
            case arith.CmpiOp() if (comparison := _comparison(analyzer, op, lanes)) is not None:
                constraints += comparison
            case _:
                exact = False
    return tuple(dict.fromkeys(c for c in constraints if not analyzer.is_provably("ge", c, 0))), exact


def _yielded_value(region: Any) -> SSAValue:
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return last.value


def _is_lazy_and(op: IfThenElseOp) -> bool:
    """Whether `op` is `if a then b else false`."""
    return dtype_of(op.results[0].type).is_bool and known(_yielded_value(op.orelse)) == 0


def _comparison(analyzer: Analyzer, op: arith.CmpiOp, lanes: Lanes | None) -> list[Lin] | None:
    """Sums that are at least 0 exactly where the comparison holds."""
    name, is_vector = comparison_name(op), isinstance(op.lhs.type, VectorType)
    if not isinstance(op.lhs.type, IntegerType | IndexType | VectorType) or name in (None, "ne"):
        return None
    if predicate_of(op) in UNSIGNED_PREDICATES and dtype_of(op.lhs.type).kind != "uint":
        return None
    if is_vector and lanes is None:
        return None
    lhs, rhs = (lanes.sum(each) if is_vector and lanes is not None else analyzer.exact(each) for each in op.operands)
    if lhs is None or rhs is None:
        return None
    difference = rhs - lhs
    table = {
        "lt": [difference - 1],
        "le": [difference],
        "gt": [-difference - 1],
        "ge": [-difference],
        "eq": [difference, -difference],
    }
    return table[name]
