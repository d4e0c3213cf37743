"""Convolutions by Winograd's algorithm compute what direct convolutions compute, but for rounding, for any extents, and
with any operators after them."""

from collections.abc import Sequence
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
from stepwell.frontends.relay.parameters import bind_parameters
from stepwell.schedule.cpu import threads as sharing
from stepwell.schedule.cpu import winograd

TOLERANCE = 1e-5
"""The largest error of an element, relative to the largest element."""


@dataclass(frozen=True)
class Convolution:
    """A convolution. shape: of the image.  after: the operators after it.  is_constant: whether the weights are
    constants.  dilation: the distances of taps; the padding grows with them."""

    shape: tuple[int, int, int, int]
    channels: int
    padding: tuple[int, ...]
    tile: int
    after: str
    is_constant: bool = True
    dilation: tuple[int, int] = (1, 1)

    @property
    def around(self) -> tuple[int, ...]:
        """The padding of the sides: at least enough for a window in each direction."""
        sides = self.padding * (2 if len(self.padding) == 2 else 1)
        return tuple(side + 2 * (step - 1) for side, step in zip(sides, self.dilation * 2, strict=True))

    def arrays(self) -> dict[str, Any]:
        batch, inputs, height, width = self.shape
        top, left, bottom, right = self.around
        down, across = self.dilation
        rows, columns = height + top + bottom - 2 * down, width + left + right - 2 * across
        result = (batch, self.channels, rows, columns)
        shapes = {"x": self.shape, "w": (self.channels, inputs, 3, 3), "b": (self.channels,), "r": result}
        choose = np.random.default_rng(self.channels)
        return {name: choose.normal(size=shape).astype("float32") for name, shape in shapes.items()}

    def module(self, dynamic: str) -> Module:
        """The program. dynamic: the names of the dynamic sizes: n images, of h by w pixels."""
        arrays = self.arrays()
        x, w, b, r = (relay.var(name, shape=self.shape_of(name, dynamic)) for name in arrays)
        net = relay.nn.conv2d(x, w, padding=self.around, dilation=self.dilation)
        if "bias" in self.after:
            net = relay.nn.bias_add(net, b)
        if "residual" in self.after:
            net = net + r
        if "relu" in self.after:
            net = relay.nn.relu(net)
        if "flat" in self.after:
            net = relay.reshape(net, (-1,))
        if "twice" in self.after:
            net = relay.Tuple([net, relay.exp(net)])
        mod = relay.module(relay.Function([x, w, b, r], net))
        return bind_parameters(mod, {"w": arrays["w"]}) if self.is_constant else mod

    def shape_of(self, name: str, dynamic: str) -> Sequence[Any]:
        """The shape of an operand, in which dynamic sizes have names, sums for results of other sizes."""
        shape, image = self.arrays()[name].shape, self.shape
        if name not in "xr":
            return shape
        names = [each if a == b else f"{each} + {a - b}" for each, a, b in zip("nchw", shape, image, strict=True)]
        return [each if each[0] in dynamic else n for each, n in zip(names, shape, strict=True)]


extents = st.sampled_from((3, 4, 5, 7, 8, 13))
convolutions = st.builds(
    Convolution,
    st.tuples(st.sampled_from((1, 2, 7)), st.sampled_from((1, 3, 16, 19)), extents, extents),
    st.sampled_from((1, 3, 16, 33)),
    st.sampled_from(((0, 0), (1, 1), (0, 1, 2, 1))),
    st.sampled_from((2, 4)),
    st.sampled_from(("", "bias relu", "bias residual relu", "relu twice", "relu flat")),
    st.booleans(),
    st.sampled_from(((1, 1), (1, 1), (2, 2), (1, 3), (4, 2))),
)


@given(convolutions, st.sampled_from((1, 3)), st.sampled_from((1, 6)), st.sampled_from(("", "n", "hw", "w", "nhw")))
@settings(max_examples=max(1, settings().max_examples // 4))
@example(Convolution((1, 17, 13, 9), 16, (1, 1), 2, "bias residual relu"), 1, 6, "")  # parts of several rows of tiles
@example(Convolution((1, 1, 3, 3), 1, (0, 0), 2, ""), 1, 1, "")  # one element
@example(Convolution((12, 16, 5, 5), 16, (1, 1), 4, "bias"), 3, 6, "")  # parts of several images
@example(Convolution((2, 16, 9, 5), 16, (1, 1), 4, "bias residual"), 3, 6, "n")
@example(Convolution((2, 16, 9, 5), 16, (1, 1), 2, "bias relu", dilation=(2, 3)), 1, 6, "n")
@example(Convolution((2, 17, 13, 9), 33, (0, 1, 2, 1), 4, "bias residual"), 3, 6, "nhw")  # tiles beyond the result
def test_winograd_computes_what_a_direct_convolution_computes(
    case: Convolution, count: int, parts: int, dynamic: str
) -> None:
    assume(case.dilation == (1, 1) or not set(dynamic) & set("hw"))  # which stay direct
    module = case.module(dynamic)
    arrays = {name: array for name, array in case.arrays().items() if name != "w" or not case.is_constant}
    expected = interpret(module, "main", list(arrays.values()))
    converted = apply_passes(module, f"relay-convert-convolutions{{tile-size={case.tile}}}")
    assert "nn.conv2d_winograd" in str(converted)
    with patch.object(sharing, "LEAST_TIME", 0), patch.object(winograd, "FEWEST_PARTS", parts), threads(count):
        executor = GraphExecutor(build_graph(converted))
        executor.run(**arrays)
    for n, wanted in enumerate(expected if isinstance(expected, list | tuple) else [expected]):
        np.testing.assert_allclose(executor.get_output(n), wanted, TOLERANCE, TOLERANCE * float(abs(wanted).max()))
