"""Imported models compute the same results as ONNX's reference evaluator."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from stepwell import ArgumentError, UnsupportedError, build  # noqa: E402
from stepwell.backends.graph import GraphExecutor, build_graph  # noqa: E402
from stepwell.frontends.onnx import OnnxError, OnnxUnsupportedError, from_onnx, load_model  # noqa: E402
from stepwell.operators.relay import OperatorOp, shape_of  # noqa: E402
from stepwell.tools.testing.execution import run_graph  # noqa: E402

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64

node: Callable[..., Any] = helper.make_node


def value(name: str, shape: Any, dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def model(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str], weights: Any = (), opset: int = 18
) -> Any:
    """A model; weights: arrays by name."""
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(weights).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def run(proto: Any, *arrays: Any, shapes: Any = None) -> list[Any]:
    """The outputs of a compiled model."""
    assert len(arrays) == len(proto.graph.input)
    return run_graph(build_graph(from_onnx(proto, shapes=shapes)), arrays)


def check(proto: Any, *arrays: Any, shapes: Any = None, rtol: float = 1e-4) -> None:
    """Asserts that a compiled model agrees with the reference evaluator."""
    check_calls(proto, [arrays], shapes=shapes, rtol=rtol)


def check_calls(proto: Any, calls: Sequence[Sequence[Any]], shapes: Any = None, rtol: float = 1e-4) -> None:
    """Asserts that a model, compiled once, agrees with the reference evaluator for the inputs of each call."""
    names = [given.name for given in proto.graph.input]
    reference: Any = ReferenceEvaluator(proto)
    executable = build_graph(from_onnx(proto, shapes=shapes))
    for arrays in calls:
        with np.errstate(all="ignore"):
            expected = reference.run(None, dict(zip(names, arrays, strict=True)))
        for got, want in zip(run_graph(executable, arrays), expected, strict=True):
            assert got.dtype == want.dtype
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol, 1e-5)


def operators(proto: Any, **options: Any) -> list[str]:
    """The relay operators of an imported model."""
    (func,) = from_onnx(proto, **options).functions.values()
    return [op.operator.name for op in func.walk() if isinstance(op, OperatorOp)]


# Families


@pytest.mark.parametrize("has_mask", [False, True])
def test_deformable_convolution(has_mask: bool) -> None:
    arrays = {
        "w": random(4, 1, 2, 2, seed=1),
        "o": random(1, 16, 2, 2, seed=2),
        "b": random(4, seed=3),
        "m": random(1, 8, 2, 2, seed=4),
    }
    operands = ["x", "w", "o", "b", *(["m"] if has_mask else [])]
    convolution = node("DeformConv", operands, ["y"], group=4, offset_group=2, strides=[2, 1], pads=[1, 0, 0, 0])
    used = {name: arrays[name] for name in operands[1:]}
    check(model([convolution], [value("x", [1, 4, 3, 3])], ["y"], used, opset=19), random(1, 4, 3, 3))


@pytest.mark.parametrize(("mode", "transform"), [("avg", "half_pixel"), ("max", "output_half_pixel")])
def test_regions_of_images(mode: str, transform: str) -> None:
    attributes: Any = {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.5}
    pool = node("RoiAlign", ["x", "r", "b"], ["y"], mode=mode, coordinate_transformation_mode=transform, **attributes)
    inputs = [value("x", [2, 3, "h", 6]), value("r", ["n", 4]), value("b", ["n"], INT)]
    rois = np.array([[0, 0, 9, 9], [2, 1, 3, 8], [-4, 2, 20, 3]], "float32")
    check(model([pool], inputs, ["y"], opset=16), random(2, 3, 5, 6), rois, np.array([0, 1, 1]))


def test_frames_of_complex_numbers() -> None:
    proto = model(
        [node("STFT", ["x", "step", "", "length"], ["y"], onesided=0)],
        [value("x", [1, 9, 2])],
        ["y"],
        {"step": np.asarray(2), "length": np.asarray(5)},
        opset=17,
    )
    check(proto, random(1, 9, 2))


def test_convolutions_pools_and_norms_of_any_batch() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["p"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "k", "l"], ["y"], transB=1, alpha=0.5),
    ]
    weights = {
        "w": random(8, 3, 3, 3),
        **{name: rng.uniform(0.5, 1, 8).astype("float32") for name in "bsmv"},
        "k": random(5, 8),
        "l": random(5),
    }
    proto = model(nodes, [value("x", ["batch size", 3, 16, 16])], ["y"], weights)
    check_calls(proto, [[random(1, 3, 16, 16)], [random(3, 3, 16, 16)]])
    (func,) = from_onnx(proto).functions.values()
    assert shape_of(func.return_values[0]) == ("batch_size", 5)
    (fixed,) = from_onnx(proto, shapes={"x": (2, 3, 16, 16)}).functions.values()
    assert shape_of(fixed.return_values[0]) == (2, 5)


def test_transposed_convolutions_and_other_sizes() -> None:
    nodes = [
        node("ConvTranspose", ["x", "w"], ["c"], strides=[2, 2], output_padding=[1, 1], pads=[1, 1, 1, 1]),
        node("Resize", ["c", "", "s"], ["r"], mode="linear"),
        node("Pad", ["r", "p"], ["q"], mode="reflect"),
        node("DepthToSpace", ["q"], ["y"], blocksize=2),
    ]
    weights = {
        "w": random(3, 4, 3, 3),
        "s": np.array([1, 1, 2, 1.5], "float32"),
        "p": np.array([0, 0, 1, 2, 0, 0, 0, 1]),
    }
    check(model(nodes, [value("x", (2, 3, 5, 4))], ["y"], weights), random(2, 3, 5, 4))


def test_products_of_any_rank() -> None:
    x, w = value("x", ("n", 2, 3, 4)), random(4, 5)
    check(model([node("MatMul", ["x", "w"], ["y"])], [x], ["y"], {"w": w}), random(3, 2, 3, 4))
    transposed = node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2])
    check(model([transposed, node("MatMul", ["x", "t"], ["y"])], [x], ["y"]), random(3, 2, 3, 4))
    check(model([node("MatMul", ["x", "w"], ["y"])], [x], ["y"], {"w": random(4)}), random(3, 2, 3, 4))
    check(model([node("MatMul", ["w", "x"], ["y"])], [value("x", (4, 2))], ["y"], {"w": random(4)}), random(4, 2))


def test_frequencies() -> None:
    nodes = [
        node("DFT", ["x", "n", "axis"], ["f"]),
        node("DFT", ["f", "", "axis"], ["b"], inverse=1),
        node("DFT", ["x", "", "axis"], ["h"], onesided=1),
    ]
    weights = {"n": np.array(7), "axis": np.array(1)}
    check(model(nodes, [value("x", (2, 6, 1))], ["f", "b", "h"], weights, 20), random(2, 6, 1))


def test_reductions_and_orders() -> None:
    nodes = [
        node("ReduceSum", ["x", "a"], ["s"], keepdims=0),
        node("ReduceLogSumExp", ["x", "a"], ["l"]),
        node("ReduceMax", ["x"], ["m"]),
        node("ArgMax", ["x"], ["i"], axis=-1),
        node("TopK", ["x", "k"], ["v", "j"], axis=1),
        node("CumSum", ["x", "c"], ["u"]),
        node("Softmax", ["x"], ["t"], axis=1),
    ]
    weights = {"a": np.array([1, -1]), "k": np.array([2]), "c": np.array(1)}
    check(model(nodes, [value("x", (2, 3, 4))], list("slmivjut"), weights), random(2, 3, 4))


def test_places() -> None:
    nodes = [
        node("Gather", ["x", "i"], ["g"], axis=1),
        node("GatherND", ["x", "p"], ["n"]),
        node("ScatterND", ["x", "p", "u"], ["s"], reduction="add"),
        node("OneHot", ["i", "d", "o"], ["h"], axis=0),
    ]
    inputs = [value("x", (3, 4)), value("i", (2,), INT), value("p", (2, 1), INT)]
    weights = {"u": random(2, 4), "d": np.array(4), "o": np.array([-1, 5], "float32")}
    check(model(nodes, inputs, list("gnsh"), weights), random(3, 4), np.array([-1, 2]), np.array([[2], [2]]))


def test_elementwise() -> None:
    nodes = [
        node("Clip", ["x", "", "m"], ["c"]),
        node("Max", ["x", "m", "c"], ["d"]),
        node("Pow", ["x", "e"], ["p"]),
        node("Where", ["q", "x", "m"], ["w"]),
        node("Less", ["x", "m"], ["q"]),
        node("Cast", ["x"], ["i"], to=TensorProto.INT8),
        node("Gelu", ["x"], ["g"]),
        node("IsInf", ["x"], ["f"], detect_negative=0),
    ]
    data = np.array([[-np.inf, -3.7, -0.5], [0.5, 3.7, np.inf]], "float32")
    weights = {"m": np.array(0.25, "float32"), "e": np.array(3, "int32")}
    check(
        model(nodes[:1] + nodes[4:5] + nodes[1:4] + nodes[6:], [value("x", (2, 3))], list("cdpwgf"), weights, 20), data
    )
    check(model([nodes[5]], [value("x", (2, 3))], ["i"]), data.clip(-9, 9))


def test_nan_is_kept_by_limits() -> None:
    data = np.array([np.nan, -1, 1], "float32")
    weights = {"m": np.array(0, "float32")}
    for name in ("Max", "Min"):
        for operands in (["x", "m"], ["m", "x"], ["x", "x"]):
            proto = model([node(name, operands, ["y"])], [value("x", (3,))], ["y"], weights)
            np.testing.assert_array_equal(run(proto, data)[0][:1], [np.nan])
    proto = model([node("Clip", ["x", "m"], ["y"])], [value("x", (3,))], ["y"], weights)
    np.testing.assert_array_equal(run(proto, data)[0], [np.nan, 0, 1])


def test_integers_for_floats() -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1),
        node("DynamicQuantizeLinear", ["x"], ["d", "t", "o"]),
        node("MatMulInteger", ["d", "w", "o"], ["m"]),
    ]
    weights = {
        "s": np.array([0.1, 0.01, 0.02], "float32"),
        "z": np.array([0, 10, -20], "int8"),
        "w": np.arange(6, dtype="uint8").reshape(3, 2),
    }
    check(model(nodes, [value("x", (4, 3))], list("qydtom"), weights, 19), random(4, 3))


@pytest.mark.parametrize(("kind", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent(kind: str, gates: int) -> None:
    weights = {"w": random(1, gates * 3, 2), "r": random(1, gates * 3, 3, seed=1), "b": random(1, gates * 6, seed=2)}
    made = [node(kind, ["x", "w", "r", "b"], ["y", "h"], hidden_size=3)]
    check(model(made, [value("x", (4, 2, 2))], ["y", "h"], weights), random(4, 2, 2))


def test_sequences_end_where_their_lengths_say() -> None:
    weights = {"w": random(2, 12, 2), "r": random(2, 12, 3, seed=1)}
    made = [node("LSTM", ["x", "w", "r", "", "n"], ["y", "h", "c"], hidden_size=3, direction="bidirectional")]
    proto = model(made, [value("x", (4, 2, 2)), value("n", (2,), TensorProto.INT32)], ["y", "h", "c"], weights)
    x = random(4, 2, 2)
    y, h, c = run(proto, x, np.array([4, 2], "int32"))
    alone = model(made, [value("x", (2, 1, 2)), value("n", (1,), TensorProto.INT32)], ["y", "h", "c"], weights)
    for got, want in zip(
        (y[:2, :, 1:], h[:, 1:], c[:, 1:]), run(alone, x[:2, 1:], np.array([2], "int32")), strict=True
    ):
        np.testing.assert_allclose(got, want, 1e-5)
    assert not y[2:, :, 1].any()


# Control


def graph(name: str, nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    return helper.make_graph(nodes, name, inputs, outputs)


def test_branches() -> None:
    branches = {
        "then_branch": graph("t", [node("Exp", ["x"], ["a"])], [], [value("a", (3,))]),
        "else_branch": graph("e", [node("Mul", ["x", "w"], ["b"])], [], [value("b", (3,))]),
    }
    inputs = [value("c", (), TensorProto.BOOL), value("x", (3,))]
    proto = model([node("If", ["c"], ["y"], **branches)], inputs, ["y"], {"w": random(3)})
    for condition in (True, False):
        check(proto, np.array(condition), random(3))
    known = model([node("If", ["c"], ["y"], **branches)], inputs[1:], ["y"], {"c": np.array(True), "w": random(3)})
    assert operators(known) == ["exp"]


def test_loops_whose_rounds_are_known_are_written_out() -> None:
    body = graph(
        "body",
        [node("Add", ["s", "x"], ["t"]), node("Identity", ["c"], ["d"]), node("Mul", ["t", "t"], ["u"])],
        [value("i", (), INT), value("c", (), TensorProto.BOOL), value("s", (2,))],
        [value("d", (), TensorProto.BOOL), value("t", (2,)), value("u", (2,))],
    )
    proto = model([node("Loop", ["n", "go", "z"], ["y", "v"], body=body)], [value("x", (2,))], ["y", "v"],
                  {"n": np.array(3), "z": np.zeros(2, "float32"), "go": np.array(True)})  # fmt: skip
    check(proto, random(2))


def test_sequences_are_known() -> None:
    nodes = [
        node("SplitToSequence", ["x", "n"], ["s"], axis=0),
        node("SequenceAt", ["s", "one"], ["a"]),
        node("SequenceInsert", ["s", "a"], ["t"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    check(model(nodes, [value("x", (4, 2))], ["y"], {"n": np.array(2), "one": np.array(1)}), random(4, 2))


# Constants


def attention(batch: Any = "batch", length: Any = "length") -> Any:
    """Attention whose heads are split and merged by shapes computed in the model, as exporters emit it."""

    def sizes(out: str, *parts: str) -> list[Any]:
        return [node("Concat", parts, [out], axis=0)]

    def size_of(data: str, axis: int, out: str) -> list[Any]:
        return [
            node("Shape", [data], [f"{out}_shape"]),
            node("Gather", [f"{out}_shape", f"i{axis}"], [f"{out}_size"], axis=0),
            node("Unsqueeze", [f"{out}_size", "zero"], [out]),
        ]

    nodes = [
        *size_of("x", 0, "b"),
        *size_of("x", 1, "s"),
        node("MatMul", ["x", "w"], ["q"]),
        *sizes("heads", "b", "s", "h", "d"),
        node("Reshape", ["q", "heads"], ["q4"]),
        node("Transpose", ["q4"], ["k"], perm=[0, 2, 3, 1]),
        node("Transpose", ["q4"], ["v"], perm=[0, 2, 1, 3]),
        node("MatMul", ["v", "k"], ["scores"]),
        node("Range", ["i0", "s_size", "i1"], ["places"]),
        node("Unsqueeze", ["places", "zero"], ["columns"]),
        node("Unsqueeze", ["places", "h_axis"], ["rows"]),
        node("LessOrEqual", ["columns", "rows"], ["mask"]),
        node("Where", ["mask", "scores", "low"], ["masked"]),
        node("Softmax", ["masked"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["o4"]),
        node("Transpose", ["o4"], ["o"], perm=[0, 2, 1, 3]),
        *sizes("whole", "b", "s", "minus"),
        node("Reshape", ["o", "whole"], ["y"]),
    ]
    weights = {
        "w": random(8, 8),
        **{f"i{n}": np.array(n) for n in range(2)},
        "zero": np.array([0]),
        "h_axis": np.array([1]),
        "h": np.array([2]),
        "d": np.array([4]),
        "minus": np.array([-1]),
        "low": np.array(-1e9, "float32"),
    }
    return model(nodes, [value("x", (batch, length, 8))], ["y"], weights)


def test_attention_of_any_batch_and_length() -> None:
    check_calls(attention(), [[random(2, 5, 8)], [random(1, 3, 8)]])
    (func,) = from_onnx(attention()).functions.values()
    assert shape_of(func.return_values[0]) == ("batch", "length", 8)


def test_shapes_that_models_compute_leave_nothing_behind() -> None:
    assert "cumsum" not in operators(attention(2, 5))
    assert set(operators(attention(2, 5))) <= {
        "nn.dense", "nn.batch_matmul", "transpose", "reshape", "where", "nn.softmax"
    }  # fmt: skip


def test_sizes_as_values() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("ReduceProd", ["s"], ["count"], keepdims=0),
        node("Cast", ["count"], ["f"], to=FLOAT),
        node("ReduceSum", ["x"], ["total"], keepdims=0),
        node("Div", ["total", "f"], ["y"]),
        node("ConstantOfShape", ["s"], ["z"]),
        node("Size", ["x"], ["n"]),
    ]
    proto = model(nodes, [value("x", ("n", "m"))], ["y", "s", "z", "n"])
    check_calls(proto, [[random(3, 4)], [random(1, 7)]])


def test_slices_and_expansions_of_open_sizes() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "one", "two"], ["m"]),
        node("Sub", ["m", "one"], ["last"]),
        node("Slice", ["x", "one", "big", "one"], ["a"]),
        node("Slice", ["x", "zero", "last", "one"], ["b"]),
        node("Sub", ["a", "b"], ["d"]),
        node("Slice", ["x", "minus", "big", "one"], ["e"]),
        node("Expand", ["e", "s"], ["y"]),
    ]
    weights = {"zero": [0], "one": [1], "two": [2], "minus": [-1], "big": [2**63 - 1]}
    arrays = {name: np.array(number, "int64") for name, number in weights.items()}
    check(model(nodes, [value("x", ("n", "m"))], ["d", "y"], arrays), random(3, 4))


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize(
    ("size", "start", "end", "step", "expected"),
    [
        (2, -3, 0, -1, []),
        (2, -3, -3, -1, [0]),
        (2, -5, -9, -2, [0]),
        (2, 5, 0, -1, [1]),
        (4, -1, -9, -2, [3, 1]),
        (4, -9, 9, 3, [0, 3]),
        (0, 0, -9, -1, []),
        (0, -3, 3, 1, []),
    ],
)
def test_bounds_of_slices_are_those_of_the_specification(
    is_constant: bool, size: int, start: int, end: int, step: int, expected: list[int]
) -> None:
    """The bounds are clamped as the specification and onnxruntime do: with a negative step, a start before the first
    element is the first element. The reference evaluator has Python's semantics there."""
    bounds = {name: np.array([each], "int64") for name, each in zip("seat", (start, end, 0, step), strict=True)}
    data = np.arange(size, dtype="float32")
    if is_constant:
        proto = model([node("Slice", ["x", *"seat"], ["y"])], [], ["y"], {"x": data, **bounds})
        (got,) = run(proto)
    else:
        proto = model([node("Slice", ["x", *"seat"], ["y"])], [value("x", [size])], ["y"], bounds)
        (got,) = run(proto, data)
    assert got.tolist() == expected


