"""Operators on windows of images, in one to three dimensions and any layout: convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, compute
from . import reduction
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .nn import accumulated

Array = Any
Window = int | Sequence[int]
"""A number for all dimensions of an image, or one for each."""

SPATIAL = "DHW"
"""The letters of dimensions in layouts; the last ones are those of an image with fewer."""


def each_dimension(value: Window, rank: int, name: str, least: int = 1) -> list[int]:
    """A number for each dimension of an image. TeError for lists of others, and numbers that are too small."""
    found = [value] * rank if isinstance(value, int) else list(value)
    if len(found) == 1:
        found *= rank
    if len(found) != rank or min(found) < least:
        raise TeError(f"{name} {value!r}, expected {rank} numbers from {least} on")
    return found


def paddings(padding: Window, rank: int, name: str) -> list[tuple[int, int]]:
    """How much goes in front of and behind each dimension: one number, one for each, or all in front and all behind."""
    found = [padding] if isinstance(padding, int) else list(padding)
    if len(found) == 2 * rank:
        pairs = list(zip(found[:rank], found[rank:], strict=True))
    elif len(found) in (1, rank):
        pairs = [(n, n) for n in (found * rank if len(found) == 1 else found)]
    else:
        raise TeError(f"{name}: padding {padding!r}, expected 1, {rank} or {2 * rank} numbers")
    if any(n < 0 for pair in pairs for n in pair):
        raise TeError(f"{name}: padding {padding!r}, expected numbers from 0 on")
    return pairs


def order_of(layout: str, letters: str, name: str) -> list[int]:
    """Which axis has each letter. TeError unless a layout has each of them once."""
    if sorted(layout) != sorted(letters):
        raise TeError(f"{name}: layout {layout!r}, expected an order of {letters}")
    return [layout.index(letter) for letter in letters]


def _spread(
    size: Extent, window: int, stride: int, dilation: int, around: tuple[int, int], ceil: bool = False
) -> Extent:
    """How many windows there are along a dimension."""
    left = size + sum(around) - dilation * (window - 1) - 1
    return (left + stride - 1) // stride + 1 if ceil else left // stride + 1


def _numbers(extents: Sequence[Extent], name: str) -> list[int]:
    """Sizes that must be known. TeError for those that are not."""
    found = [known_extent(extent) for extent in extents]
    if None in found:
        raise TeError(f"{name}: channels and sizes of windows {list(extents)}, expected known numbers")
    return [number for number in found if number is not None]


def padded(data: Tensor, around: dict[int, tuple[int, int]], value: PrimExpr, name: str = "pad_temp") -> Tensor:
    """A tensor with elements of a value around it. around: of axes, how many in front and behind."""
    if not any(n for pair in around.values() for n in pair):
        return data
    shape = [extent + sum(around.get(d, (0, 0))) for d, extent in enumerate(data.shape)]

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        inside: list[PrimExpr] = []
        for d, (front, behind) in around.items():
            inside += [axes[d] >= front] if front else []
            inside += [axes[d] < data.shape[d] + front] if behind else []
        element = data(*(axis - around[d][0] if around.get(d, (0, 0))[0] else axis for d, axis in enumerate(axes)))
        return scalar.if_then_else(scalar.all(*inside) if len(inside) > 1 else inside[0], element, value)

    return compute(shape, fcompute, name, "injective,pad", varargs_names=[f"i{d}" for d in range(data.ndim)])


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
        data_layout: str = default,
        kernel_layout: str = kernel_default,
        out_dtype: str = "",
    ) -> Tensor:
        if data.ndim != rank + 2 or weight.ndim != rank + 2:
            raise TeError(f"{name}: data and weight of {data.ndim} and {weight.ndim} dimensions, expected {rank + 2}")
        n, c, *spatial = order_of(data_layout, f"NC{image}", name)
        o, i, *taps = order_of(kernel_layout, f"OI{image}", name)
        steps = each_dimension(strides, rank, f"{name}: strides")
        far = each_dimension(dilation, rank, f"{name}: dilation")
        features, inner, channels, *sizes = _numbers(
            [weight.shape[o], weight.shape[i], data.shape[c], *(weight.shape[d] for d in taps)], name
        )
        if groups < 1 or channels != groups * inner or features % groups:
            weights = f"weight of {features} by {inner}"
            raise TeError(f"{name}: {channels} channels and {weights} do not go together in {groups} groups")
        around = dict(zip(spatial, paddings(padding, rank, name), strict=True))
        image_in = padded(data, around, const(0, data.dtype))
        windows = [
            _spread(data.shape[d], size, step, dilated, around[d])
            for d, size, step, dilated in zip(spatial, sizes, steps, far, strict=True)
        ]
        if any((count := known_extent(extent)) is not None and count < 1 for extent in windows):
            raise TeError(f"{name}: a window of {sizes}, dilated {far}, is larger than the image {list(data.shape)}")
        kind = accumulated(out_dtype, data)
        rc = reduce_axis((0, inner), "rc")
        over = [reduce_axis((0, size), f"r{letter.lower()}") for size, letter in zip(sizes, image, strict=True)]

        def fcompute(*axes: PrimExpr) -> PrimExpr:
            group = axes[c] // (features // groups) * inner if groups > 1 else None
            at: dict[int, PrimExpr] = {n: axes[n], c: rc.var if group is None else group + rc.var}
            for d, step, dilated, tap in zip(spatial, steps, far, over, strict=True):
                at[d] = axes[d] * step + tap.var * dilated
            of = {o: axes[c], i: rc.var, **dict(zip(taps, (tap.var for tap in over), strict=True))}
            x = image_in(*(at[d] for d in range(data.ndim)))
            w = weight(*(of[d] for d in range(data.ndim)))
            return scalar.sum(cast(kind, x) * cast(kind, w), axis=[rc, *over])

        shape: dict[int, Extent] = {n: data.shape[n], c: features, **dict(zip(spatial, windows, strict=True))}
        letters = [{"N": "nn", "C": "ff", "D": "zz", "H": "yy", "W": "xx"}[letter] for letter in data_layout]
        return compute(
            [shape[d] for d in range(data.ndim)], fcompute, f"conv{rank}d", f"conv{rank}d", varargs_names=letters
        )

    def reference(
        data: Array,
        weight: Array,
        strides: Window = 1,
        padding: Window = 0,
        dilation: Window = 1,
        groups: int = 1,
        data_layout: str = default,
        kernel_layout: str = kernel_default,
        out_dtype: str = "",
    ) -> Array:
        order, kernel_order = order_of(data_layout, f"NC{image}", name), order_of(kernel_layout, f"OI{image}", name)
        kind = out_dtype or data.dtype.name
        wide = "float64" if np.dtype(kind).kind == "f" else "int64"
        x, w = data.transpose(order).astype(wide), weight.transpose(kernel_order).astype(wide)
        x = np.pad(x, [(0, 0), (0, 0), *paddings(padding, rank, name)])
        steps, far = each_dimension(strides, rank, name), each_dimension(dilation, rank, name)
        counts = [
            _spread(n, k, step, dilated, (0, 0))
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
        return made.astype(kind).transpose(np.argsort(order))

    formula.__name__ = formula.__qualname__ = f"conv{rank}d"
    formula.__doc__ = f"""The sum over windows of an image, and over its channels, of products with weights.

    `out[n, o, y] = sum over i and r of data[n, i, y * stride + r * dilation] * weight[o, i, r]`, for each of {rank}
    dimensions y and r.  padding: zeros around the image: one number, one for each dimension, or those in front and then
    those behind.  groups: so many parts of the channels, each with its part of the outputs.  data_layout,
    kernel_layout: the order of axes.  out_dtype: what is summed in, and the type of the result; else that of data.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


