"""Sample arguments for each operator of ATen with an importer, and calls of these operators as graphs.

The samples of an operator cover data types, optional arguments, and edge cases: NaN and infinity, extents of 0 and 1,
negative axes, tensors without dimensions. Requires the extra `torch`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...frontends.models.types import Array
from ...frontends.torch.exporting import operator_of_name
from ...frontends.torch.importers.elementwise import COMPARISONS, SHIFTS, UNARY
from ...frontends.torch.importing import GraphImporter
from ...frontends.torch.library import torch
from ...frontends.torch.signature import Input, Inputs, Output
from ...frontends.torch.sizes import Sizes
from ...frontends.torch.tensors import array_of_tensor
from ...module import Module
from .execution import interpret_graph

NAN, INF = float("nan"), float("inf")
tree = torch.utils._pytree  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True)
class Sample:
    """The arguments of a call. used: the results that are compared, of an operator with several results."""

    operator: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    used: tuple[int, ...] = (0,)

    @property
    def expected(self) -> list[Array]:
        """The results by PyTorch."""
        results = operator_of_name(self.operator)(*self.args, **self.options)
        used = [results[n] for n in self.used] if isinstance(results, tuple | list) else [results]
        return [array_of_tensor(torch.as_tensor(each)) for each in used]

    @property
    def actual(self) -> list[Array]:
        """The results of the imported operator, by numpy."""
        tensors = [leaf for leaf in tree.tree_leaves((self.args, self.options)) if isinstance(leaf, torch.Tensor)]
        return interpret_graph(self.module, [array_of_tensor(each) for each in tensors])

    @property
    def module(self) -> Module:
        """The graph of the call, whose inputs are the tensors among the arguments."""
        graph = torch.fx.Graph()
        args, options = tree.tree_map(lambda leaf: _placeholder(graph, leaf), (self.args, self.options))
        call = graph.call_function(operator_of_name(self.operator), args, options)
        results = call.meta["val"] = call.target(*_examples(args), **_examples(options))
        outputs = [_item(graph, call, n) for n in self.used] if isinstance(results, tuple | list) else [call]
        graph.output(outputs)
        inputs = [Input(node, node.name, is_parameter=True) for node in graph.nodes if node.op == "placeholder"]
        importer = GraphImporter(torch.fx.GraphModule({}, graph), Inputs(inputs), Sizes())
        return importer.finish([Output(f"y{n}", each) for n, each in enumerate(outputs)])


def _placeholder(graph: Any, leaf: Any) -> Any:
    """An input of a graph for a tensor; another argument as it is."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    node = graph.placeholder(f"x{len(graph.nodes)}")
    node.meta["val"] = leaf
    return node


def _examples(arguments: Any) -> Any:
    """The arguments of a node, tensors in place of nodes."""
    return torch.fx.map_arg(arguments, lambda node: node.meta["val"])


def _item(graph: Any, call: Any, index: int) -> Any:
    """One of several results of a node."""
    item = graph.call_function(operator.getitem, (call, index))
    item.meta["val"] = call.meta["val"][index]
    return item


def samples() -> Iterator[Sample]:
    """Samples of all operators."""
    torch.manual_seed(0)
    for family in (
        _elementwise,
        _arithmetic,
        _creation,
        _reductions,
        _shapes,
        _indexing,
        _updates,
        _products,
        _networks,
    ):
        yield from family()


def _sample(name: str, *args: Any, used: Sequence[int] = (0,), **options: Any) -> Sample:
    return Sample(name, args, options, tuple(used))


def _x(*shape: int, dtype: Any = torch.float32) -> Any:
    """A tensor of random elements."""
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -5, 6, shape, dtype=dtype)


def _specials(dtype: Any = torch.float32) -> Any:
    return torch.tensor([NAN, INF, -INF, 0.0, -0.0, 0.3, -0.7, 1.0, 2.5, -3.5], dtype=dtype)


# Elementwise operators

_POSITIVE = ("acosh", "log", "log10", "log1p", "log2", "rsqrt", "sqrt")
_UNIT = ("acos", "asin", "atanh")
_FLOATS_ONLY = ("hardswish", "mish", "silu")