def call_compiled(proto: Any, *arrays: Any) -> None:
    """Calls the function built by `build` from a model, with inputs, constants, results and a workspace."""
    module = from_onnx(proto)
    made = build_graph(module)
    given = [*arrays[: len(made.inputs)], *made.constants.values(), *arrays[len(made.inputs) :]]
    workspace = [np.zeros(made.workspace, "uint8")] if made.workspace else []
    build(module)["main"](*given, *workspace)


def test_parts_of_constants_as_long_as_an_input() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "one", "two"], ["length"]),
        node("Slice", ["p", "zero", "length"], ["part"]),
        node("Add", ["x", "part"], ["y"]),
    ]
    weights = {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "p": random(6)}
    proto = model(nodes, [value("x", ("n", "m"))], ["y"], weights)
    check_calls(proto, [[random(3, 4)], [random(3, 6)]])
    with pytest.raises(ArgumentError, match="size m is 7, expected at most 6"):
        run(proto, random(3, 7))
    with pytest.raises(ArgumentError, match="size m: expected at most 6"):
        call_compiled(proto, random(3, 7), np.zeros((3, 7), "float32"))


@pytest.mark.parametrize(("start", "end", "least"), [(-1, 2**31, 1), (0, 1, 1), (-3, -2, 3), (2, 3, 3)])
def test_one_element_of_an_open_size_must_be_there(start: int, end: int, least: int) -> None:
    weights = {"start": np.array([start]), "end": np.array([end]), "one": np.array([1])}
    nodes = [node("Slice", ["x", "start", "end", "one"], ["y"])]
    proto = model(nodes, [value("x", (2, "n"))], ["y"], weights)
    check_calls(proto, [[random(2, least)], [random(2, least + 4)]])
    with pytest.raises(ArgumentError, match=f"size n is {least - 1}, expected at least {least}"):
        run(proto, random(2, least - 1))
    with pytest.raises(ArgumentError, match=f"size n: expected at least {least}"):
        call_compiled(proto, random(2, least - 1), np.zeros((2, 1), "float32"))


