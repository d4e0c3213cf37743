"""Operators on each element of one tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import DType, dtype_of_numpy, int_range, numpy_dtype, parse_dtype
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import Not, PrimExpr, Select, as_expr, cast, const
from ..expressions.tensor import Tensor, elementwise_tensor
from .definition import Pattern, operator
from .requirements import require_integers

Array = Any


def define_unary(name: str, function: Callable[[Any], Any], reference: Callable[[Array], Array], meaning: str) -> Any:
    """Defines an operator that applies a function to each element. meaning: its docstring."""

    def formula(data: Tensor) -> Tensor:
        return elementwise_tensor(function, [data], f"T_{name.rpartition('.')[2]}")

    formula.__name__ = formula.__qualname__ = name.rpartition(".")[2]
    formula.__doc__ = meaning
    return operator(name, Pattern.ELEMWISE, reference)(formula)


def _in_float32(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function `function` on arrays, with floats of at most 16 bits computed in 32 bits and rounded."""

    def wrapper(x: Array) -> Array:
        with np.errstate(all="ignore"):
            if dtype_of_numpy(x.dtype).is_small_float:
                return np.asarray(function(x.astype("float32"))).astype(x.dtype)
            return function(x)

    return wrapper


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[x.dtype])(x) if x.size else x


def _sign(x: Any) -> PrimExpr:
    value = as_expr(x)
    zero, one = const(0, value.dtype), const(1, value.dtype)
    if value.data_type.kind == "uint" or value.data_type.is_bool:
        return Select(value > zero, one, zero)
    return Select(value > zero, one, Select(value < zero, const(-1, value.dtype), zero))


def _negative(x: Any) -> PrimExpr:
    value = as_expr(x)
    if value.data_type.kind == "uint" or value.data_type.is_bool:
        raise TeError(f"negative of {value.dtype}, expected signed integers or floats")
    return value * const(-1, value.dtype)


def _integer(name: str, x: Any) -> PrimExpr:
    value = as_expr(x)
    require_integers(value, name)
    return value


def _logical_not(x: Any) -> PrimExpr:
    value = as_expr(x)
    if not value.data_type.is_bool:
        raise TeError(f"logical_not of {value.dtype}, expected bool")
    return Not(value)


abs = define_unary("abs", scalar.abs, np.abs, "The absolute value of each element.")
acos = define_unary("acos", scalar.acos, _in_float32(np.arccos), "The arc cosine of each element.")
acosh = define_unary("acosh", scalar.acosh, _in_float32(np.arccosh), "The inverse hyperbolic cosine of each element.")
asin = define_unary("asin", scalar.asin, _in_float32(np.arcsin), "The arc sine of each element.")
asinh = define_unary("asinh", scalar.asinh, _in_float32(np.arcsinh), "The inverse hyperbolic sine of each element.")
atan = define_unary("atan", scalar.atan, _in_float32(np.arctan), "The arc tangent of each element.")
atanh = define_unary("atanh", scalar.atanh, _in_float32(np.arctanh), "The inverse hyperbolic tangent of each element.")
bitwise_not = define_unary(
    "bitwise_not", lambda x: ~_integer("bitwise_not", x), np.invert, "The bitwise complement of each element."
)
ceil = define_unary("ceil", scalar.ceil, np.ceil, "Rounds each element up.")
copy = define_unary("copy", as_expr, np.copy, "A copy of the tensor.")
cos = define_unary("cos", scalar.cos, _in_float32(np.cos), "The cosine of each element.")
cosh = define_unary("cosh", scalar.cosh, _in_float32(np.cosh), "The hyperbolic cosine of each element.")
erf = define_unary("erf", scalar.erf, _in_float32(_erf), "The error function of each element.")
exp = define_unary("exp", scalar.exp, _in_float32(np.exp), "The exponential `e ** x` of each element x.")
exp2 = define_unary("exp2", scalar.exp2, _in_float32(np.exp2), "The power `2 ** x` of each element x.")
floor = define_unary("floor", scalar.floor, np.floor, "Rounds each element down.")
isfinite = define_unary(
    "isfinite", scalar.isfinite, np.isfinite, "Tests each element for finiteness: neither infinite nor NaN."
)
isinf = define_unary("isinf", scalar.isinf, np.isinf, "Tests each element for infinity.")
isnan = define_unary("isnan", scalar.isnan, np.isnan, "Tests each element for NaN.")
log = define_unary("log", scalar.log, _in_float32(np.log), "The natural logarithm of each element.")
log10 = define_unary("log10", scalar.log10, _in_float32(np.log10), "The base-10 logarithm of each element.")
log1p = define_unary(
    "log1p", scalar.log1p, _in_float32(np.log1p), "The natural logarithm of `1 + x` for each element x."
)
log2 = define_unary("log2", scalar.log2, _in_float32(np.log2), "The base-2 logarithm of each element.")
logical_not = define_unary("logical_not", _logical_not, np.logical_not, "The logical NOT of each element.")
negative = define_unary("negative", _negative, np.negative, "Negates each element.")
round = define_unary(
    "round", scalar.round, np.round, "Rounds each element to the nearest integer, halves to the even integer."
)
rsqrt = define_unary(
    "rsqrt", scalar.rsqrt, _in_float32(lambda x: 1 / np.sqrt(x)), "The reciprocal square root of each element."
)
sigmoid = define_unary(
    "sigmoid",
    scalar.sigmoid,
    _in_float32(lambda x: 1 / (1 + np.exp(-x))),
    "The logistic function `1 / (1 + e ** -x)` of each element x.",
)
sign = define_unary("sign", _sign, np.sign, "The sign of each element: -1, 0 or 1.")
sin = define_unary("sin", scalar.sin, _in_float32(np.sin), "The sine of each element.")
sinh = define_unary("sinh", scalar.sinh, _in_float32(np.sinh), "The hyperbolic sine of each element.")
sqrt = define_unary("sqrt", scalar.sqrt, np.sqrt, "The square root of each element.")
tan = define_unary("tan", scalar.tan, _in_float32(np.tan), "The tangent of each element.")
tanh = define_unary("tanh", scalar.tanh, _in_float32(np.tanh), "The hyperbolic tangent of each element.")
trunc = define_unary("trunc", scalar.trunc, np.trunc, "Rounds each element towards zero.")


