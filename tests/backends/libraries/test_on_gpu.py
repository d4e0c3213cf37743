"""The real cuBLAS and cuDNN, on machines with a GPU."""

from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import GraphExecutor, Module, PluginError, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.backends.libraries import cublas, cudnn
from stepwell.frontends import relay

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def on_gpu() -> None:
    try:
        _ = stepwell.cuda().driver
        cublas.load_cublas()
        cudnn._cudnn()
    except (stepwell.DeviceError, PluginError) as error:
        pytest.skip(str(error))


def products(dtype: str) -> tuple[Module, list[tuple[int, ...]]]:
    """Matrix products, and the shapes of their operands."""
    shapes = [(3, 40, 70), (1, 50, 70), (30, 50)]
    a, b, w = (relay.var(f"x{n}", shape=shape, dtype=dtype) for n, shape in enumerate(shapes))
    body = relay.nn.dense(relay.nn.batch_matmul(a, b), w)
    return relay.module(relay.Function([a, b, w], body)), shapes


def convolutions(dtype: str) -> tuple[Module, list[tuple[int, ...]]]:
    """Convolutions, one of them with a bias and a relu, and the shapes of their operands."""
    shapes = [(2, 8, 17, 19), (16, 4, 3, 3), (16, 1, 1), (5, 16, 2, 2)]
    x, v, b, w = (relay.var(f"x{n}", shape=shape, dtype=dtype) for n, shape in enumerate(shapes))
    body = relay.nn.relu(relay.nn.conv2d(x, v, padding=1, strides=2, groups=2) + b)
    return relay.module(relay.Function([x, v, b, w], relay.nn.conv2d(body, w, dilation=2))), shapes


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-13), ("float16", 1e-2)])
@pytest.mark.parametrize("model", [products, convolutions])
def test_libraries_compute_what_graphs_mean(model: Any, dtype: str, tolerance: float) -> None:
    mod, shapes = model(dtype)
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, shape).astype(dtype) for shape in shapes]
    expected = interpret(model("float64")[0], "main", [array.astype("float64") for array in inputs])
    executable = build_graph(mod, target="cuda -libs=cudnn,cublas")
    assert all(step.kernel.startswith(("cudnn", "cublas")) for step in executable.calls)
    executor = GraphExecutor(executable)
    for n, array in enumerate(inputs):
        executor.set_input(n, array)
    with executor.device.stream():
        executor.run()
        got = executor.get_output(0).numpy().astype("float64")
    # The error of tf32 would be 1e-3.
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * np.abs(expected).max())
