"""Networks whose images have channels in blocks compute what they compute without blocks."""

from collections.abc import Callable
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stepwell import Module, apply_passes, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.processors import threads
from stepwell.frontends.relay.expr import Expr
from stepwell.schedule.cpu import threads as sharing
from stepwell.tools.testing.comparison import assert_near
from stepwell.transforms.relay import convert_layout

Draw: TypeAlias = Callable[..., Any]
Shape: TypeAlias = tuple[int, int, int]
CHANNELS = (16, 24, 32, 48)


class Network:
    """A network of random operators. has_any_size: whether the rows and columns of the input are dynamic.  images: the
    images computed so far, with their channels, rows and columns."""

    def __init__(self, draw: Draw):
        self.draw = draw
        self.random = np.random.default_rng(draw(st.integers(0, 999)))
        self.first = draw(st.sampled_from((1, 2, "n")))
        self.shape: Shape = (draw(st.sampled_from((3, *CHANNELS))), draw(st.integers(3, 9)), draw(st.integers(3, 9)))
        self.has_any_size = draw(st.booleans())
        image = ("h", "w") if self.has_any_size else self.shape[1:]
        self.input = relay.var("x", shape=(self.first, self.shape[0], *image))
        self.images: list[tuple[Expr, Shape]] = [(self.input, self.shape)]
        self.convolution(self.input, self.shape)

    def constant(self, *shape: int) -> Expr:
        return relay.const(self.random.normal(size=shape).astype("float32"))

    def add(self, image: Expr, shape: Shape) -> None:
        self.images.append((image, shape))

    def images_like(self, x: Expr, is_like: Callable[[Shape], bool]) -> list[tuple[Expr, Shape]]:
        """The images whose shapes are like another's; that image alone if sizes are dynamic, equal by chance."""
        return [(image, shape) for image, shape in self.images if (image is x if self.has_any_size else is_like(shape))]

    def convolution(self, x: Expr, shape: Shape) -> None:
        size, pad = self.draw(st.sampled_from(((1, 0), (3, 1), (3, 0)))) if min(shape[1:]) > 2 else (1, 0)
        channels = self.draw(st.sampled_from(CHANNELS))
        groups = self.draw(st.sampled_from((1, 1, 2))) if shape[0] % 2 == 0 else 1
        weight = self.constant(channels, shape[0] // groups, size, size)
        self.windows(relay.nn.conv2d, x, (channels, *shape[1:]), size, pad, weight, groups=groups)

    def depthwise(self, x: Expr, shape: Shape) -> None:
        size, pad = self.draw(st.sampled_from(((3, 1), (3, 0)))) if min(shape[1:]) > 2 else (1, 0)
        self.windows(relay.nn.conv2d, x, shape, size, pad, self.constant(shape[0], 1, size, size), groups=shape[0])

    def pool(self, x: Expr, shape: Shape) -> None:
        pool = self.draw(st.sampled_from((relay.nn.max_pool2d, relay.nn.avg_pool2d)))
        size, pad = self.draw(st.sampled_from(((2, 1), (3, 1), (2, 0)))) if min(shape[1:]) > 1 else (1, 0)
        self.windows(pool, x, shape, size, pad, pool_size=size, ceil_mode=self.draw(st.booleans()))

    def windows(self, op: Any, x: Expr, shape: Shape, size: int, pad: int, *weight: Expr, **attributes: Any) -> None:
        channels, height, width = shape
        step = self.draw(st.sampled_from(([1, 1], [2, 1], [2, 2])))
        up = step[0] - 1 if attributes.get("ceil_mode") else 0, step[1] - 1 if attributes.get("ceil_mode") else 0
        extents = [(n + 2 * pad - size + u) // s + 1 for n, s, u in zip((height, width), step, up, strict=True)]
        self.add(op(x, *weight, strides=step, padding=pad, **attributes), (channels, extents[0], extents[1]))

    def elements(self, x: Expr, shape: Shape) -> None:
        channels, height, width = shape
        others = [self.constant(channels, 1, 1), relay.const(0.5)]
        others += [relay.tanh(image) for image, _ in self.images_like(x, shape.__eq__)]  # no number becomes infinite
        others += [relay.sigmoid(relay.mean(x, axis=[2, 3], keepdims=True))]
        if not self.has_any_size:
            others += [self.constant(1, height, width), self.constant(channels, height, width)]
        kind = self.draw(st.integers(0, 3))
        if kind == 0:
            self.add(relay.nn.bias_add(x, self.constant(channels)), shape)
        elif kind == 1:
            self.add(relay.nn.relu(x), shape)
        else:
            op = self.draw(st.sampled_from((relay.add, relay.multiply, relay.maximum)))
            self.add(op(x, self.draw(st.sampled_from(others))), shape)

    def concatenation(self, x: Expr, shape: Shape) -> None:
        parts = self.images_like(x, lambda other: other[1:] == shape[1:])
        chosen = [(x, shape), self.draw(st.sampled_from(parts))]
        self.add(relay.concatenate([image for image, _ in chosen], axis=1), (sum(s[0] for _, s in chosen), *shape[1:]))

    def slice(self, x: Expr, shape: Shape) -> None:
        if self.has_any_size:
            return
        axes = self.draw(st.sampled_from(([2, 3], [-1], [3, 2])))
        first = [self.draw(st.integers(0, shape[axis % 4 - 1] - 1)) for axis in axes]
        last = [self.draw(st.integers(n + 1, shape[axis % 4 - 1])) for n, axis in zip(first, axes, strict=True)]
        steps = [self.draw(st.integers(1, 3)) for _ in axes]
        extents = list(shape)
        for axis, low, high, step in zip(axes, first, last, steps, strict=True):
            extents[axis % 4 - 1] = len(range(low, high, step))
        sliced = relay.strided_slice(x, first, last, steps, axes=axes)
        self.add(sliced, (extents[0], extents[1], extents[2]))

    def step(self) -> None:
        image = self.images[-1] if self.draw(st.integers(0, 3)) else self.draw(st.sampled_from(self.images))
        windows = (self.convolution, self.depthwise, self.pool)
        steps = (*windows, self.elements, self.elements, self.concatenation, self.slice)
        self.draw(st.sampled_from(steps))(*image)

    def result(self) -> Expr:
        image, _ = self.images[-1]
        axes = self.draw(st.sampled_from(([2, 3], [-1, -2])))
        results = [
            image,
            relay.mean(image, axis=axes),
            relay.max(image, axis=axes, keepdims=True),
            relay.nn.global_avg_pool2d(image),
            relay.nn.adaptive_max_pool2d(image, self.draw(st.integers(1, 2))),
            relay.nn.batch_flatten(image),
            relay.Tuple([image, self.draw(st.sampled_from(self.images))[0]]),
        ]
        return self.draw(st.sampled_from(results))


@st.composite
def networks(draw: Draw) -> tuple[Module, Any]:
    """A network that begins with a convolution, and its input."""
    network = Network(draw)
    for _ in range(draw(st.integers(1, 6))):
        network.step()
    module = relay.module(relay.Function([network.input], network.result()))
    batch = draw(st.integers(1, 3)) if network.first == "n" else network.first
    return module, network.random.normal(size=(batch, *network.shape)).astype("float32")


def results_of(module: Module, x: Any) -> list[Any]:
    values = interpret(module, "main", [x])
    return list(values) if isinstance(values, list | tuple) else [values]


def check(actual: list[Any], expected: list[Any]) -> None:
    """Compares results; a window in the padding alone has no maximum, which is an infinite number."""
    finite = [np.abs(each[np.isfinite(each)]) for each in expected]
    assert_near(actual, expected, [1e-4 * float(each.max(initial=1.0)) for each in finite])


LEAST_SUMMANDS = st.sampled_from((convert_layout.LONG, 0))
"""Networks here have sums of few summands."""
BEFORE = st.sampled_from(("", "relay-convert-convolutions{tile-size=2},", "relay-slice-images{least-channels=1},"))


@given(networks(), BEFORE, LEAST_SUMMANDS)
def test_images_with_blocks_hold_the_elements_of_images_without(
    case: tuple[Module, Any], before: str, summands: int
) -> None:
    module, x = case
    with patch.object(convert_layout, "LONG", summands):
        converted = apply_passes(module, f"{before}relay-convert-layout")
    converted.verify()
    check(results_of(converted, x), results_of(module, x))


@settings(max_examples=max(1, settings().max_examples // 3))
@given(networks(), st.sampled_from((1, 3)), BEFORE, LEAST_SUMMANDS)
def test_compiled_networks_with_blocks(case: tuple[Module, Any], count: int, before: str, summands: int) -> None:
    module, x = case
    with patch.object(convert_layout, "LONG", summands):
        converted = apply_passes(module, f"{before}relay-convert-layout")
    assume("NCHW16c" in str(converted))
    with patch.object(sharing, "LEAST_TIME", 0), threads(count):
        executor = GraphExecutor(build_graph(converted))
        executor.run(x=x)
    expected = results_of(module, x)
    check([executor.get_output(n) for n in range(len(expected))], expected)
