"""Models of ONNX as programs: `relax.frontend.onnx`."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from stepwell.frontends import tvm  # noqa: E402
from stepwell.frontends.tvm import relax  # noqa: E402
from stepwell.frontends.tvm.relax.frontend import detach_params  # noqa: E402
from stepwell.frontends.tvm.relax.frontend.onnx import from_onnx  # noqa: E402

WEIGHT = np.random.default_rng(0).random((4, 3), np.float32) - 0.5
X = np.random.default_rng(1).random((2, 4), np.float32)


@pytest.fixture
def model() -> Any:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(WEIGHT, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def run(mod: Any, *args: Any) -> Any:
    return relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())["main"](*args).numpy()


def test_weights_are_constants(model: Any) -> None:
    mod = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    assert [each.name_hint for each in mod["main"].params] == ["x"]
    np.testing.assert_allclose(run(mod, tvm.nd.array(X)), np.maximum(X @ WEIGHT, 0), 1e-6)


def test_weights_are_parameters(model: Any) -> None:
    mod, params = detach_params(from_onnx(model, {"x": [2, 4]}, keep_params_in_input=True))
    assert [each.name_hint for each in mod["main"].params] == ["x", "w"]
    doubled = 2 * params["main"][0].numpy()
    np.testing.assert_allclose(run(mod, tvm.nd.array(X), tvm.nd.array(doubled)), np.maximum(X @ doubled, 0), 1e-6)
