"""Quantization of graphs of floats: `tvm.relay.quantize`."""

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from stepwell import OptionError
from stepwell.backends.interpreter import interpret
from stepwell.core.cpu import cpu_of
from stepwell.core.target import Target
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.quantize.calibration import divergence_range, percentile_range, power_of_two

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1, 4, 12, 12)).astype("float32")
ALL = {"skip_conv_layers": None, "skip_dense_layer": False}


def weight(*shape: int) -> Any:
    return relay.const((RNG.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype("float32"))


def network() -> tvm.IRModule:
    """Two convolutions with activations, and a product."""
    x = relay.var("x", shape=X.shape)
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, weight(16, 4, 3, 3), padding=1), relay.const([0.1] * 16)))
    y = relay.nn.relu(relay.nn.conv2d(relay.nn.max_pool2d(y, (2, 2), strides=2), weight(4, 16, 3, 3), padding=1))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(relay.nn.batch_flatten(y), weight(10, 144))))


MOD = network()


def run(mod: tvm.IRModule, *args: Any) -> Any:
    return relay.create_executor("graph", mod).evaluate()(*args).numpy()


def quantized(mod: tvm.IRModule = MOD, dataset: Any = None, **options: Any) -> tvm.IRModule:
    with relay.quantize.qconfig(**options):
        return relay.quantize.quantize(mod, dataset=dataset)


def computed(mod: tvm.IRModule, *args: Any) -> Any:
    """The result of `main` by numpy."""
    return interpret(mod, "main", args)


@cache
def calibrated(mode: str) -> tvm.IRModule:
    return quantized(dataset=[{"x": X}], calibrate_mode=mode, global_scale=64.0, **ALL)


@cache
def library(mode: str) -> Any:
    return relay.build(calibrated(mode), "llvm")


def operators(mod: tvm.IRModule) -> list[str]:
    """The names of the products, in the order of computation."""
    nodes: list[Any] = []
    relay.analysis.post_order_visit(mod["main"], nodes.append)
    names = [node.op.name for node in nodes if isinstance(node, relay.Call)]
    return [name for name in names if "conv2d" in name or "dense" in name]


def test_results_are_near_those_of_floats() -> None:
    expected = computed(MOD, X)
    distances: dict[str, float] = {}
    for mode in ("global_scale", "kl_divergence", "percentile"):
        executor = tvm.contrib.graph_executor.GraphModule(library(mode)["default"](tvm.cpu()))
        executor.run(x=X)
        integers = executor.get_output(0).numpy()
        distances[mode] = float(np.linalg.norm(integers - expected) / np.linalg.norm(expected))
    assert max(distances["kl_divergence"], distances["percentile"]) < 0.05 < distances["global_scale"] < 0.5


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["nn.conv2d", "qnn.conv2d", "nn.dense"]),
        ({"skip_conv_layers": [1]}, ["qnn.conv2d", "nn.conv2d", "nn.dense"]),
        ({"skip_conv_layers": [0, 1], "skip_dense_layer": False}, ["nn.conv2d", "nn.conv2d", "qnn.dense"]),
        (ALL, ["qnn.conv2d", "qnn.conv2d", "qnn.dense"]),
        ({**ALL, "debug_enabled_ops": ["nn.dense"]}, ["nn.conv2d", "nn.conv2d", "qnn.dense"]),
        ({**ALL, "do_simulation": True}, ["nn.conv2d", "nn.conv2d", "nn.dense"]),
    ],
)
def test_the_configuration_selects_products(options: dict[str, Any], expected: list[str]) -> None:
    assert operators(quantized(**options)) == expected


def test_scales_are_those_of_the_configuration() -> None:
    x = relay.var("x", shape=(2, 4))
    mod = tvm.IRModule.from_expr(relay.nn.dense(x, relay.const(np.array([[3, -1, 0.5, 0]], "float32"))))
    scale = re.compile(r"qnn\.(?:quantize|dequantize)\(.*?, ([0-9.]+)f")
    for options, data, rows in (
        ({}, 8 / 128, 4 / 128),
        ({"global_scale": 2.0, "weight_scale": "max"}, 2 / 128, 3 / 128),
        ({"nbit_input": 4, "nbit_weight": 2}, 8 / 8, 4 / 2),
    ):
        text = str(quantized(mod, do_simulation=True, **ALL, **options))
        assert [float(each) for each in scale.findall(text)] == pytest.approx([data, data, rows])


