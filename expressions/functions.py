"""Functions of expressions, by TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import dtypes
from ..core.dtypes import DType
from ..dialects.tir import FLOAT_UNARY, INT_UNARY
from .errors import TeError
from .expr import (
    BOOL,
    FLOAT32,
    And,
    Call,
    FloatImm,
    IfThenElse,
    IntImm,
    Max,
    Min,
    Or,
    PrimExpr,
    as_condition,
    as_dtype,
    as_expr,
    binary,
    cast,
    match,
)
from .tensor import comm_reducer


def _unary(name: str) -> Callable[[Any], PrimExpr]:
    def function(x: Any, span: None = None) -> PrimExpr:
        value = as_expr(x)
        dtype = value.data_type
        if name in INT_UNARY and not dtype.is_float and not dtype.is_bool:
            result = DType("int", 32, dtype.lanes) if name == "clz" else dtype
            return Call(result.name, name, (value,))
        if name in ("floor", "ceil", "trunc", "nearbyint") and not dtype.is_float:
            return value
        if name not in FLOAT_UNARY:
            raise TeError(f"{name} of a {dtype}, expected an integer")
        if not dtype.is_float:
            value = cast(FLOAT32.with_lanes(dtype.lanes).name, value)
        return Call(value.dtype, name, (value,))

    function.__name__ = name
    function.__doc__ = f"The function {name} of a number; an integer is converted to float32 where only floats go."
    return function


def _float_intrinsic(name: str) -> Callable[[Any], PrimExpr]:
    def function(x: Any, span: None = None) -> PrimExpr:
        value = as_expr(x)
        if not value.data_type.is_float:
            value = cast(FLOAT32.name, value)
        return Call(value.dtype, name, (value,))

    function.__name__ = name
    return function


def _classify(name: str) -> Callable[[Any], PrimExpr]:
    def function(x: Any, span: None = None) -> PrimExpr:
        value = as_expr(x)
        if not value.data_type.is_float:
            return IntImm(BOOL.name, name == "isfinite")
        return Call(BOOL.name, name, (value,))

    function.__name__ = name
    return function


def _of_two_floats(name: str) -> Callable[[Any, Any], PrimExpr]:
    def function(x: Any, y: Any, span: None = None) -> PrimExpr:
        a, b = match(x, y)
        if not a.data_type.is_float:
            a, b = cast(FLOAT32.name, a), cast(FLOAT32.name, b)
        return binary(name, a, b) if name == "pow" else Call(a.dtype, name, (a, b))

    function.__name__ = name
    return function


abs = _unary("abs")
acos = _unary("acos")
acosh = _unary("acosh")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
ceil = _unary("ceil")
clz = _unary("clz")
cos = _unary("cos")
cosh = _unary("cosh")
erf = _unary("erf")
exp = _unary("exp")
exp2 = _unary("exp2")
floor = _unary("floor")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
nearbyint = _unary("nearbyint")
popcount = _unary("popcount")
round = _unary("nearbyint")
rsqrt = _unary("rsqrt")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = _unary("trunc")
exp10 = _float_intrinsic("exp10")
sigmoid = _float_intrinsic("sigmoid")
isfinite = _classify("isfinite")
isinf = _classify("isinf")
isnan = _classify("isnan")
power = _of_two_floats("pow")
fmod = _of_two_floats("fmod")
hypot = _of_two_floats("hypot")
atan2 = _of_two_floats("atan2")
copysign = _of_two_floats("copysign")
nextafter = _of_two_floats("nextafter")


def reinterpret(dtype: str, value: Any, span: None = None) -> PrimExpr:
    """The bits of a number as one of another data type of as many. TeError for one of others, and for bools."""
    expr, wanted = as_expr(value), as_dtype(dtype)
    have = expr.data_type
    if have.is_bool or wanted.is_bool or (have.bits, have.lanes) != (wanted.bits, wanted.lanes):
        raise TeError(f"reinterpret of {have} as {wanted}, expected as many bits, and no bool")
    return expr if have == wanted else Call(wanted.name, "reinterpret", (expr,))


def div(a: Any, b: Any) -> PrimExpr:
    """`a / b` of floats; of integers it rounds towards zero."""
    lhs, rhs = match(a, b)
    return binary("div" if lhs.data_type.is_float else "truncdiv", lhs, rhs)


def truncdiv(a: Any, b: Any) -> PrimExpr:
    """The quotient of integers, rounded towards zero."""
    return binary("truncdiv", a, b)


def truncmod(a: Any, b: Any) -> PrimExpr:
    """What `truncdiv` leaves."""
    return binary("truncmod", a, b)


def floordiv(a: Any, b: Any) -> PrimExpr:
    """The quotient, rounded down."""
    return binary("floordiv", a, b)


def floormod(a: Any, b: Any) -> PrimExpr:
    """What `floordiv` leaves."""
    return binary("floormod", a, b)


indexdiv, indexmod = floordiv, floormod


def if_then_else(cond: Any, t: Any, f: Any, span: None = None) -> PrimExpr:
    """One of two values; only that one is computed."""
    return IfThenElse(cond, t, f)


def all(*args: Any, axis: Any = None, where: Any = None, init: Any = None, span: None = None) -> PrimExpr:
    """Whether all conditions hold; with an axis, whether a condition holds all along it."""
    if axis is not None:
        return _all_along(*args, axis=axis, where=where, init=init)
    return _joined("all", And, args)


def any(*args: Any, axis: Any = None, where: Any = None, init: Any = None, span: None = None) -> PrimExpr:
    """Whether one condition holds at least; with an axis, whether a condition holds somewhere along it."""
    if axis is not None:
        return _any_along(*args, axis=axis, where=where, init=init)
    return _joined("any", Or, args)


def _joined(name: str, kind: type[And], conditions: tuple[Any, ...]) -> PrimExpr:
    if not conditions:
        raise TeError(f"{name}() takes at least one condition")
    result = as_condition(conditions[0])
    for condition in conditions[1:]:
        result = kind(result, condition)
    return result


def min_value(dtype: str) -> PrimExpr:
    """The least finite number of a data type."""
    return _limit(dtypes.min_value, dtype)


def max_value(dtype: str) -> PrimExpr:
    """The greatest finite number of a data type."""
    return _limit(dtypes.max_value, dtype)


def _limit(find: Callable[[DType], int | float], dtype: str) -> PrimExpr:
    kind = dtypes.parse_dtype(dtype)
    number = find(kind)
    return FloatImm(dtype, number) if kind.is_float else IntImm(dtype, int(number))


def _zero(dtype: str) -> PrimExpr:
    return cast(dtype, 0)


def _one(dtype: str) -> PrimExpr:
    return cast(dtype, 1)


def _add(x: Any, y: Any) -> Any:
    return x | y if x.data_type.is_bool else x + y


_all_along = comm_reducer(And, _one, name="all")
_any_along = comm_reducer(Or, _zero, name="any")
sum = comm_reducer(_add, _zero, name="sum")
prod = comm_reducer(lambda x, y: x & y if x.data_type.is_bool else x * y, _one, name="prod")
max = comm_reducer(Max, min_value, name="max")
min = comm_reducer(Min, max_value, name="min")
