"""Operators of programs that have no tensor expression: sizes that only data determines, and boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.core.errors import ArgumentError, OptionError
from stepwell.expressions.errors import TeError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.contrib import graph_executor
from stepwell.frontends.tvm.runtime import vm

X = np.array([[1, 0, 2], [0, 0, 3]], "float32")
PLACES = np.argwhere(X).astype("int32")
BOXES = np.array([[[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]], "float32")
SCORES = np.array([[[0.9, 0.8, 0.7], [0.1, 0.2, 0.95]]], "float32")


def places() -> tvm.IRModule:
    """The indices of elements that are not zero, transposed and counted from 1."""
    x = relay.var("x", shape=(relay.Any(), 3))
    return tvm.IRModule.from_expr(relay.Function([x], relay.transpose(relay.argwhere(x)) + relay.const(1)))


def evaluate(results: Any, inputs: dict[str, np.ndarray[Any, Any]], kind: str = "vm") -> Any:
    """The value of an expression of parameters."""
    func = relay.Function(relay.analysis.free_vars(results), results)
    values = [inputs[each.name_hint] for each in func.params]
    return relay.create_executor(kind, tvm.IRModule.from_expr(func)).evaluate()(*values)


def test_a_size_that_data_determines_is_unknown_before_run_time() -> None:
    typed = relay.transform.InferType()(places())
    assert typed["main"].ret_type == relay.TensorType((2, relay.Any()), "int32")
    assert relay.parse(typed.astext()).astext() == relay.parse(relay.parse(typed.astext()).astext()).astext()


@pytest.mark.parametrize("kind", ["vm", "debug", "graph"])
def test_executors_run_programs_with_operators_of_the_host(kind: str) -> None:
    run = relay.create_executor(kind, places()).evaluate()
    np.testing.assert_array_equal(run(X).numpy(), PLACES.T + 1)
    np.testing.assert_array_equal(relay.create_executor("graph", places()).evaluate()(x=X).numpy(), PLACES.T + 1)
    np.testing.assert_array_equal(run(np.zeros((4, 3), "float32")).numpy(), np.zeros((2, 0)))


def test_build_compiles_programs_for_graph_executors() -> None:
    library = relay.build(places(), "llvm")
    module = graph_executor.GraphModule(library["default"](tvm.cpu()))
    module.set_input("x", X)
    module.run()
    assert (module.get_num_inputs(), module.get_num_outputs()) == (1, 1)
    np.testing.assert_array_equal(module.get_output(0).numpy(), PLACES.T + 1)
    np.testing.assert_array_equal(module.get_input("x").numpy(), X)
    with pytest.raises(ArgumentError, match=r"x: shape \(1, 2\), expected float32\[any\d+, 3\]"):
        module.set_input("x", tvm.nd.array(np.zeros((1, 2), "float32")))
    with pytest.raises(ArgumentError, match="no input 'y', there is x"):
        module.set_input("y", X)
    with pytest.raises(ArgumentError, match="output 1, there are 1"):
        module.get_output(1)


def test_saved_programs_run_on_virtual_machines(tmp_path: Path) -> None:
    code, library = relay.vm.compile(places(), "llvm").save()
    library.export_library(tmp_path / "places.tar")
    loaded = vm.Executable.load_exec(code, tvm.runtime.load_module(str(tmp_path / "places.tar")))
    machine = vm.VirtualMachine(loaded, tvm.cpu())
    np.testing.assert_array_equal(machine.run(X).numpy(), PLACES.T + 1)
    assert loaded.get_function_params("main") == ["x"]


def test_operators_of_the_host_are_between_compiled_graphs() -> None:
    x = relay.var("x", shape=(2, 3))
    found = relay.argwhere(relay.nn.relu(x) > relay.const(1.5))
    result = relay.gather_nd(relay.exp(x), relay.transpose(found))
    np.testing.assert_allclose(evaluate(result, {"x": X}, "graph").numpy(), np.exp(X[X > 1.5]), 1e-6)


@pytest.mark.parametrize("is_sorted", [True, False])
def test_unique_is_as_long_as_its_operand(is_sorted: bool) -> None:
    x = relay.var("x", shape=(8,), dtype="int32")
    whole = relay.unique(x, is_sorted, return_counts=True)
    count = relay.strided_slice(whole[0], begin=relay.const([0]), end=whole[3])
    data = np.array([4, 5, 1, 2, 3, 3, 4, 5], "int32")
    values, first, inverse, number, counts, short = (
        each.numpy() for each in evaluate(relay.Tuple([*whole, count]), {"x": data})
    )
    expected = np.unique(data) if is_sorted else np.array([4, 5, 1, 2, 3])
    assert list(number) == [5]
    np.testing.assert_array_equal(short, expected)
    np.testing.assert_array_equal(values, np.append(expected, [0, 0, 0]))
    np.testing.assert_array_equal(data[first[:5]], expected)
    np.testing.assert_array_equal(expected[inverse], data)
    np.testing.assert_array_equal(counts[:5], [(data == each).sum() for each in expected])


def test_boxes_are_counted_and_suppressed() -> None:
    data = relay.var("data", shape=(1, 4, 6))
    rows = np.array([[[0, 0.8, 1, 1, 11, 11], [0, 0.1, 0, 0, 1, 1], [0, 0.9, 0, 0, 10, 10], [1, 0.7, 0, 0, 10, 10]]])
    valid = relay.vision.get_valid_counts(data, 0.5, id_index=0, score_index=1)
    indices = relay.vision.non_max_suppression(valid[1], valid[0], valid[2], iou_threshold=0.5)
    boxes = relay.vision.non_max_suppression(valid[1], valid[0], valid[2], return_indices=False)
    found, counts, kept = evaluate(relay.Tuple([*indices, boxes]), {"data": rows.astype("float32")}, "graph")
    np.testing.assert_array_equal(found.numpy(), [[2, 3, -1, -1]])
    np.testing.assert_array_equal(counts.numpy(), [[2]])
    np.testing.assert_allclose(kept.numpy()[0, :, 1], [0.9, -1, 0.7, -1])


def test_boxes_of_all_classes_are_selected() -> None:
    boxes, scores = relay.var("boxes", shape=(1, 3, 4)), relay.var("scores", shape=(1, 2, 3))
    onnx = relay.vision.all_class_non_max_suppression(boxes, scores, 2, 0.5, 0.15)
    both = relay.vision.all_class_non_max_suppression(boxes, scores, 2, 0.5, 0.15, "tensorflow")
    results = evaluate(relay.Tuple([*onnx, *both]), {"boxes": BOXES, "scores": SCORES})
    rows, count, indices, values, counts = (each.numpy() for each in results)
    expected = [[0, 0, 0], [0, 0, 2], [0, 1, 2], [0, 1, 1]]
    np.testing.assert_array_equal(rows, [*expected, [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(indices[0, :4], np.array(expected)[:, 1:])
    np.testing.assert_allclose(values[0], [0.9, 0.7, 0.95, 0.2, 0, 0])
    assert (list(count), list(counts)) == ([4], [4])
    with pytest.raises(TeError, match="format 'caffe', expected 'onnx' or 'tensorflow'"):
        relay.vision.all_class_non_max_suppression(boxes, scores, output_format="caffe")


def test_anchors_move_to_the_boxes_of_their_classes() -> None:
    names = {"p": (1, 3, 2), "moves": (1, 8), "anchors": (1, 2, 4)}
    p, moves, anchors = (relay.var(name, shape=shape) for name, shape in names.items())
    boxes, counts = evaluate(
        relay.vision.multibox_transform_loc(p, moves, anchors, variances=(1, 1, 1, 1)).astuple(),
        {
            "p": np.array([[[0.9, 0.1], [0.06, 0.2], [0.04, 0.7]]], "float32"),
            "moves": np.array([[0, 0, 0, 0, 0.5, 0, 0, np.log(2)]], "float32"),
            "anchors": np.array([[[0, 0, 1, 1], [0.25, 0.25, 0.5, 0.75]]], "float32"),
        },
    )
    assert list(counts.numpy()) == [2]
    np.testing.assert_allclose(boxes.numpy()[0], [[0, 0.06, 0, 0, 1, 1], [1, 0.7, 0.375, 0, 0.625, 1]], atol=1e-6)


def test_regions_are_proposed_by_scores() -> None:
    p, moves, images = (
        relay.var(name, shape=shape) for name, shape in (("p", (1, 2, 2, 2)), ("m", (1, 4, 2, 2)), ("i", (1, 3)))
    )
    result = relay.vision.proposal(p, moves, images, (1.0,), (1.0,), 16, 0.7, 100, 3, 1, False)
    probabilities = np.zeros((1, 2, 2, 2), "float32")
    probabilities[0, 1] = [[0.1, 0.4], [0.3, 0.2]]
    inputs = {"p": probabilities, "m": np.zeros((1, 4, 2, 2), "float32"), "i": np.array([[32, 32, 1]], "float32")}
    expected = [[0, 16, 0, 31, 15], [0, 0, 16, 15, 31], [0, 16, 16, 31, 31]]
    np.testing.assert_allclose(evaluate(result, inputs).numpy(), expected)


def test_regions_have_as_many_samples_as_elements() -> None:
    data, rois = relay.var("data", shape=(1, 1, 4, 4)), relay.var("rois", shape=(1, 5))
    image = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
    inputs = {"data": image, "rois": np.array([[0, 0, 0, 4, 4]], "float32")}
    samples = [relay.vision.roi_align(data, rois, (2, 2), 1.0, ratio) for ratio in (-1, 2)]
    results = [evaluate(each, inputs).numpy() for each in samples]
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_operators_of_the_host_check_their_operands() -> None:
    x = relay.var("x", shape=(2, 3))
    with pytest.raises((TeError, OptionError), match=r"unique: an operand of type .*, expected 1 dimensions"):
        relay.transform.InferTypeLocal(relay.unique(x).astuple())
    assert relay.op.get("argwhere").name == "argwhere"


def test_models_of_onnx_with_such_sizes_run_as_programs_of_relay() -> None:
    onnx = pytest.importorskip("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info("x", types.FLOAT, [2, 3])]
    outputs = [helper.make_tensor_value_info("y", types.INT64, [2, None])]
    graph = helper.make_graph([helper.make_node("NonZero", ["x"], ["y"])], "g", inputs, outputs)
    mod, params = relay.frontend.from_onnx(helper.make_model(graph))
    expected = np.array(np.nonzero(X))
    for kind in ("graph", "vm"):
        np.testing.assert_array_equal(relay.create_executor(kind, mod, params=params).evaluate()(X).numpy(), expected)
    module = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"](tvm.cpu()))
    module.run(x=X)
    np.testing.assert_array_equal(module.get_output(0).numpy(), expected)
    np.testing.assert_array_equal(vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu()).run(X).numpy(), expected)