def test_sums_are_rounded_as_the_configuration_says() -> None:
    for rounding in ("UPWARD", "TONEAREST"):
        found = re.findall(r"qnn\.requantize\(.*rounding=\"(\w+)\"", str(quantized(**ALL, rounding=rounding)))
        assert found == [rounding, rounding]


def test_operands_are_calibrated_in_chunks() -> None:
    chunks = quantized(dataset=[{"x": X}], calibrate_mode="percentile", calibrate_chunk_by=2, **ALL)
    scales = [re.findall(r"[0-9.]+f\b", str(mod)) for mod in (chunks, calibrated("percentile"))]
    np.testing.assert_allclose(*(np.array([float(each[:-1]) for each in row]) for row in scales), rtol=1e-5)


def test_integers_stay_within_their_bits() -> None:
    x = relay.var("x", shape=(1, 3))
    mod = tvm.IRModule.from_expr(relay.nn.dense(x, relay.const(np.eye(3, dtype="float32"))))
    few = quantized(mod, **ALL, nbit_input=4, weight_scale="max")
    row = run(few, np.array([[100, -100, 2.6]], "float32"))
    np.testing.assert_allclose(row, np.array([[7, -7, 3]]) * 127 / 128, rtol=1e-6)  # a step of 1, and a weight of 127


def test_batches_of_matrices_have_two_calibrated_operands() -> None:
    x, y = (relay.var(name, shape=(2, 4, 16)) for name in "xy")
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.batch_matmul(x, relay.sigmoid(y))))
    a, b = (RNG.standard_normal((2, 4, 16)).astype("float32") for _ in "ab")
    new = quantized(mod, [{"x": a, "y": b}], calibrate_mode="percentile")
    assert "qnn.batch_matmul" in str(new)
    np.testing.assert_allclose(run(new, a, b), computed(mod, a, b), atol=0.15)


def test_a_product_of_two_inputs_stays() -> None:
    x, y = (relay.var(name, shape=(4, 4)) for name in "xy")
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.dense(x, y)))
    assert operators(quantized(mod, **ALL)) == ["nn.dense"]


def test_parameters_become_constants() -> None:
    mod, params = relay.testing.mlp.get_workload(1)
    x = RNG.random((1, 1, 28, 28), "float32")
    with relay.quantize.qconfig(skip_dense_layer=False, calibrate_mode="percentile"):
        new = relay.quantize.quantize(mod, params, iter([{"data": x}]))
    assert [param.name_hint for param in new["main"].params] == ["data"]
    library = relay.build(new, "llvm", params=params)
    executor = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))
    executor.run(data=x)
    inputs = [x if name == "data" else params[name].numpy() for name, _ in mod.function_ops["main"].params]
    expected = computed(mod, *inputs)
    np.testing.assert_allclose(executor.get_output(0).numpy(), expected, atol=0.02)
    with pytest.raises(tvm.TVMError, match="no parameter 'other'"):
        relay.build(new, "llvm", params={"other": x})


def test_inference_is_simplified_before() -> None:
    x = relay.var("data", shape=X.shape)
    parts = [relay.var(name, shape=(16,)) for name in ("gamma", "beta", "mean", "var")]
    norm = relay.nn.batch_norm(relay.nn.conv2d(x, relay.var("w", shape=(16, 4, 3, 3))), *parts)[0]
    net = relay.nn.relu(norm)
    mod, params = relay.testing.create_workload(relay.Function(relay.analysis.free_vars(net), net))
    simple = relay.quantize.prerequisite_optimize(mod, params)
    assert "batch_norm" not in str(simple)
    assert "multiply" not in str(simple)
    inputs = [X if name == "data" else params[name].numpy() for name, _ in mod.function_ops["main"].params]
    expected = computed(mod, *inputs)
    np.testing.assert_allclose(run(simple, X), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not cpu_of(Target()).byte_products, reason="a processor without instructions on bytes")
