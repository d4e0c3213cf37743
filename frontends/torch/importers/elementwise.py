"""Importers of elementwise operators, on one tensor or on several tensors with broadcasting."""

from __future__ import annotations

import numpy as np

from ...models.elementwise import nan_propagating_extreme, remainder
from ...models.values import ModelTensor
from ..call import Call
from ..registry import aten

# Unary operators

UNARY = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cos": "cos",
    "cosh": "cosh",
    "erf": "erf",
    "exp": "exp",
    "exp2": "exp2",
    "hardswish": "nn.hard_swish",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "mish": "nn.mish",
    "neg": "negative",
    "relu": "nn.relu",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid",
    "silu": "nn.silu",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}


@aten(*(f"{name}.default" for name in UNARY))
def unary(call: Call) -> ModelTensor:
    return call.op(UNARY[call.operator], call.operand("self", call.result_dtype))


@aten("abs.default", "ceil.default", "floor.default", "round.default", "sign.default", "trunc.default")
def unary_or_identity(call: Call) -> ModelTensor:
    """Rounding keeps integers, and bool has no sign."""
    x = call.tensor()
    if x.dtype == "bool" or (not x.is_float and call.operator not in ("abs", "sign")):
        return x
    if call.operator == "sign" and x.is_float:  # PyTorch's sign of NaN is 0
        x = call.op("where", call.op("isnan", x), call.builder.scalar_constant(0, x.dtype), x)
    return call.op(call.operator, x)


@aten("isnan.default", "isinf.default", "isfinite.default")
def is_class(call: Call) -> ModelTensor:
    x = call.tensor()
    return call.op(call.operator, x if x.is_float else call.cast(x, "float32"))


@aten("reciprocal.default")
def reciprocal(call: Call) -> ModelTensor:
    x = call.operand("self", call.result_dtype)
    return call.op("divide", call.builder.scalar_constant(1, x.dtype), x)


@aten("expm1.default")
def expm1(call: Call) -> ModelTensor:
    """Computes `e ** x - 1`; near 0 as `2 t / (1 - t)` with `t = tanh(x / 2)`, which loses no digits."""
    x = call.operand("self", call.result_dtype)
    t = call.op("tanh", call.scalar("multiply", x, 0.5))
    one = call.builder.scalar_constant(1, x.dtype)
    near = call.op("divide", call.scalar("multiply", t, 2), call.op("subtract", one, t))
    far = call.scalar("subtract", call.op("exp", x), 1)
    return call.op("where", call.scalar("less", call.op("abs", x), 0.5), near, far)


@aten("leaky_relu.default")
def leaky_relu(call: Call) -> ModelTensor:
    return call.op("nn.leaky_relu", call.tensor(), alpha=float(call.get("negative_slope")))


@aten("elu.default")
def elu(call: Call) -> ModelTensor:
    """The exponential linear unit: `scale * (x if x > 0 else alpha * (e ** (input_scale * x) - 1))`."""
    x = call.tensor()
    alpha, scale, inner = (float(call.get(name)) for name in ("alpha", "scale", "input_scale"))
    if inner == 1:
        unit = call.op("nn.elu", x, alpha=alpha)
    else:
        below = call.scalar("multiply", call.scalar("subtract", call.op("exp", _times(call, x, inner)), 1), alpha)
        unit = call.op("where", call.scalar("greater", x, 0), x, below)
    return _times(call, unit, scale)


@aten("gelu.default")
def gelu(call: Call) -> ModelTensor:
    return call.op("nn.gelu", call.tensor(), approximate=call.get("approximate", "none"))


@aten("hardsigmoid.default")
def hard_sigmoid(call: Call) -> ModelTensor:
    return call.op("nn.hard_sigmoid", call.tensor(), alpha=1 / 6, beta=0.5)


@aten("hardtanh.default")
def hardtanh(call: Call) -> ModelTensor:
    return clamp_between(call, call.operand("self", call.result_dtype), call.get("min_val"), call.get("max_val"))


@aten("clamp.default", "clamp.Tensor", "clamp_min.default", "clamp_max.default")
def clamp(call: Call) -> ModelTensor:
    return clamp_between(call, call.operand("self", call.result_dtype), call.get("min"), call.get("max"))


def clamp_between(call: Call, x: ModelTensor, low: object, high: object) -> ModelTensor:
    """Limits elements to an interval, whose bounds are tensors, numbers or None; NaN remains."""
    if low is not None:
        x = nan_propagating_extreme(call, "Max", x, call.as_tensor(low, x.dtype))
    return x if high is None else nan_propagating_extreme(call, "Min", x, call.as_tensor(high, x.dtype))


# Arithmetic


