"""Operators on pairs of elements of two tensors, or of a tensor and a number, whose shapes broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import dtype_of_numpy
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, binary_expr, promote_operands
from ..expressions.tensor import Tensor, elementwise_tensor
from .definition import Pattern, operator

Array = Any


BROADCASTING = {"where"}
"""The names of operators of which all operands broadcast to each other."""


def define_binary(name: str, function: Callable[[Any, Any], Any], reference: Callable[..., Array], meaning: str) -> Any:
    """Defines an operator that applies a function to pairs of elements. meaning: its docstring."""

    def formula(lhs: Tensor, rhs: Tensor) -> Tensor:
        return elementwise_tensor(function, [lhs, rhs], f"T_{name}")

    formula.__name__ = formula.__qualname__ = name
    formula.__doc__ = meaning
    BROADCASTING.add(name)
    return operator(name, Pattern.BROADCAST, reference)(formula)


def _silence(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of numpy without warnings, whose result has the data type of the operands, in which integers wrap."""

    def wrapper(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b)).astype(np.result_type(a, b))

    return wrapper


def _is_float(a: Array) -> bool:
    return dtype_of_numpy(a.dtype).is_float


def _truncating_divide(a: Array, b: Array) -> Array:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def _promotion(
    name: str, wanted: str, accepts: Callable[[PrimExpr], bool]
) -> Callable[[Any, Any], tuple[PrimExpr, PrimExpr]]:
    """A function that promotes two operands to one data type. TeError if the operator does not accept the data type."""

    def promote(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
        lhs, rhs = promote_operands(a, b)
        if not accepts(lhs):
            raise TeError(f"{name} of {lhs.dtype}, expected {wanted}")
        return lhs, rhs

    return promote


def _integers(name: str, operation: str) -> Callable[[Any, Any], PrimExpr]:
    operands = _promotion(name, "integers", lambda a: not a.data_type.is_float and not a.data_type.is_bool)
    return lambda a, b: binary_expr(operation, *operands(a, b))


def _bools(name: str, operation: str) -> Callable[[Any, Any], PrimExpr]:
    operands = _promotion(name, "bool", lambda a: a.data_type.is_bool)
    return lambda a, b: binary_expr(operation, *operands(a, b))


def _numbers(name: str, of_floats: Callable[[Any, Any], Any], of_integers: str) -> Callable[[Any, Any], Any]:
    operands = _promotion(name, "numbers", lambda a: not a.data_type.is_bool)

    def function(a: Any, b: Any) -> Any:
        lhs, rhs = operands(a, b)
        return of_floats(lhs, rhs) if lhs.data_type.is_float else binary_expr(of_integers, lhs, rhs)

    return function


def _floats(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    operands = _promotion(name, "floats", lambda a: a.data_type.is_float)
    return lambda a, b: operation(*operands(a, b))


add = define_binary(
    "add", lambda a, b: binary_expr("add", a, b), _silence(np.add), "Adds two tensors element by element."
)
subtract = define_binary(
    "subtract",
    lambda a, b: binary_expr("sub", a, b),
    _silence(np.subtract),
    "Subtracts the elements of `rhs` from the elements of `lhs`.",
)
multiply = define_binary(
    "multiply",
    lambda a, b: binary_expr("mul", a, b),
    _silence(np.multiply),
    "Multiplies two tensors element by element.",
)
divide = define_binary(
    "divide",
    _numbers("divide", lambda a, b: a / b, "truncdiv"),
    _silence(lambda a, b: a / b if _is_float(a) else _truncating_divide(a, b)),
    "Divides the elements of `lhs` by the elements of `rhs`; quotients of integers are rounded towards zero.",
)
floor_divide = define_binary(
    "floor_divide",
    _numbers("floor_divide", lambda a, b: scalar.floor(a / b), "floordiv"),
    _silence(lambda a, b: np.floor(a / b) if _is_float(a) else a // b),
    "Divides the elements of `lhs` by the elements of `rhs` and rounds the quotients down.",
)
trunc_divide = define_binary(
    "trunc_divide",
    _numbers("trunc_divide", lambda a, b: scalar.trunc(a / b), "truncdiv"),
    _silence(lambda a, b: np.trunc(a / b) if _is_float(a) else _truncating_divide(a, b)),
    "Divides the elements of `lhs` by the elements of `rhs` and rounds the quotients towards zero.",
)
mod = define_binary(
    "mod",
    _numbers("mod", scalar.fmod, "truncmod"),
    _silence(np.fmod),
    "The remainders of `lhs / rhs` with quotients rounded towards zero; a remainder has the sign of `lhs`.",
)
floor_mod = define_binary(
    "floor_mod",
    _numbers("floor_mod", lambda a, b: a - scalar.floor(a / b) * b, "floormod"),
    _silence(lambda a, b: a - np.floor(a / b) * b if _is_float(a) else a % b),
    "The remainders of `lhs / rhs` with quotients rounded down.",
)
maximum = define_binary(
    "maximum",
    lambda a, b: scalar.max(a, b),
    _silence(lambda a, b: np.where(a > b, a, b)),
    "The maximum of two tensors, element by element: `a if a > b else b`.",
)
minimum = define_binary(
    "minimum",
    lambda a, b: scalar.min(a, b),
    _silence(lambda a, b: np.where(a < b, a, b)),
    "The minimum of two tensors, element by element: `a if a < b else b`.",
)
power = define_binary(
    "power",
    _floats("power", scalar.power),
    _silence(np.power),
    "Raises the elements of `lhs` to the powers in `rhs`.",
)
atan2 = define_binary(
    "atan2",
    _floats("atan2", scalar.atan2),
    _silence(np.arctan2),
    "The angles of the points with ordinates in `lhs` and abscissas in `rhs`, from -pi to pi.",
)
left_shift = define_binary(
    "left_shift",
    _integers("left_shift", "shl"),
    _silence(np.left_shift),
    "Shifts the bits of the elements of `lhs` to the left by the elements of `rhs`.",
)
right_shift = define_binary(
    "right_shift",
    _integers("right_shift", "shr"),
    _silence(np.right_shift),
    "Shifts the bits of the elements of `lhs` to the right by the elements of `rhs`.",
)
bitwise_and = define_binary(
    "bitwise_and",
    _integers("bitwise_and", "and"),
    _silence(np.bitwise_and),
    "The bitwise AND of two integer tensors, element by element.",
)
bitwise_or = define_binary(
    "bitwise_or",
    _integers("bitwise_or", "or"),
    _silence(np.bitwise_or),
    "The bitwise OR of two integer tensors, element by element.",
)
bitwise_xor = define_binary(
    "bitwise_xor",
    _integers("bitwise_xor", "xor"),
    _silence(np.bitwise_xor),
    "The bitwise exclusive OR of two integer tensors, element by element.",
)
logical_and = define_binary(
    "logical_and",
    _bools("logical_and", "and"),
    np.logical_and,
    "The logical AND of two bool tensors, element by element.",
)
logical_or = define_binary(
    "logical_or",
    _bools("logical_or", "or"),
    np.logical_or,
    "The logical OR of two bool tensors, element by element.",
)
logical_xor = define_binary(
    "logical_xor",
    _bools("logical_xor", "xor"),
    np.logical_xor,
    "The logical exclusive OR of two bool tensors, element by element.",
)
equal = define_binary(
    "equal", lambda a, b: binary_expr("eq", a, b), np.equal, "Compares two tensors element by element: `lhs == rhs`."
)
not_equal = define_binary(
    "not_equal",
    lambda a, b: binary_expr("ne", a, b),
    np.not_equal,
    "Compares two tensors element by element: `lhs != rhs`.",
)
less = define_binary(
    "less", lambda a, b: binary_expr("lt", a, b), np.less, "Compares two tensors element by element: `lhs < rhs`."
)
less_equal = define_binary(
    "less_equal",
    lambda a, b: binary_expr("le", a, b),
    np.less_equal,
    "Compares two tensors element by element: `lhs <= rhs`.",
)
greater = define_binary(
    "greater", lambda a, b: binary_expr("gt", a, b), np.greater, "Compares two tensors element by element: `lhs > rhs`."
)
greater_equal = define_binary(
    "greater_equal",
    lambda a, b: binary_expr("ge", a, b),
    np.greater_equal,
    "Compares two tensors element by element: `lhs >= rhs`.",
)