def _elementwise() -> Iterator[Sample]:
    for name in UNARY:
        x = _x(3, 4)
        x = x.abs() + 1.5 if name in _POSITIVE else x.clamp(-0.9, 0.9) if name in _UNIT else x
        yield _sample(f"{name}.default", x)
        yield _sample(f"{name}.default", x.half())
        if name not in _FLOATS_ONLY:
            yield _sample(f"{name}.default", torch.tensor([1, 1, 2]) if name in _POSITIVE else torch.tensor([0, 1, 1]))
    for name in ("abs", "ceil", "floor", "round", "sign", "trunc"):
        yield _sample(f"{name}.default", _specials())
        yield _sample(f"{name}.default", _x(5, dtype=torch.int64))
    yield _sample("sign.default", _x(5, dtype=torch.bool))
    for name in ("isnan", "isinf", "isfinite"):
        yield _sample(f"{name}.default", _specials())
        yield _sample(f"{name}.default", _x(5, dtype=torch.int32))
    for name in ("reciprocal", "expm1"):
        yield _sample(f"{name}.default", _x(3, 4))
        yield _sample(f"{name}.default", torch.tensor([1, 2, 3]))
    yield _sample("expm1.default", torch.tensor([1e-6, -1e-6, 0.0, 30.0, -30.0, NAN, INF, -INF]))
    yield _sample("leaky_relu.default", _x(3, 4), 0.2)
    yield _sample("elu.default", _x(3, 4), 0.5, 1.5, 2.0)
    yield _sample("elu.default", _x(3, 4), 0.5)
    for approximate in ("none", "tanh"):
        yield _sample("gelu.default", _x(3, 4), approximate=approximate)
    yield _sample("hardsigmoid.default", _x(3, 4) * 3)
    yield _sample("hardtanh.default", _specials(), -0.5, 0.5)
    yield _sample("clamp.default", _specials(), -0.5, 0.5)
    yield _sample("clamp.default", _x(5, dtype=torch.int64), None, 2)
    yield _sample("clamp.Tensor", _x(3, 4), _x(4), _x(3, 1))
    yield _sample("clamp_min.default", _specials(), 0.25)
    yield _sample("clamp_max.default", _specials(), 0.25)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8):
        yield (
            _sample("_to_copy.default", _x(3, 4), dtype=dtype)
            if dtype != torch.uint8
            else _sample("_to_copy.default", _x(3, 4).abs(), dtype=dtype)
        )
    for name in ("alias", "clone", "detach", "lift_fresh_copy"):
        yield _sample(f"{name}.default", _x(2, 3))
    yield _sample("native_dropout.default", _x(2, 3), 0.5, False, used=(0, 1))


