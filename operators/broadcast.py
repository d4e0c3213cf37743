"""Operators on the elements of two tensors, or of a tensor and a number, whose shapes go together as numpy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import dtype_of_numpy
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, binary, match
from ..expressions.tensor import Tensor, elementwise
from .definition import Pattern, operator

Array = Any


def of_two(name: str, function: Callable[[Any, Any], Any], reference: Callable[..., Array], meaning: str) -> Any:
    """Define an operator that computes a function of two elements. meaning: what, as a formula of a and b."""

    def formula(lhs: Tensor, rhs: Tensor) -> Tensor:
        return elementwise(function, [lhs, rhs], f"T_{name}")

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = f"Of each element a of lhs and b of rhs {meaning}."
    return operator(name, Pattern.BROADCAST, reference)(formula)


def _quiet(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of numpy without warnings, whose result has the operands' data type, as integers wrap."""

    def computed(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b)).astype(np.result_type(a, b))

    return computed


def _is_float(a: Array) -> bool:
    return dtype_of_numpy(a.dtype).is_float


def _truncated(a: Array, b: Array) -> Array:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def _both(
    name: str, wanted: str, accepts: Callable[[PrimExpr], bool]
) -> Callable[[Any, Any], tuple[PrimExpr, PrimExpr]]:
    """The operands of one type, if it is one that an operator takes."""

    def checked(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
        lhs, rhs = match(a, b)
        if not accepts(lhs):
            raise TeError(f"{name} of {lhs.dtype}, expected {wanted}")
        return lhs, rhs

    return checked


def _integers(name: str, operation: str) -> Callable[[Any, Any], PrimExpr]:
    operands = _both(name, "integers", lambda a: not a.data_type.is_float and not a.data_type.is_bool)
    return lambda a, b: binary(operation, *operands(a, b))


def _bools(name: str, operation: str) -> Callable[[Any, Any], PrimExpr]:
    operands = _both(name, "bool", lambda a: a.data_type.is_bool)
    return lambda a, b: binary(operation, *operands(a, b))


def _numbers(name: str, of_floats: Callable[[Any, Any], Any], of_integers: str) -> Callable[[Any, Any], Any]:
    operands = _both(name, "numbers", lambda a: not a.data_type.is_bool)

    def function(a: Any, b: Any) -> Any:
        lhs, rhs = operands(a, b)
        return of_floats(lhs, rhs) if lhs.data_type.is_float else binary(of_integers, lhs, rhs)

    return function


def _floats(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    operands = _both(name, "floats", lambda a: a.data_type.is_float)
    return lambda a, b: operation(*operands(a, b))


add = of_two("add", lambda a, b: binary("add", a, b), _quiet(np.add), "`a + b`")
subtract = of_two("subtract", lambda a, b: binary("sub", a, b), _quiet(np.subtract), "`a - b`")
multiply = of_two("multiply", lambda a, b: binary("mul", a, b), _quiet(np.multiply), "`a * b`")
divide = of_two(
    "divide",
    _numbers("divide", lambda a, b: a / b, "truncdiv"),
    _quiet(lambda a, b: a / b if _is_float(a) else _truncated(a, b)),
    "`a / b`, rounded towards zero if they are integers",
)
floor_divide = of_two(
    "floor_divide",
    _numbers("floor_divide", lambda a, b: scalar.floor(a / b), "floordiv"),
    _quiet(lambda a, b: np.floor(a / b) if _is_float(a) else a // b),
    "`a / b` rounded down",
)
mod = of_two(
    "mod",
    _numbers("mod", scalar.fmod, "truncmod"),
    _quiet(np.fmod),
    "what `a / b` rounded towards zero leaves, of the sign of a",
)
floor_mod = of_two(
    "floor_mod",
    _numbers("floor_mod", lambda a, b: a - scalar.floor(a / b) * b, "floormod"),
    _quiet(lambda a, b: a - np.floor(a / b) * b if _is_float(a) else a % b),
    "what `a / b` rounded down leaves",
)
maximum = of_two(
    "maximum", lambda a, b: scalar.max(a, b), _quiet(lambda a, b: np.where(a > b, a, b)), "`a if a > b else b`"
)
minimum = of_two(
    "minimum", lambda a, b: scalar.min(a, b), _quiet(lambda a, b: np.where(a < b, a, b)), "`a if a < b else b`"
)
power = of_two("power", _floats("power", scalar.power), _quiet(np.power), "`a ** b`")
left_shift = of_two("left_shift", _integers("left_shift", "shl"), _quiet(np.left_shift), "`a << b`")
right_shift = of_two("right_shift", _integers("right_shift", "shr"), _quiet(np.right_shift), "`a >> b`")
bitwise_and = of_two("bitwise_and", _integers("bitwise_and", "and"), _quiet(np.bitwise_and), "`a & b`")
bitwise_or = of_two("bitwise_or", _integers("bitwise_or", "or"), _quiet(np.bitwise_or), "`a | b`")
bitwise_xor = of_two("bitwise_xor", _integers("bitwise_xor", "xor"), _quiet(np.bitwise_xor), "`a ^ b`")
logical_and = of_two("logical_and", _bools("logical_and", "and"), np.logical_and, "`a and b`")
logical_or = of_two("logical_or", _bools("logical_or", "or"), np.logical_or, "`a or b`")
logical_xor = of_two("logical_xor", _bools("logical_xor", "xor"), np.logical_xor, "whether one holds, and not both")
equal = of_two("equal", lambda a, b: binary("eq", a, b), np.equal, "`a == b`")
not_equal = of_two("not_equal", lambda a, b: binary("ne", a, b), np.not_equal, "`a != b`")
less = of_two("less", lambda a, b: binary("lt", a, b), np.less, "`a < b`")
less_equal = of_two("less_equal", lambda a, b: binary("le", a, b), np.less_equal, "`a <= b`")
greater = of_two("greater", lambda a, b: binary("gt", a, b), np.greater, "`a > b`")
greater_equal = of_two("greater_equal", lambda a, b: binary("ge", a, b), np.greater_equal, "`a >= b`")
