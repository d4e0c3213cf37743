"""Random ONNX models with inputs, and their outputs by ONNX's reference evaluator.

Every node is evaluated when it is added, so that the attributes and operands of the next node fit the shapes. Floats
are small, so that their results differ by rounding only; operators that are not continuous take integers or inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from .choices import Choices, HypothesisChoices, flag, pick, shuffle

Array = np.ndarray[Any, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

OPSET = 18
LARGEST = 256
"""The maximum number of elements of a tensor."""
_TYPES = {name: helper.np_dtype_to_tensor_dtype(np.dtype(name)) for name in ("float32", "int64", "bool", "int32")}


@dataclass(frozen=True)
class RandomModel:
    """A model. inputs: arrays by name.  expected: the outputs of the reference evaluator, in order."""

    proto: ModelProto
    inputs: dict[str, Array]
    expected: list[Array]


@dataclass
class OnnxWriter:
    """Adds nodes to a graph. values: the value of each name, inputs and weights included."""

    choices: Choices
    rng: np.random.Generator
    values: dict[str, Array] = field(default_factory=dict[str, Array])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])

    def operand(self, *kinds: str, rank: int = 0) -> str | None:
        """The name of a value of at least `rank` dimensions. kinds: numpy's letters of data types; any by default."""
        names = [
            name
            for name, value in self.values.items()
            if name not in self.weights and value.ndim >= rank and (not kinds or value.dtype.kind in kinds)
        ]
        return pick(self.choices, names[::-1]) if names else None

    def weight(self, array: Any) -> str:
        """The name of a new initializer."""
        name = f"w{len(self.weights)}"
        self.weights[name] = self.values[name] = np.asarray(array)
        return name

    def floats(self, *shape: int) -> str:
        """The name of an initializer of small floats."""
        return self.weight(self.rng.integers(-8, 9, shape).astype("float32") / 4)

    def axis(self, name: str) -> int:
        """A random axis of a value, from either end."""
        rank = self.values[name].ndim
        return self.choices.integer(0, rank - 1) - (rank if flag(self.choices) else 0)

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> bool:
        """Adds a node, unless the reference evaluator fails on it or leaves its types, or its results are too large or
        not finite; returns whether the node was added."""
        names = [f"v{len(self.nodes)}_{n}" for n in range(outputs)]
        node = helper.make_node(op, inputs, names, **attributes)
        used = {name: self.values[name] for name in inputs if name}
        proto = _model([node], used, {}, names)
        try:
            with np.errstate(all="ignore"):
                results = [np.asarray(result) for result in evaluate(proto, used)]
        except Exception:  # faults of the evaluator: Flatten of no elements, some pools
            return False
        if not _has_inferred_types(proto, results):
            return False
        for result in results:
            if result.size > LARGEST or (result.dtype.kind == "f" and not (np.abs(result) < 1e4).all()):
                return False
        self.nodes.append(node)
        self.values.update(zip(names, results, strict=True))
        return True