def test_images_and_networks_of_any_batch() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "zero", "two"], ["front"]),
        node("Concat", ["front", "wanted"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear"),
    ]
    weights = {"zero": np.array([0]), "two": np.array([2]), "wanted": np.array([6, 7])}
    check(model(nodes, [value("x", ("n", 2, 4, 4))], ["y"], weights), random(3, 2, 4, 4))
    recurrent = node("GRU", ["x", "w", "r"], ["y", "h"], hidden_size=3, linear_before_reset=1)
    weights = {"w": random(1, 9, 2), "r": random(1, 9, 3, seed=1)}
    check(model([recurrent], [value("x", (4, "n", 2))], ["y", "h"], weights), random(4, 3, 2))


def test_images_of_any_size() -> None:
    """The channels of such images are shuffled by reshapes; the last windows of pools may begin in the padding."""
    proto = model(
        [
            node("Shape", ["x"], ["shape"], start=2),
            node("Concat", ["split", "shape"], ["parts"], axis=0),
            node("Reshape", ["x", "parts"], ["y"]),
            node("Transpose", ["y"], ["z"], perm=[0, 2, 1, 3, 4]),
            node("Concat", ["merged", "shape"], ["whole"], axis=0),
            node("Reshape", ["z", "whole"], ["shuffled"]),
            node("MaxPool", ["shuffled"], ["a"], kernel_shape=[3, 2], strides=[2, 3], pads=[0, 1, 0, 1], ceil_mode=1),
            node("MaxPool", ["shuffled"], ["b"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        ],
        [value("x", [1, 6, "h", "w"])],
        ["shuffled", "a", "b"],
        {"split": np.array([1, 2, 3]), "merged": np.array([1, 6])},
    )
    check_calls(proto, [[random(1, 6, *size)] for size in ((3, 4), (4, 5), (5, 9))])


def test_a_parameter_that_is_computed_is_refused() -> None:
    inputs = [value("x", (4, 2)), value("r", ()), value("t", (), TensorProto.BOOL)]
    proto = model([node("Dropout", ["x", "r", "t"], ["y"])], inputs, ["y"])
    text = "the node of 'y' \\(Dropout\\): training_mode of Dropout is known only when"
    with pytest.raises(OnnxUnsupportedError, match=text):
        from_onnx(proto)


def test_names_of_sizes_that_are_no_names() -> None:
    proto = model([node("Relu", ["x"], ["y"])], [value("x", ("batch size", "batch_size", "2", "class"))], ["y"])
    (func,) = from_onnx(proto).functions.values()
    assert shape_of(func.params[0][1]) == ("batch_size", "batch_size_1", "size_2", "size_class")
    check(proto, random(1, 2, 3, 4))


# Refusals


def test_operators_that_are_not_there_are_named_at_once() -> None:
    counts = {"ngram_counts": [0], "ngram_indexes": [0], "pool_int64s": [1], "max_skip_count": 0}
    words = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, **counts}
    inner = graph("t", [node("StringNormalizer", ["x"], ["a"])], [], [value("a", (3,))])
    nodes = [
        node("TfIdfVectorizer", ["x"], ["d"], **words),
        node("If", ["c"], ["y"], then_branch=inner, else_branch=inner),
        node("StringNormalizer", ["x"], ["u"]),
        node("Relu", ["x"], ["r"]),
    ]
    proto = model(nodes, [value("x", (3, 3)), value("c", (), TensorProto.BOOL)], ["d", "y", "u", "r"])
    with pytest.raises(UnsupportedError, match="operators that are not supported: StringNormalizer, TfIdfVectorizer"):
        from_onnx(proto)


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (model([node("Relu", ["x"], ["y"])], [value("x", None)], ["y"]), "does not say how many dimensions"),
        (
            model([node("Cast", ["x"], ["y"], to=TensorProto.COMPLEX64)], [value("x", (3,))], ["y"], opset=19),
            "tensors of complex64 are not supported",
        ),
        (
            model([node("BatchNormalization", list("xssss"), ["y"], training_mode=1)], [value("x", (2, 3))], ["y"],
                  {"s": random(3)}),
            "training is not supported",
        ),
        (model([node("Squeeze", ["x"], ["y"])], [value("x", ("n", 3))], ["y"]), "Squeeze without axes"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_said(proto: Any, message: str) -> None:
    with pytest.raises(OnnxUnsupportedError, match=message):
        from_onnx(proto)


def test_shapes_of_inputs() -> None:
    proto = model([node("Relu", ["x"], ["y"])], [value("x", None)], ["y"])
    check(proto, random(2, 3), shapes={"x": ("n", 3)})
    with pytest.raises(OnnxError, match="shapes of z, expected inputs: x"):
        from_onnx(proto, shapes={"x": (2,), "z": (3,)})
    with pytest.raises(OnnxError, match="expected 2 extents"):
        from_onnx(model([node("Relu", ["x"], ["y"])], [value("x", (2, 3))], ["y"]), shapes={"x": (2,)})


# Weights


def test_weights_are_not_copied() -> None:
    proto = model([node("Gemm", ["x", "w"], ["y"])], [value("x", (2, 3))], ["y"], {"w": random(3, 400), "u": random(9)})
    read = load_model(proto)
    made = from_onnx(read)
    assert list(made.constants) == ["w"]
    assert np.shares_memory(made.constants["w"], read.initializers["w"])


def test_what_goes_through_comes_out() -> None:
    nodes = [node("Identity", ["x"], ["y"]), node("Identity", ["w"], ["z"]), node("Dropout", ["x"], ["v", "m"])]
    proto = model(nodes, [value("x", (2, 3))], ["y", "z", "v", "m"], {"w": random(5)}, opset=13)
    check(proto, random(2, 3))


def test_results_keep_their_names() -> None:
    nodes = [node("Exp", ["x"], ["scores"]), node("Neg", ["scores"], ["b/1"])]
    proto = model(nodes, [value("x", (2, 3))], ["b/1", "scores", "scores"])
    executor = GraphExecutor(build_graph(from_onnx(proto)))
    assert [spec.name for spec in executor.executable.outputs] == ["b/1", "scores", "scores_1"]
    x = random(2, 3)
    executor.run(x=x)
    np.testing.assert_allclose(executor.get_output("b/1"), -np.exp(x), 1e-6)
    np.testing.assert_array_equal(executor.get_output("scores_1"), executor.get_output(1))
    with pytest.raises(ArgumentError, match="no output 'score', did you mean 'scores'"):
        executor.get_output("score")


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
def test_softmax_of_float16_is_rounded_where_its_definition_rounds(op_type: str) -> None:
    x = (4 * random(5, 6)).astype("float16")
    proto = model([node(op_type, ["x"], ["y"])], [value("x", (5, 6), TensorProto.FLOAT16)], ["y"])
    left = x - x.max(-1, keepdims=True)
    powers = np.exp(left.astype("float32")).astype("float16")
    total = powers.astype("float32").sum(-1, keepdims=True).astype("float16")
    expected = powers / total if op_type == "Softmax" else left - np.log(total)
    np.testing.assert_array_equal(run(proto, x)[0], expected)


def test_bits_are_read_as_other_numbers() -> None:
    x = np.array([1.5, -0.0, np.inf], "float32")
    to_int = model([node("BitCast", ["x"], ["y"], to=TensorProto.UINT32)], [value("x", (3,))], ["y"], opset=26)
    np.testing.assert_array_equal(run(to_int, x)[0], x.view("uint32"))
    to_bool = model(
        [node("BitCast", ["x"], ["y"], to=TensorProto.BOOL)], [value("x", (3,), TensorProto.UINT8)], ["y"], opset=26
    )
    with pytest.raises(OnnxUnsupportedError, match="BitCast: uint8 as bool is not supported"):
        from_onnx(to_bool)


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_the_greatest_are_those_among_all_elements(order: int) -> None:
    said: Any = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "storage_order": order}
    proto = model([node("MaxPool", ["x"], ["y", "p"], **said)], [value("x", ("n", 3, 5, 4))], ["y", "p"])
    check(proto, random(2, 3, 5, 4))


def test_places_of_the_greatest_are_those_of_the_first_of_them() -> None:
    proto = model([node("MaxPool", ["x"], ["y", "p"], kernel_shape=[3])], [value("x", (1, 1, 5))], ["y", "p"])
    y, places = run(proto, np.array([[[1, 2, 2, -np.inf, 2]]], "float32"))
    assert y.tolist() == [[[2, 2, 2]]]
    assert places.tolist() == [[[1, 1, 2]]]


def test_a_pool_is_undone_by_its_places() -> None:
    nodes = [
        node("MaxPool", ["x"], ["y", "p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("MaxUnpool", ["y", "p", "s"], ["z"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    for shape in ([2, 3, 4, 6], [2, 3, 5, 6]):
        check(model(nodes, [value("x", (2, 3, 4, 6))], ["z"], {"s": np.array(shape)}), random(2, 3, 4, 6))
    small = model(nodes, [value("x", (2, 3, 4, 6))], ["z"], {"s": np.array([2, 3, 4, 5])})
    with pytest.raises(OnnxError, match=r"output_shape \[2, 3, 4, 5\], expected \[2, 3, 4, 6\] at least"):
        from_onnx(small)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2, 2), (2, 2, 3, 3), (5, 5)])
def test_determinants(shape: tuple[int, ...]) -> None:
    check(model([node("Det", ["x"], ["y"])], [value("x", shape)], ["y"]), random(*shape, seed=3))


def test_determinants_of_matrices_without_inverses_are_zero() -> None:
    x = np.array([[[0, 1], [0, 2]], [[0, 2], [3, 0]], [[1, 1], [1, 1]]], "float32")
    (got,) = run(model([node("Det", ["x"], ["y"])], [value("x", ("n", 2, 2))], ["y"]), x)
    np.testing.assert_array_equal(got, [0, -6, 0])
    with pytest.raises(OnnxError, match="Det of a matrix of 2 by 3, expected as many rows as columns"):
        from_onnx(model([node("Det", ["x"], ["y"])], [value("x", (2, 3))], ["y"]))


IMAGE = value("x", (1, 4, 5, 5))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="SAME"),
            "'auto_pad': expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got 'SAME'",
        ),
        (
            node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[1, 0]),
            "'strides': expected 2 numbers from 1 on, got [1, 0]",
        ),
        (node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], pads=[1, 1, 1]), "'pads': expected 4 numbers"),
        (node("ConvTranspose", ["x", "w"], ["y"], strides=[2]), "'strides': expected 2 numbers from 1 on, got [2]"),
        (node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CDR"), "'mode': expected DCR or CRD, got 'CDR'"),
        (
            node("ScatterND", ["x", "i", "u"], ["y"], reduction="sum"),
            "'reduction': expected none, add, mul, min or",
        ),
        (node("Flatten", ["x"], ["y"], axis=5), "axis 5 of 4 dimensions"),
        (node("LpNormalization", ["x"], ["y"], p=3), "'p': expected 1 or 2, got 3"),
        (
            node("GroupNormalization", ["x", "s", "s"], ["y"], num_groups=0),
            "0 groups of 4 channels",
        ),
        (node("Range", ["zero", "two", "zero"], ["y"]), "Range with a delta of 0"),
        (node("Pad", ["x", "ends"], ["y"]), "Pad: 2 pads, expected 8"),
        (node("Slice", ["x", "ends", "two"], ["y"]), "Slice by 2 starts, 1 ends, 2 axes and steps [1, 1]"),
        (node("Slice", ["x", "two", "two", "two", "none"], ["y"]), "and no step of 0"),
        (
            node("RNN", ["q", "a", "a"], ["y"], hidden_size=2, direction="both"),
            "'direction': expected forward,",
        ),
        (node("RNN", ["q", "a", "a"], ["y"], direction="bidirectional"), "RNN: weights of 1 directions, expected 2"),
        (node("MatMul", ["x", "s"], ["y"]), "(MatMul): nn.dense: data"),
        (
            node("Add", ["x", "i"], ["y"]),
            "(Add): operand 1 (B) is of int64, expected float32, which operand 0 (A) is of",
        ),
        (
            node("Concat", ["x", "x", "i"], ["y"], axis=0),
            "(Concat): operand 2 (inputs) is of int64, expected float32, which operand 0 (inputs) is of",
        ),
        (node("Sqrt", ["i"], ["y"]), "(Sqrt): operand 0 (X) is of int64, expected float32, "),
        (node("Reshape", ["x", "s"], ["y"]), "(Reshape): operand 1 (shape) is of float32, expected int64"),
        (node("Where", ["x", "x", "x"], ["y"]), "(Where): operand 0 (condition) is of float32, expected bool"),
    ],
)
def test_what_a_node_says_wrong_is_an_error_that_says_what_was_expected(nodes: Any, message: str) -> None:
    weights = {
        "w": random(4, 3, 2, 2),
        "i": np.zeros((1, 4), "int64"),
        "u": random(1),
        "s": random(4),
        "zero": np.array(0),
        "two": np.array([2]),
        "ends": np.array([1, 1]),
        "none": np.array([0]),
        "q": random(3, 1, 2),
        "a": random(1, 2, 2),
    }
    weights |= {"two": np.array(2)} if nodes.op_type == "Range" else {}
    with pytest.raises(OnnxError) as raised:
        from_onnx(model([nodes], [IMAGE], ["y"], weights))
    assert message in str(raised.value)
    assert __file__ not in str(raised.value)
