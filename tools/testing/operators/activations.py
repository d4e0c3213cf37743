"""Samples of activations."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .sampling import (
    ALL,
    FLOATS,
    NUMBERS,
    SHAPES,
    Draw,
    Sample,
    any_axis,
    infinities,
    numbers,
    tensor_samples,
    unary_samples,
)


@st.composite
def activation_samples(draw: Draw, **attributes: st.SearchStrategy[object]) -> Sample:
    """A tensor of floats of any shape, large, infinite and NaN among them. attributes: strategies by name."""
    bound = draw(st.sampled_from((0.5, 8, 100)))
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(FLOATS)), -bound, bound)
    if draw(st.booleans()):
        data = infinities(draw, data)
    if draw(st.booleans()):
        data = np.where(data == 0, np.asarray(np.nan, data.dtype), data)
    return Sample([data], {name: draw(each) for name, each in attributes.items()})


def _not_steep(sample: Sample) -> Sample:
    """Restricts elements to those for which `1 + erf(x)` loses no digits, or is 0."""
    x = sample.operands[0]
    return Sample([np.where((x > -100) & (x < -1.5), np.asarray(-100, x.dtype), x)], sample.attributes)


@st.composite
def slopes(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(FLOATS)))
    axis = any_axis(draw, data.ndim)
    return Sample([data, numbers(draw, data.shape[axis : axis + 1 or None], data.dtype.name)], {"axis": axis})


POSITIVE = st.sampled_from((0.25, 1.0, 1.5))

SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.relu": unary_samples(NUMBERS),
    "nn.leaky_relu": activation_samples(alpha=st.sampled_from((0.0, 0.125, 0.5))),
    "nn.prelu": slopes(),
    **dict.fromkeys(("nn.elu", "nn.celu"), activation_samples(alpha=POSITIVE)),
    "nn.selu": st.one_of(activation_samples(), activation_samples(alpha=POSITIVE, gamma=POSITIVE)),
    **dict.fromkeys(("nn.softplus", "nn.silu", "nn.mish", "nn.hard_swish"), activation_samples()),
    "nn.gelu": activation_samples(approximate=st.sampled_from(("none", "tanh"))).map(_not_steep),
    "nn.hard_sigmoid": st.one_of(activation_samples(), activation_samples(alpha=POSITIVE, beta=POSITIVE)),
    "nn.dropout": tensor_samples(lambda draw, data: {"rate": draw(st.sampled_from((0.0, 0.5, 1.0)))}, dtypes=ALL),
}
