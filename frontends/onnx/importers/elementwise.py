"""Importers of elementwise operators, on one tensor or on several tensors with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from onnx import TensorProto

from ....core.dtypes import max_value, min_value, numpy_dtype, parse_dtype
from ...models.call import normalized_axis
from ...models.elementwise import nan_propagating_extreme, remainder
from ...models.symbols import UnknownSizeError, symbol_maximum, symbol_minimum
from ...models.types import dtype_name
from ...models.values import ModelTensor, require_dtype, tensor_of_symbols
from ..call import Call
from ..errors import OnnxError
from ..registry import Results, importer
from ..tensors import element_type

# Unary operators

UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "HardSwish": "nn.hard_swish",
    "IsNaN": "isnan",
    "Log": "log",
    "Mish": "nn.mish",
    "Neg": "negative",
    "Not": "logical_not",
    "Relu": "nn.relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Softplus": "nn.softplus",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}


@importer(*UNARY)
def unary(call: Call) -> ModelTensor:
    return call.op(UNARY[call.op_type], call.tensor())


@importer("Identity")
def identity(call: Call) -> Any:
    return call.item(0)


@importer("Reciprocal")
def reciprocal(call: Call) -> ModelTensor:
    x = call.tensor()
    return call.op("divide", call.builder.scalar_constant(1, x.dtype), x)


@importer("IsInf")
def is_inf(call: Call) -> ModelTensor:
    x = call.tensor()
    signs = [
        sign for sign, name in ((np.inf, "detect_positive"), (-np.inf, "detect_negative")) if call.integer(name, 1)
    ]
    if len(signs) == 2:
        return call.op("isinf", x)
    if not signs:
        return call.op("not_equal", *[call.op("isinf", x)] * 2)
    return call.scalar("equal", x, signs[0])


@importer("Gelu")
def gelu(call: Call) -> ModelTensor:
    return call.op("nn.gelu", call.tensor(), approximate=call.text("approximate", "none"))


@importer("LeakyRelu")
def leaky_relu(call: Call) -> ModelTensor:
    return call.op("nn.leaky_relu", call.tensor(), alpha=call.floating("alpha", 0.01))


@importer("Elu")
def elu(call: Call) -> ModelTensor:
    return call.op("nn.elu", call.tensor(), alpha=call.floating("alpha", 1.0))


@importer("Celu")
def celu(call: Call) -> ModelTensor:
    return call.op("nn.celu", call.tensor(), alpha=call.floating("alpha", 1.0))


@importer("Selu")
def selu(call: Call) -> ModelTensor:
    alpha = call.floating("alpha", 1.67326319217681884765625)
    return call.op("nn.selu", call.tensor(), alpha=alpha, gamma=call.floating("gamma", 1.05070102214813232421875))


@importer("HardSigmoid")
def hard_sigmoid(call: Call) -> ModelTensor:
    alpha, beta = call.floating("alpha", 0.2), call.floating("beta", 0.5)
    return call.op("nn.hard_sigmoid", call.tensor(), alpha=alpha, beta=beta)


@importer("ThresholdedRelu")
def thresholded_relu(call: Call) -> ModelTensor:
    x = call.tensor()
    return call.op(
        "where", call.scalar("greater", x, call.floating("alpha", 1.0)), x, call.builder.scalar_constant(0, x.dtype)
    )


@importer("Shrink")
def shrink(call: Call) -> ModelTensor:
    x, lambd, bias = call.tensor(), call.floating("lambd", 0.5), call.floating("bias", 0.0)
    zero = call.builder.scalar_constant(0, x.dtype)
    if not x.is_float:
        return _shrink_integers(call, x, lambd, bias)
    below = call.op("where", call.scalar("less", x, -lambd), call.scalar("add", x, bias), zero)
    return call.op("where", call.scalar("greater", x, lambd), call.scalar("subtract", x, bias), below)


def _shrink_integers(call: Call, x: ModelTensor, lambd: float, bias: float) -> ModelTensor:
    wide = call.cast(x, "float64")
    below = call.op("where", call.scalar("less", wide, -lambd), call.scalar("add", wide, bias), wide)
    inside = call.scalar("less_equal", call.op("abs", wide), lambd)
    outside = call.op("where", call.scalar("greater", wide, lambd), call.scalar("subtract", wide, bias), below)
    return call.cast(call.op("where", inside, call.builder.scalar_constant(0, "float64"), outside), x.dtype)


@importer("Softsign")
def softsign(call: Call) -> ModelTensor:
    x = call.tensor()
    return call.op("divide", x, call.scalar("add", call.op("abs", x), 1))


@importer("Swish")
def swish(call: Call) -> ModelTensor:
    x, alpha = call.tensor(), call.floating("alpha", 1.0)
    return call.op("multiply", x, call.op("sigmoid", x if alpha == 1 else call.scalar("multiply", x, alpha)))


@importer("PRelu")
def prelu(call: Call) -> ModelTensor:
    x, slope = call.tensor(0), call.tensor(1)
    if call.version < 7 and slope.rank == 1 and x.rank > 1:  # a number for each channel, or for all
        slope = call.builder.reshape(slope, [*slope.extents, *[1] * (x.rank - 2)])
    return call.op("where", call.scalar("less", x, 0), call.op("multiply", x, slope), x)


@importer("Dropout")
def dropout(call: Call) -> Any:
    call.raise_unsupported_if(call.version < 7 and not call.integer("is_test"), "training")
    training = call.constant_scalar(2, "training_mode") if call.has(2) else False
    ratio = call.constant_scalar(1, "ratio", 0.5) if training else 0.0
    call.raise_unsupported_if(training and ratio != 0, "training")
    data = call.tensor()
    if call.used_result_count < 2:
        return data
    kind = "bool" if call.version >= 10 else data.dtype  # of the mask
    return Results([data, call.builder.full(data.extents, np.ones((), numpy_dtype(kind)))])


# Data types


def dtype_of_code(code: int) -> str:
    """The data type for ONNX's code of a data type. Raises OnnxUnsupportedError for an unsupported data type."""
    return require_dtype(dtype_name(element_type(code)))


