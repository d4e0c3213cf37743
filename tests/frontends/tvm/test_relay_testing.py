"""The networks of relay.testing, compiled and compared with numpy operator by operator."""

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import OptionError
from stepwell.frontends.relay import free_vars
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.contrib import graph_executor
from stepwell.frontends.tvm.relay import testing
from stepwell.operators.relay import shape_of

SMALL = (3, 64, 64)
NETS: dict[str, Callable[[], Any]] = {
    "mlp": lambda: testing.mlp.get_net(2),
    "resnet of 8 layers for small images": lambda: testing.resnet.get_net(1, 10, 8, (3, 28, 28)),
    "resnet of 8 layers in NHWC": lambda: testing.resnet.get_net(2, 10, 8, (28, 28, 3), "NHWC"),
    "resnet of 18 layers": lambda: testing.resnet.get_net(1, 10, 18, (3, 33, 33)),
    "resnet of 50 layers": lambda: testing.resnet.get_net(1, 10, 50, (3, 32, 32)),
    "mobilenet": lambda: testing.mobilenet.get_net(1, 10, (3, 32, 32)),
    "mobilenet in NHWC": lambda: testing.mobilenet.mobile_net(10, (1, 32, 32, 3), alpha=0.25, layout="NHWC"),
    "mobilenet_v2": lambda: testing.mobilenet_v2.get_net(1, 10, (3, 32, 32), width_mult=0.35),
    "lstm": lambda: testing.lstm.get_net(4, 16, 2),
    "transformer": lambda: testing.transformer.get_net(2, 2, 64, 4, 16, 128),
    "squeezenet": lambda: testing.squeezenet.get_net(1, SMALL, 10, "1.1"),
    "vgg": lambda: testing.vgg.get_net(1, (3, 32, 32), 10, batch_norm=True),
    "dcgan": lambda: testing.dcgan.get_net(2, ngf=8),
}
LARGE = ("resnet of 18 layers", "resnet of 50 layers", "vgg", "mobilenet", "mobilenet in NHWC")
"""Networks that differ from others only in the number or the size of their layers; run by `make slow`."""
LONG = ("squeezenet", "dcgan", "mobilenet_v2")
"""Networks with more than ten different kernels, compiled by `make slow`."""


