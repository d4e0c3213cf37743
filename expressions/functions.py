"""Mathematical functions on expressions, by TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    Or,
    PrimExpr,
    PureExternCall,
    as_condition,
    as_dtype,
    as_expr,
    binary_expr,
    cast,
    promote_operands,
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


def _float_binary(name: str) -> Callable[[Any, Any], PrimExpr]:
    def function(x: Any, y: Any, span: None = None) -> PrimExpr:
        a, b = promote_operands(x, y)
        if not a.data_type.is_float:
            a, b = cast(FLOAT32.name, a), cast(FLOAT32.name, b)
        return binary_expr(name, a, b) if name == "pow" else Call(a.dtype, name, (a, b))

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
power = _float_binary("pow")
fmod = _float_binary("fmod")
hypot = _float_binary("hypot")
atan2 = _float_binary("atan2")
copysign = _float_binary("copysign")
nextafter = _float_binary("nextafter")


def reinterpret(dtype: str, value: Any, span: None = None) -> PrimExpr:
    """The bits of a number, or of a vector, reinterpreted as another data type. TeError unless both types have the same
    number of bits, as lanes of the same size or of bytes, and for bools."""
    expr, wanted = as_expr(value), as_dtype(dtype)
    have = expr.data_type
    has_lanes = have.lanes == wanted.lanes or min(have.bits, wanted.bits) >= 8
    if have.is_bool or wanted.is_bool or have.bits * have.lanes != wanted.bits * wanted.lanes or not has_lanes:
        raise TeError(f"reinterpret of {have} as {wanted}, expected as many bits, and no bool")
    return expr if have == wanted else Call(wanted.name, "reinterpret", (expr,))


def call_pure_extern(dtype: str, func_name: str, *args: Any, span: None = None) -> PrimExpr:
    """The result of a C function without side effects on numbers, `call_pure_extern("float32", "expf", A[i])`."""
    return PureExternCall(as_dtype(dtype).name, func_name, tuple(as_expr(arg) for arg in args))


def div(a: Any, b: Any) -> PrimExpr:
    """The quotient of `a` and `b`; the quotient of integers is rounded towards zero."""
    lhs, rhs = promote_operands(a, b)
    return binary_expr("div" if lhs.data_type.is_float else "truncdiv", lhs, rhs)


def truncdiv(a: Any, b: Any) -> PrimExpr:
    """The quotient of integers, rounded towards zero."""
    return binary_expr("truncdiv", a, b)


def truncmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `truncdiv`."""
    return binary_expr("truncmod", a, b)


def floordiv(a: Any, b: Any) -> PrimExpr:
    """The quotient of `a` and `b`, rounded down."""
    return binary_expr("floordiv", a, b)


def floormod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `floordiv`."""
    return binary_expr("floormod", a, b)


indexdiv, indexmod = floordiv, floormod


def if_then_else(cond: Any, t: Any, f: Any, span: None = None) -> PrimExpr:
    """`t` if `cond` holds, else `f`; only the selected value is computed."""
    return IfThenElse(cond, t, f)


def all(*args: Any, axis: Any = None, where: Any = None, init: Any = None, span: None = None) -> PrimExpr:
    """Whether all conditions hold; with `axis`, whether a condition holds at every point of the reduction axes."""
    if axis is not None:
        return _all_along(*args, axis=axis, where=where, init=init)
    return _join("all", And, args)


def any(*args: Any, axis: Any = None, where: Any = None, init: Any = None, span: None = None) -> PrimExpr:
    """Whether any condition holds; with `axis`, whether a condition holds at any point of the reduction axes."""
    if axis is not None:
        return _any_along(*args, axis=axis, where=where, init=init)
    return _join("any", Or, args)


def _join(name: str, kind: type[And], conditions: tuple[Any, ...]) -> PrimExpr:
    if not conditions:
        raise TeError(f"{name}() takes at least one condition")
    result = as_condition(conditions[0])
    for condition in map(as_condition, conditions[1:]):
        result = _joined(kind, result, condition)
    return result


def _joined(kind: type[And], a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """The conjunction or disjunction of two conditions, folded if a condition is constant."""
    if not isinstance(a, IntImm) and not isinstance(b, IntImm):
        return kind(a, b)
    constant, other = (a, b) if isinstance(a, IntImm) else (b, a)
    assert isinstance(constant, IntImm)
    is_decisive = bool(constant.value) == (kind is not And)  # True of `any`, False of `all`
    return constant if is_decisive else other


def min_value(dtype: str) -> PrimExpr:
    """The smallest finite value of a data type."""
    return _limit(dtypes.min_value, dtype)


def max_value(dtype: str) -> PrimExpr:
    """The largest finite value of a data type."""
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
max = comm_reducer(partial(binary_expr, "max"), min_value, name="max")
min = comm_reducer(partial(binary_expr, "min"), max_value, name="min")
