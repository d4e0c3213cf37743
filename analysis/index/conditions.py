"""Decisions about conditions, and the facts that follow from a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue

from ...core.comparisons import SIGNED_PREDICATES, UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import dtype_of
from ...core.intervals import signed_range, within
from ...dialects.tir import CastOp, IfThenElseOp, IntrinsicOp, LetOp, YieldOp, comparison_name, constant_value
from .terms import Lin

if TYPE_CHECKING:
    from .analyzer import Analyzer

NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""The negation of each comparison."""


def decide(analyzer: Analyzer, condition: SSAValue) -> bool | None:
    """Whether a bool is always true or always false under the analyzer's assumptions, or None."""
    known = analyzer.scope.known.get(condition)
    if known is not None:
        return known
    number = constant_value(condition)
    if number is not None:
        return bool(number)
    handler = _DECIDE.get(type(condition.owner))
    return None if handler is None else handler(analyzer, condition.owner)


def assume(analyzer: Analyzer, condition: SSAValue, truth: bool) -> None:
    """Adds the assumption that a bool equals `truth` to the analyzer's scope."""
    todo = [(condition, truth)]
    while todo:
        value, holds = todo.pop()
        analyzer.scope.known[value] = holds
        handler = _ASSUME.get(type(value.owner))
        if handler is not None:
            todo += handler(analyzer, value.owner, holds)
    analyzer.scope.forget()


def compared_numbers(analyzer: Analyzer, op: arith.CmpiOp) -> tuple[Lin, Lin] | None:
    """The numbers that an integer comparison compares, or None if it may interpret their bits as other numbers."""
    if not isinstance(op.lhs.type, IntegerType | IndexType):
        return None
    operands = analyzer.exact(op.lhs), analyzer.exact(op.rhs)
    dtype = dtype_of(op.lhs.type)
    others = UNSIGNED_PREDICATES if dtype.kind == "int" else SIGNED_PREDICATES
    if predicate_of(op) not in others:
        return operands
    both = 0, signed_range(dtype.bits)[1]  # the numbers that signed and unsigned types share
    return operands if all(within(analyzer.bounds(x), both) for x in operands) else None


def _decide_comparison(analyzer: Analyzer, op: arith.CmpiOp) -> bool | None:
    operands, name = compared_numbers(analyzer, op), comparison_name(op)
    if operands is None or name is None:
        return None
    decision = analyzer.compare(name, *operands)
    if decision is None and name in ("eq", "ne") and analyzer.same(op.lhs, op.rhs):
        return name == "eq"
    return decision


def _assume_comparison(analyzer: Analyzer, op: arith.CmpiOp, holds: bool) -> list[tuple[SSAValue, bool]]:
    operands, name = compared_numbers(analyzer, op), comparison_name(op)
    if operands is None or name is None:
        return []
    lhs, rhs = operands
    name = name if holds else NEGATED[name]
    if name in ("gt", "ge"):
        lhs, rhs, name = rhs, lhs, {"gt": "lt", "ge": "le"}[name]
    difference = rhs - lhs
    if name == "ne":
        low, high = analyzer.bounds(difference)
        facts = [difference - 1] if low == 0 else [-difference - 1] if high == 0 else []
    elif name == "eq":
        facts = [difference, -difference]
    else:
        facts = [difference - 1 if name == "lt" else difference]
    for fact in facts:
        analyzer.assume_not_negative(fact)
    return []


def _decide_and(analyzer: Analyzer, op: arith.AndIOp) -> bool | None:
    a, b = analyzer.decide(op.lhs), analyzer.decide(op.rhs)
    return False if a is False or b is False else True if a and b else None


def _decide_or(analyzer: Analyzer, op: arith.OrIOp) -> bool | None:
    a, b = analyzer.decide(op.lhs), analyzer.decide(op.rhs)
    return True if a or b else False if a is False and b is False else None