def lively(name: str, values: np.ndarray) -> None:
    """Fills a parameter so that activations neither vanish nor explode in many layers."""
    random = np.random.default_rng(len(name) + values.size)
    if name.endswith(("gamma", "var")):
        values[...] = random.uniform(0.5, 1.5, values.shape)
    elif values.ndim < 2:
        values[...] = random.uniform(-0.2, 0.2, values.shape)
    else:
        taps = values.shape[1] if values.ndim == 2 else prod(values.shape) / max(values.shape)
        values[...] = random.standard_normal(values.shape) * sqrt(1 / taps)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        pytest.param(name, target, marks=[pytest.mark.slow] if target != "llvm" or name in (*LARGE, *LONG) else [])
        for name in NETS
        for target in ("llvm", "cuda-emulated")
    ],
)
def test_a_network_computes_what_numpy_computes(name: str, target: str) -> None:
    mod, params = testing.create_workload(NETS[name](), lively)
    main = mod.function_ops["main"]
    shape = [int(size) for size in shape_of(dict(main.params)["data"])]
    data = np.random.default_rng(1).standard_normal(shape).astype("float32")
    module = graph_executor.GraphModule(relay.build(mod, target, params=params)["default"](tvm.device(target)))
    module.run(data=data)
    inputs = [data if each == "data" else params[each].numpy() for each, _ in main.params]
    wanted = interpret(mod, "main", inputs)
    assert wanted.std() > 1e-3
    np.testing.assert_allclose(module.get_output(0).numpy(), wanted, 1e-4, 1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(("name", "shape"), [("squeezenet", (1, 10)), ("dcgan", (2, 3, 64, 64))])
def test_a_long_network_has_results_of_its_shape(name: str, shape: tuple[int, ...]) -> None:
    mod, params = testing.create_workload(NETS[name](), lively)
    parameters = dict(mod.function_ops["main"].params)
    size = [int(each) for each in shape_of(parameters["data"])]
    data = np.random.default_rng(1).standard_normal(size).astype("float32")
    result = interpret(mod, "main", [data if each == "data" else params[each].numpy() for each in parameters])
    assert result.shape == shape
    assert result.std() > 1e-3


@pytest.mark.parametrize(
    ("net", "count"),
    [
        # The first five are torchvision's counts.
        (testing.inception_v3.get_net(1, 1000, (3, 299, 299), "float32"), 23_834_568),
        (testing.mobilenet_v2.get_net(), 3_504_872),
        (testing.squeezenet.get_net(1), 1_248_424),
        (testing.squeezenet.get_net(1, version="1.1"), 1_235_496),
        (testing.vgg.get_net(1, (3, 224, 224), 1000), 132_863_336),
        (testing.dqn.get_net(1), 8224 + 32_832 + 36_928 + 3136 * 512 + 512 + 512 * 18 + 18),
        (testing.mlp.get_net(1), 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10),
        (testing.lstm.get_net(3, 16), 2 * (4 * 16 * 16 + 4 * 16)),
        (testing.transformer.get_net(), 4 * (256 * 256 + 256) + 2 * 256 * 1024 + 1024 + 256 + 4 * 256),
    ],
)
def test_a_network_has_as_many_parameters_as_is_known(net: relay.Function, count: int) -> None:
    params = tvm.IRModule.from_expr(net).function_ops["main"].params
    trained = [value for name, value in params if name != "data" and not name.endswith(("moving_mean", "moving_var"))]
    assert sum(prod(map(int, shape_of(value))) for value in trained) == count


def test_a_densenet_has_its_layers_and_halves_its_channels() -> None:
    net = testing.densenet.get_net(121, 10, 1)
    params = {name: shape_of(value) for name, value in tvm.IRModule.from_expr(net).function_ops["main"].params}
    assert sum(name.startswith("conv") and name.endswith("_weight") for name in params) == 1 + 2 * 58 + 3
    assert params["conv_t_2_weight"] == (512, 24 * 32, 1, 1)
    assert params["dense_weight"] == (10, 16 * 32)


def test_a_block_of_mobilenet_normalizes_with_its_epsilon() -> None:
    block = testing.mobilenet.conv_block(relay.var("data", shape=(1, 3, 8, 8)), "block", 4, epsilon=0.25)
    assert "epsilon=0.25f" in tvm.IRModule.from_expr(block).astext()


@pytest.mark.parametrize(("layers", "convolutions"), [(18, 21), (34, 37), (50, 53)])
def test_a_resnet_has_its_layers(layers: int, convolutions: int) -> None:
    mod = tvm.IRModule.from_expr(testing.resnet.get_net(1, 1000, layers))
    weights = [
        name for name, _ in mod.function_ops["main"].params if name.endswith("_weight") and not name.startswith("fc")
    ]
    assert len(weights) == convolutions
    assert [shape_of(value) for value in mod.function_ops["main"].return_values] == [(1, 1000)]


def test_a_cell_of_an_lstm_takes_a_tuple_of_states_and_gives_its_output_and_the_next_states() -> None:
    cell = testing.lstm.lstm_cell(8, batch_size=3)
    assert [param.name_hint for param in cell.params][:3] == ["inputs", "states", "i2h_weight"]
    mod, params = testing.create_workload(cell)
    assert params["i2h_weight"].shape == (32, 8)
    assert [shape_of(value) for value in mod.function_ops["main"].return_values] == [(3, 8)] * 3


def test_blocks_of_a_mobilenet_take_an_epsilon() -> None:
    block = testing.mobilenet.conv_block(relay.var("data"), "block", 8, epsilon=0.5)
    assert _epsilons(block) == [0.5]
    block = testing.mobilenet.separable_conv_block(relay.var("data"), "block", 4, 8, (3, 3), True, (1, 1), 0.25)
    assert _epsilons(block) == [0.25, 0.25]


def _epsilons(expr: Any) -> list[float]:
    below = [value for child in expr.children for value in _epsilons(child)]
    is_norm = isinstance(expr, relay.Call) and expr.op.name == "nn.batch_norm"
    return [*below, expr.attrs["epsilon"]] if is_norm else below


@pytest.mark.parametrize(("layout", "shape"), [("NCHW", (4, 1, 5, 3)), ("NHWC", (5, 3, 4, 1))])
def test_a_separable_block_of_a_mobilenet_has_a_typed_depthwise_weight(layout: str, shape: tuple[int, ...]) -> None:
    data = relay.var("data", shape=(1, 4, 4, 4), dtype="float16")
    block = testing.mobilenet.separable_conv_block(
        data, "b", 4, 8, (5, 3), padding=(2, 1), layout=layout, dtype="float16"
    )
    (weight,) = (each for each in free_vars(block) if each.name_hint == "b_depthwise_conv_weight")
    assert weight.type_annotation == relay.TensorType(shape, "float16")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: testing.resnet.get_net(1, 10, 19), "resnet of 19 layers, expected one of 18, 34, 50, 101"),
        (lambda: testing.resnet.get_net(1, 10, 9, (3, 28, 28)), "resnet of 9 layers for small images, expected 6 n"),
        (lambda: testing.resnet.get_net(1, 10, layout="CHWN"), "layout 'CHWN', expected 'NCHW' or 'NHWC'"),
        (lambda: testing.mobilenet.get_net(layout="CHWN"), "layout 'CHWN', expected 'NCHW' or 'NHWC'"),
        (lambda: testing.vgg.get_net(1, SMALL, 10, num_layers=12), "vgg of 12 layers, expected one of 11, 13, 16, 19"),
        (lambda: testing.densenet.get_net(100), "densenet of size 100, expected one of 121, 161, 169, 201"),
        (lambda: testing.dqn.get_net(1, layout="NHWC"), "dqn: images in 'NHWC', expected 'NCHW'"),
        (lambda: testing.squeezenet.get_net(1, version="2"), "version '2', expected one of 1.0, 1.1"),
        (lambda: testing.transformer.get_net(num_heads=7), "7 heads of a model of 256, expected heads that divide it"),
        (lambda: testing.dcgan.get_net(1, oshape=(3, 32, 32)), r"expected \(channels, 64, 64\) in 'NCHW'"),
    ],
)
def test_a_network_that_there_is_not_is_an_error(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()
