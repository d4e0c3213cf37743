"""Functions on expressions that `tvm.tir` has besides those of `tvm.te`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ....core.llvm_intrinsics import LLVM_INTRINSICS
from ....expressions import functions
from ....expressions.buffers import BufferPointer
from ....expressions.errors import TeError
from ....expressions.expr import (
    Call,
    FloatImm,
    PrimExpr,
    Select,
    as_condition,
    as_dtype,
    as_expr,
    binary_expr,
    cast,
    const,
)
from ....expressions.functions import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    call_pure_extern,
    ceil,
    clz,
    copysign,
    cos,
    cosh,
    div,
    erf,
    exp,
    exp2,
    exp10,
    floor,
    floordiv,
    floormod,
    fmod,
    hypot,
    indexdiv,
    indexmod,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    max,
    min,
    nearbyint,
    nextafter,
    popcount,
    power,
    prod,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    sum,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from ....expressions.statements import BufferElement
from ....expressions.tensor import comm_reducer
from ..intrinsics import call_user_intrinsic
from ..nodes.expr import BufferLoad, Shuffle
from .builtins import builtin_call


def _binary(name: str, meaning: str) -> Callable[..., Any]:
    def function(lhs: Any, rhs: Any, span: None = None) -> Any:
        return binary_expr(name, lhs, rhs)

    function.__name__ = name
    function.__doc__ = meaning
    return function


add = _binary("add", "`lhs + rhs`.")
subtract = _binary("sub", "`lhs - rhs`.")
multiply = _binary("mul", "`lhs * rhs`.")
bitwise_and = _binary("and", "The bits that are set in both integers.")
bitwise_or = _binary("or", "The bits that are set in one of two integers.")
bitwise_xor = _binary("xor", "The bits in which two integers differ.")
shift_left = _binary("shl", "`lhs << rhs`.")
shift_right = _binary("shr", "`lhs >> rhs`.")
pow = power
divide = div


def convert(expr: Any) -> PrimExpr:
    """A number, an axis or a tensor without dimensions as an expression; an expression is itself. TeError for another
    value."""
    return as_expr(expr)


def bitwise_not(x: Any, span: None = None) -> PrimExpr:
    """`~x`."""
    return ~as_expr(x)


def reinterpret(dtype: str, value: Any, span: None = None) -> PrimExpr:
    """The bits of a value as those of another data type of the same size."""
    return functions.reinterpret(dtype, value)


def ceildiv(lhs: Any, rhs: Any, span: None = None) -> PrimExpr:
    """The quotient of integers, rounded up."""
    return functions.floordiv(as_expr(lhs) + (as_expr(rhs) - 1), rhs)


def likely(cond: Any, span: None = None) -> PrimExpr:
    """A condition that holds most of the time."""
    value = as_expr(cond)
    return Call(value.dtype, "likely", (value,))


def vectorlow(dtype: str, vec: PrimExpr) -> PrimExpr:
    """The first half of the lanes of a vector. dtype: ignored."""
    return Shuffle([vec], range(vec.data_type.lanes // 2))


def vectorhigh(dtype: str, vec: PrimExpr) -> PrimExpr:
    """The second half of the lanes of a vector. dtype: ignored."""
    return Shuffle([vec], range(vec.data_type.lanes // 2, vec.data_type.lanes))


def vectorcombine(dtype: str, vec1: PrimExpr, vec2: PrimExpr) -> PrimExpr:
    """The lanes of two vectors, one after the other. dtype: ignored."""
    return Shuffle([vec1, vec2], range(vec1.data_type.lanes + vec2.data_type.lanes))


def ldexp(x1: Any, x2: Any) -> PrimExpr:
    """`x1 * 2 ** x2`."""
    value = as_expr(x1)
    return Call(value.dtype, "ldexp", (value, cast("int32", x2)))


def infinity(dtype: str, span: None = None) -> PrimExpr:
    """The positive infinity of a float type. TeError for a type without one."""
    if not as_dtype(dtype).is_float:
        raise TeError(f"infinity of {dtype}, expected a float")
    return FloatImm(dtype, float("inf"))


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """`x * y * 2 ** (-s)` in fixed point with `q` fractional bits, rounded half up, of 32-bit integers."""
    args = tuple(cast("int32", value) for value in (x, y, q, s))
    return Call("int32", "q_multiply_shift", args)


def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> PrimExpr:
    """`(x << ls) * y * 2 ** (-q - rs)`, rounded half up, of 32-bit integers, in 64 bits.

    is_lshift_required: whether x is shifted.  is_rshift_required: ignored; a shift by 0 changes nothing.
    """
    number, factor, left, right, fraction = (cast("int64", cast("int32", each)) for each in (x, y, ls, rs, q))
    wide = Select(as_condition(is_lshift_required), number << left, number)
    total = right + fraction
    half = const(1, "int64") << (total - 1)
    return cast("int32", (wide * factor + half) >> total)


_PRINTS = "tvm.default_trace_action"


def trace(args: Any, trace_action: str = _PRINTS) -> PrimExpr:
    """The only one of `args`, with a warning that it is not printed. TeError for more than one, and for another action:
    its result would replace the value, and no function is called for each element."""
    if len(args) != 1 or trace_action != _PRINTS:
        raise TeError(f"trace by {trace_action}: no function is called for each element; print arrays after the call")
    warnings.warn("tvm.tir.trace: values are not printed; print arrays after the call", stacklevel=2)
    return as_expr(args[0])


_OTHER_NAMES = {
    "fabs": "abs",
    "round": "nearbyint",
    "pow": "power",
}


def call_intrin(dtype: str, func_name: Any, *args: Any, span: None = None) -> Any:
    """The call of an intrinsic: `call_intrin("float32", "tir.exp", x)`. The prefix may be missing, as until v0.6. An
    intrinsic of type `handle` is called for its effect, `call_intrin("handle", "tir.tvm_fill_fragment", ...)`.

    TeError for an intrinsic without a function in `tvm.tir`, and for a result of another data type.
    """
    name = str(getattr(func_name, "name", func_name)).rpartition(".")[2]
    name = _OTHER_NAMES.get(name, name)
    if dtype == "handle":
        return builtin_call(name, *args)
    if (call := call_user_intrinsic(dtype, name, args)) is not None and name not in __all__:
        return call
    function = globals().get(name) or getattr(functions, name, None)
    if not callable(function) or name.startswith("_"):
        raise TeError(
            f"call_intrin: no intrinsic {func_name!r}; expected a function of tvm.tir or a registered intrinsic"
        )
    result = function(dtype, *args) if name == "reinterpret" else function(*args)
    if as_expr(result).dtype != dtype:
        raise TeError(f"call_intrin {func_name}: the result is of type {as_expr(result).dtype}, expected {dtype}")
    return result


call_pure_intrin = call_intrin

_LLVM_FUNCTIONS = {
    "llvm.ceil": functions.ceil, "llvm.copysign": functions.copysign, "llvm.cos": functions.cos,
    "llvm.ctlz": functions.clz, "llvm.ctpop": functions.popcount, "llvm.exp": functions.exp,
    "llvm.exp2": functions.exp2, "llvm.fabs": functions.abs, "llvm.floor": functions.floor, "llvm.log": functions.log,
    "llvm.log10": functions.log10, "llvm.log2": functions.log2, "llvm.nearbyint": functions.nearbyint,
    "llvm.pow": functions.power, "llvm.rint": functions.nearbyint, "llvm.sin": functions.sin,
    "llvm.sqrt": functions.sqrt, "llvm.trunc": functions.trunc,
}  # fmt: skip
"""The functions of intrinsics that every processor has."""
_TWO_OPERANDS = ("llvm.copysign", "llvm.pow")


def call_llvm_pure_intrin(dtype: str, name: str, *args: Any, span: None = None) -> PrimExpr:
    """The call of an intrinsic of LLVM: `call_llvm_pure_intrin("int32", "llvm.ctpop", x)`, or one of
    `core.llvm_intrinsics`.

    name: with or without the type of the operands, `llvm.sqrt.f32`.  args: the operands; until v0.18 their number may
    precede them. The zero flag of `llvm.ctlz` is ignored: 0 has as many leading zeros as bits.  TeError for another
    intrinsic, number of operands, or data type of the result.
    """
    if name in LLVM_INTRINSICS:
        count = len(LLVM_INTRINSICS[name].operands)
        operands = _llvm_operands(name, args, count)
        return Call(dtype, name, operands)
    base = re.sub(r"\.(v\d+)?[if]\d+$", "", name)
    if base not in _LLVM_FUNCTIONS:
        known = ", ".join((*_LLVM_FUNCTIONS, *LLVM_INTRINSICS))
        raise TeError(f"call_llvm_pure_intrin: no intrinsic {name!r}, expected one of {known}")
    operands = _llvm_operands(name, args, 2 if base in (*_TWO_OPERANDS, "llvm.ctlz") else 1)
    result = _LLVM_FUNCTIONS[base](*(operands if base in _TWO_OPERANDS else operands[:1]))
    if result.dtype != dtype:
        raise TeError(f"call_llvm_pure_intrin {name}: the result is of type {result.dtype}, expected {dtype}")
    return result


def _llvm_operands(name: str, args: Sequence[Any], count: int) -> list[PrimExpr]:
    """The operands of an intrinsic, without their number before them."""
    operands = [as_expr(arg) for arg in (args[1:] if len(args) == count + 1 else args)]
    if len(operands) != count:
        raise TeError(f"call_llvm_pure_intrin {name}: {len(args)} operands, expected {count}")
    return operands


call_llvm_intrin = call_llvm_pure_intrin


def vscale() -> PrimExpr:
    """The factor of the number of lanes of scalable vectors, as an expression. No program here has such vectors: a
    function that computes it is an error when it is built."""
    return Call("int32", "vscale", ())


def address_of(buffer_load: Any, span: None = None) -> BufferPointer:
    """The address of an element of a buffer, for `call_extern`. TeError for another expression."""
    if not isinstance(buffer_load, BufferLoad | BufferElement):
        raise TeError(f"address_of {buffer_load!r}, expected an element of a buffer")
    return BufferPointer(buffer_load.buffer, tuple(buffer_load.indices))


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "address_of",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_pure_extern",
    "call_pure_intrin",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "convert",
    "copysign",
    "cos",
    "cosh",
    "div",
    "divide",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "multiply",
    "nearbyint",
    "nextafter",
    "popcount",
    "pow",
    "power",
    "prod",
    "q_multiply_shift",
    "q_multiply_shift_per_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "trace",
    "trunc",
    "truncdiv",
    "truncmod",
    "vectorcombine",
    "vectorhigh",
    "vectorlow",
    "vscale",
]
