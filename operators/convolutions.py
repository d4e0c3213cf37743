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


# What both have


@dataclass(frozen=True)
class _Layouts:
    """Which axis is which: of data and of the result N, C and those of the image, of the weight O, I and its taps."""

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


def _placed(order: Sequence[int], usual: Sequence[Any]) -> list[Any]:
    """What is given in the usual order, in that of a layout."""
    return [usual[order.index(d)] for d in range(len(order))]


@dataclass(frozen=True)
class _Windows:
    """The windows of a convolution.

    sizes, steps, far, around: for each dimension how large they are, how far from each other, how far their elements
    are, and the padding.  groups, inner, outer: how many there are, how many channels each has, and how many outputs.
    """

    sizes: list[int]
    steps: list[int]
    far: list[int]
    around: list[tuple[int, int]]
    groups: int
    inner: int
    outer: int

    def channel(self, feature: PrimExpr, number: PrimExpr) -> PrimExpr:
        """A channel of those that an output is summed over."""
        return feature // self.outer * self.inner + number if self.groups > 1 else number


def _summed(counts: Sequence[int], image: str) -> list[IterVar]:
    """Axes to sum over the elements of windows."""
    return [reduce_axis((0, n), f"r{letter.lower()}") for n, letter in zip(counts, image, strict=True)]


def _sizes_said(name: str, data: Tensor, weight: Tensor, layouts: _Layouts) -> list[int]:
    """How many channels data has, and what the weight has of O, I and each dimension of windows."""
    rank = layouts.rank
    if data.ndim != rank + 2 or weight.ndim != rank + 2:
        raise TeError(f"{name}: data and weight of {data.ndim} and {weight.ndim} dimensions, expected {rank + 2}")
    return known_numbers([data.shape[layouts.data[1]], *(weight.shape[d] for d in layouts.weight)], name)


def _require_said(name: str, features: int, sizes: list[int], channels: int | None, kernel_size: Window | None) -> None:
    """TeError unless weights are what attributes say they are."""
    if channels is not None and channels != features:
        raise TeError(f"{name}: weight for {features} channels, expected {channels} as channels says")
    if kernel_size is not None and each_dimension(kernel_size, len(sizes), f"{name}: kernel_size") != sizes:
        raise TeError(f"{name}: weight for windows of {sizes}, expected {kernel_size} as kernel_size says")


def _wide(data: Array, out_dtype: str) -> tuple[str, str]:
    """The data type of a result, and one to compute its reference in."""
    kind = out_dtype or data.dtype.name
    return kind, "float64" if np.dtype(kind).kind == "f" else "int64"


# Convolutions


