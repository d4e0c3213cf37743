"""Quantized graphs compute on integers what the graphs with rounded floats compute, up to the rounding of sums."""

from typing import Any

import numpy as np
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay

LAYERS = ("convolution", "strided", "depthwise", "bias", "relu", "residual", "greatest", "mean")
CHANNELS = 8


def weight(rng: np.random.Generator, *shape: int) -> Any:
    scale = np.sqrt(2 / np.prod(shape[1:])) if shape[1:] else 0.1
    return relay.const((rng.standard_normal(shape) * scale).astype("float32"))


def layer(kind: str, x: Any, rng: np.random.Generator) -> Any:
    match kind:
        case "convolution":
            return relay.nn.conv2d(x, weight(rng, CHANNELS, CHANNELS, 3, 3), padding=1)
        case "strided":
            return relay.nn.conv2d(x, weight(rng, CHANNELS, CHANNELS, 1, 1), strides=2)
        case "depthwise":
            return relay.nn.conv2d(x, weight(rng, CHANNELS, 1, 3, 3), padding=1, groups=CHANNELS)
        case "bias":
            return relay.nn.bias_add(x, weight(rng, CHANNELS))
        case "relu":
            return relay.nn.relu(x)
        case "residual":
            return x + layer("convolution", relay.nn.relu(x), rng)
        case "greatest":
            return relay.nn.max_pool2d(x, (3, 3), padding=1)
        case "mean":
            return relay.nn.avg_pool2d(x, (3, 3), padding=1)
    raise AssertionError(kind)


def network(kinds: list[str], seed: int) -> tuple[tvm.IRModule, Any]:
    """A network of layers with a product at the end, and its input."""
    rng = np.random.default_rng(seed)
    x = relay.var("x", shape=(1, CHANNELS, 8, 8))
    y = x
    for kind in kinds:
        y = layer(kind, y, rng)
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.adaptive_avg_pool2d(y, (2, 2))), weight(rng, 16, CHANNELS * 4))
    return tvm.IRModule.from_expr(relay.Function([x], y)), rng.standard_normal((1, CHANNELS, 8, 8)).astype("float32")


MODES = st.sampled_from(["global_scale", "kl_divergence", "percentile"])


@settings(max_examples=2, phases=[Phase.explicit, Phase.generate])
@example(["convolution"], 0, "global_scale", "max")
@given(st.lists(st.sampled_from(LAYERS), max_size=5), st.integers(0, 99), MODES, st.sampled_from(["max", "power2"]))
def test_integers_agree_with_rounded_floats(kinds: list[str], seed: int, mode: str, weight_scale: str) -> None:
    mod, x = network(kinds, seed)
    results: list[Any] = []
    for do_simulation in (True, False):
        options = {"calibrate_mode": mode, "weight_scale": weight_scale, "do_simulation": do_simulation}
        with relay.quantize.qconfig(skip_conv_layers=None, skip_dense_layer=False, **options):
            quantized = relay.quantize.quantize(mod, dataset=[{"x": x}])
        results.append(relay.create_executor("graph", quantized).evaluate()(x).numpy())
        assert ("qnn.dense" in str(quantized)) is not do_simulation
    rounded, integers = results
    distance, size = np.linalg.norm(integers - rounded), np.linalg.norm(rounded)
    assert distance <= 0.03 * size, f"{distance / size:.3f}"
