"""Graphs whose weights are packed: the kernels, the constants of executables, and programs for other targets."""

from typing import Any

import numpy as np
import pytest

from stepwell import Module, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends.relay.parameters import bind_parameters
from stepwell.transforms.pipelines import lower_graph

ROWS, INNER, UNITS = 7, 24, 37


def arrays() -> dict[str, Any]:
    choose = np.random.default_rng(3)
    shapes = {"x": (ROWS, INNER), "w": (UNITS, INNER), "b": (UNITS,)}
    return {name: choose.normal(size=shape).astype("float32") for name, shape in shapes.items()}


def product() -> Module:
    """A product with constant weights, a bias and an activation."""
    x, w, b = relay.var("x", shape=(ROWS, INNER)), relay.var("w"), relay.var("b")
    net = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w, units=UNITS), b))
    return bind_parameters(relay.module(relay.Function([x, w, b], net)), {name: arrays()[name] for name in ("w", "b")})


def test_a_kernel_has_the_packed_weights_alone() -> None:
    module = lower_graph(product(), pack=True)
    assert list(module.functions) == ["fused_nn_contrib_dense_pack_nn_bias_add_nn_relu", "main"]
    assert {array.shape for array in module.constants.values()} == {(3, INNER, 16), (UNITS,)}


@pytest.mark.parametrize("opt_level", [0, 1, 2])
def test_an_executor_computes_the_product(opt_level: int) -> None:
    x, w, b = arrays().values()
    executable = build_graph(product(), opt_level=opt_level)
    executor = GraphExecutor(executable)
    executor.run(x=x)
    assert ((3, INNER, 16) in [array.shape for array in executable.constants.values()]) == (opt_level == 2)
    np.testing.assert_allclose(executor.get_output(0), np.maximum(x @ w.T + b, 0), rtol=1e-5, atol=1e-5)


def test_graphs_for_gpus_have_weights_as_they_are() -> None:
    executable = build_graph(product(), target="cuda-emulated")
    assert (UNITS, INNER) in [array.shape for array in executable.constants.values()]
