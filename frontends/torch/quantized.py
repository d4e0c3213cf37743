"""Quantized models of TorchScript as modules on integers, which `torch.export` accepts.

A quantized tensor is a tensor of int32 with a scale and a zero point; products and sums are those of integers, and
results are rounded as PyTorch's kernels do (half to even, in float32). A result may differ by one unit where its
fraction is a half but for a rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..models.errors import ModelUnsupportedError
from .library import torch

_RANGES = {13: (0, 255), 12: (-128, 127), 14: (-(2**31), 2**31 - 1)}
"""The least and the greatest number of a data type, by PyTorch's number: quint8, qint8, qint32."""


@dataclass(frozen=True)
class _Quantized:
    """Quantized numbers: `(values - zero) * scale`. bounds: of the values."""

    values: Any
    scale: float
    zero: int
    bounds: tuple[int, int]

    def with_values(self, values: Any) -> _Quantized:
        """Other values on the same scale."""
        return _Quantized(values, self.scale, self.zero, self.bounds)

    @property
    def floats(self) -> Any:
        """The numbers as float32."""
        return (self.values - self.zero).to(torch.float32) * self.scale


def is_quantized_script(script: Any) -> bool:
    """Whether a module of TorchScript computes on quantized tensors."""
    return any("quantize" in node.kind() for node in script.inlined_graph.nodes())


class QuantizedScript(torch.nn.Module):
    """The module on integers of a quantized module of TorchScript, whose branches depend on sizes alone, and which has
    no loops."""

    def __init__(self, script: Any):
        super().__init__()
        self._graph = script.inlined_graph
        owner = next(self._graph.inputs()).debugName()
        self._known: dict[str, Any] = {owner: script}
        self._add_constants(self._graph)
        self.training = False

    def _add_constants(self, block: Any) -> None:
        """Evaluates the constants of a block, and of the blocks in it: kernels cannot unpack weights during a trace."""
        for node in block.nodes():
            names = [value.debugName() for value in node.inputs()]
            if node.kind() in _CONSTANTS and all(name in self._known for name in names):
                (output,) = node.outputs()
                value = _CONSTANTS[node.kind()](node, *(self._known[name] for name in names))
                self._known[output.debugName()] = _unpacked(value) if isinstance(value, torch.ScriptObject) else value
            for inner in node.blocks():
                self._add_constants(inner)

    def forward(self, *inputs: Any) -> Any:
        """The results, of the operations in order."""
        _, *params = (value.debugName() for value in self._graph.inputs())
        (result,) = self._results(self._graph, {**self._known, **dict(zip(params, inputs, strict=True))})
        return result

    def _results(self, block: Any, values: dict[str, Any]) -> list[Any]:
        """The results of a block. values: by name, to which those of the block are added."""
        for node in block.nodes():
            names = [value.debugName() for value in node.outputs()]
            if names and all(name in self._known for name in names):
                continue
            inputs = [values[value.debugName()] for value in node.inputs()]
            if node.kind() == "prim::If":
                if not isinstance(inputs[0], bool | int):
                    raise ModelUnsupportedError("a branch on data in a quantized module of TorchScript")
                then, orelse = node.blocks()
                results: Sequence[Any] = self._results(then if inputs[0] else orelse, values)
            else:
                results = _run(node, inputs)
            values.update(zip(names, results, strict=True))
        return [values[value.debugName()] for value in block.outputs()]


_CONSTANTS: dict[str, Callable[..., Any]] = {
    "prim::Constant": lambda node: next(node.outputs()).toIValue(),
    "prim::GetAttr": lambda node, owner: getattr(owner, node.s("name")),
    "aten::Float": lambda node, value: float(value),
    "aten::Int": lambda node, value: int(value),
    "aten::item": lambda node, value: value.item(),
}
"""The functions of operations on constants."""


