"""Operators that read and write at places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..call import Call, axis_in
from ..errors import OnnxUnsupportedError
from ..registry import importer
from ..values import Tensor, known_numbers
from .elementwise import extreme_of
from .shapes import moved, reshaped, small, transposed, unsqueezed


@importer("Gather")
def gather(call: Call) -> Tensor:
    data, indices = call.tensor(0), call.tensor(1)
    axis = axis_in(call.integer("axis"), data.rank)
    if small(data) and indices.array is not None:
        assert data.known is not None
        return moved(data, np.take(data.known, indices.array, axis))
    extent = data.shape[axis]
    if extent == 0:
        raise OnnxUnsupportedError("Gather along an axis without elements")
    is_plain = indices.array is not None and bool((indices.array >= 0).all())
    return call.op("take", data, indices, axis=axis, mode="clip" if is_plain else "wrap")


@importer("GatherElements")
def gather_elements(call: Call) -> Tensor:
    data = call.tensor(0)
    return call.op("gather", data, call.tensor(1), axis=axis_in(call.integer("axis"), data.rank))


@importer("GatherND")
def gather_nd(call: Call) -> Tensor:
    data, indices, shared = call.tensor(0), call.tensor(1), call.integer("batch_dims")
    order = [indices.rank - 1, *range(indices.rank - 1)]
    return call.op("gather_nd", data, transposed(call, indices, order), batch_dims=shared)


_COMBINED = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@importer("ScatterElements", "Scatter")
def scatter_elements(call: Call) -> Tensor:
    data, indices, updates = call.tensors
    axis = axis_in(call.integer("axis"), data.rank)
    how = _COMBINED[call.text("reduction", "none")]
    return call.op("scatter_elements", data, indices, updates, axis=axis, reduction=how)


@importer("ScatterND")
def scatter_nd(call: Call) -> Tensor:
    data, indices, updates = call.tensors
    order = [indices.rank - 1, *range(indices.rank - 1)]
    how = _COMBINED[call.text("reduction", "none")]
    return call.op("scatter_nd", data, transposed(call, indices, order), updates, mode=how)


@importer("OneHot")
def one_hot(call: Call) -> Tensor:
    indices, values = call.tensor(0), call.tensor(2)
    depth = int(call.number(1, "depth"))
    axis = axis_in(call.integer("axis", -1), indices.rank + 1)
    places = indices if "int" in indices.dtype and indices.dtype != "uint64" else call.cast(indices, "int64")
    places = call.cast(places, "int64")
    places = call.op("where", call.scalar("less", places, 0), call.scalar("add", places, depth), places)
    is_there = call.op("one_hot", places, on_value=1, off_value=0, depth=depth, axis=axis, dtype="int8")
    off, on = (call.op("take", values, call.constant(n, "int64"), axis=0) for n in range(2))
    return call.op("where", call.scalar("not_equal", is_there, 0), on, off)


@importer("ReverseSequence")
def reverse_sequence(call: Call) -> Tensor:
    axes: dict[str, Any] = {"seq_axis": call.integer("time_axis"), "batch_axis": call.integer("batch_axis", 1)}
    return call.op("reverse_sequence", call.tensor(0), call.tensor(1), **axes)


@importer("NonZero")
def non_zero(call: Call) -> Tensor:
    known = call.known(0, "the operand")
    return call.constant(np.stack(np.nonzero(known)), "int64")


@importer("Compress")
def compress(call: Call) -> Tensor:
    data, condition = call.tensor(0), call.known(1, "condition")
    assert condition is not None
    axis = call.attribute("axis")
    places = np.flatnonzero(condition)
    if axis is None:
        data, axis = reshaped(call, data, [-1]), 0
    return call.op("take", data, call.constant(places, "int64"), axis=axis_in(axis, data.rank))


@importer("TensorScatter")
def tensor_scatter(call: Call) -> Tensor:
    """Updates along an axis from a place on that each number of the first axis has."""
    data, update = call.tensor(0), call.tensor(1)
    axis = axis_in(call.integer("axis", -2), data.rank)
    circular = call.text("mode", "linear") == "circular"
    batch, count, extent = known_numbers([data.shape[0], update.shape[axis], data.shape[axis]], "TensorScatter of")
    start = call.optional(2) or call.constant(np.zeros(batch), "int64")
    offsets = call.constant(np.arange(count), "int64")
    places = call.op("add", unsqueezed(call, start, [1]), unsqueezed(call, offsets, [0]))
    if circular:
        places = call.scalar("floor_mod", places, extent)
    middle = [batch if d == 0 else count if d == axis else 1 for d in range(data.rank)]
    spread = call.builder.expand(call.builder.reshape(places, middle), update.extents)
    return call.op("scatter_elements", data, spread, update, axis=axis)


# Images read at places that are computed


@importer("GridSample")
def grid_sample(call: Call) -> Tensor:
    x, grid = call.tensor(0), call.tensor(1)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(call.text("mode", "linear"), call.text("mode", "linear"))
    padding, corners = call.text("padding_mode", "zeros"), call.integer("align_corners") == 1
    rank = x.rank - 2
    if mode == "cubic" and rank != 2:
        raise OnnxUnsupportedError(f"GridSample: cubic of {rank} dimensions")
    return _Grid(call, call.widened(x), call.widened(grid), padding, corners).sampled(mode)


class _Grid:
    """Places in an image between its elements."""

    def __init__(self, call: Call, x: Tensor, grid: Tensor, padding: str, corners: bool):
        self.call, self.x, self.padding, self.corners = call, x, padding, corners
        self.extents = known_numbers(x.shape[2:], "GridSample of an image of extents")
        self.batch = known_numbers(x.shape[:1], "GridSample of so many images")[0]
        self.rank = len(self.extents)
        self.out = grid.shape[1:-1]
        self.dtype = x.dtype
        grid = call.cast(grid, x.dtype)
        self.places = [self._place(grid, d) for d in range(self.rank)]

    def _place(self, grid: Tensor, dimension: int) -> Tensor:
        """Where along a dimension, as a number of elements. The grid has the last dimension first."""
        call, extent = self.call, self.extents[dimension]
        part = call.op("take", grid, call.constant(self.rank - 1 - dimension, "int64"), axis=grid.rank - 1)
        part = call.scalar("add", part, 1)
        if self.corners:
            return call.scalar("multiply", part, (extent - 1) / 2)
        return call.scalar("divide", call.scalar("subtract", call.scalar("multiply", part, extent), 1), 2)

    def _bounds(self, dimension: int) -> tuple[float, float]:
        extent = self.extents[dimension]
        return (0.0, extent - 1.0) if self.corners else (-0.5, extent - 0.5)

    def _folded(self, place: Tensor, dimension: int) -> Tensor:
        """A place in the image, where there may be none, by the mode of padding."""
        call, (low, high) = self.call, self._bounds(dimension)
        extent = self.extents[dimension]
        if self.padding == "border":
            return self._clipped(place, 0, extent - 1)
        if self.padding != "reflection":
            return place
        span = high - low
        if span == 0:
            return call.scalar("multiply", place, 0)
        offset = call.scalar("subtract", place, low)
        rest = call.scalar("floor_mod", offset, 2 * span)
        mirrored = call.op("minimum", rest, call.op("subtract", call.builder.number(2 * span, self.dtype), rest))
        return call.scalar("add", mirrored, low)

    def _clipped(self, place: Tensor, low: float, high: float) -> Tensor:
        call = self.call
        number = call.builder.number
        upper = extreme_of(call, "Min", number(high, place.dtype), place)
        return extreme_of(call, "Max", number(low, place.dtype), upper)

    def element(self, at: Sequence[Tensor]) -> Tensor:
        """The elements (n, c, ...) at places that are whole numbers, 0 outside if the padding is."""
        call = self.call
        inside: Tensor | None = None
        flat: Tensor | None = None
        for dimension, place in enumerate(at):
            extent = self.extents[dimension]
            place = place if self.padding == "zeros" else self._folded(place, dimension)
            if self.padding == "zeros":
                fits = call.op(
                    "logical_and", call.scalar("greater_equal", place, 0), call.scalar("less", place, extent)
                )
                inside = fits if inside is None else call.op("logical_and", inside, fits)
            number = call.cast(self._clipped(place, 0, extent - 1), "int64")
            flat = number if flat is None else call.op("add", call.scalar("multiply", flat, extent), number)
        assert flat is not None
        images = call.builder.reshape(self.x, [self.batch, self.x.extents[1], int(np.prod(self.extents))])
        rows = call.builder.reshape(flat, [self.batch, int(np.prod(self.out))])
        taken = transposed(call, images, (0, 2, 1))
        found = call.op("take", taken, rows, axis=1, batch_dims=1)
        found = transposed(call, found, (0, 2, 1))
        found = call.builder.reshape(found, [self.batch, self.x.extents[1], *self.out])
        if inside is None:
            return found
        return call.op("where", call.op("expand_dims", inside, axis=1), found, call.builder.number(0, self.dtype))

    def sampled(self, mode: str) -> Tensor:
        call = self.call
        if mode == "nearest":
            made = self.element([call.op("round", self._read_at(d)) for d in range(self.rank)])
        elif mode == "linear":
            made = self._mean(2, self._linear)
        else:
            made = self._mean(4, self._cubic)
        return call.cast(made, call.tensor(0).dtype)

    def _read_at(self, dimension: int) -> Tensor:
        place = self.places[dimension]
        return place if self.padding == "zeros" else self._folded(place, dimension)

    def _mean(self, taps: int, weights: Any) -> Tensor:
        """The sum of elements around places by their weights."""
        call = self.call
        read = self._read_at if taps == 2 else lambda d: self.places[d]
        first = [call.op("floor", read(d)) for d in range(self.rank)]
        along = [weights(call.op("subtract", read(d), first[d])) for d in range(self.rank)]
        total: Tensor | None = None
        for taken in np.ndindex(*[taps] * self.rank):
            at = [call.scalar("add", first[d], n - taps // 2 + 1) for d, n in enumerate(taken)]
            weight = along[0][taken[0]]
            for d in range(1, self.rank):
                weight = call.op("multiply", weight, along[d][taken[d]])
            part = call.op("multiply", self.element(at), call.op("expand_dims", weight, axis=1))
            total = part if total is None else call.op("add", total, part)
        assert total is not None
        return total

    def _linear(self, part: Tensor) -> list[Tensor]:
        return [self.call.op("subtract", self.call.builder.number(1, part.dtype), part), part]

    def _cubic(self, part: Tensor) -> list[Tensor]:
        """Keys' weights with a slope of -0.75, as ONNX has them."""
        call, a = self.call, -0.75
        one = call.builder.number(1, part.dtype)
        rest = call.op("subtract", one, part)

        def near(t: Tensor) -> Tensor:  # ((a + 2) t - (a + 3)) t t + 1
            inner = call.scalar("subtract", call.scalar("multiply", t, a + 2), a + 3)
            return call.scalar("add", call.op("multiply", call.op("multiply", inner, t), t), 1)

        def far(t: Tensor) -> Tensor:  # ((a t - 5 a) t + 8 a) t - 4 a
            inner = call.scalar("subtract", call.scalar("multiply", t, a), 5 * a)
            inner = call.scalar("add", call.op("multiply", inner, t), 8 * a)
            return call.scalar("subtract", call.op("multiply", inner, t), 4 * a)

        return [far(call.scalar("add", part, 1)), near(part), near(rest), far(call.scalar("add", rest, 1))]


