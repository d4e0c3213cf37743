"""A part of `make gpu-suite`."""

import numpy as np
import pytest

from stepwell import build, relay
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.runtime.signature import BufferParameter
from stepwell.tools import gpu_suite

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

OPERATORS = (
    "nn.conv2d",
    "nn.layer_norm",
    "nn.max_pool2d",
    "argmax",
    "concatenate",
    "cumsum",
    "image.resize2d",
    "take",
    "sort",
)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_runs_without_a_schedule(name: str) -> None:
    (case,) = gpu_suite.operator_cases(1, [name])
    result = gpu_suite.run_suite(case)
    assert result.outcome == "right" or result.outcome.startswith("unsupported: type"), result.outcome


def test_a_graph_runs_without_a_schedule() -> None:
    shapes = {"x": (1, 3, 6, 6), "w": (4, 3, 3, 3), "v": (5, 144)}
    x, w, v = (relay.var(name, shape=shape) for name, shape in shapes.items())
    features = relay.nn.batch_flatten(relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1))))
    body = relay.nn.softmax(relay.nn.dense(features, v))
    module = relay.module(relay.Function(relay.free_vars(body), body))
    results: list[np.ndarray] = []
    for target in ("cuda-emulated", "llvm"):
        main = build(module, target=target)["main"]
        parameters = [each for each in main.signature.parameters if isinstance(each, BufferParameter)]
        arrays = {each.name: np.zeros([n or 0 for n in each.shape], each.dtype) for each in parameters}
        for name, shape in shapes.items():
            arrays[name][...] = np.random.default_rng(1).random(shape) - 0.5
        main(*arrays.values())
        results.append(arrays["output0"])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4)