def _convolution(rank: int) -> Any:
    """Define the convolution of images of a number of dimensions."""
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
        own, features, inner, *sizes = _sizes_said(name, data, weight, layouts)
        steps = each_dimension(strides, rank, f"{name}: strides")
        far = each_dimension(dilation, rank, f"{name}: dilation")
        if groups < 1 or own != groups * inner or features % groups:
            weights = f"weight of {features} by {inner}"
            raise TeError(f"{name}: {own} channels and {weights} do not go together in {groups} groups")
        _require_said(name, features, sizes, channels, kernel_size)
        said = _Windows(sizes, steps, far, paddings(padding, rank, name), groups, inner, features // groups)
        return _convolved(name, image, data, weight, layouts, said, accumulated(out_dtype, data))

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
        kind, wide = _wide(data, out_dtype)
        x, w = data.transpose(layouts.data).astype(wide), weight.transpose(layouts.weight).astype(wide)
        x = np.pad(x, [(0, 0), (0, 0), *paddings(padding, rank, name)])
        steps, far = each_dimension(strides, rank, name), each_dimension(dilation, rank, name)
        counts = [
            spread(n, k, step, dilated, (0, 0))
            for n, k, step, dilated in zip(x.shape[2:], w.shape[2:], steps, far, strict=True)
        ]
        made = np.zeros((x.shape[0], w.shape[0], *counts), wide)
        per, into = w.shape[1], w.shape[0] // groups
        for taps in product(*map(range, w.shape[2:])):
            cuts = zip(taps, far, steps, counts, strict=True)
            window = x[(..., *(slice(t * f, t * f + (m - 1) * s + 1, s) for t, f, s, m in cuts))]
            for g in range(groups):
                weights = w[(slice(g * into, (g + 1) * into), slice(None), *taps)]
                part = np.tensordot(weights, window[:, g * per : (g + 1) * per], (1, 1))
                made[:, g * into : (g + 1) * into] += np.moveaxis(part, 0, 1)
        return made.astype(kind).transpose(_placed(layouts.out, range(rank + 2)))

    formula.__name__ = formula.__qualname__ = f"conv{rank}d"
    formula.__doc__ = f"""The sum over windows of an image, and over its channels, of products with weights.

    `out[n, o, y] = sum over i and r of data[n, i, y * stride + r * dilation] * weight[o, i, r]`, for each of {rank}
    dimensions y and r.  padding: zeros around the image: one number, one for each dimension, or those in front and then
    those behind.  groups: so many parts of the channels, each with its part of the outputs.  channels, kernel_size: how
    many outputs and what windows the weight has, if said.  data_layout, kernel_layout, out_layout: the order of axes,
    of the result that of data if missing.  out_dtype: what is summed in, and the type of the result; else that of data.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _convolved(
    name: str, image: str, data: Tensor, weight: Tensor, layouts: _Layouts, said: _Windows, kind: str
) -> Tensor:
    spatial = layouts.data[2:]
    around = dict(zip(spatial, said.around, strict=True))
    counts = [
        spread(data.shape[d], size, step, dilated, around[d])
        for d, size, step, dilated in zip(spatial, said.sizes, said.steps, said.far, strict=True)
    ]
    if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
        raise TeError(
            f"{name}: a window of {said.sizes}, dilated {said.far}, is larger than the image {list(data.shape)}"
        )
    image_in = padded(data, around, const(0, data.dtype))
    rc, over = reduce_axis((0, said.inner), "rc"), _summed(said.sizes, image)

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        batch, feature, *place = (axes[d] for d in layouts.out)
        at = [p * step + tap.var * far for p, step, tap, far in zip(place, said.steps, over, said.far, strict=True)]
        x = image_in(*_placed(layouts.data, [batch, said.channel(feature, rc.var), *at]))
        w = weight(*_placed(layouts.weight, [feature, rc.var, *(tap.var for tap in over)]))
        return scalar.sum(cast(kind, x) * cast(kind, w), axis=[rc, *over])

    shape = [data.shape[layouts.data[0]], said.groups * said.outer, *counts]
    tag = name.rpartition(".")[2]
    return compute(_placed(layouts.out, shape), fcompute, tag, tag, varargs_names=layouts.names)


conv1d, conv2d, conv3d = (_convolution(rank) for rank in (1, 2, 3))


# Transposed convolutions


def _transposed_convolution(rank: int) -> Any:
    """Define the transposed convolution of images of a number of dimensions."""
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
        own, outer, whole, *sizes = _sizes_said(name, data, weight, layouts)
        steps = each_dimension(strides, rank, f"{name}: strides")
        far = each_dimension(dilation, rank, f"{name}: dilation")
        more = each_dimension(output_padding, rank, f"{name}: output_padding", 0)
        if groups < 1 or own != whole or whole % groups:
            weights = f"weight of {whole} by {outer}"
            raise TeError(f"{name}: {own} channels and {weights} do not go together in {groups} groups")
        _require_said(name, outer * groups, sizes, channels, kernel_size)
        said = _Windows(sizes, steps, far, paddings(padding, rank, name), groups, whole // groups, outer)
        return _transposed(name, image, data, weight, layouts, said, more, accumulated(out_dtype, data))

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
        kind, wide = _wide(data, out_dtype)
        x, w = data.transpose(layouts.data).astype(wide), weight.transpose(layouts.weight).astype(wide)
        steps, far = each_dimension(strides, rank, name), each_dimension(dilation, rank, name)
        more = each_dimension(output_padding, rank, name, 0)
        parts = zip(x.shape[2:], w.shape[2:], steps, far, more, strict=True)
        whole = [(n - 1) * step + (k - 1) * dilated + 1 + extra for n, k, step, dilated, extra in parts]
        made = np.zeros((x.shape[0], w.shape[0] * groups, *whole), wide)
        per, into = w.shape[1] // groups, w.shape[0]
        for taps in product(*map(range, w.shape[2:])):
            cuts = zip(taps, far, steps, x.shape[2:], strict=True)
            places = [slice(t * f, t * f + (n - 1) * s + 1, s) for t, f, s, n in cuts]
            for g in range(groups):
                weights = w[(slice(None), slice(g * per, (g + 1) * per), *taps)]
                part = np.tensordot(weights, x[:, g * per : (g + 1) * per], (1, 1))
                made[(slice(None), slice(g * into, (g + 1) * into), *places)] += np.moveaxis(part, 0, 1)
        pairs = zip(paddings(padding, rank, name), whole, strict=True)
        kept = made[(..., *(slice(front, n - behind) for (front, behind), n in pairs))]
        return kept.astype(kind).transpose(_placed(layouts.out, range(rank + 2)))

    formula.__name__ = formula.__qualname__ = f"conv{rank}d_transpose"
    formula.__doc__ = f"""The transpose of a convolution: each element of an image times the weights, added to a window.

    `out[n, o, y * stride + r * dilation]` is the sum of all `data[n, i, y] * weight[i, o, r]`, for each of {rank}
    dimensions y and r.  padding: how much of that is left out at the sides: one number, one for each dimension, or
    those in front and then those behind.  output_padding: how many elements there are more behind.  channels,
    kernel_size: how many outputs, of all groups, and what windows the weight has, if said.  groups: so many parts of
    the channels, each with its part of the outputs.  data_layout, kernel_layout, out_layout: the order of axes, of the
    result that of data if missing.  out_dtype: what is summed in, and the type of the result; else that of data.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _meeting(
    place: PrimExpr, tap: PrimExpr, extent: PrimExpr, size: int, step: int, dilated: int
) -> tuple[PrimExpr, PrimExpr, list[PrimExpr]]:
    """Which element of an image meets which weight at a place of what is not cut off yet, and when it does.

    That is where `element * step + weight * dilated` is the place. Such weights are `apart` from each other; tap: which
    of them, from the first one on.
    """
    common = gcd(step, dilated)
    apart, per = step // common, dilated // common
    shared = place // common if common > 1 else place
    first = shared * pow(per, -1, apart) % apart if apart > 1 else const(0)
    weight = tap * apart + first if apart > 1 else tap
    left = shared - weight * per
    element = left // apart if apart > 1 else left
    when = [left >= 0, element < extent]
    when += [weight < size] if apart > 1 else []
    when += [(place % common).equal(0)] if common > 1 else []
    return element, weight, when


def _transposed(
    name: str, image: str, data: Tensor, weight: Tensor, layouts: _Layouts, said: _Windows, more: list[int], kind: str
) -> Tensor:
    spatial = [data.shape[d] for d in layouts.data[2:]]
    dimensions = list(zip(spatial, said.sizes, said.steps, said.far, strict=True))
    counts = [
        (n - 1) * step + (size - 1) * dilated + 1 - sum(around) + extra
        for (n, size, step, dilated), around, extra in zip(dimensions, said.around, more, strict=True)
    ]
    if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
        raise TeError(f"{name}: nothing of the result {counts} is left by a padding of {said.around}")
    rc = reduce_axis((0, said.inner), "rc")
    over = _summed([-(-size // (step // gcd(step, dilated))) for _, size, step, dilated in dimensions], image)

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        batch, feature, *place = (axes[d] for d in layouts.out)
        channel = said.channel(feature, rc.var)
        at, taps, met = list[PrimExpr](), list[PrimExpr](), list[PrimExpr]()
        for p, (front, _), tap, each in zip(place, said.around, over, dimensions, strict=True):
            element, one, when = _meeting(p + front if front else p, tap.var, *each)
            at.append(element)
            taps.append(one)
            met += when
        x = data(*_placed(layouts.data, [batch, channel, *at]))
        own = feature % said.outer if said.groups > 1 else feature
        w = weight(*_placed(layouts.weight, [own, channel, *taps]))
        return scalar.sum(cast(kind, x) * cast(kind, w), axis=[*over, rc], where=scalar.all(*met))

    shape = [data.shape[layouts.data[0]], said.groups * said.outer, *counts]
    tag = name.rpartition(".")[2]
    return compute(_placed(layouts.out, shape), fcompute, tag, tag, varargs_names=layouts.names)


conv1d_transpose, conv2d_transpose, conv3d_transpose = (_transposed_convolution(rank) for rank in (1, 2, 3))
