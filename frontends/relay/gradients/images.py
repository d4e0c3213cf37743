"""Gradients of convolutions and pools of images."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.dtypes import numpy_dtype
from ....core.errors import UnsupportedError
from ....operators.windows import paddings
from ..expr import Call, Constant, Expr, TupleGetItem, call
from .rules import dtype, number, rule, sizes, zeros_like

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _numbers(value: Any, rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value) * (rank // len(value))


def _require_layout(node: Call, name: str, layout: str) -> None:
    given = getattr(node.attrs, name)
    if given not in ("", layout):
        raise UnsupportedError(f"gradient of {node.op.name} in layout {given}, expected {layout}: ConvertLayout first")


def _fit(full: Expr, extents: Sequence[int], target: Sequence[int], before: Sequence[int]) -> Expr:
    """The elements of an image from `before` on, in the size `target`, with zeros past its end.

    extents: the size of the image.
    """
    missing = [max(first + size - own, 0) for own, size, first in zip(extents, target, before, strict=True)]
    if any(missing):
        full = call("nn.pad", full, pad_width=[[0, 0], [0, 0], *([0, each] for each in missing)])
    axes, ends = list(range(2, 2 + len(target))), [first + size for first, size in zip(before, target, strict=True)]
    return call("strided_slice", full, begin=list(before), end=ends, axes=axes)


def _spread(grad: Expr, weight: Expr, counts: Sequence[int], taps: Sequence[int], node: Call, groups: int) -> Expr:
    """The gradient of the image of windows: each element times the weights is added to its window.

    counts: the numbers of windows.  taps: those of a window.
    """
    attrs, target = node.attrs, sizes(node.args[0])[2:]
    rank = len(target)
    steps, far = (_numbers(each, rank) for each in (attrs.strides, attrs.dilation))  # pyright: ignore[reportAttributeAccessIssue]
    full = call(f"nn.conv{rank}d_transpose", grad, weight, strides=steps, dilation=far, groups=groups)
    along = zip(counts, steps, far, taps, strict=True)
    extents = [(count - 1) * step + (size - 1) * dilated + 1 for count, step, dilated, size in along]
    return _fit(full, extents, target, [pair[0] for pair in paddings(attrs.padding, rank, node.op.name)])  # pyright: ignore[reportAttributeAccessIssue]


@rule("nn.conv1d", "nn.conv2d", "nn.conv3d")
def _convolution(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, weight = node.args
    rank = len(sizes(data)) - 2
    layout = _LAYOUTS[rank]
    for name, usual in (("data_layout", layout), ("out_layout", layout), ("kernel_layout", f"OI{layout[2:]}")):
        _require_layout(node, name, usual)
    groups, taps = node.attrs.groups, sizes(weight)[2:]  # pyright: ignore[reportAttributeAccessIssue]
    of_data = _spread(grad, weight, sizes(node)[2:], taps, node, groups)
    channels, outputs = sizes(data)[1] // groups, sizes(weight)[0] // groups
    parts = [
        _weight_of_group(node, _channels(data, g, channels), _channels(grad, g, outputs), taps) for g in range(groups)
    ]
    return [of_data, parts[0] if groups == 1 else call("concatenate", *parts, axis=0)]


def _channels(image: Expr, group: int, count: int) -> Expr:
    """The channels of a group of an image."""
    return call("strided_slice", image, begin=[group * count], end=[(group + 1) * count], axes=[1])


def _weight_of_group(node: Call, data: Expr, grad: Expr, taps: Sequence[int]) -> Expr:
    """The gradient of the weight: a convolution of the channels of the image, as its batch, with the gradient."""
    rank, attrs = len(taps), node.attrs
    order = [1, 0, *range(2, rank + 2)]
    image, windows = (call("transpose", each, axes=order) for each in (data, grad))
    around = paddings(attrs.padding, rank, node.op.name)  # pyright: ignore[reportAttributeAccessIssue]
    said = {"strides": _numbers(attrs.dilation, rank), "dilation": _numbers(attrs.strides, rank)}  # pyright: ignore[reportAttributeAccessIssue]
    said["padding"] = [pair[side] for side in (0, 1) for pair in around]
    total = call("transpose", call(f"nn.conv{rank}d", image, windows, **said), axes=order)
    return call("strided_slice", total, begin=[0] * rank, end=list(taps), axes=list(range(2, rank + 2)))


# Pools


@rule("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def _average(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    extents, counts = sizes(x), sizes(node)[2:]
    rank = len(counts)
    _require_layout(node, "layout", _LAYOUTS[rank])
    taps = _numbers(node.attrs.pool_size, rank)  # pyright: ignore[reportAttributeAccessIssue]
    shares = Constant((1 / _window_sizes(node)).astype(numpy_dtype(dtype(x))))
    flat = call("reshape", grad * shares, newshape=[prod(extents[:2]), 1, *counts])
    weight = Constant(np.ones((1, 1, *taps), numpy_dtype(dtype(x))))
    return [call("reshape", _spread(flat, weight, counts, taps, node, 1), newshape=list(extents))]


def _window_sizes(node: Call) -> npt.NDArray[np.int64]:
    """The number of elements that the mean of each window counts, at least 1."""
    extents, counts = sizes(node.args[0])[2:], sizes(node)[2:]
    rank, attrs = len(counts), node.attrs
    steps, far, taps = (_numbers(each, rank) for each in (attrs.strides, attrs.dilation, attrs.pool_size))  # pyright: ignore[reportAttributeAccessIssue]
    around = paddings(attrs.padding, rank, node.op.name)  # pyright: ignore[reportAttributeAccessIssue]
    result = np.ones((1, 1, *counts), "int64")
    for d, (before, after) in enumerate(around):
        low, end = (-before, extents[d] + after) if attrs.count_include_pad else (0, extents[d])  # pyright: ignore[reportAttributeAccessIssue]
        places = np.add.outer(np.arange(counts[d]) * steps[d] - before, np.arange(taps[d]) * far[d])
        along = ((places >= low) & (places < end)).sum(1)
        result *= along.reshape([-1 if n == d else 1 for n in range(-2, rank)])
    return np.maximum(result, 1)


@rule("nn.global_avg_pool1d", "nn.global_avg_pool2d", "nn.global_avg_pool3d")
def _global_average(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    extents = sizes(x)[2:]
    _require_layout(node, "layout", _LAYOUTS[len(extents)])
    return [grad / number(prod(extents), x) + zeros_like(x)]


@rule("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def _maximum(node: Call, grad: Any) -> Sequence[Expr | None]:
    """The gradient of a window is that of its first maximum."""
    x = node.args[0]
    extents, counts = sizes(x), sizes(node)[2:]
    _require_layout(node, "layout", _LAYOUTS[len(counts)])
    places = TupleGetItem(call(f"{node.op.name}_with_places", x, **node.attrs), 1)
    images, size = extents[0] * extents[1], prod(extents[2:])
    where, flat = (call("reshape", each, newshape=[images, prod(counts)]) for each in (places, grad))
    end = Constant(np.asarray(size, "int32"))
    inside = call("where", where < end, flat, zeros_like(flat))
    where = call("minimum", where, Constant(np.asarray(size - 1, "int32")))
    nothing = call("zeros", shape=[images, size], dtype=dtype(x))
    total = call("scatter_elements", nothing, where, inside, axis=1, reduction="add")
    return [call("reshape", total, newshape=list(extents))]