def _arithmetic() -> Iterator[Sample]:
    pairs = [
        (_x(3, 4), _x(4)),
        (_x(3, 1), _x(3, dtype=torch.int64)),
        (_x(3, dtype=torch.int32), _x(2, 3, dtype=torch.int64)),
    ]
    pairs += [(_x(2, 3).half(), _x(2, 3)), (_x(3), torch.tensor(2)), (_x(3).half(), torch.tensor(1.5))]
    for name in ("add", "sub", "mul"):
        for a, b in pairs:
            yield _sample(f"{name}.Tensor", a, b)
        yield _sample(f"{name}.Scalar", _x(3, dtype=torch.int64), 1.5)
        yield _sample(f"{name}.Scalar", _x(3).half(), 2)
    yield _sample("add.Tensor", _x(3), _x(3), alpha=2)
    yield _sample("sub.Tensor", _x(3), _x(3), alpha=0.5)
    for name in ("add", "mul"):
        yield _sample(f"{name}.Tensor", _x(4, dtype=torch.bool), _x(4, dtype=torch.bool))
    whole = torch.tensor([7, -7, 6, -6, 0]), torch.tensor([2, 2, -4, 3, 5])
    floats = torch.tensor([7.5, -7.5, 6.0, -6.0, 0.0, 1.0]), torch.tensor([2.0, 2.0, -4.0, 3.0, 5.0, 0.1])
    for name in ("div.Tensor", "fmod.Tensor", "remainder.Tensor"):
        yield _sample(name, *whole)
        yield _sample(name, *floats)
    for name in ("div.Scalar", "fmod.Scalar", "remainder.Scalar"):
        yield _sample(name, whole[0], 4)
        yield _sample(name, floats[0], -2.5)
    for mode in ("trunc", "floor", None):
        yield _sample("div.Tensor_mode", *whole, rounding_mode=mode)
        yield _sample("div.Tensor_mode", *floats, rounding_mode=mode)
        yield _sample("div.Scalar_mode", floats[0], 0.1, rounding_mode=mode)
    yield _sample("div.Tensor_mode", torch.tensor([1.0, -1.0, 0.0]), torch.zeros(3), rounding_mode="floor")
    for exponent in (2, 3, 0.5, -0.5, 1.7, 0, -1):
        yield _sample("pow.Tensor_Scalar", _x(5).abs() + 0.1, exponent)
    yield _sample("pow.Tensor_Scalar", _x(5, dtype=torch.int64), 3)
    yield _sample("pow.Tensor_Tensor", _x(5).abs() + 0.1, _x(5))
    yield _sample("pow.Tensor_Tensor", torch.tensor([2, 3, -2]), torch.tensor([10, 3, 3]))
    yield _sample("pow.Scalar", 2.5, _x(5))
    grid = torch.tensor([1.0, -1.0, 0.0, -0.0, 2.0, -3.0, INF, -INF])
    yield _sample("atan2.default", grid[:, None], grid)
    yield _sample("atan2.default", torch.tensor([1, 0]), torch.tensor([1, -2]))
    special = _specials()
    for name in ("maximum", "minimum"):
        yield _sample(f"{name}.default", special[:, None], special)
        yield _sample(f"{name}.default", _x(4, dtype=torch.bool), _x(4, dtype=torch.bool))
    for name in COMPARISONS:
        yield _sample(f"{name}.Tensor", special[:, None], special)
        yield _sample(f"{name}.Tensor", _x(5, dtype=torch.int64), _x(5))
        yield _sample(f"{name}.Tensor", _x(4, dtype=torch.bool), _x(4, dtype=torch.bool))
        yield _sample(f"{name}.Scalar", _x(5, dtype=torch.int64), 1.5)
    for name in ("and", "or", "xor"):
        yield _sample(f"logical_{name}.default", _x(6, dtype=torch.int64), _x(6, dtype=torch.bool))
        for dtype in (torch.int32, torch.bool):
            yield _sample(f"bitwise_{name}.Tensor", _x(6, dtype=dtype), _x(6, dtype=dtype))
        yield _sample(f"bitwise_{name}.Scalar", _x(6, dtype=torch.int64), 3)
    yield _sample("logical_not.default", _x(6, dtype=torch.int64))
    for dtype in (torch.int32, torch.bool):
        yield _sample("bitwise_not.default", _x(6, dtype=dtype))
    for name in SHIFTS:
        number = "Scalar" if name.startswith("__") else "Tensor_Scalar"
        yield _sample(f"{name}.Tensor", torch.tensor([5, -9, 64]), torch.tensor([1, 2, 3]))
        yield _sample(f"{name}.{number}", torch.tensor([5, -9, 64]), 2)
    yield _sample("where.self", _x(3, 1, dtype=torch.bool), _x(4), _x(3, 4))
    yield _sample("where.self", _x(3, dtype=torch.bool), _x(3), torch.tensor(2, dtype=torch.int64))


def _creation() -> Iterator[Sample]:
    yield _sample("full.default", [2, 3], 1.5)
    yield _sample("full.default", [2, 0], 7, dtype=torch.int32)
    yield _sample("full_like.default", _x(2, 3), 4)
    yield _sample("fill.Scalar", _x(2, 3, dtype=torch.int64), 4.0)
    yield _sample("scalar_tensor.default", 2.5, dtype=torch.float16)
    yield _sample("empty.memory_format", [0, 3])
    yield _sample("arange.start_step", 1, 8, 2)
    yield _sample("arange.start_step", 0, 1, 0.3)
    yield _sample("arange.start_step", 5, -5, -3, dtype=torch.float32)


