"""Graphs with convolutions that Winograd's algorithm computes: the decisions, the option, saved graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import Module, apply_passes, relay
from stepwell.backends.graph import Executable, GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.remarks import collect_remarks
from stepwell.frontends.relay.parameters import bind_parameters
from stepwell.transforms.pipelines import lower_graph

SHAPE, CHANNELS = (1, 32, 16, 16), 32


def random(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


def convolution(shape: tuple[int, ...] = SHAPE, channels: int = CHANNELS, **attributes: Any) -> Module:
    """A convolution with a batch norm and an activation, whose parameters are constants."""
    attributes = {"channels": channels, "kernel_size": (3, 3), **attributes}
    product = relay.nn.conv2d(relay.var("x", shape=shape), relay.var("w"), **attributes)
    norm = relay.nn.batch_norm(product, *map(relay.var, ("gamma", "beta", "mean", "variance")))
    net = relay.nn.relu(norm[0])
    channel = {"gamma": 0.5, "beta": 0.25, "mean": 0.125, "variance": 2.0}
    arrays: dict[str, Any] = {name: np.full(channels, value, "float32") for name, value in channel.items()}
    inputs = shape[1] // attributes.get("groups", 1)
    return bind_parameters(
        relay.module(relay.Function(relay.free_vars(net), net)), arrays | {"w": random(channels, inputs, 3, 3)}
    )


def kernels(executable: Executable) -> list[str]:
    executor = GraphExecutor(executable)
    executor.set_input("x", random(*SHAPE))
    return [time.kernel for time in executor.profile(1)]


def test_a_kernel_has_the_transformed_weights_and_all_operators() -> None:
    module = lower_graph(convolution(padding=1), winograd=True)
    assert list(module.functions) == ["fused_nn_conv2d_winograd_add_nn_relu", "main"]
    assert (6, 6, 2, 32, 16) in [array.shape for array in module.constants.values()]


def test_a_graph_without_the_option_has_direct_convolutions() -> None:
    module = convolution(padding=1)
    assert "winograd" not in str(lower_graph(module))
    assert kernels(build_graph(module, winograd=False)) == ["fused_nn_contrib_conv2d_pack_add_nn_relu"]


def test_the_option_is_in_the_key_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    built = [kernels(build_graph(convolution(padding=1), winograd=winograd)) for winograd in (True, False, True)]
    assert built[0] == built[2] != built[1]


def test_kernels_of_a_gpu_are_direct() -> None:
    assert "winograd" not in build_graph(convolution(padding=1), target="cuda-emulated").program.source("cuda")


def test_a_saved_graph_has_the_transformed_weights(tmp_path: Path) -> None:
    module, x = convolution(padding=1), random(*SHAPE)
    executable = build_graph(module)
    executable.save(tmp_path / "graph")
    loaded = Executable.load(tmp_path / "graph")
    assert [array.shape for array in loaded.constants.values()].count((6, 6, 2, 32, 16)) == 1
    outputs = []
    for each in (executable, loaded):
        executor = GraphExecutor(each)
        executor.run(x=x)
        outputs.append(executor.get_output(0).copy())
    expected: Any = interpret(module, "main", [x])
    np.testing.assert_allclose(outputs[0], expected, 1e-5, 1e-5 * float(abs(expected).max()))
    np.testing.assert_array_equal(outputs[0], outputs[1])


@pytest.mark.parametrize(
    ("shape", "channels", "attributes", "reason"),
    [
        (SHAPE, 32, {"strides": 2}, "strides 2, expected 1"),
        (SHAPE, 32, {"groups": 4}, "4 groups, expected 1"),
        ((1, 8, 8, 8), 8, {}, "0.0 million operations, expected 4 or more"),
        (
            (1, 512, 4, 4),
            512,
            {"padding": 1},
            "estimated speed of Winograd's algorithm 1.03 with tiles of 2 and 0.59 with tiles of 4, "
            "expected 1.15 or more",
        ),
        ((*SHAPE[:3], "n"), 32, {"padding": 2, "dilation": 2}, "a dynamic size"),
    ],
)
def test_a_convolution_stays_direct_for_a_reason(shape: Any, channels: int, attributes: Any, reason: str) -> None:
    with collect_remarks() as remarks:
        apply_passes(convolution(shape, channels, **attributes), "relay-convert-convolutions")
    assert [(each.kind, each.message) for each in remarks] == [("missed", f"the convolution stays direct: {reason}")]


def test_a_convolution_with_dilation_is_one_of_divided_images() -> None:
    module = lower_graph(convolution(padding=(2, 1), dilation=(2, 1)), winograd=True)
    kernels = ["fused_nn_space_to_batch_nd", "fused_nn_conv2d_winograd", "fused_nn_batch_to_space_nd_add_nn_relu"]
    assert list(module.functions) == [*kernels, "main"]


def test_a_converted_convolution_is_reported() -> None:
    with collect_remarks() as remarks:
        apply_passes(convolution(padding=1), "relay-convert-convolutions")
    (remark,) = remarks
    assert remark.kind == "applied"
    assert remark.message.startswith("Winograd's algorithm with tiles of 4, estimated 1.")
