"""Operators on each element of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import DType, dtype_of_numpy, int_range, numpy_dtype, parse_dtype
from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import Not, PrimExpr, Select, as_expr, cast, const
from ..expressions.tensor import Tensor, elementwise
from .definition import Pattern, operator
from .requirements import require_integers

Array = Any


def unary(name: str, function: Callable[[Any], Any], reference: Callable[[Array], Array], meaning: str) -> Any:
    """Define an operator that computes a function of each element. meaning: what it computes, as a formula of x."""

    def formula(data: Tensor) -> Tensor:
        return elementwise(function, [data], f"T_{name.rpartition('.')[2]}")

    formula.__name__ = formula.__qualname__ = name.rpartition(".")[2]
    formula.__doc__ = f"Of each element x {meaning}."
    return operator(name, Pattern.ELEMWISE, reference)(formula)


def _rounded(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function on floats of at most 16 bits as it is computed: in 32 bits, and rounded."""

    def computed(x: Array) -> Array:
        with np.errstate(all="ignore"):
            if dtype_of_numpy(x.dtype).is_small_float:
                return np.asarray(function(x.astype("float32"))).astype(x.dtype)
            return function(x)

    return computed


def _erf(x: Array) -> Array:
    from math import erf

    return np.vectorize(erf, otypes=[x.dtype])(x) if x.size else x


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


abs = unary("abs", scalar.abs, np.abs, "`|x|`")
acos = unary("acos", scalar.acos, _rounded(np.arccos), "the arc cosine")
acosh = unary("acosh", scalar.acosh, _rounded(np.arccosh), "the inverse hyperbolic cosine")
asin = unary("asin", scalar.asin, _rounded(np.arcsin), "the arc sine")
asinh = unary("asinh", scalar.asinh, _rounded(np.arcsinh), "the inverse hyperbolic sine")
atan = unary("atan", scalar.atan, _rounded(np.arctan), "the arc tangent")
atanh = unary("atanh", scalar.atanh, _rounded(np.arctanh), "the inverse hyperbolic tangent")
bitwise_not = unary("bitwise_not", lambda x: ~_integer("bitwise_not", x), np.invert, "`~x`")
ceil = unary("ceil", scalar.ceil, np.ceil, "x rounded up")
copy = unary("copy", as_expr, np.copy, "x")
cos = unary("cos", scalar.cos, _rounded(np.cos), "the cosine")
cosh = unary("cosh", scalar.cosh, _rounded(np.cosh), "the hyperbolic cosine")
erf = unary("erf", scalar.erf, _rounded(_erf), "the error function")
exp = unary("exp", scalar.exp, _rounded(np.exp), "`e ** x`")
exp2 = unary("exp2", scalar.exp2, _rounded(np.exp2), "`2 ** x`")
floor = unary("floor", scalar.floor, np.floor, "x rounded down")
isfinite = unary("isfinite", scalar.isfinite, np.isfinite, "whether x is neither infinite nor NaN")
isinf = unary("isinf", scalar.isinf, np.isinf, "whether x is infinite")
isnan = unary("isnan", scalar.isnan, np.isnan, "whether x is NaN")
log = unary("log", scalar.log, _rounded(np.log), "the natural logarithm")
log10 = unary("log10", scalar.log10, _rounded(np.log10), "the logarithm to the base 10")
log1p = unary("log1p", scalar.log1p, _rounded(np.log1p), "the natural logarithm of `1 + x`")
log2 = unary("log2", scalar.log2, _rounded(np.log2), "the logarithm to the base 2")
logical_not = unary("logical_not", _logical_not, np.logical_not, "`not x`")
negative = unary("negative", _negative, np.negative, "`-x`")
round = unary("round", scalar.round, np.round, "the nearest integer, half to even")
rsqrt = unary("rsqrt", scalar.rsqrt, _rounded(lambda x: 1 / np.sqrt(x)), "`1 / sqrt(x)`")
sigmoid = unary("sigmoid", scalar.sigmoid, _rounded(lambda x: 1 / (1 + np.exp(-x))), "`1 / (1 + e ** -x)`")
sign = unary("sign", _sign, np.sign, "the sign: -1, 0 or 1")
sin = unary("sin", scalar.sin, _rounded(np.sin), "the sine")
sinh = unary("sinh", scalar.sinh, _rounded(np.sinh), "the hyperbolic sine")
sqrt = unary("sqrt", scalar.sqrt, np.sqrt, "the square root")
tan = unary("tan", scalar.tan, _rounded(np.tan), "the tangent")
tanh = unary("tanh", scalar.tanh, _rounded(np.tanh), "the hyperbolic tangent")
trunc = unary("trunc", scalar.trunc, np.trunc, "x rounded towards zero")


# With attributes


def _cast_reference(data: Array, dtype: str) -> Array:
    kind, target = parse_dtype(dtype), numpy_dtype(dtype)
    if not dtype_of_numpy(data.dtype).is_float or kind.is_float or kind.is_bool:
        with np.errstate(all="ignore"):
            return data.astype(target)
    return _saturated(data, kind)


def _saturated(data: Array, kind: DType) -> Array:
    """Floats as integers: towards zero, out of range the nearest number, NaN as 0 (docs/semantics.md)."""
    low, high = int_range(kind)
    inside = np.nan_to_num(data.astype("float64"), nan=0.0, posinf=float(high), neginf=float(low))
    made = [min(max(int(number), low), high) for number in inside.ravel()]
    return np.array(made, numpy_dtype(kind)).reshape(data.shape)


@operator("cast", Pattern.ELEMWISE, _cast_reference)
def cast_to(data: Tensor, dtype: str) -> Tensor:
    """Each element converted to another data type."""
    return elementwise(lambda x: cast(dtype, x), [data], "T_cast")


@operator("reinterpret", Pattern.ELEMWISE, lambda data, dtype: data.view(numpy_dtype(dtype)))
def reinterpret(data: Tensor, dtype: str) -> Tensor:
    """The bits of each element as a number of another data type, of as many bits."""
    return elementwise(lambda x: scalar.reinterpret(dtype, x), [data], "T_reinterpret")


def _clip_reference(data: Array, a_min: float, a_max: float) -> Array:
    low, high = data.dtype.type(a_min), data.dtype.type(a_max)
    with np.errstate(all="ignore"):
        least = np.where(data < high, data, high)
        return np.where(least > low, least, low)


@operator("clip", Pattern.ELEMWISE, _clip_reference)
def clip(data: Tensor, a_min: float, a_max: float) -> Tensor:
    """Each element, a_max where it is greater, and a_min where it is less; a NaN is a_max."""
    low, high = const(a_min, data.dtype), const(a_max, data.dtype)
    return elementwise(lambda x: scalar.max(scalar.min(x, high), low), [data], "T_clip")