def _decide_xor(analyzer: Analyzer, op: arith.XOrIOp) -> bool | None:
    a, b = analyzer.decide(op.lhs), analyzer.decide(op.rhs)
    return None if a is None or b is None else a != b


def _decide_choice(analyzer: Analyzer, condition: SSAValue, then: SSAValue, orelse: SSAValue) -> bool | None:
    chosen = analyzer.decide(condition)
    if chosen is not None:
        return analyzer.decide(then if chosen else orelse)
    a, b = analyzer.decide(then), analyzer.decide(orelse)
    return a if a is b else None


def yielded_values(op: IfThenElseOp) -> tuple[SSAValue, SSAValue]:
    """The values that the two regions of a lazy conditional yield."""
    then, orelse = (region.block.last_op for region in op.regions)
    assert isinstance(then, YieldOp)
    assert isinstance(orelse, YieldOp)
    return then.value, orelse.value


def _decide_cast(analyzer: Analyzer, op: CastOp) -> bool | None:
    if not isinstance(op.value.type, IntegerType):
        return None
    return analyzer.compare("ne", analyzer.exact(op.value), 0)


def _decide_likely(analyzer: Analyzer, op: IntrinsicOp) -> bool | None:
    return analyzer.decide(op.args[0]) if op.intrinsic.data == "likely" else None


_DECIDE: dict[type[Any], Callable[[Analyzer, Any], bool | None]] = {
    arith.CmpiOp: _decide_comparison,
    arith.AndIOp: _decide_and,
    arith.OrIOp: _decide_or,
    arith.XOrIOp: _decide_xor,
    arith.SelectOp: lambda a, op: _decide_choice(a, op.cond, op.lhs, op.rhs),
    IfThenElseOp: lambda a, op: _decide_choice(a, op.condition, *yielded_values(op)),
    CastOp: _decide_cast,
    IntrinsicOp: _decide_likely,
    LetOp: lambda a, op: a.decide(op.value),
}


def _assume_and(analyzer: Analyzer, op: Operation, holds: bool) -> list[tuple[SSAValue, bool]]:
    if holds:
        return [(operand, True) for operand in op.operands]
    return [(b, False) for a, b in (op.operands, op.operands[::-1]) if analyzer.decide(a) is True]


def _assume_or(analyzer: Analyzer, op: Operation, holds: bool) -> list[tuple[SSAValue, bool]]:
    if not holds:
        return [(operand, False) for operand in op.operands]
    return [(b, True) for a, b in (op.operands, op.operands[::-1]) if analyzer.decide(a) is False]


def _assume_xor(analyzer: Analyzer, op: arith.XOrIOp, holds: bool) -> list[tuple[SSAValue, bool]]:
    other = analyzer.decide(op.rhs)
    return [] if other is None else [(op.lhs, holds != other)]


def _assume_lazy(analyzer: Analyzer, op: IfThenElseOp, holds: bool) -> list[tuple[SSAValue, bool]]:
    """`if a then b else false` and `if a then true else b` are `a and b`, `a or b`."""
    then, orelse = yielded_values(op)
    a, b = analyzer.decide(then), analyzer.decide(orelse)
    if b is (not holds):
        return [(op.condition, True), (then, holds)]
    if a is (not holds):
        return [(op.condition, False), (orelse, holds)]
    return []


def _assume_likely(_analyzer: Analyzer, op: IntrinsicOp, holds: bool) -> list[tuple[SSAValue, bool]]:
    return [(op.args[0], holds)] if op.intrinsic.data == "likely" else []


_ASSUME: dict[type[Any], Callable[[Analyzer, Any, bool], list[tuple[SSAValue, bool]]]] = {
    arith.CmpiOp: _assume_comparison,
    arith.AndIOp: _assume_and,
    arith.OrIOp: _assume_or,
    arith.XOrIOp: _assume_xor,
    IfThenElseOp: _assume_lazy,
    IntrinsicOp: _assume_likely,
    LetOp: lambda a, op, holds: [(op.value, holds)],
}