# Reductions


def _reductions() -> Iterator[Sample]:
    for x in (
        _x(2, 3, 4),
        _x(2, 3, dtype=torch.int64),
        _x(2, 3, dtype=torch.bool),
        _x(3, 40).half(),
        torch.tensor(3.0),
    ):
        yield _sample("sum.dim_IntList", x, None)
        yield _sample("prod.default", x)
        yield _sample("any.default", x)
    for name in ("max", "min"):
        yield _sample(f"{name}.default", _x(2, 3))
        yield _sample(f"{name}.default", _specials())
    for dims, keep in (([1], False), ([-1, 0], True), ([], False)):
        yield _sample("sum.dim_IntList", _x(2, 3, 4), dims, keep)
        yield _sample("mean.dim", _x(2, 3, 4), dims, keep)
        yield _sample("any.dims", _x(2, 3, 4, dtype=torch.bool), dims or [0, 1], keep)
        for name in ("amax", "amin"):
            yield _sample(f"{name}.default", _x(2, 3, 4), dims, keep)
        for order in (0, 1, 2, 3, -0.5, INF, -INF):
            yield _sample("linalg_vector_norm.default", _x(2, 3, 4), order, dims or None, keep)
    yield _sample("sum.dim_IntList", _x(2, 0), [1])
    yield _sample("sum.dim_IntList", _x(2, 3), [1], dtype=torch.float64)
    yield _sample("amax.default", _specials().reshape(2, 5), [1])
    yield _sample("mean.default", _x(3, 4))
    yield _sample("prod.dim_int", _x(3, 4), 1, True)
    yield _sample("any.dim", _x(3, 4, dtype=torch.bool), -1)
    for name in ("max", "min"):
        yield _sample(f"{name}.dim", _x(3, 4), 1, used=(0, 1))
        yield _sample(f"{name}.dim", torch.tensor([[1.0, NAN, 2.0, NAN], [INF, 0.0, INF, 0.0]]), -1, True, used=(0, 1))
        yield _sample(f"{name}.dim", _x(4, dtype=torch.bool), 0, used=(0,))
        yield _sample(f"arg{name}.default", _x(3, 4))
        yield _sample(f"arg{name}.default", _x(3, 4), 0, True)
        yield _sample(f"arg{name}.default", torch.tensor([1.0, INF, NAN, 2.0, NAN]), 0)
        yield _sample(f"arg{name}.default", torch.tensor(3.0))
    for name in ("var", "var_mean"):
        used = (0,) if name == "var" else (0, 1)
        yield _sample(f"{name}.correction", _x(3, 4), [1], correction=0, keepdim=True, used=used)
        yield _sample(f"{name}.correction", _x(3, 4), used=used)
        yield _sample(f"{name}.dim", _x(3, 4), [0], True, used=used)
        yield _sample(f"{name}.dim", _x(3, 4).half(), [0, 1], False, used=used)
    for name in ("cumsum", "cumprod"):
        yield _sample(f"{name}.default", _x(3, 4), -1)
        yield _sample(f"{name}.default", _x(3, dtype=torch.int32), 0)
        yield _sample(f"{name}.default", torch.tensor(2.0), 0)
    for name in ("_softmax", "_log_softmax"):
        yield _sample(f"{name}.default", _x(3, 4), -1, False)
        yield _sample(f"{name}.default", _x(3, 4).half(), 0, False)
    ties = torch.tensor([[3, 1, 2, 1, 3], [0, 0, 5, -1, 5]])
    for descending in (False, True):
        yield _sample("sort.default", _x(3, 4), 1, descending, used=(0, 1))
        yield _sample("sort.stable", ties, stable=True, dim=-1, descending=descending, used=(0, 1))
    yield _sample("sort.default", _x(4, dtype=torch.bool), used=(0,))
    yield _sample("topk.default", _x(3, 5), 2, used=(0, 1))
    yield _sample("topk.default", _x(5, 3), 3, 0, False, used=(0, 1))
    yield _sample("topk.default", _x(5, 3), 0, used=(0, 1))