@aten("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def add_or_subtract(call: Call) -> ModelTensor:
    a, b = call.operands("self", "other")
    b = _times(call, b, call.get("alpha", 1))
    if a.dtype == "bool":
        return call.op("logical_or", a, b)
    return call.op("add" if call.operator == "add" else "subtract", a, b)


def _times(call: Call, x: ModelTensor, factor: float) -> ModelTensor:
    return x if factor == 1 else call.op("multiply", x, call.as_tensor(factor, x.dtype))


@aten("mul.Tensor", "mul.Scalar")
def multiply(call: Call) -> ModelTensor:
    a, b = call.operands("self", "other")
    return call.op("logical_and" if a.dtype == "bool" else "multiply", a, b)


@aten("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def divide(call: Call) -> ModelTensor:
    mode = call.get("rounding_mode")
    if mode is None:
        return call.op("divide", *(call.operand(name, call.result_dtype) for name in ("self", "other")))
    a, b = call.operands("self", "other")
    if mode == "trunc":
        quotient = call.op("divide", a, b)
        return call.op("trunc", quotient) if a.is_float else quotient
    if not a.is_float:
        return call.op("floor_divide", a, b)
    return _floor_divide(call, a, b)


def _floor_divide(call: Call, a: ModelTensor, b: ModelTensor) -> ModelTensor:
    """The quotient of floats rounded down, exact where `a` less the remainder is a multiple of `b`; infinities and NaN
    as of the quotient."""
    quotient = call.op("divide", a, b)
    exact = call.op("divide", call.op("subtract", a, remainder(call, a, b)), b)
    rounded = call.op("floor", call.scalar("add", exact, 0.5))
    return call.op("where", call.op("isfinite", exact), rounded, call.op("floor", quotient))


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(call: Call) -> ModelTensor:
    return call.op("mod", *call.operands("self", "other"))


@aten("remainder.Tensor", "remainder.Scalar")
def floor_remainder(call: Call) -> ModelTensor:
    a, b = call.operands("self", "other")
    return remainder(call, a, b) if a.is_float else call.op("floor_mod", a, b)


_MOST_MULTIPLIED = 8
"""The greatest exponent of a power computed by multiplications."""


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(call: Call) -> ModelTensor:
    exponent, dtype = call.arguments["exponent"], call.result_dtype
    base = call.operand("self", dtype)
    if isinstance(exponent, int | float) and exponent in (0.5, -0.5) and base.is_float:
        return call.op("sqrt" if exponent > 0 else "rsqrt", base)
    if isinstance(exponent, int | float) and exponent == int(exponent) and 0 < exponent <= _MOST_MULTIPLIED:
        return _multiplied_power(call, base, int(exponent))
    if base.is_float:
        wide = call.widen_small_floats(base)
        return call.cast(call.op("power", wide, call.operand("exponent", wide.dtype)), dtype)
    powers = call.op("power", call.cast(base, "float64"), call.operand("exponent", "float64"))
    return call.cast(powers, dtype)


def _multiplied_power(call: Call, base: ModelTensor, exponent: int) -> ModelTensor:
    """A power by repeated squaring."""
    wide, result = call.widen_small_floats(base), None
    while True:
        if exponent % 2:
            result = wide if result is None else call.op("multiply", result, wide)
        exponent //= 2
        if not exponent:
            assert result is not None
            return call.cast(result, base.dtype)
        wide = call.op("multiply", wide, wide)


@aten("atan2.default")
def atan2(call: Call) -> ModelTensor:
    """The angle of the point (x, y), from -pi to pi; the sign of a zero counts."""
    return call.op("atan2", *(call.operand(name, call.result_dtype) for name in ("self", "other")))


@aten("maximum.default", "minimum.default")
def extreme(call: Call) -> ModelTensor:
    a, b = call.operands("self", "other")
    is_max = call.operator == "maximum"
    if a.dtype == "bool":
        return call.op("logical_or" if is_max else "logical_and", a, b)
    return nan_propagating_extreme(call, "Max" if is_max else "Min", a, b)


# Comparisons and logic

COMPARISONS = {
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}


@aten(*(f"{name}.{overload}" for name in COMPARISONS for overload in ("Tensor", "Scalar")))
def compare(call: Call) -> ModelTensor:
    a, b = call.operands("self", "other")
    if a.dtype == "bool":
        a, b = call.cast(a, "uint8"), call.cast(b, "uint8")
    return call.op(COMPARISONS[call.operator], a, b)


@aten("logical_and.default", "logical_or.default", "logical_xor.default")
def logical(call: Call) -> ModelTensor:
    return call.op(call.operator, call.operand("self", "bool"), call.operand("other", "bool"))


@aten("logical_not.default")
def logical_not(call: Call) -> ModelTensor:
    return call.op("logical_not", call.operand("self", "bool"))


@aten("bitwise_not.default")
def bitwise_not(call: Call) -> ModelTensor:
    x = call.tensor()
    return call.op("logical_not" if x.dtype == "bool" else "bitwise_not", x)


@aten(*(f"bitwise_{name}.{overload}" for name in ("and", "or", "xor") for overload in ("Tensor", "Scalar")))
def bitwise(call: Call) -> ModelTensor:
    a, b = call.operands("self", "other")
    return call.op(call.operator.replace("bitwise", "logical") if a.dtype == "bool" else call.operator, a, b)


SHIFTS = {
    "__lshift__": "left_shift",
    "__rshift__": "right_shift",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}


@aten(*(f"__{side}shift__.{overload}" for side in "lr" for overload in ("Tensor", "Scalar")))
@aten(*(f"bitwise_{side}_shift.{overload}" for side in ("left", "right") for overload in ("Tensor", "Tensor_Scalar")))
def shift(call: Call) -> ModelTensor:
    return call.op(SHIFTS[call.operator], *call.operands("self", "other"))


@aten("where.self")
def where(call: Call) -> ModelTensor:
    dtype = call.result_dtype
    return call.op(
        "where", call.operand("condition", "bool"), call.operand("self", dtype), call.operand("other", dtype)
    )


# Data types


@aten("_to_copy.default")
def convert(call: Call) -> ModelTensor:
    return call.cast(call.tensor(), call.result_dtype)


@aten(
    "alias.default",
    "clone.default",
    "detach.default",
    "lift_fresh_copy.default",
)
def identity(call: Call) -> ModelTensor:
    return call.tensor()


@aten("native_dropout.default")
def dropout(call: Call) -> list[ModelTensor]:
    call.raise_unsupported_if(call.get("train", True) and call.get("p"), "training")
    x = call.tensor("input")
    return [x, call.builder.full(x.extents, np.ones((), "bool"))]
