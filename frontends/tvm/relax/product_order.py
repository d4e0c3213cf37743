"""The order of two products of matrices: `AdjustMatmulOrder`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from .calls import op
from .expr import Call, Expr, Var
from .rewrites import Rule, is_call, value_of

Polynomial = dict[tuple[str, ...], int]
"""The coefficients of the products of names."""


def product_order(bounds: Mapping[str, int]) -> Rule:
    """The rule that replaces two products by those in the other order, if these take fewer multiplications, or multiply
    two weights first. bounds: the greatest values of names of sizes, if they have one."""

    def rule(call: Call, weights: set[Var]) -> Expr | None:
        for operands, is_left_first in _readings(call):
            if (new := _reordered(operands, is_left_first, weights, bounds)) is not None:
                return new
        return None

    return rule


def _readings(call: Call) -> list[tuple[list[Any], bool]]:
    """The three factors of two products, and whether the first two are multiplied first."""
    if not _is_product(call):
        return []
    first, second = call.args
    left, right = _factors(first), _factors(second)
    readings: list[tuple[list[Any], bool]] = []
    if left is not None:
        readings.append(([*left, second], True))
    if right is not None:
        readings.append(([first, *right], False))
    return readings


def _is_product(expr: Any) -> bool:
    return is_call(expr, "matmul") and not expr.attrs.explicit


def _factors(expr: Any) -> list[Any] | None:
    """The factors of a product, or of the transpose of a product of matrices; None for another expression."""
    value = value_of(expr)
    if _is_product(value):
        return list(value.args)
    if is_call(value, "permute_dims") and value.attrs.get("axes") in (None, [1, 0], (1, 0)):
        inner = value_of(value.args[0])
        if _is_product(inner) and all(each.struct_info.ndim == 2 for each in inner.args):
            return [op.permute_dims(each) for each in inner.args[::-1]]
    return None


def _reordered(
    operands: Sequence[Any], is_left_first: bool, weights: set[Var], bounds: Mapping[str, int]
) -> Expr | None:
    """The product of three factors in the other order, None if it is no better."""
    a, b, c = operands
    shapes = [_shape(each) for each in operands]
    if any(shape is None for shape in shapes) or not _is_associative(*map(len, shapes)):  # pyright: ignore[reportArgumentType]
        return None
    known = [_is_weight(each, weights) for each in operands]
    if all(known):
        return None
    if known[:2] == [True, True] or known[1:] == [True, True]:
        is_better = is_left_first != known[0]
    else:
        is_better = _is_cheaper(shapes, is_left_first, bounds)
    if not is_better:
        return None
    return op.matmul(a, op.matmul(b, c)) if is_left_first else op.matmul(op.matmul(a, b), c)


def _shape(value: Any) -> Sequence[Any] | None:
    shape = value.struct_info.shape
    return None if shape is None else list(shape)


def _is_weight(value: Any, weights: set[Var]) -> bool:
    return value in weights or (is_call(value, "permute_dims") and value.args[0] in weights)


def _is_associative(first: int, second: int, third: int) -> bool:
    """Whether products of tensors of these ranks may be computed in either order: a vector is a row or a column."""
    return second == 2 or (second > 2 and min(first, third) >= 2)


def _is_cheaper(shapes: Sequence[Any], is_left_first: bool, bounds: Mapping[str, int]) -> bool:
    """Whether the other order takes fewer multiplications for all sizes."""
    first, second, third = shapes
    rows = first[-2] if len(first) > 1 else 1
    columns = third[-1] if len(third) > 1 else 1
    left, right = second[-2:]
    both = [
        _sum(_product(rows, left, right), _product(rows, right, columns)),  # the first two factors first
        _sum(_product(left, right, columns), _product(rows, left, columns)),
    ]
    if any(each is None for each in both):
        return False
    before, after = both if is_left_first else both[::-1]
    return _is_positive(_sum(before, after, -1), bounds)


# Polynomials of sizes


def _product(*sizes: Any) -> Polynomial | None:
    """The product of numbers and names, None for other sizes."""
    factor, names = 1, list[str]()
    for each in sizes:
        if isinstance(each, int):
            factor *= each
        elif str(each).isidentifier():
            names.append(str(each))
        else:
            return None
    return {tuple(sorted(names)): factor}


def _sum(first: Polynomial | None, second: Polynomial | None, sign: int = 1) -> Polynomial | None:
    if first is None or second is None:
        return None
    total = Counter(first)
    for names, factor in second.items():
        total[names] += sign * factor
    return dict(total)


def _is_positive(polynomial: Polynomial | None, bounds: Mapping[str, int]) -> bool:
    """Whether a polynomial is positive for all names from 1 up to their bounds, as far as it is known.

    It is linear in a name that each product has once: it is positive if it is so at both ends. A name without a bound
    is `1 + t`; the polynomial is positive if no coefficient of `t` is negative.
    """
    if polynomial is None:
        return False
    names = sorted({name for each in polynomial for name in each})
    ends = [name for name in names if name in bounds and all(each.count(name) <= 1 for each in polynomial)]
    values = [dict(zip(ends, point, strict=True)) for point in product(*((1, bounds[name]) for name in ends))]
    return all(_grows_from_positive(_substitute(polynomial, each)) for each in values)


def _substitute(polynomial: Polynomial, values: Mapping[str, int]) -> Polynomial:
    total: Counter[tuple[str, ...]] = Counter()
    for names, factor in polynomial.items():
        for name in names:
            factor *= values.get(name, 1)
        total[tuple(name for name in names if name not in values)] += factor
    return dict(total)


def _grows_from_positive(polynomial: Polynomial) -> bool:
    """Whether a polynomial is positive where all names are 1, and no coefficient is negative around there."""
    around: Counter[tuple[str, ...]] = Counter()
    for names, factor in polynomial.items():
        for chosen in product((False, True), repeat=len(names)):
            around[tuple(name for name, each in zip(names, chosen, strict=True) if each)] += factor
    return around[()] > 0 and all(factor >= 0 for factor in around.values())
