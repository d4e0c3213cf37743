"""Models with sizes that only data determines: programs, whose results are those of ONNX's reference evaluator."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from stepwell import (  # noqa: E402
    ArgumentError,
    ExecutionError,
    GraphExecutor,
    OptionError,
    VirtualMachine,
    build_graph,
    build_relax,
)
from stepwell.backends.interpreter import interpret  # noqa: E402
from stepwell.backends.relax import host_functions  # noqa: E402
from stepwell.frontends.onnx import OnnxUnsupportedError, from_onnx  # noqa: E402
from stepwell.operators import relax  # noqa: E402

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node: Callable[..., Any] = helper.make_node


def model(nodes: Sequence[Any], inputs: dict[str, tuple[int, Any]], outputs: Sequence[str], opset: int = 18) -> Any:
    """A model. inputs: the data types and shapes, by name."""
    infos = [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info(name) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(proto: Any, *arrays: Any) -> None:
    """Compares the results of a program with those of the reference."""
    module = from_onnx(proto)
    assert isinstance(module.functions["main"], relax.FuncOp)
    main = VirtualMachine(build_relax(module))["main"]
    reference: Any = ReferenceEvaluator(proto)
    results = main(*arrays)
    got = results if isinstance(results, tuple) else (results,)
    expected = reference.run(None, dict(zip(reference.input_names, arrays, strict=True)))
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.numpy().dtype == theirs.dtype
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-6)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def sparse(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(0, 3, shape) == 0) * random(*shape)


def floats(*shape: Any) -> tuple[int, Any]:
    return FLOAT, shape


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 0), (2, 3, 2)])
def test_nonzero(shape: tuple[int, ...]) -> None:
    check(model([node("NonZero", ["x"], ["y"])], {"x": floats(*shape)}, ["y"]), sparse(*shape))


def test_one_program_serves_all_counts() -> None:
    proto = model([node("NonZero", ["x"], ["y"])], {"x": floats("n")}, ["y"])
    main = VirtualMachine(build_relax(from_onnx(proto)))["main"]
    for x in (np.zeros(3, "float32"), np.ones(5, "float32"), np.zeros(0, "float32"), sparse(40)):
        np.testing.assert_array_equal(main(x).numpy(), np.stack(np.nonzero(x)))


def test_operators_follow_a_size_of_data() -> None:
    """The selected rows, their squares, their number and a sum."""
    nodes = [
        node("NonZero", ["mask"], ["places"]),
        node("Squeeze", ["places", "zero"], ["rows"]),
        node("Gather", ["x", "rows"], ["chosen"], axis=0),
        node("Mul", ["chosen", "chosen"], ["squares"]),
        node("Shape", ["chosen"], ["shape"]),
        node("ReduceSum", ["squares", "zero"], ["sum"], keepdims=0),
        node("Reshape", ["squares", "shape"], ["same"]),
    ]
    nodes.insert(0, node("Constant", [], ["zero"], value_ints=[0]))
    proto = model(nodes, {"mask": (BOOL, ("n",)), "x": floats("n", 3)}, ["chosen", "same", "shape", "sum"])
    mask = np.array([True, False, True, True, False])
    check(proto, mask, random(5, 3))
    check(proto, np.array([False, True]), random(2, 3))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None) -> None:
    attributes = {} if axis is None else {"axis": axis}
    proto = model([node("Compress", ["x", "c"], ["y"], **attributes)], {"x": floats(3, 4), "c": (BOOL, (3,))}, ["y"])
    check(proto, random(3, 4), np.array([False, True, True]))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(axis: int | None, is_sorted: int) -> None:
    attributes = {} if axis is None else {"axis": axis}
    proto = model(
        [node("Unique", ["x"], ["y", "i", "j", "c"], sorted=is_sorted, **attributes)],
        {"x": floats(4, 3)},
        ["y", "i", "j", "c"],
    )
    x = np.array([[2, 1, 1], [0, 5, 5], [2, 1, 1], [0, 0, 0]], "float32")
    if is_sorted:
        check(proto, x)
    values, first, inverse, counts = (each.numpy() for each in VirtualMachine(build_relax(from_onnx(proto)))["main"](x))
    x, along = (x.reshape(-1), 0) if axis is None else (x, axis)
    np.testing.assert_array_equal(np.take(values, inverse, along), x)
    np.testing.assert_array_equal(np.take(x, first, along), values)
    np.testing.assert_array_equal(counts, np.bincount(inverse))
    assert is_sorted or list(first) == sorted(first)


def suppression(proto_of: dict[str, Any], most: int, overlap: float, threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 1, (2, 9, 4)).astype("float32")
    scores = rng.uniform(0, 1, (2, 3, 9)).astype("float32")
    limits = np.array([most], "int64"), np.array([overlap], "float32"), np.array([threshold], "float32")
    check(
        model(
            [node("NonMaxSuppression", ["b", "s", "m", "o", "t"], ["y"], **proto_of)],
            {"b": floats(2, 9, 4), "s": floats(2, 3, 9), "m": (INT, (1,)), "o": floats(1), "t": floats(1)},
            ["y"],
            11,
        ),
        corners, scores, *limits,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("center", [0, 1])
def test_non_max_suppression(center: int, seed: int) -> None:
    suppression({"center_point_box": center}, 3, 0.3, 0.2, seed)


def test_non_max_suppression_without_boxes() -> None:
    suppression({}, 0, 0.5, 0.0, 0)
    suppression({}, 5, 0.5, 2.0, 0)


INTS = np.array


@pytest.mark.parametrize(
    ("op_type", "arrays"),
    [
        ("Reshape", [random(2, 6), INTS([3, 4])]),
        ("Reshape", [random(2, 6), INTS([0, -1, 2])]),
        ("Reshape", [random(1, 1), np.zeros(0, "int64")]),
        ("Expand", [random(3, 1), INTS([2, 1, 4])]),
        ("Tile", [random(2, 3), INTS([2, 0])]),
        ("Tile", [random(2, 3), INTS([1, 3])]),
        ("ConstantOfShape", [INTS([2, 3])]),
        ("Range", [INTS(1), INTS(10), INTS(4)]),
        ("Range", [INTS(5), INTS(-2), INTS(-2)]),
        ("Range", [np.float32(0), np.float32(1), np.float32(0.3)]),
        ("Slice", [random(6, 5), INTS([1, -1]), INTS([5, 0]), INTS([0, 1]), INTS([2, -1])]),
        ("Slice", [random(6, 5), INTS([-3]), INTS([2**62])]),
        ("Split", [random(6, 5), INTS([1, 0, 5])]),
        ("Squeeze", [random(1, 5, 1), INTS([0, -1])]),
        ("Unsqueeze", [random(3, 5), INTS([0, -1])]),
        ("Pad", [random(3, 4), INTS([1, 0, 0, 2])]),
        ("Trilu", [random(3, 4), INTS(1)]),
        ("CumSum", [random(3, 4), INTS(1)]),
        ("TopK", [random(3, 4), INTS([2])]),
        ("ReduceMax", [random(3, 4), INTS([1])]),
        ("ReduceMean", [random(3, 4), INTS([0])]),
        ("ReduceSumSquare", [random(3, 4), INTS([0, 1])]),
        ("ReduceLogSumExp", [random(3, 4), INTS([-2])]),
    ],
)
def test_parameters_may_be_computed(op_type: str, arrays: list[Any]) -> None:
    inputs: dict[str, Any] = {
        f"x{n}": (helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype), np.shape(array))
        for n, array in enumerate(arrays)
    }
    outputs = {"Split": ["y0", "y1", "y2"], "TopK": ["y", "z"]}.get(op_type, ["y"])
    proto = model([node(op_type, list(inputs), outputs)], inputs, outputs)
    check(proto, *(np.asarray(array) for array in arrays))


EMPTY = np.zeros(0, "float32")


@pytest.mark.parametrize(
    ("attributes", "arrays"),
    [
        ({}, [random(2, 4), EMPTY, np.array([1.5, 2], "float32")]),
        ({"mode": "linear", "axes": [1]}, [random(2, 4), EMPTY, EMPTY, INTS([3])]),
        ({"mode": "cubic", "antialias": 1, "axes": [0, 1]}, [random(6, 4), EMPTY, np.array([0.5, 1], "float32")]),
        ({"mode": "linear", "keep_aspect_ratio_policy": "not_larger"}, [random(2, 4), EMPTY, EMPTY, INTS([4, 6])]),
        (
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
            [random(2, 4), EMPTY, np.array([1.7, 0.6], "float32")],
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0},
            [random(4, 4), np.array([0.2, -0.5, 0.8, 1.5], "float32"), EMPTY, INTS([3, 5])],
        ),
    ],
)
def test_resizes_to_computed_sizes(attributes: dict[str, Any], arrays: list[Any]) -> None:
    inputs: dict[str, Any] = {
        f"x{n}": (helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for n, array in enumerate(arrays)
    }
    computed = model([node("Resize", list(inputs), ["y"], **attributes)], inputs, ["y"], 19)
    got = VirtualMachine(build_relax(from_onnx(computed)))["main"](*arrays)
    for name, array in list(zip(inputs, arrays, strict=True))[1:]:
        computed.graph.initializer.append(numpy_helper.from_array(array, name))
    del computed.graph.input[1:]
    expected = interpret(from_onnx(computed), "main", arrays[:1])
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_the_depth_of_one_hot_may_be_computed() -> None:
    inputs = {"i": (INT, (2, 3)), "d": (INT, ()), "v": floats(2)}
    proto = model([node("OneHot", ["i", "d", "v"], ["y"], axis=1)], inputs, ["y"])
    check(proto, INTS([[0, -1, 3], [2, 9, 1]]), INTS(4), np.array([0.5, 2], "float32"))


def test_blocks_of_computed_shape() -> None:
    inputs = {"x": floats(1, 8, 6), "i": (INT, (2,)), "b": (INT, (2,))}
    proto = model([node("Col2Im", ["x", "i", "b"], ["y"], strides=[1, 2], pads=[0, 1, 0, 0])], inputs, ["y"])
    x = random(1, 8, 6)
    main = VirtualMachine(build_relax(from_onnx(proto)))["main"]
    expected = np.zeros((1, 2, 4, 5), "float32")
    for (i, j, p, q), rows in zip(
        np.ndindex(2, 2, 3, 2), x.reshape(2, 2, 2, 3, 2).transpose(1, 2, 3, 4, 0).reshape(-1, 2), strict=True
    ):
        expected[0, :, p + i, 2 * q + j] += rows
    np.testing.assert_allclose(main(x, INTS([4, 4]), INTS([2, 2])).numpy(), expected[..., 1:], rtol=1e-6)
    with pytest.raises(ExecutionError, match="6 columns, expected 2 blocks"):
        main(x, INTS([2, 4]), INTS([2, 2]))


def test_transforms_along_computed_axes() -> None:
    inputs = {"x": floats(2, 4, 1), "n": (INT, ()), "a": (INT, ())}
    main = VirtualMachine(build_relax(from_onnx(model([node("DFT", ["x", "n", "a"], ["y"])], inputs, ["y"], 20))))[
        "main"
    ]
    x = random(2, 4, 1)
    expected = np.fft.fft(x[..., 0].astype("float64"), 5, 1)
    got = main(x, np.array(5), np.array(-2)).numpy()
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], expected, rtol=1e-5, atol=1e-6)


def test_sizes_of_data_broadcast_to_each_other() -> None:
    """Extents that may be 1: of selected rows, and of a slice."""
    nodes = [
        node("NonZero", ["x"], ["p"]),
        node("Slice", ["w", "start", "end"], ["part"]),
        node("Cast", ["part"], ["q"], to=INT),
        node("Add", ["p", "q"], ["y"]),
    ]
    inputs = {"x": floats("n"), "w": floats(4), "start": (INT, (1,)), "end": (INT, (1,))}
    main = VirtualMachine(build_relax(from_onnx(model(nodes, inputs, ["y"]))))["main"]
    w = np.arange(4, dtype="float32")
    for x, stop in ((np.ones(3), 3), (np.ones(1), 4), (np.ones(3), 1), (np.zeros(2), 1)):
        got = main(x.astype("float32"), w, INTS([0]), INTS([stop]))
        np.testing.assert_array_equal(got.numpy(), np.stack(np.nonzero(x)) + np.arange(stop))
    with pytest.raises(ExecutionError, match="shape mismatch"):
        main(np.ones(3, "float32"), w, INTS([0]), INTS([2]))


def test_a_computed_list_of_no_axes_is_known() -> None:
    proto = model([node("ReduceSum", ["x", "a"], ["y"])], {"x": floats(3, 4), "a": (INT, (0,))}, ["y"])
    x = random(3, 4)
    executor = GraphExecutor(build_graph(from_onnx(proto)))
    executor.set_input("x", x)
    executor.set_input("a", np.zeros(0, "int64"))
    executor.run()
    np.testing.assert_allclose(np.asarray(executor.get_output(0)), x.sum(keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("rank", "corners"), [(2, 0), (2, 1), (3, 1)])
def test_an_affine_grid_of_a_computed_size(rank: int, corners: int) -> None:
    inputs = {"t": floats(2, rank, rank + 1), "s": (INT, (rank + 2,))}
    proto = model([node("AffineGrid", ["t", "s"], ["y"], align_corners=corners)], inputs, ["y"], opset=20)
    check(proto, random(2, rank, rank + 1), INTS([2, 1, 3, 4, 2][: rank + 2]))


def test_as_many_samples_of_a_region_as_it_has_elements() -> None:
    attributes: Any = {"output_height": 2, "output_width": 2, "spatial_scale": 0.5}
    inputs = {"x": floats(2, 3, 5, 6), "r": floats(3, 4), "b": (INT, (3,))}
    rois = np.array([[0, 0, 9, 9], [2, 1, 3, 8], [-4, 2, 20, 3]], "float32")
    proto = model([node("RoiAlign", ["x", "r", "b"], ["y"], **attributes)], inputs, ["y"], opset=16)
    check(proto, random(2, 3, 5, 6), rois, INTS([0, 1, 1]))


@pytest.mark.parametrize("onesided", [0, 1])
def test_the_frames_of_a_computed_step(onesided: int) -> None:
    step = np.asarray(3)
    inputs = {"x": floats(2, 11, 1), "step": (INT, ()), "w": floats(4)}
    proto = model([node("STFT", ["x", "step", "w"], ["y"], onesided=onesided)], inputs, ["y"], opset=17)
    check(proto, random(2, 11, 1), step, random(4, seed=1))
    main = VirtualMachine(build_relax(from_onnx(proto)))["main"]
    with pytest.raises(ExecutionError, match="frames of 4 of 11 elements, in steps of 0"):
        main(random(2, 11, 1), np.asarray(0), random(4))


def test_computed_bands_of_the_mel_scale() -> None:
    inputs: Any = {name: ((FLOAT if name in "lh" else INT), ()) for name in "bnrlh"}
    proto = model([node("MelWeightMatrix", list("bnrlh"), ["y"])], inputs, ["y"], opset=17)
    numbers = [np.asarray(each) for each in (4, 32, 8192)], [np.asarray(each, "float32") for each in (125, 3000)]
    check(proto, *numbers[0], *numbers[1])
    with pytest.raises(ExecutionError, match="bands up to frequency"):
        VirtualMachine(build_relax(from_onnx(proto)))["main"](*numbers[0], numbers[1][0], np.asarray(9000, "float32"))


@pytest.mark.parametrize("pixels", ["RGB", "BGR", "Grayscale"])
def test_images_are_decoded(pixels: str) -> None:
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.fromarray(np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype="uint8")).save(data, "png")
    proto = model(
        [node("ImageDecoder", ["x"], ["y"], pixel_format=pixels)], {"x": (TensorProto.UINT8, ("n",))}, ["y"], opset=20
    )
    check(proto, np.frombuffer(data.getvalue(), np.uint8))
    with pytest.raises(ExecutionError, match="an image of 3 bytes: cannot identify image file"):
        VirtualMachine(build_relax(from_onnx(proto)))["main"](np.arange(3, dtype="uint8"))


def test_the_program_names_the_sizes_of_data() -> None:
    proto = model([node("NonZero", ["x"], ["y"], name="find")], {"x": floats("n")}, ["y"])
    module = from_onnx(proto)
    assert '"data_sizes": ["nonzero_size: nonzero of find"]' in module.script()
    with pytest.raises(OptionError, match=r"function 'main' is relax.func, which build_relax compiles, expected relay"):
        build_graph(module)
    assert not isinstance(
        from_onnx(model([node("Abs", ["x"], ["y"])], {"x": floats(3)}, ["y"])).functions["main"], relax.FuncOp
    )


def test_invalid_parameters_are_errors_when_the_model_runs() -> None:
    proto = model([node("Reshape", ["x", "s"], ["y"])], {"x": floats(6), "s": (INT, (2,))}, ["y"])
    main = VirtualMachine(build_relax(from_onnx(proto)))["main"]
    with pytest.raises(ExecutionError, match=r"packed function 'stepwell\.reshape' failed: ValueError: cannot reshape"):
        main(random(6), np.array([4, 2]))


def test_a_limit_of_a_size_of_data_is_not_supported() -> None:
    nodes = [
        node("Constant", [], ["last"], value_ints=[-1]),
        node("Constant", [], ["end"], value_ints=[2**31]),
        node("Constant", [], ["axis"], value_ints=[1]),
        node("NonZero", ["x"], ["p"]),
        node("Slice", ["p", "last", "end", "axis"], ["y"]),
    ]
    with pytest.raises(OnnxUnsupportedError, match="a limit of the size nonzero_size, which only data determines"):
        from_onnx(model(nodes, {"x": floats("n")}, ["y"]))


def test_negative_pads_remove_elements() -> None:
    x = random(3, 4)
    got = host_functions.pad(x, INTS([1, -1, 0, 2]), INTS([0, 1]), np.array(7, "float32"), "constant")
    np.testing.assert_array_equal(got, np.pad(x[:, 1:], [(1, 0), (0, 2)], constant_values=7))


def test_extents_of_a_concatenation_are_checked_when_the_program_runs() -> None:
    nodes = [node("NonZero", ["x"], ["a"]), node("NonZero", ["y"], ["b"]), node("Concat", ["a", "b"], ["c"], axis=0)]
    proto = model(nodes, {"x": floats(5), "y": floats("n")}, ["c"])
    x = np.array([1, 0, 2, 0, 3], "float32")
    check(proto, x, np.array([0, 4, 5, 6], "float32"))
    main = VirtualMachine(build_relax(from_onnx(proto)))["main"]
    with pytest.raises(ArgumentError, match="match_cast"):
        main(x, np.ones(4, "float32"))