# Shapes


def _shapes() -> Iterator[Sample]:
    x = _x(2, 3, 4)
    for shape in ([6, 4], [-1], [2, 2, 6], [4, 3, -1]):
        yield _sample("view.default", x, shape)
    yield _sample("_unsafe_view.default", x, [3, 8])
    yield _sample("view.default", _x(1), [])
    yield _sample("view.default", _x(0, 3), [3, 0])
    yield _sample("reshape.default", x, [24])
    yield _sample("permute.default", x, [2, 0, -2])
    yield _sample("unsqueeze.default", x, -1)
    yield _sample("unsqueeze.default", torch.tensor(1.0), 0)
    yield _sample("squeeze.dim", _x(1, 3, 1), -1)
    yield _sample("squeeze.dim", _x(1, 3), 1)
    yield _sample("squeeze.dims", _x(1, 3, 1), [0, 1, 2])
    yield _sample("expand.default", _x(3, 1), [2, -1, 4])
    yield _sample("repeat.default", _x(3, 2), [2, 1, 3])
    yield _sample("repeat.default", _x(3), [0])
    yield _sample("flip.default", x, [0, -1])
    yield _sample("cat.default", [_x(2, 3), _x(1, 3), torch.zeros(0)], 0)
    yield _sample("cat.default", [_x(2, 3), _x(2, 1, dtype=torch.int64)], -1)
    yield _sample("split_with_sizes.default", _x(2, 6), [1, 3, 2], 1, used=(0, 1, 2))
    for bounds in ((0, 1, 3), (1, -3, -1), (1, 0, 99, 2), (-1, 2), (0, 5, 2)):
        dim, start, end, step = (*bounds, *(None, None, 1)[len(bounds) - 1 :])[:4]
        yield _sample("slice.Tensor", _x(4, 5), dim, start, end, step or 1)
    for index in (0, -1, 1):
        yield _sample("select.int", x, 1, index)
    for offset in (0, 1, -2):
        yield _sample("diagonal.default", _x(3, 4, 2), offset)
        yield _sample("diagonal.default", _x(2, 3, 4), offset, -1, 1)
    for name in ("tril", "triu"):
        yield _sample(f"{name}.default", _x(3, 4), 1)
        yield _sample(f"{name}.default", _x(3, 3, dtype=torch.bool))
    yield _sample("as_strided.default", _x(3, 4), [2, 2], [4, 1])
    yield _sample("as_strided.default", _x(3, 4), [3, 3], [1, 2], 1)
    yield _sample("as_strided.default", _x(2, 3, 1, 1), [2, 3, 1, 1], [3, 1, 3, 3])
    yield _sample("constant_pad_nd.default", _x(2, 3), [1, 2, 0, 1], 2.5)
    yield _sample("constant_pad_nd.default", _x(4, 5), [-1, 2, 1, -2])
    yield _sample("constant_pad_nd.default", _x(3, dtype=torch.bool), [1, 1], True)
    for rank in (1, 2, 3):
        image = _x(2, *range(3, 3 + rank))
        for name in ("reflection", "replication"):
            yield _sample(f"{name}_pad{rank}d.default", image, [1, 2] * rank)
    yield _sample("sym_size.int", x, 1)
    yield _sample("sym_numel.default", x)


# Reads and writes at computed indices


def _indices(*numbers: Any) -> Any:
    return torch.tensor(numbers)


