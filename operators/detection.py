"""Operators of networks that detect objects: anchor boxes, and images with fewer, deeper pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute
from .definition import Pattern, operator
from .requirements import require_floats
from .windows import require_known_extents

Array = Any

_PRIOR = "vision.multibox_prior"


def _prior_reference(
    data: Array, sizes: Sequence[float], ratios: Sequence[float], steps: Sequence[float], offsets: Any, clip: bool
) -> Array:
    extents = data.shape[2:]
    table = np.array(_reaches(sizes, ratios), "float32") * np.array([np.float32(extents[0]) / extents[1], 1], "float32")
    spans = [np.float32(step if step > 0 else 1 / n) for step, n in zip(steps, extents, strict=True)]
    rows, columns = (
        (np.arange(n, dtype="float32") + np.float32(offset)) * span
        for n, offset, span in zip(extents, offsets, spans, strict=True)
    )
    y, x = np.meshgrid(rows, columns, indexing="ij")
    center = np.stack([x, y], -1)[:, :, None]
    corners = np.concatenate([center - table, center + table], -1).reshape(1, -1, 4)
    return (corners.clip(0, 1) if clip else corners).astype(data.dtype)


def _reaches(sizes: Sequence[float], ratios: Sequence[float]) -> list[tuple[float, float]]:
    """Half of the width and of the height of each anchor box of a pixel, in an image as high as wide."""
    square = [(size / 2, size / 2) for size in sizes]
    return square + [(sizes[0] * ratio**0.5 / 2, sizes[0] / ratio**0.5 / 2) for ratio in ratios[1:]]


@operator(_PRIOR, Pattern.INJECTIVE, _prior_reference)
def multibox_prior(
    data: Tensor,
    sizes: Sequence[float] = (1.0,),
    ratios: Sequence[float] = (1.0,),
    steps: Sequence[float] = (-1.0, -1.0),
    offsets: Sequence[float] = (0.5, 0.5),
    clip: bool = False,
) -> Tensor:
    """The anchor boxes of the pixels of an image [N, C, H, W], as corners (x, y) in parts of the image: [1, boxes, 4].

    sizes: of the boxes, with the first of the ratios of width and height.  ratios: of further boxes of the first size.
    steps: the distances of two pixels, y and x; -1 for those that fill the image.  offsets: of the centers in a pixel,
    y and x.  clip: whether corners are moved into [0, 1].
    """
    require_floats(data, f"{_PRIOR}: data")
    if data.ndim != 4 or not sizes or not ratios or len(steps) != 2 or len(offsets) != 2:
        counts = ", ".join(str(len(each)) for each in (sizes, ratios, steps, offsets))
        shape = f"shape {list(data.shape)} with {counts} sizes, ratios, steps and offsets"
        raise TeError(f"{_PRIOR}: an image of {shape}, expected 4 dimensions, at least 1, 1, and 2 and 2")
    if any(each <= 0 for each in ratios):
        raise TeError(f"{_PRIOR}: ratios {list(ratios)}, expected positive numbers")
    extents, reaches = data.shape[2:], _reaches(sizes, ratios)

    def number(value: float) -> PrimExpr:
        return const(float(value), "float32")

    def float_extent(dimension: int) -> PrimExpr:
        return cast("float32", extents[dimension])

    def span(dimension: int) -> PrimExpr:
        step = steps[dimension]
        return number(step) if step > 0 else number(1) / float_extent(dimension)

    def corner(_: PrimExpr, row: PrimExpr, side: PrimExpr) -> PrimExpr:
        box, pixel = row % len(reaches), row // len(reaches)
        y = (cast("float32", pixel // extents[1]) + number(offsets[0])) * span(0)
        x = (cast("float32", pixel % extents[1]) + number(offsets[1])) * span(1)
        width, height = (_choice(box, [number(each[n]) for each in reaches]) for n in range(2))
        width = width * (float_extent(0) / float_extent(1))
        value = _choice(side, [x - width, y - height, x + width, y + height])
        if clip:
            value = Select(value < number(0), number(0), Select(value > number(1), number(1), value))
        return cast(data.dtype, value)

    return compute([1, extents[0] * extents[1] * len(reaches), 4], corner, "multibox_prior", "injective")


def _choice(index: PrimExpr, values: Sequence[PrimExpr]) -> PrimExpr:
    """The value at an index, as comparisons with all others."""
    chosen = values[-1]
    for n in reversed(range(len(values) - 1)):
        chosen = Select(index == n, values[n], chosen)
    return chosen


_REORG = "vision.yolo_reorg"


def _reorg_reference(data: Array, stride: int) -> Array:
    batch, channels, height, width = data.shape
    parts = data.reshape(batch, channels // stride**2, height, stride, width, stride)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(batch, channels * stride**2, height // stride, width // stride)


@operator(_REORG, Pattern.INJECTIVE, _reorg_reference)
def yolo_reorg(data: Tensor, stride: int) -> Tensor:
    """An image [N, C, H, W] with `stride` times fewer rows and columns and `stride ** 2` times as many channels, in the
    order of Darknet: pixels of the image, read as C / stride ** 2 channels of a greater one.

    Channels are divisible by `stride ** 2`, rows and columns by `stride`; their numbers are known.
    """
    if data.ndim != 4 or stride < 1:
        raise TeError(
            f"{_REORG}: shape {list(data.shape)} with a stride of {stride}, expected 4 dimensions and at least 1"
        )
    channels, height, width = require_known_extents(data.shape[1:], _REORG)
    if channels % stride**2 or height % stride or width % stride:
        raise TeError(f"{_REORG}: shape {list(data.shape)}, which a stride of {stride} does not divide")
    parts = channels // stride**2
    sizes = [data.shape[0], channels * stride**2, height // stride, width // stride]

    def element(n: PrimExpr, channel: PrimExpr, row: PrimExpr, column: PrimExpr) -> PrimExpr:
        flat = (channel * sizes[2] + row) * sizes[3] + column
        plane, y, x = flat // (height * width), flat // width % height, flat % width
        part, offset = plane % parts, plane // parts
        whole = ((part * height + y) * stride + offset // stride) * (width * stride) + x * stride + offset % stride
        return data(n, whole // (height * width), whole // width % height, whole % width)

    return compute(sizes, element, "yolo_reorg", "injective")
