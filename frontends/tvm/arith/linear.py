"""Linear expressions and conditions: `tvm.arith.detect_linear_equation`, `detect_clip_bound`, `deduce_bound`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....expressions.axes import Range
from ....expressions.expr import EQ, GE, GT, LE, LT, And, CmpOp, IntImm, Max, Min, Not, Or, PrimExpr, Var, as_expr, cast
from ....expressions.functions import floordiv
from ..nodes.functor import post_order_visit, substitute
from .analyzer import Analyzer
from .int_set import IntervalSet, IntSet, interval_of, neg_inf, pos_inf


def detect_linear_equation(expr: Any, var_list: Sequence[Var]) -> list[PrimExpr]:
    """The coefficients of variables in a linear expression, and the rest; empty for an expression that is not linear in
    them."""
    value = as_expr(expr)
    if value.data_type.is_float or value.data_type.is_bool:
        return []
    if value.data_type.kind == "uint":
        value, var_list = _signed(value, var_list)
    analyzer = Analyzer()
    base = analyzer.simplify(substitute(value, {var: IntImm(var.dtype, 0) for var in var_list}))
    coefficients: list[PrimExpr] = []
    total = base
    for var in var_list:
        step = substitute(value, {var: var + 1}) - value
        found = analyzer.simplify(step)
        if set(_variables(found)) & set(var_list):
            return []
        coefficients.append(found)
        total = total + found * var
    return [*coefficients, base] if analyzer.can_prove_equal(total, value) else []


def _signed(value: PrimExpr, var_list: Sequence[Var]) -> tuple[PrimExpr, list[Var]]:
    """An expression of unsigned numbers as one of signed numbers, which have negative coefficients."""
    kind = value.dtype.removeprefix("u")
    new = {var: Var(var.name, kind) for var in _variables(value)}

    def change(expr: PrimExpr) -> PrimExpr:
        if isinstance(expr, Var):
            return new[expr]
        if isinstance(expr, IntImm):
            return IntImm(kind, expr.value)
        return expr.with_children([change(child) for child in expr.children])

    return change(value), [new.get(var, var) for var in var_list]


def _variables(expr: PrimExpr) -> list[Var]:
    found: dict[Var, None] = {}
    post_order_visit(expr, lambda node: found.setdefault(node) if isinstance(node, Var) else None)
    return list(found)


def _comparisons(condition: PrimExpr) -> Iterator[tuple[str, PrimExpr, PrimExpr] | None]:
    """The comparisons `ge` and `eq` of a conjunction, of an expression with another; None for another condition."""
    match condition:
        case Or():
            yield None
        case And():
            yield from _comparisons(condition.a)
            yield from _comparisons(condition.b)
        case Not(a=(LT() | LE() | GT() | GE()) as compared):
            opposite: Any = {LT: GE, LE: GT, GT: LE, GE: LT}[type(compared)]
            yield from _comparisons(opposite(compared.a, compared.b))
        case EQ():
            yield "eq", condition.a, condition.b
        case LT():
            yield from _at_least(condition.b - 1, condition.a)
        case LE():
            yield from _at_least(condition.b, condition.a)
        case GT():
            yield from _at_least(condition.a - 1, condition.b)
        case GE():
            yield from _at_least(condition.a, condition.b)
        case IntImm() if condition.value:
            return
        case _:
            yield None


def _at_least(high: PrimExpr, low: PrimExpr) -> Iterator[tuple[str, PrimExpr, PrimExpr]]:
    """`high >= low`; of each operand of a minimum or maximum, where it holds for all."""
    if isinstance(high, Min):
        yield from _at_least(high.a, low)
        yield from _at_least(high.b, low)
    elif isinstance(low, Max):
        yield from _at_least(high, low.a)
        yield from _at_least(high, low.b)
    elif high.children and isinstance(high.children[0], Min) and len(high.children) == 2:
        inner, other = high.children
        yield from _at_least(high.with_children([inner.children[0], other]), low)
        yield from _at_least(high.with_children([inner.children[1], other]), low)
    else:
        yield "ge", high, low


def detect_clip_bound(expr: Any, var_list: Sequence[Var]) -> list[PrimExpr | None]:
    """The least and the greatest value of each variable that the comparisons of a conjunction state, None without one;
    empty for another condition, and for a comparison of several of the variables."""
    analyzer = Analyzer()
    bounds: dict[Var, list[PrimExpr | None]] = {var: [None, None] for var in var_list}
    for comparison in _comparisons(as_expr(expr)):
        if comparison is None:
            return []
        name, a, b = comparison
        linear = detect_linear_equation(a - b, var_list)
        used = [n for n, each in enumerate(linear[:-1]) if not (isinstance(each, IntImm) and each.value == 0)]
        if not linear or len(used) > 1:
            return []
        for n in used:
            factor, base = linear[n], linear[-1]
            if not isinstance(factor, IntImm) or abs(factor.value) != 1:
                return []
            end = analyzer.simplify(base * -factor.value)
            sides = (0, 1) if name == "eq" else (0,) if factor.value > 0 else (1,)
            for side in sides:
                old = bounds[var_list[n]][side]
                both = end if old is None else (Max if side == 0 else Min)(old, end)
                bounds[var_list[n]][side] = analyzer.simplify(both)
    return [end for var in var_list for end in bounds[var]]


def deduce_bound(var: Var, cond: Any, hint_map: Mapping[Var, IntSet], relax_map: Mapping[Var, IntSet]) -> IntervalSet:
    """The values of a variable for which a comparison holds, for all values of the variables of `relax_map`.

    hint_map: sets that contain the values of variables. Empty for other conditions, and for coefficients whose sign is
    unknown.
    """
    condition = as_expr(cond)
    comparisons = list(_comparisons(condition)) if isinstance(condition, CmpOp) else []
    if len(comparisons) != 1 or comparisons[0] is None:
        return IntervalSet.nothing()
    name, a, b = comparisons[0]
    linear = detect_linear_equation(a - b, [var])
    if not linear or var not in _variables(a - b):
        return IntervalSet.nothing()
    factor, base = linear
    analyzer = _analyzer(hint_map)
    is_positive, is_negative = analyzer.can_prove(factor > 0), analyzer.can_prove(factor < 0)
    if not is_positive and not is_negative:
        return IntervalSet.nothing()
    if set(_variables(factor)) & set(relax_map):
        return IntervalSet.nothing()
    used = {each: relax_map[each] for each in _variables(base) if each in relax_map}
    ends = interval_of(base, used, {}) if used else IntervalSet(base, base)
    if name == "eq":
        value = analyzer.simplify(floordiv(-base, factor))
        if used or not analyzer.can_prove_equal(value * factor, -base):
            return IntervalSet.nothing()
        return IntervalSet(value, value)
    least = cast(var.dtype, ends.min_value)  # factor * var + least >= 0
    if is_positive:
        return IntervalSet(analyzer.simplify(-floordiv(least, factor)), pos_inf())
    return IntervalSet(neg_inf(), analyzer.simplify(floordiv(least, -factor)))


def _analyzer(sets: Mapping[Var, IntSet]) -> Analyzer:
    """An analyzer that knows the numbers of sets."""
    analyzer = Analyzer()
    for var, each in sets.items():
        analyzer.bind(var, Range(each.min_value, each.max_value - each.min_value + 1))
    return analyzer


__all__ = ["deduce_bound", "detect_clip_bound", "detect_linear_equation"]
