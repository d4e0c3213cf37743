"""Samples of operators that normalize elements to mean 0 and variance 1, or to norm 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from .sampling import EXTENTS, FLOATS, SHAPES, Array, Draw, Sample, any_axis, float_samples, numbers

EPSILONS = st.sampled_from((1e-5, 1e-3, 0.25))


def _flags(draw: Draw) -> dict[str, Any]:
    return {"epsilon": draw(EPSILONS), "center": draw(st.booleans()), "scale": draw(st.booleans())}


def _vector(draw: Draw, data: Array, axes: Sequence[int], low: float = -2, high: float = 2) -> Array:
    return numbers(draw, [data.shape[d] for d in axes], data.dtype.name, low, high)


def _factors(draw: Draw, data: Array, *axes: int) -> list[Array]:
    """The scale and the bias of a normalization, with biases large enough to exclude cancellation."""
    return [_vector(draw, data, axes), _vector(draw, data, axes, 8, 16)]


def _data(draw: Draw, shapes: st.SearchStrategy[tuple[int, ...]]) -> Array:
    return numbers(draw, draw(shapes), draw(st.sampled_from(FLOATS)))


def _some_axes(draw: Draw, rank: int) -> Any:
    """An axis, or a nonempty list of axes."""
    several = st.permutations(range(-rank, 0)).flatmap(lambda order: st.integers(1, rank).map(lambda n: order[:n]))
    return draw(st.one_of(st.integers(-rank, rank - 1), several))


@st.composite
def batches(draw: Draw) -> Sample:
    """Operands of a batch norm with elements not less than the mean, so that the bias does not cancel."""
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(FLOATS)), 2, 8)
    axis = any_axis(draw, data.ndim)
    vectors = [_vector(draw, data, [axis], *bounds) for bounds in ((0, 2), (0, 2), (-2, 2), (0, 4))]
    return Sample([data, *vectors], {"axis": axis, **_flags(draw)})


@st.composite
def training_batches(draw: Draw) -> Sample:
    """Operands of a batch norm in training."""
    data = _data(draw, SHAPES.filter(bool))
    axis = any_axis(draw, data.ndim)
    moving = [_vector(draw, data, [axis], *bounds) for bounds in ((0, 2), (0, 4))]
    momentum = draw(st.sampled_from((0.0, 0.1, 0.25, 1.0)))
    operands = [data, *_factors(draw, data, axis), *moving]
    return Sample(operands, {"axis": axis, **_flags(draw), "momentum": momentum})


@st.composite
def layers(draw: Draw) -> Sample:
    data = _data(draw, SHAPES.filter(bool))
    axis = _some_axes(draw, data.ndim)
    axes = [axis] if isinstance(axis, int) else axis
    return Sample([data, *_factors(draw, data, *axes)], {"axis": axis, **_flags(draw)})


@st.composite
def instances(draw: Draw) -> Sample:
    data = _data(draw, st.lists(EXTENTS, min_size=2, max_size=4).map(tuple))
    axis = any_axis(draw, data.ndim)
    return Sample([data, *_factors(draw, data, axis)], {"axis": axis, **_flags(draw)})


@st.composite
def groups(draw: Draw) -> Sample:
    count, size = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    shape = draw(st.lists(EXTENTS, min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape)))
    shape.insert(axis, count * size)
    data = _data(draw, st.just(tuple(shape)))
    axis -= data.ndim if draw(st.booleans()) else 0
    attributes = {"num_groups": count, "axis": axis, **_flags(draw)}
    return Sample([data, *_factors(draw, data, axis)], attributes)


@st.composite
def roots(draw: Draw) -> Sample:
    data = _data(draw, SHAPES.filter(bool))
    axis = _some_axes(draw, data.ndim)
    weight = _vector(draw, data, [axis] if isinstance(axis, int) else axis)
    return Sample([data, weight], {"axis": axis, "epsilon": draw(EPSILONS)})


def _norm(draw: Draw, data: Array) -> dict[str, Any]:
    axis = _some_axes(draw, data.ndim) if data.ndim and draw(st.booleans()) else None
    return {"eps": draw(EPSILONS), "axis": axis}


def _neighbours(draw: Draw, data: Array) -> dict[str, Any]:
    attributes: dict[str, Any] = {"size": draw(st.integers(1, 6)), "axis": any_axis(draw, data.ndim)}
    bias, alpha, beta = (draw(st.sampled_from(each)) for each in ((1, 2, 0.5), (1e-5, 0.5, 1), (0.75, 0.5, 1)))
    return attributes | {"bias": bias, "alpha": alpha, "beta": beta}


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "nn.batch_norm": batches(),
    "nn.batch_norm_training": training_batches(),
    "nn.layer_norm": layers(),
    "nn.instance_norm": instances(),
    "nn.group_norm": groups(),
    "nn.rms_norm": roots(),
    "nn.l2_normalize": float_samples(_norm),
    "nn.lrn": float_samples(_neighbours, rank=1),
}
