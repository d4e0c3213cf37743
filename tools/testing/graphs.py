"""Random graphs of operators with inputs, whose results are exact up to the rounding of functions of C libraries.

Floats are small numbers with few binary digits, and operators apply only where their results are exact in any order, so
that fusion and native code can be checked to the last bit. Results of operators that round (`exp`, means, norms) are
marked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

from ...core.dtypes import int_range, numpy_dtype, parse_dtype
from ...expressions.errors import TeError
from ...expressions.sizes import evaluate_size
from ...module import Module
from ...operators.relay import (
    OPERATIONS,
    FuncOp,
    IfOp,
    RelayBuilder,
    ReturnOp,
    Size,
    YieldOp,
    dtype_of_tensor,
    shape_of,
    tensor_type,
)

Array: TypeAlias = npt.NDArray[Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

DIGITS = {"float16": 11, "float32": 24, "float64": 53}
"""The number of binary digits of each float type."""
EPSILON = {"float16": 4e-3, "float32": 4e-6, "float64": 1e-13}
"""The tolerance of rounded results, relative to the bound of their elements."""
GREATEST = 1024
"""The maximum magnitude of floats, which excludes overflow."""
LONGEST = 5
"""The maximum value of symbolic sizes."""
DTYPES = ("float32", "float32", "float32", "float64", "float16", "int32", "int8", "uint8", "int64", "bool")
EXTENTS = (1, 2, 3, 3, 4, 5, 7, 0)


@dataclass(frozen=True)
class GraphTensor:
    """A tensor of a graph. bound: the maximum magnitude of its elements.  bits: the number of binary fraction digits;
    None if the elements are rounded."""

    value: SSAValue
    bound: float
    bits: int | None

    @property
    def shape(self) -> tuple[Size, ...]:
        return shape_of(self.value)

    @property
    def dtype(self) -> str:
        return dtype_of_tensor(self.value)

    @property
    def is_float(self) -> bool:
        return self.dtype in DIGITS


@dataclass(frozen=True)
class RandomGraph:
    """A graph. module: with a function `main`.  inputs: its arguments.  tolerances: for each result; 0 if exact."""

    module: Module
    inputs: list[Array]
    tolerances: list[float]


@st.composite
def graphs(draw: Draw, most: int = 20, branches: bool = True) -> RandomGraph:
    """Graphs of up to `most` steps, most of which add one operator.

    Graphs contain extents of 0 and 1, symbolic sizes, operators with several results, constants, diamonds, unused
    values, results that are inputs or equal, and branches if `branches`. Shrinks to a function that returns its single
    input.
    """
    return _Writer(draw, STEPS if branches else [step for step in STEPS if step is not _branch]).graph(most)


@dataclass
class _Writer:
    draw: Draw
    steps: Sequence[Callable[[_Writer], None]]
    values: list[GraphTensor] = field(default_factory=list[GraphTensor])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])

    def graph(self, most: int) -> RandomGraph:
        self.sizes = {name: self.draw(st.integers(0, LONGEST)) for name in ("n", "m")}
        params = [self._input() for _ in range(self.draw(st.integers(1, 3)))]
        func = FuncOp("main", [(f"x{n}", tensor_type(shape, dtype)) for n, (shape, dtype) in enumerate(params)])
        self.builder = RelayBuilder(func.body.block, self.constants)
        inputs: list[Array] = []
        for (_, value), (shape, dtype) in zip(func.params, params, strict=True):
            array, bits = self._numbers([self._number(size) for size in shape], dtype)
            inputs.append(array)
            self.values.append(GraphTensor(value, 2 if dtype != "bool" else 1, bits))
        for _ in range(self.draw(st.integers(0, most))):
            self.draw(st.sampled_from(self.steps))(self)
        results = [self.values[-1], *self.draw(st.lists(st.sampled_from(self.values), max_size=3))]
        self.builder.insert(ReturnOp([result.value for result in results]))
        tolerances = [EPSILON.get(result.dtype, 0) * result.bound if result.bits is None else 0 for result in results]
        return RandomGraph(Module(ModuleOp([func]), self.constants), inputs, tolerances)

    # Choices

    def pick(self, which: Callable[[GraphTensor], bool] = lambda value: True) -> GraphTensor | None:
        """A tensor that satisfies `which`, preferably a recent one."""
        tensors = [value for value in reversed(self.values) if which(value)]
        return tensors[min(self.draw(st.integers(0, 12)), len(tensors) - 1)] if tensors else None

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def _number(self, size: Size) -> int:
        return size if isinstance(size, int) else evaluate_size(size, self.sizes)

    def _input(self) -> tuple[list[Size], str]:
        dtype = self.draw(st.sampled_from(DTYPES))
        if self.draw(st.integers(0, 2)) == 1:
            channels, *image = (self.draw(st.sampled_from((1, 2, 3, 4, 5))) for _ in range(3))
            return [self.draw(st.sampled_from((1, 2, "n"))), channels, *image], dtype
        shape: list[Size] = self.draw(st.lists(st.sampled_from((*EXTENTS, "n", "m")), max_size=4))
        return shape, dtype

    def _numbers(self, shape: Sequence[int], dtype: str) -> tuple[Array, int]:
        """An array of small numbers, and the number of their binary fraction digits."""
        choose = np.random.default_rng(self.draw(st.integers(0, 2**16)))
        if parse_dtype(dtype).is_float:
            return np.asarray(choose.integers(-4, 5, shape) / 2, numpy_dtype(dtype)), 1
        low = max(int_range(parse_dtype(dtype))[0], -2) if dtype != "bool" else 0
        return np.asarray(choose.integers(low, 2 if dtype == "bool" else 3, shape), numpy_dtype(dtype)), 0

    def constant(self, shape: Sequence[int], dtype: str) -> GraphTensor:
        """A constant: a scalar or an array of one number (0, 1 or 2), or an array of several numbers."""
        if self.flag() or dtype == "bool":
            number = self.draw(st.sampled_from((0, 1, 2) if dtype != "bool" else (False, True)))
            array = np.full(shape if self.flag() else (), number, numpy_dtype(dtype))
            return GraphTensor(self.builder.constant(array, "w"), 2, 0)
        array, bits = self._numbers(shape, dtype)
        return GraphTensor(self.builder.constant(array, "w"), 2, bits)

    # Operators

    def add(
        self, name: str, operands: Sequence[GraphTensor], bound: float, bits: int | None, **attributes: Any
    ) -> GraphTensor | None:
        """Inserts an operator, unless its elements become too large or its operands are incompatible.

        bits: the fraction digits of the results; None if they are rounded. Results of rounded operands are rounded.
        """
        try:
            op = OPERATIONS[name]([operand.value for operand in operands], attributes)
        except TeError:
            return None
        dtype = dtype_of_tensor(op.outputs[0])
        total = prod(self._number(size) for output in op.outputs for size in shape_of(output))
        if not _fits(dtype, bound, bits) or total > 4096:
            op.erase()
            return None
        self.builder.insert(op)
        if dtype not in DIGITS:
            low, high = (0, 1) if dtype == "bool" else int_range(parse_dtype(dtype))
            bound = high - low if bound > high or low == 0 else bound
        results = [GraphTensor(output, bound, bits) for output in op.outputs]
        self.values += results
        return results[0]


def _fits(dtype: str, bound: float, bits: int | None) -> bool:
    if dtype not in DIGITS:
        return True
    return bound <= 64 if bits is None else bound <= GREATEST and bound * 2**bits <= 2 ** DIGITS[dtype]


def _max_bits(*bits: int | None) -> int | None:
    return None if None in bits else max(each for each in bits if each is not None)


def _elementwise(graph: _Writer) -> None:
    name = graph.draw(st.sampled_from(("nn.relu", "negative", "abs", "copy", "floor", "round", "clip", "nn.dropout")))
    x = graph.pick(lambda x: x.is_float if name != "nn.relu" else x.dtype != "bool")
    if x is None or (name in ("floor", "round") and x.bits is None):
        return
    attributes = {"clip": {"a_min": graph.draw(st.sampled_from((-2.0, 0.0, -0.5))), "a_max": 1.5}}.get(name, {})
    graph.add(name, [x], x.bound + 2, x.bits, **attributes)


def _transcendental(graph: _Writer) -> None:
    x = graph.pick(lambda x: x.is_float and x.bound <= 16)
    name = graph.draw(st.sampled_from(("tanh", "sigmoid", "exp")))
    if x is not None and (name != "exp" or x.bound <= 3):
        graph.add(name, [x], 21 if name == "exp" else 1, None)


def _pair(graph: _Writer) -> None:
    """A binary operator on two tensors, one of which may be a constant, or on one tensor twice."""
    x = graph.pick(lambda x: x.dtype != "bool")
    if x is None:
        return
    other = graph.pick(lambda y: y.dtype == x.dtype) if graph.flag() else None
    if other is None:
        known = [size if isinstance(size, int) else 1 for size in x.shape]
        other = graph.constant(known[graph.draw(st.integers(0, len(known))) :], x.dtype)
    a, b = (x, other) if graph.flag() else (other, x)
    name = graph.draw(st.sampled_from(("add", "subtract", "multiply", "multiply", "maximum", "minimum", "divide")))
    is_rounded = a.bits is None or b.bits is None
    if name == "divide":
        if a.is_float:
            _division(graph, a)
    elif name == "multiply":
        bits = None if is_rounded else (a.bits or 0) + (b.bits or 0)
        graph.add(name, [a, b], a.bound * b.bound, bits)
    else:
        graph.add(name, [a, b], a.bound + b.bound, _max_bits(a.bits, b.bits))


def _division(graph: _Writer, a: GraphTensor) -> None:
    number = graph.draw(st.sampled_from((1, 2)))
    divisor = GraphTensor(graph.builder.constant(np.asarray(number, numpy_dtype(a.dtype))), 2, 0)
    graph.add("divide", [a, divisor], a.bound, None if a.bits is None else a.bits + 1)


def _comparison(graph: _Writer) -> None:
    x = graph.pick(lambda x: x.bits is not None)
    y = None if x is None else graph.pick(lambda y: y.dtype == x.dtype and y.bits is not None)
    if x is not None and y is not None:
        graph.add(graph.draw(st.sampled_from(("less", "equal", "greater_equal"))), [x, y], 1, 0)


def _choice(graph: _Writer) -> None:
    c, x = graph.pick(lambda c: c.dtype == "bool"), graph.pick()
    y = None if x is None else graph.pick(lambda y: y.dtype == x.dtype)
    if c is not None and x is not None and y is not None:
        graph.add("where", [c, x, y], x.bound + y.bound, _max_bits(x.bits, y.bits))


def _cast(graph: _Writer) -> None:
    x, dtype = graph.pick(), graph.draw(st.sampled_from(DTYPES))
    if x is not None and (x.bits is not None or dtype == "float64"):
        graph.add("cast", [x], x.bound, x.bits if dtype in DIGITS else 0, dtype=dtype)


_MOVES = "transpose transpose reshape reshape expand_dims squeeze broadcast_to reverse".split()


def _movement(graph: _Writer) -> None:
    """A change of the shape of a tensor, or of the order of its elements."""
    x = graph.pick()
    if x is None:
        return
    rank = len(x.shape)
    kind = graph.draw(st.sampled_from(_MOVES))
    attributes: dict[str, Any] = {}
    if kind == "transpose":
        attributes = {"axes": graph.draw(st.one_of(st.none(), st.permutations(range(rank))))}
    elif kind == "reshape":
        known = [size for size in x.shape if isinstance(size, int) and size > 0]
        whole = known if len(known) == rank else [0] * rank
        shapes = [[-1], [0] * rank, [1, -1], [*whole, 1], [-1, *whole[1:]], [*reversed(whole)]]
        attributes = {"newshape": graph.draw(st.sampled_from(shapes))}
    elif kind == "expand_dims":
        attributes = {"axis": graph.draw(st.integers(0, rank)), "num_newaxis": graph.draw(st.integers(0, 2))}
    elif kind == "broadcast_to":
        wide = [graph.draw(st.integers(1, 3)) if size == 1 else size for size in x.shape]
        attributes = {"shape": [*graph.draw(st.lists(st.integers(1, 2), max_size=1)), *wide]}
        if any(isinstance(size, str) for size in wide):
            return
    elif kind == "reverse":
        if not rank:
            return
        attributes = {"axis": graph.draw(st.integers(0, rank - 1))}
    graph.add(kind, [x], x.bound, x.bits, **attributes)


def _part(graph: _Writer) -> None:
    """A slice or a split of a tensor along an axis of constant extent."""
    x = graph.pick(lambda x: any(isinstance(size, int) for size in x.shape))
    if x is None:
        return
    axis, extent = graph.draw(st.sampled_from([(d, size) for d, size in enumerate(x.shape) if isinstance(size, int)]))
    if graph.flag():
        begin, end, step = (graph.draw(st.integers(*pair)) for pair in ((0, 2), (extent - 1, extent + 1), (1, 2)))
        attributes = {"begin": [begin], "end": [end], "axes": [axis], "strides": [step]}
        graph.add("strided_slice", [x], x.bound, x.bits, **attributes)
    else:
        positions = sorted(graph.draw(st.lists(st.integers(0, extent), max_size=2)))
        graph.add("split", [x], x.bound, x.bits, indices_or_sections=positions, axis=axis)


def _concatenation(graph: _Writer) -> None:
    x = graph.pick()
    if x is None:
        return
    others = [x]
    for _ in range(graph.draw(st.integers(0, 2))):
        others.append(graph.pick(lambda y: (y.dtype, y.shape) == (x.dtype, x.shape)) or x)
    name = graph.draw(st.sampled_from(("concatenate", "stack") if x.shape else ("stack",)))
    axis = graph.draw(st.integers(0, len(x.shape) - (name == "concatenate")))
    graph.add(name, others, max(each.bound for each in others), _max_bits(*(each.bits for each in others)), axis=axis)


def _reduction(graph: _Writer) -> None:
    name = graph.draw(st.sampled_from(("sum", "max", "argmax", "mean", "nn.softmax")))
    x = graph.pick(lambda x: x.dtype != "bool" and bool(x.shape) and (x.is_float or name not in ("mean", "nn.softmax")))
    if x is None:
        return
    axis = graph.draw(st.integers(0, len(x.shape) - 1))
    size = x.shape[axis]
    if name != "sum" and (not isinstance(size, int) or size == 0):
        return
    length = size if isinstance(size, int) else graph._number(size)  # pyright: ignore[reportPrivateUsage]
    if length == 0 and not isinstance(size, int):
        return  # native code refuses symbolic sums of no elements
    if name == "sum":
        graph.add(name, [x], x.bound * max(length, 1), x.bits, axis=axis, keepdims=graph.flag())
    elif name == "argmax" and x.bits is not None:
        graph.add(name, [x], 7, 0, axis=axis)
    elif name == "max":
        graph.add(name, [x], x.bound, x.bits, axis=axis, keepdims=graph.flag())
    elif name == "mean":
        graph.add(name, [x], x.bound, None, axis=axis)
    elif name == "nn.softmax" and x.bits is not None:
        graph.add(name, [x], 1, None, axis=axis)


def _product(graph: _Writer) -> None:
    """A matrix product with weights, or with the transpose of a matrix."""
    x = graph.pick(lambda x: len(x.shape) >= 1 and isinstance(x.shape[-1], int) and x.dtype != "bool")
    if x is None or not isinstance(k := x.shape[-1], int):
        return
    n = graph.draw(st.integers(1, 4))
    if len(x.shape) == 2 and graph.flag():
        other = graph.pick(lambda y: (y.dtype, y.shape) == (x.dtype, x.shape)) or x
        turned = graph.add("transpose", [other], other.bound, other.bits)
        if turned is not None:
            _sum_of_products(graph, graph.draw(st.sampled_from(("nn.matmul", "nn.dense"))), x, turned, k)
        return
    weight, bits = graph._numbers((n, k), x.dtype)  # pyright: ignore[reportPrivateUsage]
    w = GraphTensor(graph.builder.constant(weight, "weight"), 2, bits)
    result = _sum_of_products(graph, "nn.dense", x, w, k)
    if result is not None:
        _epilogue(graph, result, len(result.shape) - 1, n)


def _sum_of_products(
    graph: _Writer, name: str, x: GraphTensor, w: GraphTensor, count: int, **attributes: Any
) -> GraphTensor | None:
    bits = None if x.bits is None or w.bits is None else x.bits + w.bits
    return graph.add(name, [x, w], x.bound * w.bound * max(count, 1), bits, **attributes)


def _epilogue(graph: _Writer, result: GraphTensor, axis: int, channels: int) -> None:
    """The usual epilogue of a product in a network: a bias, a scale for each channel, a norm, an activation."""
    x: GraphTensor | None = result
    for kind in graph.draw(st.lists(st.sampled_from(("bias", "scale", "relu", "norm")), max_size=3)):
        if x is None:
            return
        array, bits = graph._numbers((channels,), x.dtype)  # pyright: ignore[reportPrivateUsage]
        vector = GraphTensor(graph.builder.constant(array, kind), 2, bits)
        if kind == "bias":
            x = graph.add("nn.bias_add", [x, vector], x.bound + 2, _max_bits(x.bits, bits), axis=axis)
        elif kind == "scale":
            trailing = len(x.shape) - 1 - axis
            factor = graph.add("expand_dims", [vector], 2, bits, axis=1, num_newaxis=trailing) if trailing else vector
            if factor is not None:
                total = None if x.bits is None else x.bits + bits
                pair = [x, factor] if graph.flag() else [factor, x]
                x = graph.add("multiply", pair, x.bound * 2, total)
        elif kind == "relu":
            x = graph.add("nn.relu", [x], x.bound, x.bits)
        elif x.is_float and x.bound <= 16:
            spread = GraphTensor(graph.builder.constant(np.abs(array) + 1, "variance"), 3, bits)
            attributes = {"axis": axis, "center": graph.flag(), "scale": graph.flag()}
            x = graph.add("nn.batch_norm", [x, vector, vector, vector, spread], 2 * x.bound + 8, None, **attributes)


def _convolution(graph: _Writer) -> None:
    x = graph.pick(
        lambda x: len(x.shape) in (3, 4) and x.dtype != "bool" and all(isinstance(n, int) and n for n in x.shape[1:])
    )
    if x is None:
        return
    rank, channels = len(x.shape) - 2, x.shape[1]
    assert isinstance(channels, int)
    if graph.flag():
        width = [[0, 0], [0, 0], *([1, graph.draw(st.integers(0, 1))] for _ in range(rank))]
        x = graph.add("nn.pad", [x], x.bound, x.bits, pad_width=width) or x
    groups = channels if graph.flag() else 1
    window = [graph.draw(st.integers(1, 3)) for _ in range(rank)]
    features = groups * graph.draw(st.integers(1, 2))
    array, bits = graph._numbers((features, channels // groups, *window), x.dtype)  # pyright: ignore[reportPrivateUsage]
    weight = GraphTensor(graph.builder.constant(array, "weight"), 2, bits)
    attributes = {"strides": graph.draw(st.integers(1, 2)), "padding": graph.draw(st.integers(0, 1)), "groups": groups}
    result = _sum_of_products(graph, f"nn.conv{rank}d", x, weight, channels // groups * prod(window), **attributes)
    if result is not None:
        _epilogue(graph, result, 1, features)


def _pool(graph: _Writer) -> None:
    x = graph.pick(lambda x: len(x.shape) == 4 and x.dtype != "bool" and all(isinstance(n, int) for n in x.shape))
    if x is None:
        return
    attributes = {"pool_size": 2, "strides": graph.draw(st.integers(1, 2)), "padding": graph.draw(st.integers(0, 1))}
    if graph.flag():
        if x.is_float and graph.flag():
            width = [[0, 0], [0, 0], [1, 0], [0, 1]]
            x = graph.add("nn.pad", [x], x.bound, x.bits, pad_width=width) or x
        if x.is_float:
            graph.add("nn.avg_pool2d", [x], x.bound, None, count_include_pad=graph.flag(), **attributes)
    else:
        graph.add("nn.max_pool2d", [x], x.bound, x.bits, **attributes)


def _branch(graph: _Writer) -> None:
    """A branch on a bool, whose regions compute on the values outside."""
    condition = graph.pick(lambda c: c.dtype == "bool" and not c.shape)
    if condition is None:
        condition = GraphTensor(graph.builder.number(graph.flag(), "bool"), 1, 0)
    outside, known = graph.builder, list(graph.values)
    regions: list[Region] = []
    blocks: list[list[GraphTensor]] = []
    for _ in range(2):
        region = Region(Block())
        graph.builder, graph.values = RelayBuilder(region.block, graph.constants), list(known)
        for _ in range(graph.draw(st.integers(0, 3))):
            graph.draw(st.sampled_from((_elementwise, _pair, _movement, _reduction)))(graph)
        regions.append(region)
        blocks.append(graph.values)
    first = blocks[0][-1]
    alike = [each for each in reversed(blocks[1]) if each.value.type == first.value.type]
    graph.builder, graph.values = outside, known
    if not alike:  # yield a value from outside instead of the results of the branches
        first, alike = known[-1], known[-1:]
    second = alike[0]
    for region, value in zip(regions, (first, second), strict=True):
        RelayBuilder(region.block).insert(YieldOp([value.value]))
    op = IfOp(condition.value, [first.value.type], regions[0], regions[1])
    (output,) = graph.builder.branch(op)
    graph.values.append(GraphTensor(output, max(first.bound, second.bound), _max_bits(first.bits, second.bits)))


STEPS: list[Callable[[_Writer], None]] = [
    _elementwise,
    _elementwise,
    _pair,
    _pair,
    _pair,
    _movement,
    _movement,
    _movement,
    _convolution,
    _convolution,
    _product,
    _reduction,
    _part,
    _cast,
    _concatenation,
    _comparison,
    _choice,
    _pool,
    _transcendental,
    _branch,
]
"""The steps of random graphs, simpler steps first."""
