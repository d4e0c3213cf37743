"""Models of ONNX that break rules of ONNX as TVM permits: `relay.frontend.from_onnx`."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from stepwell.core.errors import OptionError  # noqa: E402
from stepwell.frontends import tvm  # noqa: E402
from stepwell.frontends.tvm import relay  # noqa: E402
from stepwell.frontends.tvm.relay.onnx_models import valid_model  # noqa: E402

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def model_of(*nodes: Any, opsets: dict[str, int] | None = None, **constants: Any) -> Any:
    """A model of nodes from `x` to `y`."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    arrays = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(list(nodes), "g", inputs, outputs, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in (opsets or {"": 16}).items()])


def run(model: Any, **options: Any) -> Any:
    mod, params = relay.frontend.from_onnx(model, **options)
    return relay.create_executor("graph", mod, params=params).evaluate()(X).numpy()


def test_sizes_may_be_integers_of_32_bits() -> None:
    shape = helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.array([3, 2], np.int32)))
    given = model_of(helper.make_node("Reshape", ["x", "shape"], ["y"]), shape=np.array([3, 2], np.int32))
    computed = model_of(shape, helper.make_node("Reshape", ["x", "two"], ["y"]))
    for model in (given, computed):
        np.testing.assert_array_equal(run(model), X.reshape(3, 2))


def test_domains_and_versions_may_be_missing() -> None:
    gelu = model_of(helper.make_node("FastGelu", ["x"], ["y"], domain="com.microsoft"))
    assert run(gelu).shape == (2, 3)
    assert [(each.domain, each.version) for each in valid_model(gelu, 1).opset_import] == [
        ("", 16),
        ("com.microsoft", 1),
    ]


def test_the_reduction_of_scattering_may_be_update() -> None:
    node = helper.make_node("ScatterElements", ["x", "places", "values"], ["y"], axis=1, reduction="update")
    model = model_of(node, places=np.array([[1], [0]]), values=np.array([[9], [8]], np.float32))
    np.testing.assert_array_equal(run(model), [[0, 9, 2], [8, 4, 5]])


def test_valid_models_are_themselves() -> None:
    model = model_of(helper.make_node("Relu", ["x"], ["y"]))
    assert valid_model(model, 1) is model
    assert valid_model("model.onnx", 1) == "model.onnx"


def test_options_and_unknown_sizes() -> None:
    model = model_of(helper.make_node("Relu", ["x"], ["y"]))
    np.testing.assert_array_equal(run(model, convert_config={"use_nt_batch_matmul": False}), X)
    with pytest.raises(OptionError, match="convert_config use_welford, expected use_nt_batch_matmul"):
        run(model, convert_config={"use_welford": True})
    np.testing.assert_array_equal(run(model, shape={"x": (relay.Any(), 3)}), X)


def test_parameters_of_programs_have_types() -> None:
    mod, _ = relay.frontend.from_onnx(model_of(helper.make_node("NonZero", ["x"], ["y"])))
    assert [each.type_annotation.dtype for each in mod["main"].params] == ["float32"]


def test_types_of_expressions() -> None:
    x = relay.var("x", shape=(2, 3))
    product = relay.nn.dense(x, relay.const(np.ones((4, 3), "float32")))
    assert relay.frontend.common.infer_type(product).checked_type == relay.TensorType((2, 4), "float32")
    assert relay.frontend.common.infer_shape(product) == (2, 4)
    with tvm.testing.enable_span_filling():
        assert run(model_of(helper.make_node("Relu", ["x"], ["y"]))).shape == (2, 3)
