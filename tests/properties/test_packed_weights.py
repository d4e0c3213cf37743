"""Products and convolutions with packed weights compute what those with plain weights compute, for any extents."""

from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from stepwell import Module, apply_passes, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.processors import threads
from stepwell.frontends.relay.expr import Expr
from stepwell.frontends.relay.parameters import bind_parameters
from stepwell.schedule.cpu import threads as sharing

TOLERANCE = {"float32": 1e-5, "float64": 1e-13}
"""The largest error of an element, relative to the largest element."""


class WithWeights:
    """A program with constant weights `w`. dtype: of all numbers.  after: the operators after the product, which read
    `r`."""

    shapes: dict[str, tuple[int, ...]]
    dtype: str
    after: str

    def product(self, x: Expr, w: Expr) -> Expr:
        raise NotImplementedError

    def arrays(self) -> dict[str, Any]:
        choose = np.random.default_rng(len(self.after))
        return {name: choose.normal(size=shape).astype(self.dtype) for name, shape in self.shapes.items()}

    def module(self, first: int | str, *, is_constant: bool = True) -> Module:
        """The program. first: the first extent of the data, or its name.  is_constant: whether the weights are a
        constant; else they are a parameter.
        """
        shapes = {name: shape if name == "w" else (first, *shape[1:]) for name, shape in self.shapes.items()}
        x, w, r = (relay.var(name, shape=shape, dtype=self.dtype) for name, shape in shapes.items())
        net = self.product(x, w)
        if "residual" in self.after:
            net = net + r
        if "relu" in self.after:
            net = relay.nn.relu(net)
        if "turned" in self.after:
            net = relay.transpose(net)
        if "flat" in self.after:
            net = relay.reshape(net, (-1,))
        if "twice" in self.after:
            net = relay.Tuple([net, relay.exp(net)])
        module = relay.module(relay.Function([x, w, r], net))
        return bind_parameters(module, {"w": self.arrays()["w"]}) if is_constant else module


@dataclass(frozen=True)
class Product(WithWeights):
    """A product of data and weights. rows: the extents of the data but the last."""

    rows: tuple[int, ...]
    inner: int
    units: int
    dtype: str
    after: str

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"x": (*self.rows, self.inner), "w": (self.units, self.inner), "r": (*self.rows, self.units)}

    def product(self, x: Expr, w: Expr) -> Expr:
        return relay.nn.dense(x, w)


