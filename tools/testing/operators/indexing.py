"""Samples of operators that read or write at the indices in a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from .sampling import ALL, FLOATS, INTEGERS, NUMBERS, SHAPES, Array, Draw, Sample, any_axis, numbers


def random_indices(draw: Draw, shape: Sequence[int]) -> Array:
    """Random indices, negative and out-of-range indices among them."""
    far = draw(st.sampled_from((2, 9)))
    return numbers(draw, shape, draw(st.sampled_from(INTEGERS)), -far, far)


def _part(draw: Draw, shape: Sequence[int], axis: int, longest: int) -> list[int]:
    """A shape bounded by `shape`, except along `axis`."""
    kept = [n if draw(st.booleans()) else draw(st.integers(0, n)) for n in shape]
    kept[axis] = draw(st.sampled_from((0, 1, 3, 5, longest)))
    return kept


@st.composite
def gather_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(ALL)))
    axis = any_axis(draw, data.ndim)
    return Sample([data, random_indices(draw, _part(draw, data.shape, axis, 9))], {"axis": axis})


@st.composite
def gather_nd_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    batch = draw(st.integers(0, data.ndim))
    count = draw(st.integers(0, data.ndim - batch))
    return Sample([data, random_indices(draw, [count, *data.shape[:batch], *draw(SHAPES)[:2]])], {"batch_dims": batch})


def _mode(draw: Draw, *more: str) -> tuple[str, str]:
    """A mode of combining elements and updates, and a data type."""
    mode = draw(st.sampled_from(("update", "add", "mul", "min", "max", *more)))
    return mode, draw(st.sampled_from(ALL if mode == "update" else FLOATS if mode == "mean" else NUMBERS))


@st.composite
def scatter_samples(draw: Draw) -> Sample:
    mode, dtype = _mode(draw, "mean")
    bound = 1 if mode == "mul" else 8
    data = numbers(draw, draw(SHAPES.filter(bool)), dtype, -bound, bound)
    axis = any_axis(draw, data.ndim)
    indices = random_indices(draw, _part(draw, data.shape, axis, 80))
    return Sample(
        [data, indices, numbers(draw, indices.shape, dtype, -bound, bound)], {"axis": axis, "reduction": mode}
    )


@st.composite
def scatter_nd_samples(draw: Draw) -> Sample:
    mode, dtype = _mode(draw)
    bound = 1 if mode == "mul" else 8
    data = numbers(draw, draw(SHAPES), dtype, -bound, bound)
    count = draw(st.integers(0, data.ndim))
    rows = draw(st.one_of(SHAPES.map(lambda shape: shape[:2]), st.just((90,)), st.just((5, 20))))
    updates = numbers(draw, (*rows, *data.shape[count:]), dtype, -bound, bound)
    return Sample([data, random_indices(draw, (count, *rows)), updates], {"mode": mode})


@st.composite
def segment_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from(NUMBERS)))
    return Sample([data, random_indices(draw, data.shape[:1])], {"num_segments": draw(st.sampled_from((0, 1, 3, 8)))})


@st.composite
def reverse_sequence_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(lambda shape: len(shape) > 1)), draw(st.sampled_from(ALL)))
    along, batch = draw(st.permutations(range(data.ndim)))[:2]
    lengths = random_indices(draw, (data.shape[batch],))
    return Sample([data, lengths], {"seq_axis": along - draw(st.sampled_from((0, data.ndim))), "batch_axis": batch})


@st.composite
def sequence_mask_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES.filter(lambda shape: len(shape) > 1)), draw(st.sampled_from(NUMBERS)))
    axis = draw(st.integers(0, 1))
    return Sample(
        [data, random_indices(draw, (data.shape[1 - axis],))], {"mask_value": draw(st.integers(0, 3)), "axis": axis}
    )


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "gather": gather_samples(),
    "gather_nd": gather_nd_samples(),
    "reverse_sequence": reverse_sequence_samples(),
    "sequence_mask": sequence_mask_samples(),
    "scatter_elements": scatter_samples(),
    "scatter_nd": scatter_nd_samples(),
    "segment_sum": segment_samples(),
}
