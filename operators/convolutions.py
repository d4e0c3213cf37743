"""Convolutions and transposed convolutions of images, in one to three dimensions and any layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import IterVar, reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, compute
from .definition import Pattern, operator
from .extents import known_extent
from .nn import accumulated
from .windows import SPATIAL, Window, each_dimension, known_numbers, order_of, padded, paddings, spread

Array = Any


# Shared by both


@dataclass(frozen=True)
class _Layouts:
    """The axes of the operands and of the result: N, C and the image of `data` and `out`, O, I and the taps of
    `weight`."""

    data: list[int]
    weight: list[int]
    out: list[int]
    names: list[str]

    @property
    def rank(self) -> int:
        return len(self.data) - 2


def _layouts(name: str, image: str, data_layout: str, kernel_layout: str, out_layout: str) -> _Layouts:
    out = out_layout or data_layout
    names = {"N": "nn", "C": "ff", "D": "zz", "H": "yy", "W": "xx"}
    return _Layouts(
        order_of(data_layout, f"NC{image}", name),
        order_of(kernel_layout, f"OI{image}", name),
        order_of(out, f"NC{image}", name),
        [names[letter] for letter in out],
    )


def _in_layout_order(order: Sequence[int], usual: Sequence[Any]) -> list[Any]:
    """Values in the order N, C and image (or O, I and taps), permuted into the order of a layout."""
    return [usual[order.index(d)] for d in range(len(order))]


@dataclass(frozen=True)
class _Windows:
    """The windows of a convolution.

    sizes, steps, far, around: for each dimension, the number of taps, the stride, the dilation, and the padding.
    groups, inner, outer: the number of groups, and the input and output channels of each group.
    """

    sizes: list[int]
    steps: list[int]
    far: list[int]
    around: list[tuple[int, int]]
    groups: int
    inner: int
    outer: int

    def channel(self, feature: PrimExpr, number: PrimExpr) -> PrimExpr:
        """The input channel with a number within the group of an output channel."""
        return feature // self.outer * self.inner + number if self.groups > 1 else number


def _tap_axes(counts: Sequence[int], image: str) -> list[IterVar]:
    """Reduction axes over the taps of windows."""
    return [reduce_axis((0, n), f"r{letter.lower()}") for n, letter in zip(counts, image, strict=True)]


def _sizes(name: str, data: Tensor, weight: Tensor, layouts: _Layouts) -> list[int]:
    """The number of channels of data, and the extents O, I and taps of the weight. TeError for an unknown extent."""
    rank = layouts.rank
    if data.ndim != rank + 2 or weight.ndim != rank + 2:
        raise TeError(f"{name}: data and weight of {data.ndim} and {weight.ndim} dimensions, expected {rank + 2}")
    return known_numbers([data.shape[layouts.data[1]], *(weight.shape[d] for d in layouts.weight)], name)


def _require_attributes(
    name: str, features: int, sizes: list[int], channels: int | None, kernel_size: Window | None
) -> None:
    """TeError unless the weight has the channels and taps that the attributes state."""
    if channels is not None and channels != features:
        raise TeError(f"{name}: weight for {features} channels, expected {channels} as channels says")
    if kernel_size is not None and each_dimension(kernel_size, len(sizes), f"{name}: kernel_size") != sizes:
        raise TeError(f"{name}: weight for windows of {sizes}, expected {kernel_size} as kernel_size says")


def _result_and_wide_dtype(data: Array, out_dtype: str) -> tuple[str, str]:
    """The data type of a result, and the data type to compute its reference in."""
    kind = out_dtype or data.dtype.name
    return kind, "float64" if np.dtype(kind).kind == "f" else "int64"


# Convolutions


def _convolution(rank: int) -> Any:
    """Defines the convolution of images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default, kernel_default = f"nn.conv{rank}d", f"NC{image}", f"OI{image}"

    def formula(
        data: Tensor,
        weight: Tensor,
        strides: Window = 1,
        padding: Window = 0,
        dilation: Window = 1,
        groups: int = 1,
        channels: int | None = None,
        kernel_size: Window | None = None,
        data_layout: str = default,
        kernel_layout: str = kernel_default,
        out_layout: str = "",
        out_dtype: str = "",
    ) -> Tensor:
        layouts = _layouts(name, image, data_layout, kernel_layout, out_layout)
        inputs, features, inner, *sizes = _sizes(name, data, weight, layouts)
        steps = each_dimension(strides, rank, f"{name}: strides")
        far = each_dimension(dilation, rank, f"{name}: dilation")
        if groups < 1 or inputs != groups * inner or features % groups:
            weights = f"weight of {features} by {inner}"
            raise TeError(f"{name}: {inputs} channels and {weights} do not go together in {groups} groups")
        _require_attributes(name, features, sizes, channels, kernel_size)
        windows = _Windows(sizes, steps, far, paddings(padding, rank, name), groups, inner, features // groups)
        return _convolve(name, image, data, weight, layouts, windows, accumulated(out_dtype, data))

    def reference(
        data: Array,
        weight: Array,
        strides: Window,
        padding: Window,
        dilation: Window,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        out_dtype: str,
    ) -> Array:
        layouts = _layouts(name, image, data_layout, kernel_layout, out_layout)
        kind, wide = _result_and_wide_dtype(data, out_dtype)
        x, w = data.transpose(layouts.data).astype(wide), weight.transpose(layouts.weight).astype(wide)
        x = np.pad(x, [(0, 0), (0, 0), *paddings(padding, rank, name)])
        steps, far = each_dimension(strides, rank, name), each_dimension(dilation, rank, name)
        counts = [
            spread(n, k, step, dilated, (0, 0))
            for n, k, step, dilated in zip(x.shape[2:], w.shape[2:], steps, far, strict=True)
        ]
        result = np.zeros((x.shape[0], w.shape[0], *counts), wide)
        inner, outer = w.shape[1], w.shape[0] // groups
        for taps in product(*map(range, w.shape[2:])):
            cuts = zip(taps, far, steps, counts, strict=True)
            window = x[(..., *(slice(t * f, t * f + (m - 1) * s + 1, s) for t, f, s, m in cuts))]
            for g in range(groups):
                weights = w[(slice(g * outer, (g + 1) * outer), slice(None), *taps)]
                part = np.tensordot(weights, window[:, g * inner : (g + 1) * inner], (1, 1))
                result[:, g * outer : (g + 1) * outer] += np.moveaxis(part, 0, 1)
        return result.astype(kind).transpose(_in_layout_order(layouts.out, range(rank + 2)))

    formula.__name__ = formula.__qualname__ = f"conv{rank}d"
    formula.__doc__ = f"""The convolution of an image with weights, summed over the input channels.

    `out[n, o, y] = sum over i and r of data[n, i, y * stride + r * dilation] * weight[o, i, r]`, for each of {rank}
    dimensions y and r.  padding: the zeros around the image: one number, one for each dimension, or the numbers before
    and then after each dimension.  groups: the number of groups of input channels, each with its own output channels.
    channels, kernel_size: the expected number of output channels and the expected taps of the weight.  data_layout,
    kernel_layout, out_layout: the orders of the axes; out_layout is data_layout by default.  out_dtype: the data type
    of the sums and of the result, by default the data type of data.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _convolve(
    name: str, image: str, data: Tensor, weight: Tensor, layouts: _Layouts, windows: _Windows, kind: str
) -> Tensor:
    spatial = layouts.data[2:]
    around = dict(zip(spatial, windows.around, strict=True))
    counts = [
        spread(data.shape[d], size, step, dilation, around[d])
        for d, size, step, dilation in zip(spatial, windows.sizes, windows.steps, windows.far, strict=True)
    ]
    if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
        raise TeError(
            f"{name}: a window of {windows.sizes}, dilated {windows.far}, is larger than the image {list(data.shape)}"
        )
    image_in = padded(data, around, const(0, data.dtype))
    rc, over = reduce_axis((0, windows.inner), "rc"), _tap_axes(windows.sizes, image)

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        batch, feature, *positions = (axes[d] for d in layouts.out)
        at = [
            position * step + tap.var * far
            for position, step, tap, far in zip(positions, windows.steps, over, windows.far, strict=True)
        ]
        x = image_in(*_in_layout_order(layouts.data, [batch, windows.channel(feature, rc.var), *at]))
        w = weight(*_in_layout_order(layouts.weight, [feature, rc.var, *(tap.var for tap in over)]))
        return scalar.sum(cast(kind, x) * cast(kind, w), axis=[rc, *over])

    shape = [data.shape[layouts.data[0]], windows.groups * windows.outer, *counts]
    tag = name.rpartition(".")[2]
    return compute(_in_layout_order(layouts.out, shape), fcompute, tag, tag, varargs_names=layouts.names)


conv1d, conv2d, conv3d = (_convolution(rank) for rank in (1, 2, 3))


# Transposed convolutions


def _transposed_convolution(rank: int) -> Any:
    """Defines the transposed convolution of images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default, kernel_default = f"nn.conv{rank}d_transpose", f"NC{image}", f"IO{image}"

    def formula(
        data: Tensor,
        weight: Tensor,
        strides: Window = 1,
        padding: Window = 0,
        dilation: Window = 1,
        channels: int | None = None,
        kernel_size: Window | None = None,
        groups: int = 1,
        data_layout: str = default,
        kernel_layout: str = kernel_default,
        out_layout: str = "",
        output_padding: Window = 0,
        out_dtype: str = "",
    ) -> Tensor:
        layouts = _layouts(name, image, data_layout, kernel_layout, out_layout)
        inputs, outer, whole, *sizes = _sizes(name, data, weight, layouts)
        steps = each_dimension(strides, rank, f"{name}: strides")
        far = each_dimension(dilation, rank, f"{name}: dilation")
        more = each_dimension(output_padding, rank, f"{name}: output_padding", 0)
        if groups < 1 or inputs != whole or whole % groups:
            weights = f"weight of {whole} by {outer}"
            raise TeError(f"{name}: {inputs} channels and {weights} do not go together in {groups} groups")
        _require_attributes(name, outer * groups, sizes, channels, kernel_size)
        windows = _Windows(sizes, steps, far, paddings(padding, rank, name), groups, whole // groups, outer)
        return _transposed_convolve(name, image, data, weight, layouts, windows, more, accumulated(out_dtype, data))

    def reference(
        data: Array,
        weight: Array,
        strides: Window,
        padding: Window,
        dilation: Window,
        groups: int,
        data_layout: str,
        kernel_layout: str,
        out_layout: str,
        output_padding: Window,
        out_dtype: str,
    ) -> Array:
        layouts = _layouts(name, image, data_layout, kernel_layout, out_layout)
        kind, wide = _result_and_wide_dtype(data, out_dtype)
        x, w = data.transpose(layouts.data).astype(wide), weight.transpose(layouts.weight).astype(wide)
        steps, far = each_dimension(strides, rank, name), each_dimension(dilation, rank, name)
        more = each_dimension(output_padding, rank, name, 0)
        parts = zip(x.shape[2:], w.shape[2:], steps, far, more, strict=True)
        whole = [(n - 1) * step + (k - 1) * dilated + 1 + extra for n, k, step, dilated, extra in parts]
        result = np.zeros((x.shape[0], w.shape[0] * groups, *whole), wide)
        inner, outer = w.shape[1] // groups, w.shape[0]
        for taps in product(*map(range, w.shape[2:])):
            cuts = zip(taps, far, steps, x.shape[2:], strict=True)
            positions = [slice(t * f, t * f + (n - 1) * s + 1, s) for t, f, s, n in cuts]
            for g in range(groups):
                weights = w[(slice(None), slice(g * inner, (g + 1) * inner), *taps)]
                part = np.tensordot(weights, x[:, g * inner : (g + 1) * inner], (1, 1))
                result[(slice(None), slice(g * outer, (g + 1) * outer), *positions)] += np.moveaxis(part, 0, 1)
        pairs = zip(paddings(padding, rank, name), whole, strict=True)
        kept = result[(..., *(slice(front, n - behind) for (front, behind), n in pairs))]
        return kept.astype(kind).transpose(_in_layout_order(layouts.out, range(rank + 2)))

    formula.__name__ = formula.__qualname__ = f"conv{rank}d_transpose"
    formula.__doc__ = f"""The transposed convolution of an image: adds each element times the weights to a window.

    `out[n, o, y * stride + r * dilation]` is the sum of all `data[n, i, y] * weight[i, o, r]`, for each of {rank}
    dimensions y and r.  padding: the elements cropped from the borders of the result: one number, one for each
    dimension, or the numbers before and then after each dimension.  output_padding: the elements added after each
    dimension.  channels, kernel_size: the expected number of output channels of all groups and the expected taps of the
    weight.  groups: the number of groups of input channels, each with its own output channels.  data_layout,
    kernel_layout, out_layout: the orders of the axes; out_layout is data_layout by default.  out_dtype: the data type
    of the sums and of the result, by default the data type of data.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _contribution(
    position: PrimExpr, tap: PrimExpr, extent: PrimExpr, size: int, step: int, dilation: int
) -> tuple[PrimExpr, PrimExpr, list[PrimExpr]]:
    """The indices of the image element and of the weight that contribute to a position of the uncropped result, and the
    conditions under which they do.

    The indices satisfy `element * step + weight * dilated = position`. Such weights are `apart` from each other; tap:
    the index of the weight among them.
    """
    common = gcd(step, dilation)
    apart, per = step // common, dilation // common
    shared = position // common if common > 1 else position
    first = shared * pow(per, -1, apart) % apart if apart > 1 else const(0)
    weight = tap * apart + first if apart > 1 else tap
    left = shared - weight * per
    element = left // apart if apart > 1 else left
    when = [left >= 0, element < extent]
    when += [weight < size] if apart > 1 else []
    when += [(position % common).equal(0)] if common > 1 else []
    return element, weight, when


def _transposed_convolve(
    name: str,
    image: str,
    data: Tensor,
    weight: Tensor,
    layouts: _Layouts,
    windows: _Windows,
    more: list[int],
    kind: str,
) -> Tensor:
    spatial = [data.shape[d] for d in layouts.data[2:]]
    dimensions = list(zip(spatial, windows.sizes, windows.steps, windows.far, strict=True))
    counts = [
        (n - 1) * step + (size - 1) * dilated + 1 - sum(around) + extra
        for (n, size, step, dilated), around, extra in zip(dimensions, windows.around, more, strict=True)
    ]
    if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
        raise TeError(f"{name}: nothing of the result {counts} is left by a padding of {windows.around}")
    rc = reduce_axis((0, windows.inner), "rc")
    over = _tap_axes([-(-size // (step // gcd(step, dilated))) for _, size, step, dilated in dimensions], image)

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        batch, feature, *positions = (axes[d] for d in layouts.out)
        channel = windows.channel(feature, rc.var)
        at, taps, conditions = list[PrimExpr](), list[PrimExpr](), list[PrimExpr]()
        for position, (front, _), tap, each in zip(positions, windows.around, over, dimensions, strict=True):
            element, tap_index, condition = _contribution(position + front if front else position, tap.var, *each)
            at.append(element)
            taps.append(tap_index)
            conditions += condition
        x = data(*_in_layout_order(layouts.data, [batch, channel, *at]))
        own = feature % windows.outer if windows.groups > 1 else feature
        w = weight(*_in_layout_order(layouts.weight, [own, channel, *taps]))
        return scalar.sum(cast(kind, x) * cast(kind, w), axis=[*over, rc], where=scalar.all(*conditions))

    shape = [data.shape[layouts.data[0]], windows.groups * windows.outer, *counts]
    tag = name.rpartition(".")[2]
    return compute(_in_layout_order(layouts.out, shape), fcompute, tag, tag, varargs_names=layouts.names)


conv1d_transpose, conv2d_transpose, conv3d_transpose = (_transposed_convolution(rank) for rank in (1, 2, 3))