@importer("Col2Im")
def col2im(call: Call) -> Tensor:
    """Blocks added to an image: a transposed convolution with weights that are 1 at one place each."""
    x = call.tensor()
    image, block = call.numbers(1, "image_shape") or (), call.numbers(2, "block_shape") or ()
    rank = len(image)
    if not 1 <= rank <= 3:
        raise OnnxUnsupportedError(f"Col2Im of {rank} dimensions, expected 1 to 3")
    strides = list(call.integers("strides") or [1] * rank)
    dilations = list(call.integers("dilations") or [1] * rank)
    pads = list(call.integers("pads") or [0] * (2 * rank))
    batch, rows = x.numbers[:2]
    taps = int(np.prod(block))
    counts = [
        (n + pads[d] + pads[d + rank] - ((block[d] - 1) * dilations[d] + 1)) // strides[d] + 1
        for d, n in enumerate(image)
    ]
    left = [
        n + pads[d] + pads[d + rank] - ((counts[d] - 1) * strides[d] + (block[d] - 1) * dilations[d] + 1)
        for d, n in enumerate(image)
    ]
    data = call.builder.reshape(x, [batch * rows // taps, taps, *counts])
    weight = np.eye(taps, dtype=x.dtype).reshape(taps, 1, *block)
    made = call.op(
        f"nn.conv{rank}d_transpose",
        data,
        call.constant(weight),
        strides=strides,
        dilation=dilations,
        padding=pads,
        output_padding=left,
    )
    return call.builder.reshape(made, [batch, rows // taps, *image])