def _run(node: Any, inputs: list[Any]) -> Sequence[Any]:
    """The results of an operation."""
    kind = node.kind()
    if kind in ("prim::Loop", "prim::RaiseException"):
        raise ModelUnsupportedError(f"{kind} in a quantized module of TorchScript")
    if kind in ("prim::ListConstruct", "prim::TupleConstruct"):
        return [inputs if kind == "prim::ListConstruct" else tuple(inputs)]
    if kind in ("prim::ListUnpack", "prim::TupleUnpack"):
        return list(inputs[0])
    if kind in ("prim::NumToTensor", "prim::unchecked_cast"):
        return inputs
    if kind == "prim::Uninitialized":
        return [None]
    if kind in _OPERATORS:
        return [_OPERATORS[kind](*inputs)]
    if any(isinstance(each, _Quantized) for each in _leaves(inputs)):
        name = kind.removeprefix("aten::")
        if name not in _PLACES:
            raise ModelUnsupportedError(f"{kind} of quantized tensors")
        return [_of_places(node, inputs)]
    return _results(node, inputs)


def _leaves(values: Sequence[Any]) -> list[Any]:
    return [leaf for each in values for leaf in (each if isinstance(each, list | tuple) else [each])]


def _results(node: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """The results of an operator of PyTorch, by its schema."""
    space, _, rest = node.schema().partition("(")[0].partition("::")
    name, _, overload = rest.partition(".")
    operator = getattr(getattr(getattr(torch.ops, space), name), overload or "default")
    pairs = list(zip(operator._schema.arguments, inputs, strict=False))
    named = {each.name: value for each, value in pairs if each.kwarg_only and each.name != "memory_format"}
    found = operator(*(value for each, value in pairs if not each.kwarg_only), **named)
    return found if node.outputsSize() > 1 else [found]


_PLACES = (
    "chunk", "clone", "contiguous", "detach", "dropout", "expand", "flatten", "max_pool1d", "max_pool2d", "permute",
    "reshape", "select", "slice", "split", "squeeze", "t", "transpose", "unsqueeze", "view", "to",
)  # fmt: skip
"""The operators whose results are elements of a quantized tensor."""


def _of_places(node: Any, inputs: Sequence[Any]) -> Any:
    data = inputs[0]
    (found,) = _results(node, [data.values, *inputs[1:]])
    return [data.with_values(each) for each in found] if isinstance(found, list | tuple) else data.with_values(found)


# Rounding


def _quantized(floats: Any, scale: float, zero: int, bounds: tuple[int, int], least: int | None = None) -> _Quantized:
    """Floats as quantized numbers. least: the smallest value, that of the type by default."""
    steps = torch.round(floats * (1.0 / torch.tensor(scale, dtype=torch.float32))).to(torch.int32) + zero
    return _Quantized(steps.clamp(bounds[0] if least is None else least, bounds[1]), scale, zero, bounds)


def _quantize(x: Any, scale: Any, zero: Any, dtype: Any) -> _Quantized:
    number = dtype if isinstance(dtype, int) else {torch.quint8: 13, torch.qint8: 12, torch.qint32: 14}[dtype]
    return _quantized(x, float(scale), int(zero), _RANGES[number])


# Products


@dataclass(frozen=True)
class _Weights:
    """The weights of a product. rows: integers, less their zero points.  scales: of each row.  bias: floats, or None.
    options: the windows of a convolution."""

    rows: Any
    scales: Any
    bias: Any
    options: dict[str, Any]


def _unpacked(packed: Any) -> _Weights:
    """The weights of PyTorch's kernels. ModelUnsupportedError for another object."""
    name, ops, options = packed._type().name(), torch.ops.quantized, dict[str, Any]()
    if name == "LinearPackedParamsBase":
        weight, bias = ops.linear_unpack(packed)
    elif name == "Conv2dPackedParamsBase":
        weight, bias = ops.conv2d_unpack(packed)
        options = {key: list(getattr(ops, f"conv2d_{key}")(packed)) for key in ("stride", "padding", "dilation")}
        options["groups"] = ops.conv2d_groups(packed)
    else:
        raise ModelUnsupportedError(f"a constant of type {name}")
    per_row = weight.qscheme() in (torch.per_channel_affine, torch.per_channel_affine_float_qparams)
    if per_row and weight.q_per_channel_axis() != 0:
        raise ModelUnsupportedError("weights with a scale for each input channel")
    scales = weight.q_per_channel_scales() if per_row else torch.tensor([weight.q_scale()])
    zeros = weight.q_per_channel_zero_points() if per_row else torch.tensor([weight.q_zero_point()])
    shape = [-1, *[1] * (weight.dim() - 1)]
    rows = weight.int_repr().to(torch.int32) - zeros.reshape(shape).to(torch.int32)
    return _Weights(rows, scales.to(torch.float32), None if bias is None else bias.detach(), options)


def _product(data: _Quantized, weights: _Weights, sums: Any, scale: float, zero: int, relu: bool) -> _Quantized:
    """Sums of products with a bias, on another scale. The channels are axis 1."""
    unit = weights.scales * data.scale
    shape = [-1, *[1] * (sums.dim() - 2)]
    floats = sums.to(torch.float32)
    if weights.bias is not None:
        floats = floats + (weights.bias / unit).reshape(shape)
    factors = (unit / torch.tensor(scale, dtype=torch.float32)).reshape(shape)
    steps = torch.round(floats * factors).to(torch.int32) + int(zero)
    low, high = data.bounds
    return _Quantized(steps.clamp(max(int(zero), low) if relu else low, high), float(scale), int(zero), data.bounds)


def _convolution(relu: bool) -> Callable[..., _Quantized]:
    def convolve(data: _Quantized, weights: _Weights, scale: float, zero: int) -> _Quantized:
        sums = torch.nn.functional.conv2d(data.values - data.zero, weights.rows, **weights.options)
        return _product(data, weights, sums, scale, zero, relu)

    return convolve


def _linear(relu: bool) -> Callable[..., _Quantized]:
    def multiply(data: _Quantized, weights: _Weights, scale: float, zero: int) -> _Quantized:
        values = (data.values - data.zero).flatten(0, -2)
        found = _product(data, weights, torch.nn.functional.linear(values, weights.rows), scale, zero, relu)
        return found.with_values(found.values.reshape([*data.values.shape[:-1], -1]))

    return multiply


def _dynamic_linear(relu: bool) -> Callable[..., Any]:
    def multiply(x: Any, weights: _Weights, reduce_range: bool = False) -> Any:
        """A product with quantized weights; the range of the data is that of each run."""
        most = 127 if reduce_range else 255
        low, high = torch.clamp(torch.amin(x), max=0.0), torch.clamp(torch.amax(x), min=0.0)
        scale = (high - low) / most
        scale = torch.where(scale == 0, torch.full_like(scale, 0.1), scale)
        zero = torch.clamp(torch.round(-low / scale), 0, most)
        values = torch.clamp(torch.round(x / scale) + zero, 0, most) - zero
        sums = torch.nn.functional.linear(values.to(torch.int32), weights.rows).to(torch.float32)
        floats = sums * (weights.scales * scale)
        floats = floats if weights.bias is None else floats + weights.bias
        return torch.relu(floats) if relu else floats

    return multiply


# Elements


def _binary(combine: Callable[[Any, Any], Any], relu: bool) -> Callable[..., _Quantized]:
    def compute(a: _Quantized, b: _Quantized, scale: float, zero: int) -> _Quantized:
        return _quantized(combine(a.floats, b.floats), scale, zero, a.bounds, zero if relu else None)

    return compute


def _concatenated(parts: Sequence[_Quantized], axis: int, scale: float | None = None, zero: int | None = None) -> Any:
    first = parts[0]
    to, at = first.scale if scale is None else float(scale), first.zero if zero is None else int(zero)
    moved = [
        each if (each.scale, each.zero) == (to, at) else _quantized(each.floats, to, at, first.bounds) for each in parts
    ]
    return _Quantized(torch.cat([each.values for each in moved], axis), to, at, first.bounds)


def _cat(parts: Sequence[Any], axis: int) -> Any:
    return _concatenated(parts, axis) if isinstance(parts[0], _Quantized) else torch.cat(list(parts), axis)


def _either(name: str, quantized: Callable[..., Any]) -> Callable[..., Any]:
    """An operator of floats by its name, and its function of quantized tensors."""

    def compute(x: Any, *args: Any) -> Any:
        return quantized(x, *args) if isinstance(x, _Quantized) else getattr(torch.ops.aten, name)(x, *args)

    return compute


def _relu(x: _Quantized) -> _Quantized:
    return x.with_values(x.values.clamp(min=x.zero))


def _clamped(x: _Quantized, low: float, high: float) -> _Quantized:
    ends = [round(end / x.scale) + x.zero for end in (low, high)]
    return x.with_values(x.values.clamp(*(min(max(end, x.bounds[0]), x.bounds[1]) for end in ends)))


def _averaged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The means of windows, on the scale of the data."""

    def average(x: _Quantized, *args: Any) -> _Quantized:
        means = function((x.values - x.zero).to(torch.float32), *args)
        return x.with_values((torch.round(means).to(torch.int32) + x.zero).clamp(*x.bounds))

    return average


def _through_floats(function: Callable[..., Any]) -> Callable[..., _Quantized]:
    """A function of floats, whose result has another scale: the last two arguments."""

    def compute(x: _Quantized, *args: Any) -> _Quantized:
        return _quantized(function(x.floats, *args[:-2]), args[-2], args[-1], x.bounds)

    return compute


_F = torch.nn.functional
_OPERATORS: dict[str, Callable[..., Any]] = {
    "aten::quantize_per_tensor": _quantize,
    "aten::dequantize": lambda x: x.floats if isinstance(x, _Quantized) else x,
    "aten::relu": _either("relu", _relu),
    "aten::relu_": _either("relu", _relu),
    "aten::relu6": _either("relu6", lambda x: _clamped(x, 0.0, 6.0)),
    "aten::hardtanh": _either("hardtanh", _clamped),
    "aten::hardtanh_": _either("hardtanh", _clamped),
    "aten::cat": _cat,
    "aten::adaptive_avg_pool2d": _either("adaptive_avg_pool2d", _averaged(_F.adaptive_avg_pool2d)),
    "aten::avg_pool2d": _either("avg_pool2d", _averaged(torch.ops.aten.avg_pool2d.default)),
    "aten::mean": _either("mean", _averaged(lambda x, axes, keep, dtype: torch.mean(x, axes, keep))),
    "aten::size": lambda x, *args: (x.values if isinstance(x, _Quantized) else x).size(*args),
    "aten::dim": lambda x: (x.values if isinstance(x, _Quantized) else x).dim(),
    "aten::len": len,
    "aten::__is__": lambda a, b: a is b,
    "aten::__isnot__": lambda a, b: a is not b,
    "quantized::add": _binary(torch.add, False),
    "quantized::add_relu": _binary(torch.add, True),
    "quantized::mul": _binary(torch.mul, False),
    "quantized::mul_relu": _binary(torch.mul, True),
    "quantized::cat": _concatenated,
    "quantized::hardswish": _through_floats(_F.hardswish),
    "quantized::leaky_relu": lambda x, slope, _, scale, zero: _through_floats(_F.leaky_relu)(x, slope, scale, zero),
    "quantized::relu6": lambda x, _=False: _clamped(x, 0.0, 6.0),
    "quantized::conv2d": _convolution(False),
    "quantized::conv2d_relu": _convolution(True),
    "quantized::linear": _linear(False),
    "quantized::linear_relu": _linear(True),
    "quantized::linear_dynamic": _dynamic_linear(False),
    "quantized::linear_relu_dynamic": _dynamic_linear(True),
}
"""The functions of operators on quantized tensors, by kind."""