# With attributes


def _cast_reference(data: Array, dtype: str) -> Array:
    source, kind = dtype_of_numpy(data.dtype), parse_dtype(dtype)
    if not source.is_float or kind.is_float or kind.is_bool:
        with np.errstate(all="ignore"):
            # ml_dtypes has no casts between some of its types; the wide types represent all values of the narrow ones.
            wide = data.astype("float32" if source.is_float else "int64") if source.bits <= 8 else data
            return wide.astype(numpy_dtype(dtype))
    return _saturate(data, kind)


def _saturate(data: Array, kind: DType) -> Array:
    """Floats as integers: rounded towards zero, saturated out of range, NaN as 0 (docs/semantics.md)."""
    low, high = int_range(kind)
    inside = np.nan_to_num(data.astype("float64"), nan=0.0, posinf=float(high), neginf=float(low))
    integers = [min(max(int(number), low), high) for number in inside.ravel()]
    return np.array(integers, numpy_dtype(kind)).reshape(data.shape)


@operator("cast", Pattern.ELEMWISE, _cast_reference)
def cast_to(data: Tensor, dtype: str) -> Tensor:
    """Converts each element to another data type."""
    return elementwise_tensor(lambda x: cast(dtype, x), [data], "T_cast")


@operator("reinterpret", Pattern.ELEMWISE, lambda data, dtype: data.view(numpy_dtype(dtype)))
def reinterpret(data: Tensor, dtype: str) -> Tensor:
    """Reinterprets the bits of each element as a number of another data type of the same width."""
    return elementwise_tensor(lambda x: scalar.reinterpret(dtype, x), [data], "T_reinterpret")


def _clip_reference(data: Array, a_min: float, a_max: float) -> Array:
    low, high = data.dtype.type(a_min), data.dtype.type(a_max)
    with np.errstate(all="ignore"):
        least = np.where(data < high, data, high)
        return np.where(least > low, least, low)


@operator("clip", Pattern.ELEMWISE, _clip_reference)
def clip(data: Tensor, a_min: float, a_max: float) -> Tensor:
    """Limits each element to the interval from `a_min` to `a_max`; NaN becomes `a_max`."""
    low, high = const(a_min, data.dtype), const(a_max, data.dtype)
    return elementwise_tensor(lambda x: scalar.max(scalar.min(x, high), low), [data], "T_clip")