def test_kernels_multiply_bytes() -> None:
    nodes = json.loads(library("global_scale").get_graph_json())["nodes"]
    kernels = [node["name"] for node in nodes if node["op"] != "null"]
    assert sum("pack_int8" in name for name in kernels) == 3


def test_ranges_leave_outliers_out() -> None:
    numbers = RNG.standard_normal(200_000)
    assert divergence_range(np.append(numbers, 100.0)) < 10
    assert np.quantile(np.abs(numbers), 0.999) < divergence_range(numbers) <= np.abs(numbers).max()
    assert percentile_range(np.append(numbers, 100.0)) < 6
    assert percentile_range(np.array([1.0, -3.0])) == 3.0
    assert [power_of_two(np.array(each)) for each in ([3, -5], [4], [0.3], [0])] == [8, 4, 0.5, 1]
    assert divergence_range(np.zeros(9)) == percentile_range(np.zeros(9)) == 1.0


def test_a_divergence_is_that_of_the_histograms() -> None:
    """The range minimizes the divergence as computed for one range at a time."""
    numbers = RNG.laplace(size=5000)
    counts, edges = np.histogram(numbers, 401, (-np.abs(numbers).max(), np.abs(numbers).max()))
    found: dict[float, float] = {}
    for start in range(201 - 16, -1, -1):
        end = 401 - start
        inside = counts[start:end].astype(float)
        clipped = inside.copy()
        clipped[0] += counts[:start].sum()
        clipped[-1] += counts[end:].sum()
        width, q = (end - start) // 31, np.zeros(end - start)
        for level in range(31):
            part = slice(level * width, (level + 1) * width if level < 30 else None)
            q[part] = np.where(clipped[part] > 0, max(inside[part].sum() / max((clipped[part] > 0).sum(), 1), 1e-4), 0)
        p, q = clipped[clipped > 0] / clipped.sum(), q[clipped > 0] / inside.sum()
        found[float(edges[end])] = float((p * np.log(p / q)).sum())
    assert divergence_range(numbers, 401, 31) == pytest.approx(min(found, key=lambda each: found[each]))


def test_contexts_nest() -> None:
    assert relay.quantize.current_qconfig() == relay.quantize.QConfig()
    with relay.quantize.qconfig(global_scale=4.0):
        with relay.quantize.qconfig(nbit_input=4):
            assert relay.quantize.current_qconfig() == relay.quantize.QConfig(nbit_input=4)
        assert relay.quantize.current_qconfig().global_scale == 4.0
    with pytest.raises(AttributeError):
        relay.quantize.QConfig().global_scale = 2.0  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrate_mode": "average"}, "calibrate_mode 'average', expected 'global_scale' or 'kl_divergence' or"),
        ({"nbit_input": 9}, "nbit_input 9, expected 2 to 8 bits"),
        ({"nbit_activation": 16}, "nbit_activation 16, expected 32"),
        ({"global_scale": 0.0}, "global_scale 0.0, expected a positive number"),
        ({"calibrate_chunk_by": 0}, "calibrate_chunk_by 0, expected a positive number"),
        ({"partition_conversions": "enabled"}, "partition_conversions 'enabled', expected 'disabled'"),
        ({"skip_dense_layers": True}, "option 'skip_dense_layers', did you mean 'skip_dense_layer'"),
    ],
)
def test_unknown_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=f"qconfig: {message}"):
        relay.quantize.qconfig(**options)


def test_a_calibration_needs_its_dataset() -> None:
    for dataset in (None, []):
        with pytest.raises(OptionError, match="no dataset, expected inputs for calibrate_mode 'percentile'"):
            quantized(dataset=dataset, calibrate_mode="percentile")


def test_the_steps_of_tvm_are_passes() -> None:
    mod = tvm.IRModule.from_expr(relay.Function([], relay.const(1.0)))
    assert relay.quantize.annotate()(relay.quantize.partition()(mod)) is mod