conv1d, conv2d, conv3d = (_convolution(rank) for rank in (1, 2, 3))


# Pools


def _pool(kind: str, rank: int) -> Any:
    """Define the pool of a kind, "max" or "avg", of images of a number of dimensions."""
    image = SPATIAL[3 - rank :]
    name, default = f"nn.{kind}_pool{rank}d", f"NC{image}"

    def settings(
        shape: Sequence[Extent],
        pool_size: Window,
        strides: Window,
        dilation: Window,
        padding: Window,
        layout: str,
        ceil_mode: bool,
    ) -> Any:
        """Axes, sizes, steps, distances and paddings of windows, and how many there are, for each dimension."""
        if len(shape) != rank + 2:
            raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
        spatial = order_of(layout, f"NC{image}", name)[2:]
        sizes = each_dimension(pool_size, rank, f"{name}: pool_size")
        steps = each_dimension(strides, rank, f"{name}: strides")
        far = each_dimension(dilation, rank, f"{name}: dilation")
        around = paddings(padding, rank, name)
        parts = list(zip(spatial, sizes, steps, far, around, strict=True))
        counts = [_spread(shape[d], size, step, dilated, pair, ceil_mode) for d, size, step, dilated, pair in parts]
        if ceil_mode:  # no window begins in the padding behind
            counts = [
                count - 1 if isinstance(count, int) and (count - 1) * step >= shape[d] + pair[0] else count
                for count, (d, _, step, _, pair) in zip(counts, parts, strict=True)
            ]
        if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
            raise TeError(f"{name}: a window of {sizes}, dilated {far}, is larger than the image {list(shape)}")
        return parts, counts

    def known_shape(data: Tensor) -> list[Extent]:
        return [extent if (known := known_extent(extent)) is None else known for extent in data.shape]

    def formula(
        data: Tensor,
        pool_size: Window,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = default,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Tensor:
        if data.data_type.is_bool:
            raise TeError(f"{name} of bool, expected numbers")
        if ceil_mode and None in map(known_extent, data.shape[2:]):
            raise TeError(f"{name}: ceil_mode of an image of shape {list(data.shape)}, which is not known")
        sizes = known_shape(data)
        parts, counts = settings(sizes, pool_size, strides, dilation, padding, layout, ceil_mode)
        around = dict[int, tuple[int, int]]()
        for (d, size, step, far, (front, behind)), count in zip(parts, counts, strict=True):
            more = 0
            if ceil_mode:  # the last window may reach over the end
                more = max(0, (count - 1) * step + (size - 1) * far + 1 - (sizes[d] + front + behind))
            around[d] = front, behind + more
        fill = reduction.lowest(data.dtype) if kind == "max" else const(0, data.dtype)
        image_in = padded(data, around, fill)
        over = [reduce_axis((0, size), f"rv{n}") for n, (_, size, *_) in enumerate(parts)]
        shape = dict(zip((d for d, *_ in parts), counts, strict=True))
        names = [f"ax{d}" for d in range(data.ndim)]

        def window(*axes: PrimExpr) -> PrimExpr:
            at = dict(enumerate(axes))
            for (d, _, step, far, _), tap in zip(parts, over, strict=True):
                at[d] = axes[d] * step + tap.var * far
            reducer = reduction.greatest if kind == "max" else scalar.sum
            return reducer(image_in(*(at[d] for d in range(data.ndim))), axis=over)

        extents = [shape.get(d, extent) for d, extent in enumerate(data.shape)]
        made = compute(extents, window, f"pool_{kind}" if kind == "max" else "pool_sum", "pool", varargs_names=names)
        if kind == "max":
            return made

        def average(*axes: PrimExpr) -> PrimExpr:
            count: PrimExpr = const(1)
            for d, size, step, far, (front, behind) in parts:
                first = axes[d] * step - front
                low, end = (-front, data.shape[d] + behind) if count_include_pad else (0, data.shape[d])
                skipped = scalar.max(low - first + (far - 1), const(0)) // far
                taken = scalar.min((end - first + (far - 1)) // far, const(size))
                count = count * scalar.max(taken - skipped, const(0))
            divisor = cast(data.dtype, scalar.max(count, const(1)))
            return scalar.div(made(*axes), divisor)

        return compute(extents, average, "pool_avg", "elemwise", varargs_names=names)

    def reference(
        data: Array,
        pool_size: Window,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = default,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Array:
        parts, counts = settings(data.shape, pool_size, strides, dilation, padding, layout, ceil_mode)
        shape = list(data.shape)
        for (d, *_), count in zip(parts, counts, strict=True):
            shape[d] = count
        made = np.zeros(shape, "float64" if data.dtype.kind == "f" else "int64")
        for place in product(*map(range, counts)):
            taken: list[list[int]] = []
            present = 1
            for (d, size, step, far, (front, behind)), index in zip(parts, place, strict=True):
                positions = [index * step - front + tap * far for tap in range(size)]
                taken.append([p for p in positions if 0 <= p < data.shape[d]])
                padded_in = [p for p in positions if -front <= p < data.shape[d] + behind]
                present *= len(padded_in if count_include_pad else taken[-1])
            target, window = [slice(None)] * data.ndim, data.astype(made.dtype)
            for (d, *_), index, found in zip(parts, place, taken, strict=True):
                target[d] = slice(index, index + 1)
                window = np.take(window, found, d)
            axes = tuple(d for d, *_ in parts)
            if kind == "max":
                least = -np.inf if data.dtype.kind == "f" else np.iinfo(data.dtype).min
                made[tuple(target)] = np.max(window, axes, keepdims=True, initial=least)
            else:
                total = np.sum(window, axes, keepdims=True)
                count = max(present, 1)
                whole = np.sign(total) * (np.abs(total) // count)
                made[tuple(target)] = total / count if data.dtype.kind == "f" else whole
        return made.astype(data.dtype)

    what = "The greatest element" if kind == "max" else "The mean of the elements"
    formula.__name__ = formula.__qualname__ = f"{kind}_pool{rank}d"
    formula.__doc__ = f"""{what} in each window of an image.

    pool_size, strides, dilation: of windows, a number, or one for each of {rank} dimensions.  padding: around the
    image, one number, one for each dimension, or those in front and then those behind.  layout: the order of axes.
    ceil_mode: windows may reach over the end, if they begin before it.  count_include_pad: whether elements of the
    padding count in a mean, as 0.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


max_pool1d, max_pool2d, max_pool3d = (_pool("max", rank) for rank in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_pool("avg", rank) for rank in (1, 2, 3))


# The whole image


def _global(kind: str, reducer: Callable[..., Any], reference: Callable[..., Array]) -> Any:
    """Define the pool of a kind over whole images of two dimensions."""
    name = f"nn.global_{kind}_pool2d"

    def formula(data: Tensor, layout: str = "NCHW") -> Tensor:
        if data.ndim != 4:
            raise TeError(f"{name}: data of {data.ndim} dimensions, expected 4")
        return reducer(data, tuple(order_of(layout, "NCHW", name)[2:]), True)

    formula.__name__ = formula.__qualname__ = f"global_{kind}_pool2d"
    what = "greatest element" if kind == "max" else "mean of the elements"
    formula.__doc__ = f"The {what} of each image.\n\nlayout: the order of axes."
    return operator(
        name,
        Pattern.COMM_REDUCE,
        lambda data, layout="NCHW": reference(data, tuple(order_of(layout, "NCHW", name)[2:])),
    )(formula)


def _mean(data: Array, axis: tuple[int, ...]) -> Array:
    return np.mean(data.astype("float64"), axis=axis, keepdims=True).astype(data.dtype)


global_max_pool2d = _global("max", reduction.max, lambda data, axis: np.max(data, axis=axis, keepdims=True))
global_avg_pool2d = _global("avg", reduction.mean, _mean)