def _indexing() -> Iterator[Sample]:
    x = _x(3, 4, 5)
    yield _sample("embedding.default", _x(6, 3), _indices([0, 5], [2, 2]))
    yield _sample("index_select.default", x, -1, _indices(4, 0, 0))
    yield _sample("gather.default", _x(3, 4), 1, _indices([0, 3], [1, 1]))
    yield _sample("gather.default", torch.tensor(2.0), 0, torch.tensor(0))
    i, j = _indices(0, -1), _indices([1], [0])
    for indices in ([i], [None, i], [i, i], [None, j, i], [i, None, j], [i, None, i], [None, None, j]):
        yield _sample("index.Tensor", x, indices)
    yield _sample("nonzero.default", torch.tensor([[1, 0, 2], [0, 0, 3]]))
    yield _sample("masked_select.default", _x(2, 3), torch.tensor([True, False, True]))
    yield _sample("index.Tensor", _x(2, 3, 2), [torch.tensor([[True, False, True], [False, False, True]])])
    yield _sample("_unsafe_index.Tensor", x, [None, i])
    yield _sample("col2im.default", _x(2, 8, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    yield _sample("col2im.default", _x(8, 9), [5, 4], [2, 2], [2, 1], [1, 1], [2, 2])


def _updates() -> Iterator[Sample]:
    x, i, j = _x(3, 4, 5), _indices(0, -1), _indices([1], [0])
    yield _sample("copy.default", x, _x(5, dtype=torch.int64))
    yield _sample("slice_scatter.default", x, _x(3, 2, 5), 1, 1, 3)
    yield _sample("slice_scatter.default", x, _x(3, 2, 5), 1, 0, 99, 2)
    yield _sample("slice_scatter.default", x, _x(3, 4, 5))
    yield _sample("select_scatter.default", x, _x(3, 5), 1, -1)
    yield _sample("index_put.default", x, [i], _x(2, 4, 5))
    yield _sample("index_put.default", x, [None, j, i], _x(3, 2, 2))
    yield _sample("index_put.default", x, [i, None, j], torch.tensor(1.5))
    yield _sample("index_put.default", x, [_indices(1, 1)], _x(4, 5), True)
    yield _sample("index_put.default", x > 0, [i], torch.tensor(True))
    yield _sample("index_put.default", x, [x[..., 0] > 0], torch.tensor(0.0))
    yield _sample("_unsafe_index_put.default", x, [i], _x(2, 4, 5))
    index = _indices([0, 2], [1, 0])
    yield _sample("scatter.src", _x(3, 4), 0, index, _x(2, 3))
    yield _sample("scatter.value", _x(3, 4), -1, index, 1.5)
    yield _sample("scatter.value", _x(3, 4, dtype=torch.bool), 0, index, True)
    yield _sample("scatter_add.default", _x(3, 4), 1, _indices([0, 0], [1, 0]), _x(2, 2))
    for name in ("sum", "prod", "amax", "amin"):
        yield _sample("scatter_reduce.two", _x(3, 4), 1, _indices([0, 0], [1, 0]), _x(2, 2), name)


# Products and networks


def _products() -> Iterator[Sample]:
    for dtype in (torch.float32, torch.float16, torch.float64):
        yield _sample("mm.default", _x(3, 4, dtype=dtype), _x(4, 5, dtype=dtype))
    yield _sample("bmm.default", _x(2, 3, 4), _x(2, 4, 5))
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 1, 2, 3), (6, 3, 4))):
        yield _sample("matmul.default", _x(*a), _x(*b))
    yield _sample("addmm.default", _x(5), _x(3, 4), _x(4, 5), beta=0.5, alpha=2.0)
    yield _sample("addmm.default", _x(3, 5), _x(3, 4), _x(4, 5), beta=0)
    yield _sample("linear.default", _x(2, 3, 4), _x(5, 4), _x(5))
    yield _sample("linear.default", _x(4), _x(5, 4))
    attention = "scaled_dot_product_attention.default"
    query, key = _x(2, 4, 3, 8), _x(2, 4, 5, 8)
    yield _sample(attention, query, key, key)
    yield _sample(attention, query, key, key, None, 0.0, True, scale=0.5)
    yield _sample(attention, query, key, key, torch.ones(3, 5, dtype=torch.bool).tril(-1))  # a row without keys
    yield _sample(attention, query, key, key, _x(2, 1, 3, 5))
    yield _sample(attention, query, key[:, :2], key[:, :2], enable_gqa=True)
    yield _sample("_scaled_dot_product_flash_attention_for_cpu.default", query, key, key, 0.0, True)