def convert_dtype(call: Call, data: ModelTensor, dtype: str) -> ModelTensor:
    """Converts a tensor to a data type, by the semantics of `Cast` and its attributes."""
    if data.sizes is not None and dtype in ("int32", "int64"):
        return tensor_of_symbols(data.sizes, dtype)
    require_dtype(data.dtype)
    if data.is_float and parse_dtype(dtype).is_int and parse_dtype(dtype).bits < 8:
        return call.cast(call.cast(data, "int32"), dtype)  # ONNX's test cases expect values out of range to wrap
    if data.dtype == dtype or not dtype.startswith("float8"):
        return call.cast(data, dtype)
    if dtype == "float8_e8m0fnu":
        return _power_of_two(call, data)
    return call.cast(_saturate(call, data, dtype) if call.integer("saturate", 1) else data, dtype)


def _saturate(call: Call, data: ModelTensor, dtype: str) -> ModelTensor:
    """Clamps a tensor to the finite range of a float type; preserves NaN."""
    wide = data if data.dtype in ("float16", "bfloat16", "float32", "float64") else call.cast(data, "float32")
    low, high = (
        call.builder.scalar_constant(bound(parse_dtype(dtype)), wide.dtype) for bound in (min_value, max_value)
    )
    return nan_propagating_extreme(call, "Min", nan_propagating_extreme(call, "Max", wide, low), high)


# By rounding mode: the factor applied before rounding to the nearest power of two, and the bound below which the result
# is the least power, 2**-127. The factor of "up" is less than 1.5 by one unit of float32, so that 1 becomes 1, and its
# successor 2.
_POWERS = {"up": (1.5 - 2.0**-23, 2.0**-127 + 2.0**-149), "down": (0.75, 2.0**-126), "nearest": (1.0, 1.5 * 2.0**-127)}


def _power_of_two(call: Call, data: ModelTensor) -> ModelTensor:
    """Converts a tensor to float8_e8m0fnu, whose values are powers of two and NaN."""
    mode, least = call.text("round_mode", "up"), 2.0**-127
    if mode not in _POWERS:
        raise OnnxError(f"round_mode '{mode}', expected one of {', '.join(_POWERS)}")
    factor, second = _POWERS[mode]
    wide = call.cast(call.cast(data, "float32"), "float64")
    if call.integer("saturate", 1):
        wide = _saturate(call, wide, "float8_e8m0fnu")
    else:
        wide = call.op("where", call.scalar("less", wide, least), call.builder.scalar_constant(np.nan, "float64"), wide)
    number = call.op(
        "where",
        call.scalar("less", wide, second),
        call.builder.scalar_constant(least, "float64"),
        call.scalar("multiply", wide, factor),
    )
    return call.cast(number, "float8_e8m0fnu")


@importer("Cast")
def cast(call: Call) -> ModelTensor:
    code = TensorProto.DataType.Value(call.text("to")) if call.version < 6 else call.integer("to")
    return convert_dtype(call, call.tensor(), dtype_of_code(code))


@importer("CastLike")
def cast_like(call: Call) -> ModelTensor:
    return convert_dtype(call, call.tensor(0), require_dtype(call.tensor(1).dtype))


@importer("BitCast")
def bit_cast(call: Call) -> ModelTensor:
    data, dtype = call.tensor(), dtype_of_code(call.integer("to"))
    if data.dtype == dtype:
        return data
    if data.dtype == "bool":  # a byte, 0 or 1
        data = call.cast(data, "uint8")
    call.raise_unsupported_if(dtype == "bool", f"{data.dtype} as bool")
    return call.op("reinterpret", data, dtype=dtype)


# Binary operators

BINARY = {
    "Add": "add",
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Div": "divide",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Mul": "multiply",
    "Or": "logical_or",
    "Sub": "subtract",
    "Xor": "logical_xor",
}

_OF_SYMBOLS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Div": np.floor_divide,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Max": np.frompyfunc(symbol_maximum, 2, 1),
    "Min": np.frompyfunc(symbol_minimum, 2, 1),
    "Mod": np.mod,
    "Mul": np.multiply,
    "Sub": np.subtract,
}


