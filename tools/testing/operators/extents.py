"""Operators on tensors of any static extents, large ones included, with the exact shapes of their results.

No such tensor is computed: only its type is inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from hypothesis import strategies as st

from .sampling import Draw

LARGE = (
    1,
    2,
    3,
    7,
    2**10,
    2**16 + 1,
    2**30,
    2**31 - 1,
    2**31,
    2**31 + 1,
    2**32 + 5,
    2**40,
    2**53 + 1,
    2**62,
    2**63 - 1,
)
EXTENTS = st.sampled_from(LARGE)
COUNTS = st.sampled_from((1, 2, 3, 5, 2**16 + 1, 2**31, 2**40, 2**63 - 1, 2**64 + 3))
SHAPES = st.lists(EXTENTS, min_size=1, max_size=3)


@dataclass(frozen=True)
class ShapeSample:
    """The shapes of operands, the attributes, and the exact shapes of the results; None where the operands do not go
    together."""

    operands: list[list[int]]
    attributes: dict[str, Any]
    results: list[list[int]]


Rule = Callable[[Draw], ShapeSample]


def _along(shape: Sequence[int], axis: int, extent: int) -> list[int]:
    return [*shape[:axis], extent, *shape[axis + 1 :]]


def _tile(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    reps = tuple(draw(st.lists(COUNTS, min_size=len(shape), max_size=len(shape) + 1)))
    own = [1] * (len(reps) - len(shape)) + shape
    return ShapeSample([shape], {"reps": reps}, [[a * b for a, b in zip(own, reps, strict=True)]])


def _repeat(draw: Draw) -> ShapeSample:
    shape, count = draw(SHAPES), draw(COUNTS)
    axis = draw(st.integers(0, len(shape) - 1))
    return ShapeSample([shape], {"repeats": count, "axis": axis}, [_along(shape, axis, shape[axis] * count)])


def _concatenate(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    axis = draw(st.integers(0, len(shape) - 1))
    extents = draw(st.lists(EXTENTS, min_size=1, max_size=5))
    shapes = [_along(shape, axis, extent) for extent in extents]
    return ShapeSample(shapes, {"axis": axis}, [_along(shape, axis, sum(extents))])


def _stack(draw: Draw) -> ShapeSample:
    shape, count = draw(SHAPES), draw(st.integers(1, 4))
    return ShapeSample([shape] * count, {"axis": 1}, [[shape[0], count, *shape[1:]]])


def _pad(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    widths = tuple((draw(COUNTS), draw(COUNTS)) for _ in shape)
    mode = draw(st.sampled_from(("constant", "edge", "reflect", "wrap")))
    result = [extent + sum(pair) for extent, pair in zip(shape, widths, strict=True)]
    return ShapeSample([shape], {"pad_width": widths, "pad_mode": mode}, [result])


def _mirror_pad(draw: Draw) -> ShapeSample:
    sample = _pad(draw)
    attributes = {"pad_width": sample.attributes["pad_width"]}
    return ShapeSample(sample.operands, attributes, sample.results)


def _flat(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    return ShapeSample([shape], {"newshape": (-1,)}, [[prod(shape)]])


def _merge(draw: Draw) -> ShapeSample:
    shape = draw(st.lists(EXTENTS, min_size=2, max_size=3))
    return ShapeSample([shape], {"newshape": (-3, -2)}, [[shape[0] * shape[1], *shape[2:]]])


def _reshape(draw: Draw) -> ShapeSample:
    return draw(st.sampled_from((_flat, _merge)))(draw)


def _batch_flatten(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    return ShapeSample([shape], {}, [[shape[0], prod(shape[1:])]])


def _depth_to_space(draw: Draw) -> ShapeSample:
    size, channels = draw(st.sampled_from((1, 2, 2**16 + 1, 2**31))), draw(st.sampled_from((1, 3)))
    n, h, w = draw(EXTENTS), draw(EXTENTS), draw(EXTENTS)
    attributes = {"block_size": size}
    return ShapeSample([[n, channels * size * size, h, w]], attributes, [[n, channels, h * size, w * size]])


def _space_to_depth(draw: Draw) -> ShapeSample:
    size = draw(st.sampled_from((1, 2, 2**16 + 1, 2**31)))
    n, c, h, w = draw(EXTENTS), draw(EXTENTS), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return ShapeSample([[n, c, h * size, w * size]], {"block_size": size}, [[n, c * size * size, h, w]])


def _upsampling(draw: Draw) -> ShapeSample:
    n, c, h, w = (draw(EXTENTS) for _ in range(4))
    scales = draw(st.sampled_from((1.0, 2.0, 65537.0, 2.0**31))), draw(st.sampled_from((1.0, 3.0)))
    method = draw(st.sampled_from(("nearest_neighbor", "bilinear")))
    attributes = {"scale_h": scales[0], "scale_w": scales[1], "method": method}
    return ShapeSample([[n, c, h, w]], attributes, [[n, c, h * int(scales[0]), w * int(scales[1])]])


def _windows(extent: int, window: int, stride: int, padding: int, dilation: int = 1) -> int:
    return (extent + 2 * padding - dilation * (window - 1) - 1) // stride + 1


def _conv1d(draw: Draw) -> ShapeSample:
    n, features, width = (draw(EXTENTS) for _ in range(3))
    channels, taps, padding, stride, dilation = draw(st.integers(1, 3)), draw(EXTENTS), *(draw(COUNTS) for _ in "psd")
    attributes = {"strides": stride, "padding": padding, "dilation": dilation}
    result = [n, features, _windows(width, taps, stride, padding, dilation)]
    return ShapeSample([[n, channels, width], [features, channels, taps]], attributes, [result])


def _conv1d_transpose(draw: Draw) -> ShapeSample:
    n, features, width, channels, taps = (*(draw(EXTENTS) for _ in range(3)), 2, draw(st.sampled_from((1, 3, 2**31))))
    padding, stride = draw(st.sampled_from((0, 1))), draw(st.sampled_from((1, 2, 65537, 2**31)))
    result = [n, features, (width - 1) * stride - 2 * padding + taps]
    attributes = {"strides": stride, "padding": padding}
    return ShapeSample([[n, channels, width], [channels, features, taps]], attributes, [result])


def _pool1d(draw: Draw) -> ShapeSample:
    n, c, width, window = (draw(EXTENTS) for _ in range(4))
    padding, stride = draw(st.sampled_from((0, 1))), draw(COUNTS)
    attributes = {"pool_size": window, "strides": stride, "padding": padding}
    return ShapeSample([[n, c, width]], attributes, [[n, c, _windows(width, window, stride, padding)]])


def _arange(draw: Draw) -> ShapeSample:
    start, stop, step = draw(st.sampled_from((0, -(2**40)))), draw(EXTENTS), draw(st.sampled_from((1, 3)))
    attributes = {"start": start, "stop": stop, "step": step, "dtype": "int64"}
    return ShapeSample([], attributes, [[-((start - stop) // step)]])


def _one_hot(draw: Draw) -> ShapeSample:
    shape, depth = draw(SHAPES), draw(COUNTS)
    attributes = {"on_value": 1.0, "off_value": 0.0, "depth": depth, "dtype": "int8"}
    return ShapeSample([shape], attributes, [[*shape, depth]])


def _filled(draw: Draw) -> ShapeSample:
    shape = draw(st.lists(COUNTS, max_size=3))
    return ShapeSample([], {"shape": tuple(shape), "dtype": "int8"}, [shape])


def _eye(draw: Draw) -> ShapeSample:
    rows, columns = draw(COUNTS), draw(COUNTS)
    return ShapeSample([], {"rows": rows, "columns": columns, "dtype": "int8"}, [[rows, columns]])


def _broadcast_to(draw: Draw) -> ShapeSample:
    shape = draw(st.lists(COUNTS, min_size=1, max_size=3))
    own = [1 if draw(st.booleans()) else extent for extent in shape if extent < 2**63]
    shape = [extent for extent in shape if extent < 2**63]
    return ShapeSample([own], {"shape": (2**31, *shape)}, [[2**31, *shape]])


def _binary(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    sides = [[1 if draw(st.booleans()) else extent for extent in shape] for _ in range(2)]
    return ShapeSample(sides, {}, [[max(pair) for pair in zip(*sides, strict=True)]])


def _dense(draw: Draw) -> ShapeSample:
    m, n, k = (draw(EXTENTS) for _ in range(3))
    return ShapeSample([[m, k], [n, k]], {}, [[m, n]])


def _einsum(draw: Draw) -> ShapeSample:
    m, n, k = (draw(EXTENTS) for _ in range(3))
    return ShapeSample([[m, k], [n]], {"equation": "ik,j->ikj"}, [[m, k, n]])


def _expand_dims(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    return ShapeSample([shape], {"axis": 0, "num_newaxis": 2}, [[1, 1, *shape]])


def _transpose(draw: Draw) -> ShapeSample:
    shape = draw(SHAPES)
    return ShapeSample([shape], {}, [shape[::-1]])


def _strided_slice(draw: Draw) -> ShapeSample:
    extent, begin, step = draw(EXTENTS), draw(EXTENTS), draw(COUNTS)
    attributes = {"begin": (begin,), "end": (2**64,), "strides": (step,)}
    return ShapeSample([[extent]], attributes, [[max(0, ceil_divide(extent - begin, step))]])


def ceil_divide(a: int, b: int) -> int:
    return -(-a // b)


def _split(draw: Draw) -> ShapeSample:
    extent = draw(EXTENTS)
    cut = draw(st.sampled_from([n for n in LARGE if n <= extent]))
    return ShapeSample([[extent]], {"indices_or_sections": (cut,)}, [[cut], [extent - cut]])


def _take(draw: Draw) -> ShapeSample:
    shape, indices = draw(SHAPES), draw(SHAPES)
    axis = draw(st.one_of(st.none(), st.integers(0, len(shape) - 1)))
    result = indices if axis is None else [*shape[:axis], *indices, *shape[axis + 1 :]]
    return ShapeSample([shape, indices], {"axis": axis}, [result])


def _sum(draw: Draw) -> ShapeSample:
    shape, keepdims = draw(SHAPES), draw(st.booleans())
    return ShapeSample([shape], {"axis": 0, "keepdims": keepdims}, [[1] * keepdims + shape[1:]])


def _affine_grid(draw: Draw) -> ShapeSample:
    n, h, w = draw(EXTENTS), draw(COUNTS), draw(COUNTS)
    return ShapeSample([[n, 2, 3]], {"target_shape": (h, w)}, [[n, 2, h, w]])


def _resize1d(draw: Draw) -> ShapeSample:
    n, c, w, size = *(draw(EXTENTS) for _ in range(3)), draw(COUNTS)
    return ShapeSample([[n, c, w]], {"size": (size,)}, [[n, c, size]])


def _adaptive_pool1d(draw: Draw) -> ShapeSample:
    n, c, w, size = *(draw(EXTENTS) for _ in range(3)), draw(COUNTS)
    return ShapeSample([[n, c, w]], {"output_size": size}, [[n, c, size]])


def _gather_nd(draw: Draw) -> ShapeSample:
    a, b, c, m = (draw(EXTENTS) for _ in range(4))
    return ShapeSample([[a, b, c], [2, m]], {}, [[m, c]])


SHAPE_SAMPLES: dict[str, Rule] = {
    "tile": _tile,
    "repeat": _repeat,
    "concatenate": _concatenate,
    "stack": _stack,
    "nn.pad": _pad,
    "nn.mirror_pad": _mirror_pad,
    "reshape": _reshape,
    "nn.batch_flatten": _batch_flatten,
    "nn.depth_to_space": _depth_to_space,
    "nn.space_to_depth": _space_to_depth,
    "nn.upsampling": _upsampling,
    "nn.conv1d": _conv1d,
    "nn.conv1d_transpose": _conv1d_transpose,
    "nn.max_pool1d": _pool1d,
    "nn.avg_pool1d": _pool1d,
    "nn.adaptive_avg_pool1d": _adaptive_pool1d,
    "arange": _arange,
    "one_hot": _one_hot,
    "zeros": _filled,
    "eye": _eye,
    "broadcast_to": _broadcast_to,
    "add": _binary,
    "nn.dense": _dense,
    "einsum": _einsum,
    "expand_dims": _expand_dims,
    "transpose": _transpose,
    "strided_slice": _strided_slice,
    "split": _split,
    "take": _take,
    "sum": _sum,
    "image.affine_grid": _affine_grid,
    "image.resize1d": _resize1d,
    "gather_nd": _gather_nd,
}
"""For operators whose results have computed shapes, a function that draws operands, attributes and exact results."""
