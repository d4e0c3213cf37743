"""Convolutions of one dimension as those of images of one row leave what a graph computes."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Module, apply_passes
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends import relay
from stepwell.frontends.relay import Expr
from stepwell.tools.testing.comparison import assert_near
from stepwell.tools.testing.execution import interpret_graph


@st.composite
def networks(draw: st.DrawFn) -> tuple[Module, Any]:
    """A network of convolutions of one dimension and of operators between them, and its input."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    batch, channels, width = draw(st.sampled_from((1, 2))), draw(st.sampled_from((3, 16))), draw(st.integers(8, 20))
    x = random.normal(size=(batch, channels, width)).astype("float32")
    image: Expr = relay.var("x", shape=x.shape)
    first = image

    def constant(*shape: int) -> Expr:
        return relay.const(random.normal(size=shape).astype("float32"))

    for _ in range(draw(st.integers(2, 6))):
        kind = draw(st.sampled_from(("convolution", "convolution", "elements", "elements", "pool")))
        if kind == "convolution":
            size, pads = draw(st.integers(1, 3)), [draw(st.integers(0, 2)), draw(st.integers(0, 2))]
            step, dilation = draw(st.integers(1, 2)), draw(st.integers(1, 2))
            groups = draw(st.sampled_from((1, 1, 1, 2))) if channels % 2 == 0 else 1
            count = draw(st.sampled_from((4, 16, 32)))
            span = dilation * (size - 1) + 1
            if width + sum(pads) < span:
                continue
            weight = constant(count, channels // groups, size)
            image = relay.nn.conv1d(image, weight, strides=step, padding=pads, dilation=dilation, groups=groups)
            channels, width = count, (width + sum(pads) - span) // step + 1
        elif kind == "pool":
            image, width = relay.nn.max_pool1d(image, pool_size=1), width
        else:
            others = [
                relay.const(0.5),
                constant(width),
                constant(channels, 1),
                constant(1, channels, width),
                relay.tanh(image),
                relay.mean(image, axis=[2], keepdims=True),
            ]
            image = draw(
                st.sampled_from(
                    [
                        relay.nn.relu(image),
                        relay.nn.bias_add(image, constant(channels), draw(st.sampled_from((1, -2)))),
                        relay.nn.bias_add(image, constant(width), 2),
                        relay.add(image, draw(st.sampled_from(others))),
                        relay.multiply(draw(st.sampled_from(others)), image),
                    ]
                )
            )
    result = draw(st.sampled_from((image, relay.transpose(image, [0, 2, 1]), relay.mean(image, axis=[2]))))
    return relay.module(relay.Function([first], result)), x


def check(after: Module, module: Module, x: Any) -> None:
    (expected,) = interpret_graph(module, [x])
    assert_near(interpret_graph(after, [x]), [expected], 1e-5 * float(np.abs(expected).max(initial=1.0)))


@given(networks())
def test_images_of_one_row_hold_the_elements_of_those_without(case: tuple[Module, Any]) -> None:
    module, x = case
    converted = apply_passes(module, "relay-convert-conv1d,relay-fold-constants,relay-eliminate-dead-code")
    converted.verify()
    check(converted, module, x)
    check(apply_passes(converted, "relay-convert-layout"), module, x)


@settings(max_examples=max(1, settings().max_examples // 3))
@given(networks())
def test_compiled_networks_of_one_dimension(case: tuple[Module, Any]) -> None:
    module, x = case
    executor = GraphExecutor(build_graph(module))
    executor.run(x=x)
    (expected,) = interpret_graph(module, [x])
    assert_near([executor.get_output(0)], [expected], 1e-4 * float(np.abs(expected).max(initial=1.0)))