@dataclass(frozen=True)
class MatrixProduct(Product):
    """A product of a matrix of data and a matrix of weights, the columns of which are `units`."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = super().shapes
        return {**shapes, "w": shapes["w"][::-1]}

    def product(self, x: Expr, w: Expr) -> Expr:
        return relay.nn.matmul(x, w)


@dataclass(frozen=True)
class Convolution(WithWeights):
    """A convolution. result: the extents of the image of the result.  window, strides, dilation: along each dimension.
    padding: before and after the image."""

    batch: int
    inputs: int
    channels: int
    result: tuple[int, int]
    window: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]
    dtype: str
    after: str
    groups: int = 1

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        parts = zip(self.result, self.window, self.strides, self.dilation, strict=True)
        padded = [(n - 1) * step + (size - 1) * far + 1 for n, size, step, far in parts]
        image = [max(n - sum(self.padding), 1) for n in padded]
        parts = zip(image, self.window, self.strides, self.dilation, strict=True)
        result = [(n + sum(self.padding) - (size - 1) * far - 1) // step + 1 for n, size, step, far in parts]
        return {
            "x": (self.batch, self.groups * self.inputs, *image),
            "w": (self.channels, self.inputs, *self.window),
            "r": (self.batch, self.channels, *result),
        }

    def product(self, x: Expr, w: Expr) -> Expr:
        before, behind = self.padding
        attributes = {"strides": self.strides, "padding": (before, before, behind, behind), "dilation": self.dilation}
        return relay.nn.conv2d(x, w, groups=self.groups, **attributes)


dtypes = st.sampled_from(("float32", "float64"))
epilogues = st.sampled_from(("", "residual relu", "relu twice", "turned", "relu flat", "flat twice"))
products = st.builds(
    Product,
    st.sampled_from(((2,), (3,), (6,), (13,), (2, 3), (1, 5, 2))),
    st.sampled_from((1, 3, 16, 40)),
    st.sampled_from((16, 17, 32, 39, 65)),
    dtypes,
    epilogues,
)
matrices = st.builds(
    MatrixProduct,
    st.sampled_from(((2,), (3,), (13,))),
    st.sampled_from((1, 3, 40)),
    st.sampled_from((16, 39, 65)),
    dtypes,
    epilogues,
)


windows = st.sampled_from(((1, 1), (3, 3), (2, 1), (1, 5), (7, 7)))
steps = st.sampled_from(((1, 1), (2, 2), (1, 3)))
results = st.tuples(st.sampled_from((1, 3)), st.sampled_from((1, 2, 5, 7, 9, 17, 20)))
farther = st.sampled_from(((1, 1), (2, 2)))
around = st.sampled_from(((0, 0), (1, 1), (0, 2)))
shared = (windows, steps, farther, around, dtypes, epilogues)
batches, inputs = st.sampled_from((1, 3)), st.sampled_from((1, 3, 8))
convolutions = st.builds(Convolution, batches, inputs, st.sampled_from((16, 24, 32, 47, 64)), results, *shared)
in_groups = st.builds(
    lambda batch, inputs, blocks, groups, *rest: Convolution(batch, inputs, 16 * blocks * groups, *rest, groups=groups),
    batches,
    st.sampled_from((2, 3, 8)),
    st.sampled_from((1, 2, 3)),
    st.sampled_from((2, 3)),
    results,
    *shared,
)
depthwise = st.builds(
    lambda batch, channels, *rest: Convolution(batch, 1, channels, *rest, groups=channels),
    batches,
    st.sampled_from((16, 24, 32, 47)),
    st.tuples(st.sampled_from((1, 3, 6)), st.sampled_from((1, 4, 7, 14, 16))),
    *shared,
)


@settings(max_examples=max(1, settings().max_examples // 2))
@given(products | matrices | convolutions | in_groups | depthwise, st.sampled_from((1, 3)), st.booleans())
@example(Product((70,), 40, 48, "float32", "residual"), 3, False)  # several tiles of rows for each thread
@example(Product((13,), 40, 48, "float32", "residual"), 1, True)  # a tile of fewer rows
@example(Convolution(1, 3, 64, (5, 33), (3, 3), (2, 2), (1, 1), (1, 1), "float32", "residual relu"), 3, False)
@example(Convolution(1, 1, 72, (14, 14), (5, 5), (1, 1), (1, 1), (2, 2), "float32", "residual relu", 72), 3, True)
@example(Convolution(1, 4, 96, (7, 35), (3, 3), (1, 1), (1, 1), (1, 1), "float32", "residual relu", 2), 3, True)
def test_packed_weights_compute_what_weights_compute(case: WithWeights, count: int, is_dynamic: bool) -> None:
    """is_dynamic: whether the first extent of the data is known at run time."""
    module = case.module("n" if is_dynamic else case.shapes["x"][0])
    check(module, {name: array for name, array in case.arrays().items() if name != "w"}, count, case.dtype)


@settings(max_examples=max(1, settings().max_examples // 2))
@given(convolutions | in_groups, st.sampled_from((1, 3)), st.booleans())
@example(Convolution(1, 3, 64, (5, 33), (3, 3), (2, 2), (1, 1), (1, 1), "float32", "residual relu"), 3, False)
def test_weights_that_are_parameters_are_packed_in_each_run(case: Convolution, count: int, is_dynamic: bool) -> None:
    module = case.module("n" if is_dynamic else case.shapes["x"][0], is_constant=False)
    check(module, case.arrays(), count, case.dtype)


@settings(max_examples=max(1, settings().max_examples // 3))
@given(convolutions | in_groups, st.sampled_from((1, 3)))
@example(Convolution(1, 3, 64, (5, 33), (3, 3), (2, 2), (1, 1), (1, 1), "float32", "relu twice"), 3)
def test_images_of_any_size(case: Convolution, count: int) -> None:
    x = relay.var("x", shape=(case.batch, case.groups * case.inputs, "h", "w"), dtype=case.dtype)
    arrays = case.arrays()
    net = case.product(x, relay.const(arrays["w"]))
    if "relu" in case.after:
        net = relay.nn.relu(net)
    if "twice" in case.after:
        net = relay.Tuple([net, relay.exp(net)])
    check(relay.module(relay.Function([x], net)), {"x": arrays["x"]}, count, case.dtype)


def check(module: Module, arrays: dict[str, Any], count: int, dtype: str) -> None:
    """Packs the weights, and compares the results of a number of threads."""
    expected = interpret(module, "main", list(arrays.values()))
    packed = apply_passes(module, "relay-pack-weights,relay-fold-constants")
    assume("_pack(" in str(packed))  # not with few pixels
    with patch.object(sharing, "LEAST_TIME", 0), threads(count):
        executor = GraphExecutor(build_graph(packed))
        executor.run(**arrays)
    tolerance = TOLERANCE[dtype]
    for n, wanted in enumerate(expected if isinstance(expected, list | tuple) else [expected]):
        np.testing.assert_allclose(executor.get_output(n), wanted, tolerance, tolerance * float(abs(wanted).max()))