def evaluate(proto: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model by ONNX's reference evaluator."""
    reference: Any = ReferenceEvaluator(proto)
    return reference.run(None, dict(inputs))


def _has_inferred_types(proto: ModelProto, results: Sequence[Array]) -> bool:
    """Whether arrays have the types of the outputs of a model, as far as ONNX infers these. The evaluator returns other
    shapes for some pools with padding, and int64 for sums of squares of int32."""
    for output, result in zip(shape_inference.infer_shapes(proto).graph.output, results, strict=True):
        type = output.type.tensor_type
        if type.elem_type not in (0, _TYPES.get(result.dtype.name)):
            return False
        if type.HasField("shape"):
            extents = [each.dim_value if each.HasField("dim_value") else None for each in type.shape.dim]
            if len(extents) != result.ndim or any(
                n not in (None, m) for n, m in zip(extents, result.shape, strict=True)
            ):
                return False
    return True


def _model(
    nodes: Sequence[NodeProto], inputs: Mapping[str, Array], weights: Mapping[str, Array], outputs: Sequence[str]
) -> ModelProto:
    infos = [helper.make_tensor_value_info(n, _TYPES[a.dtype.name], a.shape) for n, a in inputs.items()]
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    outs = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "g", infos, outs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


@st.composite
def onnx_models(draw: Draw, most: int = 8) -> RandomModel:
    """Models of up to `most` nodes of one to three inputs. Shrinks to a model with one node."""
    choices = HypothesisChoices(draw)
    writer = OnnxWriter(choices, np.random.default_rng(choices.integer(0, 2**16)))
    inputs: dict[str, Array] = {}
    for n in range(choices.integer(1, 3)):
        rank = choices.integer(0, 4)
        shape = [pick(choices, (2, 1, 3, 4) if rank == 4 else (2, 1, 3, 4, 5)) for _ in range(rank)]
        kind = pick(choices, ("float32", "float32", "float32", "int64", "bool"))
        numbers = writer.rng.integers(0, 2, shape) if kind == "bool" else writer.rng.integers(-8, 9, shape)
        inputs[f"x{n}"] = numbers.astype(kind) / (np.float32(4) if kind == "float32" else 1)
        inputs[f"x{n}"] = np.asarray(inputs[f"x{n}"], kind)
    writer.values.update(inputs)
    for _ in range(choices.integer(1, most)):
        pick(choices, STEPS)(writer)
    if not writer.nodes:
        writer.add("Identity", "x0")
    outputs = list(dict.fromkeys([writer.nodes[-1].output[0], pick(choices, writer.nodes).output[0]]))
    proto = _model(writer.nodes, inputs, writer.weights, outputs)
    return RandomModel(proto, inputs, [writer.values[name] for name in outputs])


# ---- steps: each adds a node, if an operand fits

_UNARY = (
    *("Relu", "Abs", "Neg", "Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "Softsign", "HardSwish", "Sin", "Cos"),
    *("LeakyRelu", "Elu", "Selu", "Celu", "HardSigmoid", "ThresholdedRelu", "Identity", "Mish", "Atan", "Sinh"),
)


def _unary(w: OnnxWriter) -> None:
    x = w.operand("f")
    if x is not None:
        w.add(pick(w.choices, _UNARY), x)


def _rounding(w: OnnxWriter) -> None:
    x = w.operand("f")
    if x in ("x0", "x1", "x2"):
        w.add(pick(w.choices, ("Floor", "Ceil", "Round", "Sign")), x)


def _binary(w: OnnxWriter) -> None:
    x = w.operand("f", "i")
    if x is None:
        return
    value = w.values[x]
    others = [
        name for name, other in w.values.items() if other.dtype == value.dtype and _broadcasts(value.shape, other.shape)
    ]
    y = pick(w.choices, others)
    w.add(pick(w.choices, ("Add", "Sub", "Mul", "Max", "Min")), *([x, y] if flag(w.choices) else [y, x]))


def _broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    try:
        np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return False
    return True


def _compare(w: OnnxWriter) -> None:
    x = w.operand("i")
    if x is not None:
        y = w.weight(np.int64(w.choices.integer(-3, 3)).astype(w.values[x].dtype))
        w.add(pick(w.choices, ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")), x, y)


def _logic(w: OnnxWriter) -> None:
    x = w.operand("b")
    if x is None:
        return
    if flag(w.choices):
        w.add("Not", x)
        return
    chosen = w.operand("f", "i")
    if chosen is not None and _broadcasts(w.values[x].shape, w.values[chosen].shape):
        w.add("Where", x, chosen, w.weight(np.zeros((), w.values[chosen].dtype)))


def _cast(w: OnnxWriter) -> None:
    x = w.operand("i", "b")
    if x is not None:
        w.add("Cast", x, to=_TYPES[pick(w.choices, tuple(_TYPES))])


def _transpose(w: OnnxWriter) -> None:
    x = w.operand(rank=1)
    if x is not None:
        axes = list(range(w.values[x].ndim))
        shuffle(w.choices, axes)
        w.add("Transpose", x, perm=axes)


def _reshape(w: OnnxWriter) -> None:
    x = w.operand()
    if x is None:
        return
    size, shape = w.values[x].size, []
    while size > 1 and len(shape) < 3:
        shape.append(pick(w.choices, [n for n in range(1, size + 1) if size % n == 0]))
        size //= shape[-1]
    shape.append(size if flag(w.choices) else -1)
    w.add("Reshape", x, w.weight(np.array(shape, "int64")))


def _concat(w: OnnxWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    axis, value = w.axis(x), w.values[x]
    rest = list(value.shape)
    del rest[axis]
    fitting = [x]
    for name, other in w.values.items():
        if other.ndim == value.ndim and other.dtype == value.dtype:
            shape = list(other.shape)
            del shape[axis]
            fitting += [name] if shape == rest else []
    w.add("Concat", *(pick(w.choices, fitting) for _ in range(w.choices.integer(1, 3))), axis=axis)


def _split(w: OnnxWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    axis = w.axis(x)
    size = w.values[x].shape[axis]
    first = w.choices.integer(0, size)
    w.add("Split", x, w.weight(np.array([first, size - first], "int64")), outputs=2, axis=axis)


def _slice(w: OnnxWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    axis, step = w.axis(x), pick(w.choices, (1, 2, -1, 3, -2))
    # The reference evaluator does not move the start to the first element if the step is negative.
    start = w.choices.integer(-6 if step > 0 else -w.values[x].shape[axis], 6)
    bounds = (start, w.choices.integer(-6, 6), axis, step)
    w.add("Slice", x, *(w.weight(np.array([bound], "int64")) for bound in bounds))


def _gather(w: OnnxWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    axis = w.axis(x)
    size = w.values[x].shape[axis]
    if size:
        shape = [w.choices.integer(1, 3) for _ in range(w.choices.integer(0, 2))]
        w.add("Gather", x, w.weight(w.rng.integers(-size, size, shape)), axis=axis)


def _shape_of_axes(w: OnnxWriter) -> None:
    x = w.operand()
    if x is None:
        return
    rank = w.values[x].ndim
    match w.choices.integer(0, 3):
        case 0:
            w.add("Unsqueeze", x, w.weight(np.array([w.choices.integer(-rank - 1, rank)], "int64")))
        case 1:
            w.add("Squeeze", x)
        case 2:
            w.add("Flatten", x, axis=w.choices.integer(-rank, rank))
        case _:
            w.add("Shape", x)


def _repeat(w: OnnxWriter) -> None:
    x = w.operand(rank=1)
    if x is None:
        return
    value = w.values[x]
    if flag(w.choices):
        w.add("Tile", x, w.weight(np.array([w.choices.integer(0, 2) for _ in value.shape], "int64")))
    else:
        shape = [pick(w.choices, (n, 1)) if n != 1 else w.choices.integer(0, 3) for n in value.shape]
        w.add("Expand", x, w.weight(np.array([2, *shape] if flag(w.choices) else shape, "int64")))


def _pad(w: OnnxWriter) -> None:
    x = w.operand("f", "i", rank=1)
    if x is None:
        return
    value = w.values[x]
    mode = pick(w.choices, ("constant", "edge", "reflect")) if 0 not in value.shape else "constant"
    widths = [min(w.choices.integer(0, 2), n - 1 if mode == "reflect" else 2) for n in value.shape * 2]
    w.add("Pad", x, w.weight(np.array(widths, "int64")), mode=mode)


def _reduce(w: OnnxWriter) -> None:
    x = w.operand("f", "i", rank=1)
    if x is None or 0 in w.values[x].shape:
        return
    op = pick(w.choices, ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceSumSquare"))
    if op == "ReduceMean" and w.values[x].dtype.kind != "f":
        return
    axes = w.weight(np.array([w.axis(x)], "int64"))
    w.add(op, x, *([axes] if flag(w.choices) else []), keepdims=w.choices.integer(0, 1))


def _along_axis(w: OnnxWriter) -> None:
    x = w.operand("f", rank=1)
    if x is None or 0 in w.values[x].shape:
        return
    axis = w.axis(x)
    op = pick(w.choices, ("Softmax", "LogSoftmax", "CumSum", "LayerNormalization"))
    if op == "CumSum":
        w.add(op, x, w.weight(np.int64(axis)), exclusive=w.choices.integer(0, 1), reverse=w.choices.integer(0, 1))
    elif op == "LayerNormalization":
        w.add(op, x, w.floats(*w.values[x].shape[axis:]), axis=axis, epsilon=0.5)
    else:
        w.add(op, x, axis=axis)


def _arg(w: OnnxWriter) -> None:
    x = w.operand("i", rank=1)
    if x is not None and 0 not in w.values[x].shape:
        w.add(pick(w.choices, ("ArgMax", "ArgMin")), x, axis=w.axis(x), keepdims=w.choices.integer(0, 1))


def _matmul(w: OnnxWriter) -> None:
    x = w.operand("f", rank=1)
    if x is None:
        return
    columns = w.choices.integer(1, 4)
    if w.values[x].ndim == 2 and flag(w.choices):
        w.add("Gemm", x, w.floats(columns, w.values[x].shape[1]), w.floats(columns), transB=1, alpha=0.5)
    else:
        w.add("MatMul", x, w.floats(w.values[x].shape[-1], columns))


def _image(w: OnnxWriter) -> None:
    x = w.operand("f", rank=3)
    if x is None or 0 in w.values[x].shape:
        return
    channels, rank = w.values[x].shape[1], w.values[x].ndim - 2
    if rank > 2:
        return
    window = [w.choices.integer(1, min(3, n)) for n in w.values[x].shape[2:]]
    strides = [w.choices.integer(1, 2) for _ in window]
    pads = [w.choices.integer(0, (n - 1) // 2) for n in window] * 2
    match w.choices.integer(0, 4):
        case 0 | 1:
            w.add("Conv", x, w.floats(2, channels, *window), w.floats(2), strides=strides, pads=pads)
        case 2:
            w.add("MaxPool", x, kernel_shape=window, strides=strides, pads=pads)
        case 3:
            w.add("AveragePool", x, kernel_shape=window, strides=strides, pads=pads, count_include_pad=1)
        case _:
            variance = w.weight(np.abs(w.values[w.floats(channels)]) + np.float32(0.5))
            w.add("BatchNormalization", x, w.floats(channels), w.floats(channels), w.floats(channels), variance)


STEPS: tuple[Callable[[OnnxWriter], None], ...] = (
    *(_unary, _binary, _binary, _rounding, _compare, _logic, _cast, _transpose, _reshape, _concat, _split, _slice),
    *(_gather, _shape_of_axes, _repeat, _pad, _reduce, _along_axis, _arg, _matmul, _image),
)
