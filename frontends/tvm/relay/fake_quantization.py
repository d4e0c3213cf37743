"""Conversion of operators on dequantized numbers to operators on the integers: `FakeQuantizationToInteger`.

A graph that was quantized for simulation dequantizes the operands of its operators, and quantizes their results. Such a
region becomes operators on integers, if each of its operators has a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core.dtypes import int_range, parse_dtype
from ....core.errors import StepwellError
from ....operators import Operator
from ...relay.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, const, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import ExprMutator

Array: TypeAlias = npt.NDArray[Any]


class FakeQuantizationError(StepwellError):
    """The error for an operator on dequantized numbers that has no form on integers."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of quantized integers: the number of an integer q is `(q - zero) * scale`.

    scale, zero: one number, or one for each index of `axis`.
    """

    scale: Array
    zero: Array
    dtype: str
    axis: int = -1

    @property
    def operands(self) -> list[Expr]:
        """The scale and the zero point as operands of an operator."""
        return [const(self.scale), const(self.zero)]

    @property
    def is_scalar(self) -> bool:
        return self.scale.ndim == 0 and self.zero.ndim == 0

    def is_equal(self, other: Parameters) -> bool:
        """Whether integers with both parameters and the same value represent the same number."""
        is_same = np.array_equal(self.scale, other.scale) and np.array_equal(self.zero, other.zero)
        return is_same and self.dtype == other.dtype and (self.is_scalar or self.axis == other.axis)


@dataclass(frozen=True)
class Integers:
    """Quantized integers: an expression, and their parameters."""

    expr: Expr
    parameters: Parameters

    def requantized(self, wanted: Parameters) -> Expr:
        """The integers with other parameters. FakeQuantizationError for parameters along an axis."""
        own = self.parameters
        if own.is_equal(wanted):
            return self.expr
        if not wanted.is_scalar:
            raise FakeQuantizationError("integers along an axis have other parameters than their users expect")
        parameters = [*own.operands, *wanted.operands]
        return new_call("qnn.requantize", self.expr, *parameters, axis=own.axis, out_dtype=wanted.dtype)

    def dequantized(self) -> Expr:
        """The numbers that the integers represent."""
        own = self.parameters
        return new_call("qnn.dequantize", self.expr, *own.operands, axis=own.axis)


Value: TypeAlias = "Integers | list[Integers]"
"""The integers of a tensor, or those of the fields of a tuple."""


@dataclass(frozen=True)
class Region:
    """A region of operators on dequantized numbers, whose values are converted once each.

    result: the operator that computes the result.  wanted: the parameters of the result, None to choose them.  rewrite:
    converts the expressions outside of the region.
    """

    result: Expr
    wanted: Parameters | None
    rewrite: Callable[[Expr], Expr]
    values: dict[Expr, Value] = field(default_factory=dict[Expr, Value])

    def convert(self, expr: Expr) -> Value:
        """The integers of an expression. FakeQuantizationError if one of its operators has no form on integers."""
        if expr not in self.values:
            self.values[expr] = self._converted(expr)
        return self.values[expr]

    def integers(self, expr: Expr) -> Integers:
        """The integers of a tensor. FakeQuantizationError as for `convert`."""
        value = self.convert(expr)
        if isinstance(value, list):
            raise FakeQuantizationError("a tuple of quantized tensors is the operand of an operator")
        return value

    def wanted_for(self, call: Call) -> Parameters | None:
        """The parameters that the result of a call should have: those of the region, if only operators that move
        elements follow."""
        node = self.result
        while node is not call and isinstance(node, Call) and operator_name(node) in MOVES:
            node = node.args[0]
        return self.wanted if node is call else None

    def _converted(self, expr: Expr) -> Value:
        match expr:
            case TupleGetItem():
                value = self.convert(expr.tuple_value)
                assert isinstance(value, list)
                return value[expr.index]
            case Tuple():
                return [self.integers(field) for field in expr.fields]
            case Call() if isinstance(expr.op, Operator):
                return self._converted_call(expr)
            case _:
                raise FakeQuantizationError(f"{expr!r} is not quantized")

    def _converted_call(self, call: Call) -> Value:
        name = call.op.name
        if name == "qnn.dequantize":
            return Integers(self.rewrite(call.args[0]), _parameters_of(call, call.args[0].checked_type.dtype))
        if name not in RULES:
            raise FakeQuantizationError(f"{name} has no form on integers")
        return RULES[name](self, call)


Rule: TypeAlias = Callable[[Region, Call], Value]

RULES: dict[str, Rule] = {}
"""The rules by the name of the operator."""


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def _parameters_of(call: Call, dtype: str) -> Parameters:
    """The parameters of a call of `qnn.dequantize` or `qnn.quantize`. FakeQuantizationError unless constant."""
    scale, zero = call.args[1:3]
    if not (isinstance(scale, Constant) and isinstance(zero, Constant)):
        raise FakeQuantizationError(f"{call.op.name} has a scale or a zero point that is not constant")
    return Parameters(np.asarray(scale.array), np.asarray(zero.array), dtype, call.attrs.axis)  # pyright: ignore[reportAttributeAccessIssue]


def _again(call: Call, *operands: Expr, **changes: Any) -> Call:
    """A call of the same operator, with other operands and attributes."""
    return call.with_args(operands, changes)


# Operators that move, choose or compare elements


def _scalar_integers(region: Region, expr: Expr) -> Integers:
    """The integers of a tensor with one scale. FakeQuantizationError for parameters along an axis."""
    value = region.integers(expr)
    if not value.parameters.is_scalar:
        raise FakeQuantizationError("an operator moves elements with parameters along an axis")
    return value


MOVES = {
    "broadcast_to", "expand_dims", "image.resize2d", "max", "min", "nn.batch_flatten", "nn.depth_to_space",
    "nn.space_to_depth", "repeat", "reshape", "reverse", "squeeze", "strided_slice", "tile", "transpose",
}  # fmt: skip
"""The operators that keep the parameters of their operand."""


@_rule(*MOVES)
def _move(region: Region, call: Call) -> Value:
    value = _scalar_integers(region, call.args[0])
    return replace(value, expr=_again(call, value.expr))


@_rule("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def _pool_greatest(region: Region, call: Call) -> Value:
    value = region.integers(call.args[0])
    return replace(value, expr=_again(call, value.expr))


@_rule("take")
def _take(region: Region, call: Call) -> Value:
    value = _scalar_integers(region, call.args[0])
    return replace(value, expr=_again(call, value.expr, region.rewrite(call.args[1])))


@_rule("split")
def _split(region: Region, call: Call) -> Value:
    value = _scalar_integers(region, call.args[0])
    parts = _again(call, value.expr)
    return [replace(value, expr=TupleGetItem(parts, n)) for n in range(len(call.checked_type.fields))]


@_rule("topk")
def _topk(region: Region, call: Call) -> Value:
    if call.attrs["ret_type"] != "values":
        raise FakeQuantizationError("topk returns indices, which are not quantized")
    value = _scalar_integers(region, call.args[0])
    return replace(value, expr=_again(call, value.expr))


@_rule("concatenate", "stack")
def _join(region: Region, call: Call) -> Value:
    values = [_scalar_integers(region, arg) for arg in call.args]
    wanted = region.wanted_for(call) or values[0].parameters
    return Integers(_again(call, *(value.requantized(wanted) for value in values)), wanted)


@_rule("nn.pad")
def _pad(region: Region, call: Call) -> Value:
    value = _scalar_integers(region, call.args[0])
    filler = int(_quantized_numbers(np.asarray(call.attrs.pad_value), value.parameters))  # pyright: ignore[reportAttributeAccessIssue]
    return replace(value, expr=_again(call, value.expr, pad_value=filler))


# Bounds


def _quantized_numbers(numbers: Array, parameters: Parameters) -> Array:
    """Numbers as integers, saturated."""
    whole = np.rint(numbers / parameters.scale) + parameters.zero
    return np.clip(whole, *int_range(parse_dtype(parameters.dtype))).astype(parameters.dtype)


def _bound(value: Integers, number: float, rank: int) -> Expr:
    """The integer of a number, in a shape that broadcasts with the integers."""
    bound = _quantized_numbers(np.asarray(number, "float64"), value.parameters)
    if bound.ndim == 0:
        return const(bound)
    shape = [1] * rank
    shape[value.parameters.axis] = -1
    return const(bound.reshape(shape))


@_rule("clip")
def _clip(region: Region, call: Call) -> Value:
    value, rank = region.integers(call.args[0]), len(call.checked_type.shape)
    least, most = (_bound(value, number, rank) for number in (call.attrs["a_min"], call.attrs["a_max"]))
    return replace(value, expr=new_call("minimum", new_call("maximum", value.expr, least), most))


@_rule("nn.relu")
def _relu(region: Region, call: Call) -> Value:
    value = region.integers(call.args[0])
    return replace(value, expr=new_call("maximum", value.expr, _bound(value, 0, len(call.checked_type.shape))))


# Means


def _sum_parameters(parameters: Parameters, count: int) -> Parameters:
    """The parameters of sums of centered integers that represent means."""
    scale = (parameters.scale.astype("float64") / count).astype(parameters.scale.dtype)
    return Parameters(scale, np.asarray(0, "int32"), "int32")


def _mean_over(region: Region, call: Call, **attributes: Any) -> Value:
    """The sums of integers in place of means; the scale is divided by the number of elements."""
    value = _scalar_integers(region, call.args[0])
    before, after = (prod(each.checked_type.concrete_shape) for each in (call.args[0], call))
    if after == 0:
        raise FakeQuantizationError("mean of no elements")
    wide = new_call("cast", value.expr, dtype="int32")
    centered = new_call("subtract", wide, const(value.parameters.zero.astype("int32")))
    return Integers(new_call("sum", centered, **attributes), _sum_parameters(value.parameters, before // after))


@_rule("mean")
def _mean(region: Region, call: Call) -> Value:
    return _mean_over(region, call, **call.attrs)


def _image_axes(layout: str) -> list[int]:
    return [n for n, letter in enumerate(layout) if letter not in "NC"]


@_rule("nn.global_avg_pool1d", "nn.global_avg_pool2d", "nn.global_avg_pool3d")
def _global_mean(region: Region, call: Call) -> Value:
    return _mean_over(region, call, axis=_image_axes(call.attrs.layout), keepdims=True)  # pyright: ignore[reportAttributeAccessIssue]


@_rule("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d", "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d")
def _pool_mean(region: Region, call: Call) -> Value:
    """The means of integers, which are rounded towards zero, with the parameters of the result. FakeQuantizationError
    for sums of products, which would be rounded twice."""
    value = _scalar_integers(region, call.args[0])
    if value.parameters.dtype == "int32":
        raise FakeQuantizationError(f"{call.op.name} of sums in int32")
    wanted = region.wanted_for(call) or value.parameters
    wide = replace(wanted, dtype="int32")
    same_scale = wanted.is_equal(replace(value.parameters, dtype=wanted.dtype))
    integers = new_call("cast", value.expr, dtype="int32") if same_scale else value.requantized(wide)
    least, most = int_range(parse_dtype(wanted.dtype))
    inside = new_call("clip", _again(call, integers), a_min=least, a_max=most)
    return Integers(new_call("cast", inside, dtype=wanted.dtype), wanted)


# Pairs of elements


def _pair(region: Region, call: Call) -> tuple[Integers, Integers]:
    """The integers of both operands; a constant gets the parameters of the other operand."""
    left, right = call.args
    if isinstance(left, Constant) and isinstance(right, Constant):
        raise FakeQuantizationError("an operator on constants")
    if isinstance(left, Constant):
        other = region.integers(right)
        return _constant(left, other.parameters), other
    first = region.integers(left)
    return first, _constant(right, first.parameters) if isinstance(right, Constant) else region.integers(right)


def _constant(number: Constant, parameters: Parameters) -> Integers:
    if not parameters.is_scalar:
        raise FakeQuantizationError("a constant beside a tensor with parameters along an axis")
    quantized = new_call("qnn.quantize", number, *parameters.operands, out_dtype=parameters.dtype)
    return Integers(quantized, parameters)


def _pair_parameters(region: Region, call: Call, dtype: str) -> Parameters:
    """The parameters of the result of an operator on pairs of integers of a data type."""
    wanted = region.wanted_for(call)
    if wanted is None or wanted.dtype != dtype or not wanted.is_scalar:
        raise FakeQuantizationError(
            f"{call.op.name}: the parameters of the result are not known, or vary along an axis"
        )
    return wanted


def _integer_pair(region: Region, call: Call) -> Value:
    """A sum, a difference or a product: exact in int32 if the operands have the same scale, or the operator multiplies;
    else with the parameters of the result."""
    left, right = _pair(region, call)
    name, dtype = call.op.name, left.parameters.dtype
    wanted = region.wanted_for(call)
    if name == "multiply" and wanted is None and all(_is_small(value.parameters) for value in (left, right)):
        scale = np.asarray(left.parameters.scale * right.parameters.scale)
        return Integers(_again(call, _centered(left), _centered(right)), Parameters(scale, _ZERO, "int32"))
    if name != "multiply" and (wanted is None or dtype == "int32") and _have_one_scale(call, left, right):
        result = Parameters(left.parameters.scale, _ZERO, "int32", left.parameters.axis)
        return Integers(_again(call, _centered(left), _centered(right)), result)
    result = _pair_parameters(region, call, dtype)
    parameters = [left.parameters, right.parameters, result]
    operands = [operand for each in parameters for operand in each.operands]
    axes = {"lhs_axis": left.parameters.axis, "rhs_axis": right.parameters.axis}
    quantized = "qnn.mul" if name == "multiply" else f"qnn.{name}"
    return Integers(new_call(quantized, left.expr, right.expr, *operands, **axes), result)


_ZERO = np.asarray(0, "int32")


def _is_small(parameters: Parameters) -> bool:
    """Whether products of such integers fit into int32, and have one scale."""
    return parameters.is_scalar and parameters.dtype in ("int8", "uint8")


def _centered(value: Integers) -> Expr:
    """Integers without their zero point, as int32. FakeQuantizationError for zero points along an axis."""
    own = value.parameters
    if own.zero.ndim and own.zero.any():
        raise FakeQuantizationError("zero points along an axis")
    wide = value.expr if own.dtype == "int32" else new_call("cast", value.expr, dtype="int32")
    return new_call("subtract", wide, const(own.zero.astype("int32"))) if own.zero.any() else wide


def _have_one_scale(call: Call, left: Integers, right: Integers) -> bool:
    """Whether the elements that an operator combines have the same scale."""
    first, second = left.parameters, right.parameters
    if first.scale.shape != second.scale.shape or not np.allclose(first.scale, second.scale, rtol=1e-6):
        return False
    ranks = [len(arg.checked_type.shape) for arg in call.args]
    places = [axis if axis < 0 else axis - rank for axis, rank in zip((first.axis, second.axis), ranks, strict=True)]
    return first.scale.ndim == 0 or places[0] == places[1]


for _name in ("add", "subtract", "multiply"):
    RULES[_name] = _integer_pair


@_rule("minimum", "maximum")
def _extreme(region: Region, call: Call) -> Value:
    left, right = _pair(region, call)
    result = _pair_parameters(region, call, left.parameters.dtype)
    return Integers(_again(call, left.requantized(result), right.requantized(result)), result)


# Functions of elements


def _function(region: Region, call: Call, name: str, **attributes: Any) -> Value:
    value = _scalar_integers(region, call.args[0])
    result = region.wanted_for(call)
    if result is None or not result.is_scalar or result.dtype != value.parameters.dtype:
        raise FakeQuantizationError(f"{call.op.name}: the parameters of the result are not known")
    operands = [*value.parameters.operands, *result.operands]
    return Integers(new_call(name, value.expr, *operands, **attributes), result)


def _plain_function(region: Region, call: Call) -> Value:
    return _function(region, call, f"qnn.{call.op.name}")


for _name in ("abs", "erf", "exp", "log", "rsqrt", "sigmoid", "sqrt", "tanh"):
    RULES[_name] = _plain_function


@_rule("nn.leaky_relu")
def _leaky_relu(region: Region, call: Call) -> Value:
    return _function(region, call, "qnn.leaky_relu", **call.attrs)


@_rule("nn.hard_swish")
def _hard_swish(region: Region, call: Call) -> Value:
    return _function(region, call, "qnn.hardswish")


# Sums of products


def _product(region: Region, call: Call, axis: int) -> Value:
    """A product of matrices or a convolution. axis: that of the result along which the scales of the weight vary."""
    data, weight = _scalar_integers(region, call.args[0]), region.integers(call.args[1])
    if any(value.parameters.dtype not in ("int8", "uint8") for value in (data, weight)):
        raise FakeQuantizationError(f"{call.op.name} of wide integers")
    return _product_of(f"qnn.{call.op.name[3:]}", data, weight, axis, **{**call.attrs, "out_dtype": "int32"})


def _product_of(name: str, data: Integers, weight: Integers, axis: int = -1, **attributes: Any) -> Integers:
    """The result of an operator on products, in int32, whose scale is the product of both scales."""
    first, second = data.parameters, weight.parameters
    operands = [const(each) for each in (first.zero, second.zero, first.scale, second.scale)]
    result = Parameters(np.asarray(first.scale * second.scale), _ZERO, "int32", axis)
    return Integers(new_call(name, data.expr, weight.expr, *operands, **attributes), result)


def _require_axis(region: Region, call: Call, axis: int) -> None:
    """FakeQuantizationError unless the parameters of the weight vary along its output channels."""
    parameters = region.integers(call.args[1]).parameters
    if not parameters.is_scalar and parameters.axis % len(call.args[1].checked_type.shape) != axis:
        raise FakeQuantizationError(f"{call.op.name}: parameters of the weight along axis {parameters.axis}")


@_rule("nn.conv2d", "nn.conv2d_transpose")
def _convolution(region: Region, call: Call) -> Value:
    attrs: Any = call.attrs
    _require_axis(region, call, attrs.kernel_layout.index("O"))
    return _product(region, call, (attrs.out_layout or attrs.data_layout).index("C"))


@_rule("nn.dense")
def _dense(region: Region, call: Call) -> Value:
    _require_axis(region, call, 0)
    return _product(region, call, len(call.checked_type.shape) - 1)


@_rule("nn.batch_matmul")
def _batch_matmul(region: Region, call: Call) -> Value:
    attrs: Any = call.attrs
    if attrs.transpose_a or not attrs.transpose_b or not region.integers(call.args[1]).parameters.is_scalar:
        raise FakeQuantizationError("nn.batch_matmul of another form than x @ y.T")
    data, weight = _scalar_integers(region, call.args[0]), region.integers(call.args[1])
    return _product_of("qnn.batch_matmul", data, weight)


@_rule("nn.bias_add")
def _bias_add(region: Region, call: Call) -> Value:
    value, bias = region.integers(call.args[0]), call.args[1]
    own, axis = value.parameters, call.attrs.axis  # pyright: ignore[reportAttributeAccessIssue]
    if own.zero.any() or (not own.is_scalar and own.axis != axis % len(call.checked_type.shape)):
        raise FakeQuantizationError("nn.bias_add: data with a zero point, or with parameters along another axis")
    if isinstance(bias, Constant):
        added: Expr = new_call("qnn.quantize", bias, *own.operands, axis=0, out_dtype=own.dtype)
    else:
        added = _same_scale(region.integers(bias), own)
    return replace(value, expr=_again(call, value.expr, added))


def _same_scale(bias: Integers, wanted: Parameters) -> Expr:
    """A vector with the scales of the tensor to which it is added."""
    own = bias.parameters
    if own.dtype == wanted.dtype and np.allclose(own.scale, wanted.scale, rtol=1e-6) and not own.zero.any():
        return bias.expr
    if not wanted.is_scalar:
        raise FakeQuantizationError("nn.bias_add: a bias with other scales along an axis")
    return bias.requantized(replace(wanted, axis=-1))


# Regions


class _RegionsBeforeQuantize(ExprMutator):
    """Converts each region that ends in a `qnn.quantize`, and keeps those that have an operator without a rule.

    hard_fail: whether such an operator is an error.
    """

    def __init__(self, hard_fail: bool):
        super().__init__()
        self.hard_fail = hard_fail

    def visit_call(self, call: Call) -> Expr:
        if operator_name(call) != "qnn.quantize":
            return super().visit_call(call)
        try:
            wanted = _parameters_of(call, call.checked_type.dtype)
            return Region(call.args[0], wanted, self.visit).integers(call.args[0]).requantized(wanted)
        except FakeQuantizationError:
            if self.hard_fail and "qnn.dequantize" in operators_of_region(call):
                raise
            return super().visit_call(call)


QAT = {
    "broadcast_to", "expand_dims", "nn.batch_flatten", "nn.batch_matmul", "nn.bias_add", "nn.conv2d",
    "nn.conv2d_transpose", "nn.dense", "nn.max_pool2d", "reshape", "squeeze", "strided_slice", "transpose",
}  # fmt: skip
"""The operators that are computed on integers although their results are not quantized."""


class _RegionsAfterDequantize(ExprMutator):
    """Converts operators on dequantized numbers, and dequantizes their results."""

    def visit_call(self, call: Call) -> Expr:
        if operator_name(call) not in QAT:
            return super().visit_call(call)
        try:
            region = Region(call, None, self.visit)
            value = region.integers(call)
        except FakeQuantizationError:
            return super().visit_call(call)
        if any(getattr(each, "op", None) and each.op.name not in {*QAT, "qnn.dequantize"} for each in region.values):  # pyright: ignore[reportAttributeAccessIssue]
            return super().visit_call(call)
        return value.dequantized()


def convert_fake_quantization(func: Function, hard_fail: bool) -> Function:
    """A graph whose regions between `qnn.dequantize` and `qnn.quantize` are computed on integers.

    hard_fail: whether a region with an operator that has no form on integers is a FakeQuantizationError; otherwise it
    stays.
    """
    return _RegionsBeforeQuantize(hard_fail).visit(func)


def convert_after_dequantize(func: Function) -> Function:
    """A graph whose operators on dequantized numbers are computed on integers, and dequantized."""
    return _RegionsAfterDequantize().visit(func)


def operators_of_region(quantize: Call) -> list[str]:
    """The names of the operators whose results a `qnn.quantize` needs, down to those that dequantize, each once per
    call."""
    names: list[str] = []
    seen: set[Expr] = set()
    todo: list[Any] = [quantize.args[0]]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        name = getattr(getattr(node, "op", None), "name", None)
        names += [name] if name else []
        if name != "qnn.dequantize":
            todo += node.children
    return names
