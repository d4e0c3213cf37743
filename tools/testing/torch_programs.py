"""Random modules of PyTorch with inputs, and their outputs by PyTorch.

Every call is evaluated when it is added, so that the arguments of the next call fit the shapes. Floats are small, so
that their results differ by rounding only; operators that are not continuous take integers or inputs. Requires the
extra `torch`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from ...frontends.torch.library import torch
from .choices import Choices, HypothesisChoices, flag, pick, shuffle

Draw = Callable[[st.SearchStrategy[Any]], Any]

LARGEST = 256
"""The maximum number of elements of a tensor."""
nn = torch.nn.functional


@dataclass(frozen=True)
class RandomProgram:
    """A module. inputs: tensors in order.  expected: the outputs of PyTorch, in order."""

    module: Any
    inputs: tuple[Any, ...]
    expected: tuple[Any, ...]


@dataclass
class TorchWriter:
    """Adds calls to a graph. values: the tensor of each node.  inputs: the nodes of the inputs."""

    choices: Choices
    random: Any
    graph: Any = field(default_factory=torch.fx.Graph)
    root: Any = field(default_factory=torch.nn.Module)
    values: dict[Any, Any] = field(default_factory=dict[Any, Any])
    inputs: list[Any] = field(default_factory=list[Any])

    def tensor(self, shape: Sequence[int], dtype: Any = torch.float32) -> Any:
        """A tensor of random elements: small integers, or quarters of them."""
        low, high = (0, 2) if dtype == torch.bool else (-8, 9)
        numbers = torch.randint(low, high, tuple(shape), generator=self.random)
        return (numbers / 4 if dtype.is_floating_point else numbers).to(dtype)

    def add_input(self, tensor: Any) -> None:
        """Adds an input with the value `tensor`."""
        node = self.graph.placeholder(f"x{len(self.inputs)}")
        self.inputs.append(node)
        self.values[node] = tensor

    def weight(self, *shape: int) -> Any:
        """The node of a new parameter."""
        name = f"w{len(dict(self.root.named_parameters()))}"
        self.root.register_parameter(name, torch.nn.Parameter(self.tensor(shape), requires_grad=False))
        node = self.graph.get_attr(name)
        self.values[node] = getattr(self.root, name)
        return node

    def indices(self, most: int, *shape: int) -> Any:
        """The node of a new constant of indices from 0 to `most - 1`."""
        name = f"i{len(dict(self.root.named_buffers()))}"
        self.root.register_buffer(name, torch.randint(0, most, shape, generator=self.random))
        node = self.graph.get_attr(name)
        self.values[node] = getattr(self.root, name)
        return node

    def operand(self, *kinds: str, rank: int = 0, fits: Callable[[Any], bool] = lambda tensor: True) -> Any:
        """A node whose tensor has at least `rank` dimensions; None without such a node. kinds: `float`, `int` and
        `bool`; any by default."""
        nodes = [
            node
            for node, value in self.values.items()
            if node.op != "get_attr" and value.ndim >= rank and (not kinds or _kind(value) in kinds) and fits(value)
        ]
        return pick(self.choices, nodes[::-1]) if nodes else None

    def axis(self, node: Any) -> int:
        """A random axis of a value, from either end."""
        rank = self.values[node].ndim
        return self.choices.integer(0, rank - 1) - (rank if flag(self.choices) else 0)

    def add(self, function: Any, *args: Any, **options: Any) -> Any:
        """Adds a call; returns its node. Without an effect, and with the result None, if the result is too large or not
        finite. function: a function, or the name of a method."""
        method = isinstance(function, str)
        examples = torch.fx.map_arg((args, options), lambda node: self.values[node])
        call = getattr(examples[0][0], function) if method else function
        result = call(*(examples[0][1:] if method else examples[0]), **examples[1])
        if not all(_is_small(each) for each in (result if isinstance(result, tuple | list) else [result])):
            return None
        node = (self.graph.call_method if method else self.graph.call_function)(function, args, options)
        if not isinstance(result, tuple | list):
            self.values[node] = result
            return node
        for n, each in enumerate(result):
            self.values[self.graph.call_function(operator.getitem, (node, n))] = each
        return node


def _kind(tensor: Any) -> str:
    return "bool" if tensor.dtype == torch.bool else "float" if tensor.dtype.is_floating_point else "int"


def _is_small(tensor: Any) -> bool:
    return tensor.numel() <= LARGEST and (_kind(tensor) != "float" or bool((tensor.abs() < 1e4).all()))


@st.composite
def torch_programs(draw: Draw, most: int = 8) -> RandomProgram:
    """Modules of up to `most` calls on one to three inputs. Shrinks to a module with one call."""
    return random_program(HypothesisChoices(draw), most)


def random_program(choices: Choices, most: int) -> RandomProgram:
    """A module of up to `most` calls on one to three inputs."""
    writer = TorchWriter(choices, torch.Generator().manual_seed(choices.integer(0, 2**16)))
    for _ in range(choices.integer(1, 3)):
        rank = choices.integer(0, 4)
        shape = [pick(choices, (2, 1, 3, 4) if rank == 4 else (2, 1, 3, 4, 5)) for _ in range(rank)]
        dtype = pick(choices, (torch.float32, torch.float32, torch.float32, torch.int64, torch.bool))
        writer.add_input(writer.tensor(shape, dtype))
    for _ in range(choices.integer(1, most)):
        pick(choices, STEPS)(writer)
    computed = [node for node in writer.values if node.op.startswith("call")]
    if not computed:
        computed.append(writer.add(torch.logical_not, writer.inputs[0]))
    outputs = tuple(dict.fromkeys([computed[-1], pick(choices, computed)]))
    writer.graph.output(outputs)
    inputs = tuple(writer.values[node] for node in writer.inputs)
    module = torch.fx.GraphModule(writer.root, writer.graph).eval()
    return RandomProgram(module, inputs, tuple(module(*inputs)))


# Steps: each adds a call, if an operand fits

_UNARY = (
    *(torch.relu, torch.abs, torch.neg, torch.sigmoid, torch.tanh, torch.exp, torch.erf, torch.sin, torch.cos),
    *(nn.gelu, nn.silu, nn.softplus, nn.hardswish, nn.elu, nn.selu, nn.leaky_relu, nn.mish, torch.atan, torch.expm1),
)


def _unary(w: TorchWriter) -> None:
    x = w.operand("float")
    if x is not None:
        w.add(pick(w.choices, _UNARY), x)


def _rounding(w: TorchWriter) -> None:
    x = w.operand("float")
    if x in w.inputs:
        w.add(pick(w.choices, (torch.floor, torch.ceil, torch.round, torch.trunc, torch.sign)), x)


def _binary(w: TorchWriter) -> None:
    """Operands of different kinds are promoted."""
    x = w.operand("float", "int")
    if x is None:
        return
    y = w.operand("float", "int", fits=lambda other: _broadcasts(w.values[x], other))
    y = pick(w.choices, (y, 2, 0.5))
    w.add(pick(w.choices, (operator.add, operator.sub, operator.mul)), *([y, x] if flag(w.choices) else [x, y]))


def _extreme(w: TorchWriter) -> None:
    x = w.operand("float", "int")
    if x is not None:
        y = w.operand("float", "int", fits=lambda other: _broadcasts(w.values[x], other))
        w.add(pick(w.choices, (torch.maximum, torch.minimum)), x, y)


def _divide(w: TorchWriter) -> None:
    x = w.operand("float", "int")
    if x is None:
        return
    if _kind(w.values[x]) == "float":
        w.add(torch.div, x, pick(w.choices, (3, 0.5, -2.0)))
    else:
        w.add(torch.div, x, pick(w.choices, (3, -2)), rounding_mode=pick(w.choices, (None, "floor", "trunc")))


def _remainder(w: TorchWriter) -> None:
    x = w.operand("int")
    if x is not None:
        w.add(pick(w.choices, (torch.remainder, torch.fmod)), x, pick(w.choices, (3, -2)))


def _broadcasts(a: Any, b: Any) -> bool:
    try:
        torch.broadcast_shapes(a.shape, b.shape)
    except RuntimeError:
        return False
    return True


def _compare(w: TorchWriter) -> None:
    x = w.operand("int")
    if x is not None:
        w.add(pick(w.choices, (torch.lt, torch.gt, torch.eq, torch.le, torch.ge)), x, w.choices.integer(-3, 3))


def _logic(w: TorchWriter) -> None:
    x = w.operand("bool")
    if x is None:
        return
    if flag(w.choices):
        w.add(torch.logical_not, x)
        return
    chosen = w.operand("float", "int", fits=lambda other: _broadcasts(w.values[x], other))
    if chosen is not None:
        w.add(torch.where, x, chosen, 0)


def _cast(w: TorchWriter) -> None:
    x = w.operand("int", "bool")
    if x is not None:
        w.add("to", x, pick(w.choices, (torch.float32, torch.int64, torch.int32, torch.float64)))


def _permute(w: TorchWriter) -> None:
    x = w.operand(rank=1)
    if x is not None:
        axes = list(range(w.values[x].ndim))
        shuffle(w.choices, axes)
        w.add(torch.permute, x, axes)


def _reshape(w: TorchWriter) -> None:
    x = w.operand()
    if x is None:
        return
    size, shape = w.values[x].numel(), list[int]()
    while size > 1 and len(shape) < 3:
        shape.append(pick(w.choices, [n for n in range(1, size + 1) if size % n == 0]))
        size //= shape[-1]
    w.add("reshape", x, [*shape, size if flag(w.choices) or w.values[x].numel() == 0 else -1])


def _unit_axes(w: TorchWriter) -> None:
    x = w.operand()
    if x is None or w.values[x].ndim > 4:
        return
    if flag(w.choices):
        w.add("squeeze", x)
    else:
        w.add(torch.unsqueeze, x, w.choices.integer(0, w.values[x].ndim))


def _expand(w: TorchWriter) -> None:
    x = w.operand()
    if x is not None and w.values[x].ndim < 4:
        w.add("expand", x, [pick(w.choices, (2, 1, 3)), *([-1] * w.values[x].ndim)])


def _concat(w: TorchWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    axis, shape = w.axis(x), list(w.values[x].shape)

    def fits(other: Any) -> bool:
        extents = list(other.shape)
        return len(extents) == len(shape) and all(
            a == b or n == axis % len(shape) for n, (a, b) in enumerate(zip(extents, shape, strict=True))
        )

    w.add(torch.cat, [w.operand(fits=fits) for _ in range(w.choices.integer(1, 3))], axis)


def _split(w: TorchWriter) -> None:
    x = w.operand(rank=1)
    if x is not None:
        axis = w.axis(x)
        size = w.values[x].shape[axis]
        first = w.choices.integer(0, size)
        w.add(torch.split, x, [first, size - first], axis)


def _slice(w: TorchWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    items = list[Any]()
    for extent in w.values[x].shape[: w.choices.integer(1, w.values[x].ndim)]:
        start = w.choices.integer(0, extent)
        items.append(pick(w.choices, (slice(start, None), slice(None, -1), slice(None, None, 2), None)))
    w.add(operator.getitem, x, tuple(items))


def _select(w: TorchWriter) -> None:
    x = w.operand(rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        axis = w.axis(x)
        w.add(torch.select, x, axis, w.choices.integer(0, w.values[x].shape[axis] - 1))


def _order(w: TorchWriter) -> None:
    x = w.operand(rank=1)
    if x is not None:
        axis = w.axis(x)
        pick(w.choices, (lambda: w.add(torch.flip, x, [axis]), lambda: w.add(torch.roll, x, 1, axis)))()


def _pad(w: TorchWriter) -> None:
    x = w.operand("float", "int", rank=1)
    if x is not None:
        w.add(nn.pad, x, [w.choices.integer(0, 2), w.choices.integer(0, 2)], value=1)


def _triangle(w: TorchWriter) -> None:
    x = w.operand(rank=2)
    if x is not None:
        w.add(pick(w.choices, (torch.tril, torch.triu)), x, w.choices.integer(-1, 1))


# Reductions


def _reduce(w: TorchWriter) -> None:
    x = w.operand("float", "int", rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        axis, keep = w.axis(x), flag(w.choices)
        names = ("sum", "amax", "amin", "prod") + (("mean", "logsumexp") if _kind(w.values[x]) == "float" else ())
        w.add(getattr(torch, pick(w.choices, names)), x, axis, keep)


def _moments(w: TorchWriter) -> None:
    x = w.operand("float", rank=1)
    if x is not None:
        axis = w.axis(x)
        if w.values[x].shape[axis] > 1:
            w.add(torch.var, x, axis, correction=w.choices.integer(0, 1), keepdim=flag(w.choices))


def _any(w: TorchWriter) -> None:
    x = w.operand("bool")
    if x is not None:
        w.add(pick(w.choices, (torch.any, torch.all)), x)


def _arg(w: TorchWriter) -> None:
    x = w.operand("float", "int", rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x in w.inputs:
        w.add(pick(w.choices, (torch.argmax, torch.argmin)), x, w.axis(x))


def _scan(w: TorchWriter) -> None:
    x = w.operand("float", "int", rank=1)
    if x is not None:
        w.add(pick(w.choices, (torch.cumsum, torch.cumprod)), x, w.axis(x))


def _softmax(w: TorchWriter) -> None:
    x = w.operand("float", rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        w.add(pick(w.choices, (torch.softmax, torch.log_softmax)), x, w.axis(x))


# Reads and writes at computed indices


def _take(w: TorchWriter) -> None:
    x = w.operand(rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        axis = w.axis(x)
        w.add(torch.index_select, x, axis, w.indices(w.values[x].shape[axis], 3))


def _advanced_index(w: TorchWriter) -> None:
    x = w.operand(rank=2, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        first, second = w.values[x].shape[:2]
        w.add(operator.getitem, x, pick(w.choices, (
            (w.indices(first, 2),),
            (slice(None), w.indices(second, 2)),
            (w.indices(first, 2), w.indices(second, 2)),
            (w.indices(first, 2, 1), w.indices(second, 3)),
        )))  # fmt: skip


def _gather(w: TorchWriter) -> None:
    x = w.operand(rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        axis, shape = w.axis(x), w.values[x].shape
        w.add(torch.gather, x, axis, w.indices(shape[axis], *shape))


def _scatter(w: TorchWriter) -> None:
    x = w.operand("float", "int", rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        axis, shape = w.axis(x), w.values[x].shape
        w.add(torch.scatter_add, x, axis, w.indices(shape[axis], *shape), x)


def _mask(w: TorchWriter) -> None:
    x = w.operand("float", "int")
    if x is not None:
        mask = w.operand("bool", fits=lambda other: _broadcasts_to(other, w.values[x]))
        if mask is not None:
            w.add("masked_fill", x, mask, 2)


def _broadcasts_to(a: Any, b: Any) -> bool:
    return _broadcasts(a, b) and torch.broadcast_shapes(a.shape, b.shape) == b.shape


def _update(w: TorchWriter) -> None:
    """A write into a part of a copy."""
    x = w.operand("float", "int", rank=1, fits=lambda tensor: tensor.numel() > 0)
    if x is not None:
        copy = w.add("clone", x)
        part = w.add(torch.select, copy, w.axis(copy), 0)
        w.add("add_", part, 1)
        w.values[copy] = w.values[copy].clone()


# Products and networks


def _product(w: TorchWriter) -> None:
    x = w.operand("float", rank=1)
    if x is None or w.values[x].dtype != torch.float32:
        return
    value, out = w.values[x], w.choices.integer(1, 3)
    if flag(w.choices):
        w.add(nn.linear, x, w.weight(out, value.shape[-1]), w.weight(out))
    else:
        w.add(torch.matmul, x, w.weight(value.shape[-1], out))


def _attention(w: TorchWriter) -> None:
    x = w.operand("float", rank=3, fits=lambda tensor: tensor.dtype == torch.float32 and tensor.numel() > 0)
    if x is not None:
        w.add(nn.scaled_dot_product_attention, x, x, x, is_causal=flag(w.choices))


def _image(w: TorchWriter, least: int = 1) -> Any:
    """A batch of images of float32, at least `least` by `least`."""

    def fits(tensor: Any) -> bool:
        return tensor.ndim == 4 and tensor.dtype == torch.float32 and min(tensor.shape) > 0

    return w.operand("float", fits=lambda tensor: fits(tensor) and min(tensor.shape[2:]) >= least)


def _convolution(w: TorchWriter) -> None:
    x = _image(w)
    if x is None:
        return
    channels, out, kernel = w.values[x].shape[1], w.choices.integer(1, 2), w.choices.integer(1, 3)
    if flag(w.choices, 3):
        w.add(nn.conv_transpose2d, x, w.weight(channels, out, kernel, 2), w.weight(out), w.choices.integer(1, 2))
    else:
        w.add(nn.conv2d, x, w.weight(out, channels, kernel, 3), w.weight(out), w.choices.integer(1, 2), 1)


def _depthwise(w: TorchWriter) -> None:
    x = _image(w)
    if x is not None:
        channels = w.values[x].shape[1]
        w.add(nn.conv2d, x, w.weight(channels, 1, 1, 1), None, 1, 0, 1, channels)


def _pool(w: TorchWriter) -> None:
    x = _image(w, 2)
    if x is not None:
        pool = pick(w.choices, (nn.max_pool2d, nn.avg_pool2d))
        w.add(pool, x, 2, w.choices.integer(1, 2), w.choices.integer(0, 1), ceil_mode=flag(w.choices))


def _adaptive_pool(w: TorchWriter) -> None:
    x = _image(w)
    if x is not None:
        w.add(nn.adaptive_avg_pool2d, x, [w.choices.integer(1, 3), w.choices.integer(1, 3)])


def _resize(w: TorchWriter) -> None:
    x = _image(w)
    if x is not None:
        mode = pick(w.choices, ("nearest", "bilinear", "bicubic"))
        corners = None if mode == "nearest" else flag(w.choices)
        w.add(nn.interpolate, x, [w.choices.integer(1, 5), 3], mode=mode, align_corners=corners)


def _norm(w: TorchWriter) -> None:
    x = _image(w, 2)
    if x is None:
        return
    channels, *rest = w.values[x].shape[1:]
    pick(w.choices, (
        lambda: w.add(nn.layer_norm, x, rest, w.weight(*rest)),
        lambda: w.add(nn.group_norm, x, channels, w.weight(channels)),
        lambda: w.add(nn.instance_norm, x),
        lambda: w.add(nn.batch_norm, x, w.weight(channels), w.add(torch.ones, channels), w.weight(channels)),
    ))()  # fmt: skip


STEPS: tuple[Callable[[TorchWriter], None], ...] = (
    *(_unary, _rounding, _binary, _extreme, _divide, _remainder, _compare, _logic, _cast),
    *(_permute, _reshape, _unit_axes, _expand, _concat, _split, _slice, _select, _order, _pad, _triangle),
    *(_reduce, _moments, _any, _arg, _scan, _softmax),
    *(_take, _advanced_index, _gather, _scatter, _mask, _update),
    *(_product, _attention, _convolution, _depthwise, _pool, _adaptive_pool, _resize, _norm),
)