def fold_sizes(call: Call) -> ModelTensor | None:
    """The result of an operator on symbolic sizes; None if no operand has symbols, or if the result depends on their
    values."""
    tensors = call.tensors
    known = [tensor.known_elements for tensor in tensors]
    if all(tensor.sizes is None for tensor in tensors) or any(array is None for array in known):
        return None
    sizes: list[Any] = [np.asarray(array, object) for array in known]
    _require_broadcast(call, [array.shape for array in sizes])
    try:
        result = reduce(_OF_SYMBOLS[call.op_type], sizes)
    except (UnknownSizeError, ZeroDivisionError):
        return None
    is_bool = "Equal" in call.op_type or call.op_type in ("Greater", "Less")
    return call.constant(result, "bool") if is_bool else tensor_of_symbols(result, tensors[0].dtype)


def _require_broadcast(call: Call, shapes: Sequence[tuple[int, ...]]) -> None:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " and ".join(str(list(shape)) for shape in shapes)
        raise OnnxError(f"{call.op_type} of shapes {texts}, expected shapes that broadcast") from None


def _aligned(call: Call) -> tuple[ModelTensor, ModelTensor]:
    """The operands, of which before opset 7 the second one may begin at an axis of the first one."""
    lhs, rhs = call.tensor(0), call.tensor(1)
    axis = call.attribute("axis") if call.version < 7 and call.integer("broadcast") else None
    if axis is None:
        return lhs, rhs
    rest = lhs.rank - normalized_axis(int(axis), lhs.rank) - rhs.rank
    if rest < 0:
        raise OnnxError(f"axis {axis} of operands of {lhs.rank} and {rhs.rank} dimensions")
    return lhs, call.builder.reshape(rhs, [*rhs.extents, *[1] * rest])


@importer(*BINARY)
def binary(call: Call) -> ModelTensor:
    if call.op_type in _OF_SYMBOLS and (sizes := fold_sizes(call)) is not None:
        return sizes
    lhs, rhs = _aligned(call)
    if call.op_type == "Equal" and lhs.dtype == "bool":
        return call.op("logical_not", call.op("logical_xor", lhs, rhs))
    return call.op(BINARY[call.op_type], lhs, rhs)


@importer("Mod")
def mod(call: Call) -> ModelTensor:
    if (sizes := fold_sizes(call)) is not None:
        return sizes
    a, b = call.tensor(0), call.tensor(1)
    if call.integer("fmod"):
        return call.op("mod", a, b)
    return remainder(call, a, b) if a.is_float else call.op("floor_mod", a, b)


@importer("BitShift")
def bit_shift(call: Call) -> ModelTensor:
    return call.op(f"{call.choice('direction', 'LEFT', 'RIGHT').lower()}_shift", *call.tensors)


@importer("Pow")
def power(call: Call) -> ModelTensor:
    base, exponent = _aligned(call)
    if base.is_float and exponent.array is not None and exponent.array.size == 1:
        number = float(exponent.array.ravel()[0])
        if number == 2 and exponent.rank <= base.rank:
            return call.op("multiply", base, base)
    # Powers of integers are computed in float64, as in ONNX Runtime.
    wide = base.dtype if base.is_float else "float64"
    if exponent.dtype == "float64" or (exponent.dtype == "float32" and wide in ("float16", "bfloat16")):
        wide = exponent.dtype
    if wide in ("float16", "bfloat16"):
        wide = "float32"
    return call.cast(call.op("power", call.cast(base, wide), call.cast(exponent, wide)), base.dtype)


# Variadic operators


@importer("Max", "Min")
def extreme(call: Call) -> ModelTensor:
    if (sizes := fold_sizes(call)) is not None:
        return sizes
    return reduce(lambda a, b: nan_propagating_extreme(call, call.op_type, a, b), call.tensors)


@importer("Sum", "Mean")
def sum_or_mean(call: Call) -> ModelTensor:
    result = reduce(lambda a, b: call.op("add", a, b), call.tensors)
    return result if call.op_type == "Sum" else call.scalar("divide", result, len(call.inputs))


@importer("Clip")
def clip(call: Call) -> ModelTensor:
    data = call.tensor()
    if call.version < 11:
        return _clip_by_attributes(call, data)
    low, high = call.optional(1), call.optional(2)
    data = data if low is None else nan_propagating_extreme(call, "Max", data, low)
    return data if high is None else nan_propagating_extreme(call, "Min", data, high)


def _clip_by_attributes(call: Call, data: ModelTensor) -> ModelTensor:
    for name, kind in (("min", "Max"), ("max", "Min")):
        if call.attribute(name) is not None:
            data = nan_propagating_extreme(
                call, kind, data, call.builder.scalar_constant(call.floating(name), data.dtype)
            )
    return data


@importer("Where")
def select_elements(call: Call) -> ModelTensor:
    condition, x, y = call.tensors
    if (
        condition.array is not None
        and x.known_elements is not None
        and y.known_elements is not None
        and x.dtype == "int64"
    ):
        return tensor_of_symbols(np.where(condition.array, x.known_elements, y.known_elements), x.dtype)
    return call.op("where", condition, x, y)
