"""Fewer or simpler operators with the same result: `SimplifyExpr`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from ....core.dtypes import dtype_of_numpy, is_float_dtype, max_value, min_value, numpy_dtype, parse_dtype
from ....operators import Operator
from ...relay.expr import Call, Constant, Expr, Function, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import TypedMutator
from ...relay.types import TensorType
from .layouts import in_layout
from .types import type_call


def simplify(func: Function) -> Function:
    """A typed graph with fewer or simpler operators. Sums and products with constants may round differently."""
    return _Simplification().visit(func)


Rule = Callable[[Call], Expr | None]
"""A simpler expression of the type of a call, None to keep the call."""


class _Simplification(TypedMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        new.known_type = call.known_type
        return _simplest(new)


def _simplest(expr: Expr) -> Expr:
    """An expression after the rules, as long as one applies."""
    while isinstance(expr, Call) and isinstance(expr.op, Operator):
        rules = _RULES.get(expr.op.name, ())
        simpler = next((new for rule in rules if (new := rule(expr)) is not None), None)
        if simpler is None:
            return expr
        simpler.known_type = expr.known_type
        expr = simpler
    return expr


def _call(name: str, *args: Any, **attributes: Any) -> Expr:
    """The simplest form of a call of an operator on operands with types."""
    return _simplest(type_call(new_call(name, *map(_typed, args), **attributes)))


def _typed(expr: Expr) -> Expr:
    if isinstance(expr, Constant) and expr.known_type is None:
        expr.known_type = TensorType(expr.array.shape, dtype_of_numpy(expr.array.dtype).name)
    return expr


def _is_call(expr: Expr, *names: str) -> bool:
    return operator_name(expr) in names


def _shape(expr: Expr) -> Sequence[int] | None:
    """The shape of a tensor, None unless it is known."""
    shape = expr.checked_type.shape
    return shape if all(isinstance(size, int) for size in shape) else None


def _attributes(expr: Expr) -> Any:
    assert isinstance(expr, Call)
    return expr.attrs


# Movement


def _reshape_once(call: Call) -> Expr | None:
    """Two changes of a shape are one."""
    inner, shape = call.args[0], _shape(call)
    if shape is None or not _is_call(inner, "reshape", "contrib_reverse_reshape") or _shape(inner) is None:
        return None
    assert isinstance(inner, Call)
    return new_call("reshape", inner.args[0], newshape=list(shape))


def _axes(call: Expr) -> list[int]:
    """The axes of a transpose, as numbers from 0 on."""
    rank, axes = len(call.checked_type.shape), _attributes(call).axes
    return list(reversed(range(rank))) if axes is None else [axis % rank for axis in axes]


def _transpose_once(call: Call) -> Expr | None:
    """Two orders of the axes are one, and the order as it was is none."""
    data, axes = call.args[0], _axes(call)
    if axes == sorted(axes):
        return data
    if _is_call(data, "transpose"):
        inner = _axes(data)
        return new_call("transpose", _operand(data), axes=[inner[axis] for axis in axes])
    if _is_call(data, "layout_transform"):
        layout = _reordered(_attributes(data).dst_layout, axes)
        return None if layout is None else in_layout(_operand(data), _attributes(data).src_layout, layout)
    return None


def _operand(call: Expr) -> Expr:
    assert isinstance(call, Call)
    return call.args[0]


def _reordered(layout: str, axes: Sequence[int]) -> str | None:
    """A layout without blocks in another order of the axes, None for one with blocks."""
    return "".join(layout[axis] for axis in axes) if layout.isalpha() else None


def _layout_once(call: Call) -> Expr | None:
    """Two changes of the layout are one."""
    data, source, target = call.args[0], call.attrs["src_layout"], call.attrs["dst_layout"]
    if source == target:
        return data
    if _is_call(data, "layout_transform"):
        return in_layout(_operand(data), _attributes(data).src_layout, target)
    if _is_call(data, "transpose") and source.isalpha():
        axes = _axes(data)
        before = "".join(source[axes.index(axis)] for axis in range(len(axes)))
        return in_layout(_operand(data), before, target)
    return None


# Data types


def _holds(outer: str, inner: str) -> bool:
    """Whether each number of the data type `inner` is one of `outer`."""
    if inner == outer:
        return True
    wide, narrow = (parse_dtype(each) for each in (outer, inner))
    if is_float_dtype(numpy_dtype(inner)):
        return is_float_dtype(numpy_dtype(outer)) and np.promote_types(numpy_dtype(outer), numpy_dtype(inner)) == (
            numpy_dtype(outer)
        )
    if inner == "bool":
        return True
    if outer == "bool":
        return False
    if is_float_dtype(numpy_dtype(outer)):
        return narrow.bits <= {16: 8, 32: 16, 64: 32}.get(wide.bits, 0) and outer.startswith("float")
    return float(min_value(wide)) <= float(min_value(narrow)) and float(max_value(wide)) >= float(max_value(narrow))


def _cast_once(call: Call) -> Expr | None:
    """A conversion to the data type as it is is none, and two conversions are one unless the first one changes a
    number."""
    data, dtype = call.args[0], call.checked_type.dtype
    source = data.checked_type.dtype
    if source == dtype:
        return data
    if not _is_call(data, "cast"):
        return None
    inner = _operand(data)
    first = inner.checked_type.dtype
    is_whole = not is_float_dtype(numpy_dtype(first)) or not is_float_dtype(numpy_dtype(dtype))
    if _holds(source, first) or (is_whole and _is_within(inner, source, dtype)):
        return new_call("cast", inner, dtype=dtype)
    return None


def _is_within(expr: Expr, *dtypes: str) -> bool:
    """Whether an expression clips its numbers to those of data types of integers."""
    if not _is_call(expr, "clip") or any(dtype == "bool" or is_float_dtype(numpy_dtype(dtype)) for dtype in dtypes):
        return False
    attrs = _attributes(expr)
    kinds = [parse_dtype(dtype) for dtype in dtypes]
    return all(min_value(kind) <= attrs.a_min and attrs.a_max <= max_value(kind) for kind in kinds)


def _clip_nothing(call: Call) -> Expr | None:
    """Integers between the bounds of their data type are not clipped."""
    dtype = call.checked_type.dtype
    if dtype == "bool" or is_float_dtype(numpy_dtype(dtype)):
        return None
    kind, attrs = parse_dtype(dtype), _attributes(call)
    return call.args[0] if attrs.a_min <= min_value(kind) and max_value(kind) <= attrs.a_max else None


# The shape and the data type of other tensors


def _concrete(name: str, attributes: Callable[[Any], dict[str, Any]], takes_data: bool = True) -> Rule:
    """The rule that states a shape or a data type instead of a tensor that has it."""

    def rule(call: Call) -> Expr | None:
        if _shape(call) is None and name != "cast":
            return None
        return new_call(name, *call.args[: int(takes_data)], **attributes(call.checked_type))

    return rule


def _full_like(call: Call) -> Expr | None:
    kind = call.checked_type
    fill = call.attrs["fill_value"]
    return None if _shape(call) is None else new_call("full", fill_value=fill, shape=kind.shape, dtype=kind.dtype)


# Numbers


def _filling(expr: Expr) -> Any:
    """The number that all elements of a tensor are, None if it is not known."""
    if isinstance(expr, Constant):
        array = expr.array
        return array.flat[0] if array.size and (array == array.flat[0]).all() else None
    for names, value in ((("zeros", "zeros_like"), 0), (("ones", "ones_like"), 1)):
        if _is_call(expr, *names):
            return value
    return _attributes(expr).fill_value if _is_call(expr, "full", "full_like") else None


_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}
"""The number that changes no operand on the left, or on both sides, of an operator."""


def _neutral(call: Call) -> Expr | None:
    """An operand that changes nothing goes, and a tensor that is one number becomes the number."""
    name = call.op.name
    for n, full in reversed(list(enumerate(call.args))):
        value, other = _filling(full), call.args[1 - n]
        if value is None or other.checked_type != call.checked_type:
            continue
        is_true = call.checked_type.dtype == "bool" and bool(value) and _NEUTRAL[name] == 1
        if (value == _NEUTRAL[name] or is_true) and (n == 1 or name in ("add", "multiply")):
            return other
        if not isinstance(full, Constant):
            number = _typed(Constant(np.asarray(value, numpy_dtype(call.checked_type.dtype))))
            return new_call(name, *([number, other] if n == 0 else [other, number]))
    return None


def _with_constant(call: Expr, name: str) -> tuple[Expr, Constant] | None:
    """The other operand and the constant of a sum or a product, if one operand is a constant."""
    if not _is_call(call, name):
        return None
    assert isinstance(call, Call)
    left, right = call.args
    if isinstance(left, Constant) == isinstance(right, Constant):
        return None
    return (left, right) if isinstance(right, Constant) else (right, left)  # pyright: ignore[reportReturnType]


def _combined(function: Any, left: Constant, right: Constant) -> Constant:
    return Constant(np.asarray(function(left.array, right.array), left.array.dtype))


def _linear(call: Call) -> Expr | None:
    """Sums and products with several constants have one constant of each kind: `x * a + b`."""
    name = call.op.name
    outer = _with_constant(call, name)
    if outer is None or call.checked_type.dtype == "bool":
        return None
    data, second = outer
    function = np.add if name == "add" else np.multiply
    same = _with_constant(data, name)
    if same is not None:
        return new_call(name, same[0], _typed(_combined(function, same[1], second)))
    shifted = _with_constant(data, "add") if name == "multiply" else None
    if shifted is None:
        return None
    product = _call("multiply", shifted[0], second)
    return new_call("add", product, _typed(_combined(np.multiply, shifted[1], second)))


def _twice(call: Call) -> Expr | None:
    """The sum of a tensor and itself is twice the tensor."""
    left, right = call.args
    if left is not right or call.checked_type.dtype == "bool":
        return None
    return new_call("multiply", left, Constant(np.asarray(2, numpy_dtype(call.checked_type.dtype))))


def _reciprocal_root(call: Call) -> Expr | None:
    """A number divided by a square root is a product with the reciprocal root."""
    number, root = call.args
    if not isinstance(number, Constant) or number.array.size != 1 or not _is_call(root, "sqrt"):
        return None
    result = _call("rsqrt", _operand(root))
    same_type = result.checked_type == call.checked_type
    return result if number.array.flat[0] == 1 and same_type else new_call("multiply", number, result)


def _on_quantized(call: Call) -> Expr | None:
    """The order of dequantized numbers is that of the integers."""
    data = call.args[0]
    if not _is_call(data, "qnn.dequantize"):
        return None
    assert isinstance(data, Call)
    scale = data.args[1]
    is_positive = isinstance(scale, Constant) and scale.array.size == 1 and scale.array.flat[0] > 0
    return new_call(call.op.name, data.args[0], **call.attrs) if is_positive else None


# Squares


def _monomial(expr: Expr) -> tuple[Any, list[Expr]]:
    """The number and the other factors of a product."""
    if isinstance(expr, Constant) and expr.array.size == 1:
        return expr.array.flat[0], []
    if _is_call(expr, "multiply"):
        assert isinstance(expr, Call)
        parts = [_monomial(each) for each in expr.args]
        return prod(number for number, _ in parts), [factor for _, factors in parts for factor in factors]
    return 1, [expr]


def _terms(expr: Expr) -> list[Expr]:
    """The terms of a sum of three."""
    if not _is_call(expr, "add"):
        return [expr]
    assert isinstance(expr, Call)
    return [term for each in expr.args for term in _terms(each)]


def _squares(call: Call) -> Expr | None:
    """`a x x + b x y + c y y` is the product of two sums, if the numbers of one of them are whole."""
    terms = _terms(call)
    if len(terms) != 3:
        return None
    monomials = [_monomial(term) for term in terms]
    if any(len(factors) != 2 for _, factors in monomials):
        return None
    squares = [(number, pair[0]) for number, pair in monomials if pair[0] is pair[1]]
    mixed = [(number, pair) for number, pair in monomials if pair[0] is not pair[1]]
    if len(squares) != 2 or len(mixed) != 1:
        return None
    (a, x), (c, y) = squares if squares[0][0] == 1 else reversed(squares)
    b, pair = mixed[0]
    if a != 1 or {id(each) for each in pair} != {id(x), id(y)} or x is y:
        return None
    roots = _whole_roots(b, c)
    types = [each.checked_type == call.checked_type for each in (x, y)]
    if roots is None or not all(types):
        return None
    sums = {root: _sum(x, root, y) for root in roots}
    return new_call("multiply", *(sums[root] for root in roots))


def _whole_roots(b: Any, c: Any) -> tuple[int, int] | None:
    """The whole numbers p and q with the sum b and the product c, if there are any."""
    if b != int(b) or c != int(c):
        return None
    square = int(b) ** 2 - 4 * int(c)
    if square < 0 or isqrt(square) ** 2 != square:
        return None
    return (int(b) + isqrt(square)) // 2, (int(b) - isqrt(square)) // 2


def _sum(x: Expr, root: int, y: Expr) -> Expr:
    """`x + root * y`."""
    number = Constant(np.asarray(root, numpy_dtype(y.checked_type.dtype)))
    return _call("add", x, y if root == 1 else _call("multiply", number, y))


_RULES: dict[str, Sequence[Rule]] = {
    "reshape": [_reshape_once],
    "contrib_reverse_reshape": [_reshape_once],
    "transpose": [_transpose_once],
    "layout_transform": [_layout_once],
    "cast": [_cast_once],
    "cast_like": [_concrete("cast", lambda kind: {"dtype": kind.dtype})],
    "clip": [_clip_nothing],
    "reshape_like": [_concrete("reshape", lambda kind: {"newshape": list(kind.shape)})],
    "broadcast_to_like": [_concrete("broadcast_to", lambda kind: {"shape": kind.shape})],
    "collapse_sum_like": [_concrete("collapse_sum_to", lambda kind: {"shape": kind.shape})],
    "zeros_like": [_concrete("zeros", lambda kind: {"shape": kind.shape, "dtype": kind.dtype}, takes_data=False)],
    "ones_like": [_concrete("ones", lambda kind: {"shape": kind.shape, "dtype": kind.dtype}, takes_data=False)],
    "full_like": [_full_like],
    "add": [_neutral, _linear, _twice, _squares],
    "multiply": [_neutral, _linear],
    "subtract": [_neutral],
    "divide": [_neutral, _reciprocal_root],
    **{name: [_on_quantized] for name in ("argmax", "argmin", "argsort")},
}
"""The rules by the name of the operator, in the order in which they are tried."""