def _networks() -> Iterator[Sample]:
    yield from _convolutions_and_pools()
    yield from _resizes()
    x, one, two = _x(2, 4, 3), _x(4), _x(4).abs() + 0.5
    yield _sample("_native_batch_norm_legit_no_training.default", x, one, one, one, two, 0.1, 1e-5)
    yield _sample("_native_batch_norm_legit_no_training.default", x.half(), None, None, one, two, 0.1, 1e-5)
    yield _sample("native_batch_norm.default", x, one, one, one, two, False, 0.1, 1e-5)
    yield _sample("_native_batch_norm_legit.default", x, one, None, one, two, False, 0.1, 1e-5)
    yield _sample("_native_batch_norm_legit.no_stats", x, one, one, True, 0.1, 1e-5)
    yield _sample("native_layer_norm.default", x, [3], _x(3), _x(3), 1e-5)
    yield _sample("native_layer_norm.default", x, [4, 3], None, None, 1e-5)
    yield _sample("_fused_rms_norm.default", x, [3], _x(3), 1e-5)
    yield _sample("_fused_rms_norm.default", x, [3], None, None)
    yield _sample("native_group_norm.default", x, one, one, 2, 4, 3, 2, 1e-5)
    yield _sample("native_group_norm.default", x, None, None, 2, 4, 3, 4, 1e-5)


def _convolutions_and_pools() -> Iterator[Sample]:
    for rank in (1, 2, 3):
        image, weight = _x(2, 4, *range(5, 5 + rank)), _x(6, 2, *[3] * rank)
        ones, zeros = [1] * rank, [0] * rank
        yield _sample("convolution.default", image, weight, _x(6), [2], ones, ones, False, zeros, 2)
        yield _sample("convolution.default", image, _x(4, 3, *[3] * rank), None, [2], [1], [2], True, ones, 2)
        yield _sample(f"avg_pool{rank}d.default", image, [3] * rank, [2] * rank, ones, False, False)
        yield _sample(f"avg_pool{rank}d.default", image, [2], [], [0], True)
        yield _sample(f"adaptive_avg_pool{rank}d.default", image, [3] * rank)
    yield _sample("convolution.default", _x(1, 4, 5, 5), _x(6, 4, 3, 3), None, [1], [1], [1], False, [0], 1)
    weight, numbers = _x(4, 2, 3), ([1], [1], [1], False, [0], 2)
    yield _sample("_convolution.default", _x(2, 4, 5), weight, None, *numbers, False, False, True, True)
    yield _sample("avg_pool2d.default", _x(1, 2, 4, 4), [2, 2], [2, 2], [0, 0], False, True, 3)
    for rank in (2, 3):
        image, name = _x(2, *[5] * rank), f"max_pool{rank}d_with_indices.default"
        yield _sample(name, image, [3] * rank, [2] * rank, [1] * rank, used=(0, 1))
        yield _sample(name, image[None], [2], [], [0], [2], True)
        yield _sample(f"_adaptive_avg_pool{rank}d.default", image[None], [2] * rank)
        yield _sample(f"adaptive_max_pool{rank}d.default", image, [2] * rank)


def _resizes() -> Iterator[Sample]:
    for rank, name in ((1, "linear"), (2, "bilinear"), (2, "bicubic"), (3, "trilinear")):
        image = _x(1, 2, *range(3, 3 + rank))
        for corners in (False, True):
            yield _sample(f"upsample_{name}{rank}d.vec", image, [5] * rank, corners, None)
            yield _sample(f"upsample_{name}{rank}d.vec", image, None, corners, [1.7] * rank)
    for rank in (1, 2, 3):
        image = _x(1, 2, *range(3, 3 + rank))
        for name in ("upsample_nearest", "_upsample_nearest_exact"):
            yield _sample(f"{name}{rank}d.vec", image, [7] * rank, None)
            yield _sample(f"{name}{rank}d.vec", image, None, [1.7] * rank)
    for mode, padding, corners in ((0, 0, False), (0, 1, True), (1, 0, False), (0, 2, False), (2, 0, True)):
        yield _sample("grid_sampler_2d.default", _x(1, 2, 4, 5), _x(1, 3, 2, 2), mode, padding, corners)
    yield _sample("grid_sampler_3d.default", _x(1, 2, 3, 4, 5), _x(1, 2, 2, 2, 3), 0, 0, False)
