"""Samples of operators that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .sampling import (
    ALL,
    EXTENTS,
    FILLED,
    FLOATS,
    INTEGERS,
    SHAPES,
    SIGNED,
    SMALL,
    Array,
    Draw,
    Sample,
    any_axis,
    binary_samples,
    numbers,
    tensor_samples,
)


def _newshape(draw: Draw, data: Array) -> dict[str, Any]:
    """The attribute `newshape`, with each of its codes."""
    kind = draw(st.sampled_from(("flat", "same", "rest", "merged", "cut", "ones")))
    if kind == "same":
        return {"newshape": [0] * data.ndim}
    if kind == "rest" and data.ndim:
        return {"newshape": draw(st.sampled_from(([0, -2], [-2])))}
    if kind == "merged" and data.ndim > 1:
        return {"newshape": [-3, *[0] * (data.ndim - 2)]}
    if kind == "cut" and data.ndim:
        return {"newshape": [-4, 1, -1, -2]}
    if kind == "ones":
        return {"newshape": [1, -1]}
    last = [n for n in data.shape[-1:] if n]
    return {"newshape": [-1, *draw(st.sampled_from(([], last)))]}


def _reversed_shape(draw: Draw, data: Array) -> dict[str, Any]:
    """The attribute `newshape` of the reshape from the right."""
    kind = draw(st.sampled_from(("flat", "same", "merged", "ones")))
    if kind == "merged" and data.ndim > 1:
        return {"newshape": [*[0] * (data.ndim - 2), -3]}
    if kind == "same":
        return {"newshape": [0] * data.ndim}
    return {"newshape": [-1, 1] if kind == "ones" else [-1]}


def _slice(draw: Draw, data: Array) -> dict[str, Any]:
    chosen = draw(st.permutations(range(data.ndim)).map(lambda order: order[: max(1, data.ndim - 1)]))
    count = len(chosen)
    bound, step = st.integers(-9, 9), st.sampled_from((1, 1, 2, 3, -1, -2))
    begin, end, strides = (draw(st.lists(each, min_size=count, max_size=count)) for each in (bound, bound, step))
    return {"begin": begin, "end": end, "strides": strides, "axes": list(chosen)}


@st.composite
def slice_updates(draw: Draw) -> Sample:
    """A tensor, and another slice of it."""
    data = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from((*ALL, *SMALL))))
    chosen = _slice(draw, data)
    bounds = {name: chosen[name][: draw(st.integers(1, data.ndim))] for name in ("begin", "end", "strides")}
    count = min(map(len, bounds.values()))
    bounds = {name: values[:count] for name, values in bounds.items()}
    where = tuple(slice(*each) for each in zip(*bounds.values(), strict=True))
    return Sample([data, numbers(draw, data[where].shape, data.dtype.name)], bounds)


@st.composite
def streams(draw: Draw) -> Sample:
    """Slices of data, and a buffer that holds them."""
    buffer = numbers(draw, draw(SHAPES.filter(bool)), draw(st.sampled_from((*ALL, *SMALL))))
    axis = any_axis(draw, buffer.ndim)
    shape = list(buffer.shape)
    shape[axis] = draw(st.integers(0, shape[axis]))
    return Sample([numbers(draw, shape, buffer.dtype.name), buffer], {"axis": axis})


def _sections(draw: Draw, data: Array) -> dict[str, Any]:
    axis = any_axis(draw, data.ndim)
    extent = data.shape[axis]
    if draw(st.booleans()):
        divisors = [n for n in range(1, extent + 1) if extent % n == 0]
        return {"indices_or_sections": draw(st.sampled_from(divisors)), "axis": axis}
    return {"indices_or_sections": sorted(draw(st.lists(st.integers(0, extent), max_size=3))), "axis": axis}


def _broadcast_shape(draw: Draw, data: Array) -> dict[str, Any]:
    shape = [draw(st.integers(1, 5)) if n == 1 else n for n in data.shape]
    return {"shape": [*draw(st.lists(st.integers(1, 3), max_size=2)), *shape]}


@st.composite
def concatenation_samples(draw: Draw, stacked: bool) -> Sample:
    """Tensors of one type, with equal shapes except along the axis of their concatenation."""
    shape, dtype = draw(SHAPES.filter(lambda shape: stacked or bool(shape))), draw(st.sampled_from(ALL))
    axis = any_axis(draw, len(shape) + stacked)
    shapes: list[list[int]] = []
    for _ in range(draw(st.integers(1, 4))):
        shapes.append(list(shape))
        if not stacked:
            shapes[-1][axis] = draw(EXTENTS)
    return Sample([numbers(draw, each, dtype) for each in shapes], {"axis": axis})


@st.composite
def choices(draw: Draw) -> Sample:
    """A condition and two tensors with broadcastable shapes."""
    pair, whole = draw(binary_samples(ALL)), draw(st.booleans())
    shape = np.broadcast_shapes(*(each.shape for each in pair.operands)) if whole else ()
    return Sample([numbers(draw, shape, "bool"), *pair.operands])


@st.composite
def take_samples(draw: Draw) -> Sample:
    data = numbers(draw, draw(SHAPES), draw(st.sampled_from(ALL)))
    axis = draw(st.one_of(st.none(), st.integers(-data.ndim, data.ndim - 1))) if data.ndim else None
    mode = draw(st.sampled_from(("clip", "wrap", "fast")))
    extent = data.size if axis is None else data.shape[axis]
    shared = draw(st.integers(0, axis % data.ndim)) if axis is not None else 0
    shape = (*data.shape[:shared], *draw(SHAPES))
    indices = numbers(draw, shape, draw(st.sampled_from(INTEGERS)), -20, 20)
    if mode == "fast":
        indices = np.asarray(np.abs(indices) % max(min(extent, 100), 1), indices.dtype)
    from_end = len(shape) * (0 < shared < len(shape) and draw(st.booleans()))
    return Sample([data, indices], {"axis": axis, "batch_dims": shared - from_end, "mode": mode})


@st.composite
def one_hot_samples(draw: Draw) -> Sample:
    indices = numbers(draw, draw(SHAPES), draw(st.sampled_from(INTEGERS)), -2, 8)
    attributes = {
        "on_value": draw(st.integers(1, 3)),
        "off_value": draw(st.integers(-1, 0)),
        "depth": draw(st.integers(1, 7)),
    }
    dtype = draw(st.sampled_from((*FLOATS, *SIGNED)))
    return Sample([indices], attributes | {"axis": any_axis(draw, indices.ndim + 1), "dtype": dtype})


def _windows(draw: Draw, data: Array) -> dict[str, Any]:
    first = draw(st.integers(0, data.ndim - 1))
    sizes = [draw(st.integers(1, extent)) for extent in data.shape[first:]]
    axis = first - draw(st.sampled_from((0, data.ndim)))
    return {"axis": axis, "window_shape": sizes, "strides": [draw(st.integers(1, 3)) for _ in sizes]}


# Neural networks


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "reshape": tensor_samples(_newshape),
    "contrib_reverse_reshape": tensor_samples(_reversed_shape),
    "squeeze": tensor_samples(
        lambda draw, data: {
            "axis": draw(st.sampled_from((None, tuple(d for d, n in enumerate(data.shape) if n == 1)[:1])))
        }
    ),
    "expand_dims": tensor_samples(
        lambda draw, data: {"axis": any_axis(draw, data.ndim + 1), "num_newaxis": draw(st.integers(0, 2))}
    ),
    "broadcast_to": tensor_samples(_broadcast_shape),
    "transpose": tensor_samples(
        lambda draw, data: {"axes": draw(st.one_of(st.none(), st.permutations(range(data.ndim))))}
    ),
    "reverse": tensor_samples(lambda draw, data: {"axis": any_axis(draw, data.ndim)}, rank=1),
    "repeat": tensor_samples(
        lambda draw, data: {"repeats": draw(st.integers(1, 3)), "axis": any_axis(draw, data.ndim)}, rank=1
    ),
    "tile": tensor_samples(lambda draw, data: {"reps": draw(st.lists(st.integers(1, 3), max_size=4))}),
    "nn.fifo_buffer": streams(),
    "strided_set": slice_updates(),
    "strided_slice": tensor_samples(_slice, rank=1),
    "sliding_window": tensor_samples(_windows, FILLED, rank=1),
    "split": tensor_samples(_sections, FILLED, rank=1),
    "concatenate": concatenation_samples(stacked=False),
    "stack": concatenation_samples(stacked=True),
    "where": choices(),
    "take": take_samples(),
    "one_hot": one_hot_samples(),
}
