"""Pools: the greatest element, or the mean, in windows of images, in one to three dimensions and any layout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, compute, elementwise
from . import reduction
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .windows import SPATIAL, Window, each_dimension, order_of, padded, paddings, spread

Array = Any

# Windows of one size


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
        counts = [spread(shape[d], size, step, dilated, pair, ceil_mode) for d, size, step, dilated, pair in parts]
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

    def reference(data: Array, count_include_pad: bool, **attributes: Any) -> Array:
        parts, counts = settings(data.shape, **attributes)
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


# As many windows as said


def _adaptive(kind: str, rank: int) -> Any:
    """Define the pool of a kind, "max" or "avg", with windows of such sizes that there is a given number of them."""
    image = SPATIAL[3 - rank :]
    name, default = f"nn.adaptive_{kind}_pool{rank}d", f"NC{image}"

    def settings(shape: Sequence[Extent], output_size: Window | None, layout: str) -> list[tuple[int, Extent]]:
        """Each dimension of the image, and how many windows there are along it."""
        if len(shape) != rank + 2:
            raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
        spatial = order_of(layout, f"NC{image}", name)[2:]
        if output_size is None:
            return [(d, shape[d]) for d in spatial]
        return list(zip(spatial, each_dimension(output_size, rank, f"{name}: output_size"), strict=True))

    def formula(data: Tensor, output_size: Window | None = None, layout: str = default) -> Tensor:
        if data.data_type.is_bool:
            raise TeError(f"{name} of bool, expected numbers")
        parts = settings(data.shape, output_size, layout)
        if output_size is None:
            return elementwise(lambda x: x, [data], f"adaptive_pool_{kind}")
        shape = [dict(parts).get(d, extent) for d, extent in enumerate(data.shape)]
        over = [reduce_axis((0, _longest(data.shape[d], count)), f"rv{n}") for n, (d, count) in enumerate(parts)]
        names = [f"ax{d}" for d in range(data.ndim)]

        def window(*axes: PrimExpr) -> PrimExpr:
            at = dict(enumerate(axes))
            inside: list[PrimExpr] = []
            for (d, count), tap in zip(parts, over, strict=True):
                start, end = _bounds(axes[d], data.shape[d], count)
                at[d] = start + tap.var
                inside += [] if _is_even(data.shape[d], count) else [at[d] < end]
            reducer = reduction.greatest if kind == "max" else scalar.sum
            where = scalar.all(*inside) if inside else None
            return reducer(data(*(at[d] for d in range(data.ndim))), axis=over, where=where)

        tag = f"adaptive_pool_{kind if kind == 'max' else 'sum'}"
        made = compute(shape, window, tag, tag, varargs_names=names)
        if kind == "max":
            return made

        def average(*axes: PrimExpr) -> PrimExpr:
            number: PrimExpr = const(1)
            for d, count in parts:
                start, end = _bounds(axes[d], data.shape[d], count)
                number = number * (end - start)
            return scalar.div(made(*axes), cast(data.dtype, scalar.max(number, const(1))))

        return compute(shape, average, "adaptive_pool_avg", "elemwise", varargs_names=names)

    def reference(data: Array, **attributes: Any) -> Array:
        parts = settings(data.shape, **attributes)
        axes = tuple(d for d, _ in parts)
        is_float = data.dtype.kind == "f"
        made = np.zeros([dict(parts).get(d, n) for d, n in enumerate(data.shape)], "float64" if is_float else "int64")
        for place in product(*(range(count) for _, count in parts)):
            source, target = [slice(None)] * data.ndim, [slice(None)] * data.ndim
            for (d, count), index in zip(parts, place, strict=True):
                source[d] = slice(index * data.shape[d] // count, -(-(index + 1) * data.shape[d] // count))
                target[d] = slice(index, index + 1)
            window = data[tuple(source)].astype(made.dtype)
            if kind == "max":
                made[tuple(target)] = window.max(axes, keepdims=True)
            else:
                mean = window.mean(axes, keepdims=True)
                made[tuple(target)] = mean if is_float else np.trunc(mean)
        return made.astype(data.dtype)

    what = "The greatest element" if kind == "max" else "The mean of the elements"
    formula.__name__ = formula.__qualname__ = f"adaptive_{kind}_pool{rank}d"
    formula.__doc__ = f"""{what} in each of so many windows of an image.

    output_size: how many windows there are along each of {rank} dimensions, one number, or one for each; None for as
    many as elements. Window n of them begins at `n * extent / output_size`, rounded down, and ends where the next one
    begins, that rounded up.  layout: the order of axes.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _bounds(window: PrimExpr, extent: Extent, count: Extent) -> tuple[PrimExpr, PrimExpr]:
    """Where a window begins and ends."""
    if _is_even(extent, count):
        size = extent // count
        return window * size, window * size + size
    return window * extent // count, ((window + 1) * extent + (count - 1)) // count


def _is_even(extent: Extent, count: Extent) -> bool:
    """Whether all windows are known to be of one size."""
    own, windows = known_extent(extent), known_extent(count)
    return own is not None and windows is not None and own % windows == 0


def _longest(extent: Extent, count: Extent) -> Extent:
    """The most elements that a window has, or a bound of that."""
    own, windows = known_extent(extent), known_extent(count)
    if own is None or windows is None:
        return (extent + (count - 1)) // count + 1
    return max(-(-(n + 1) * own // windows) - n * own // windows for n in range(windows))


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("max", rank) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("avg", rank) for rank in (1, 2, 3))


# The whole image


def _global(kind: str, rank: int) -> Any:
    """Define the pool of a kind, "max" or "avg", over whole images of a number of dimensions."""
    default = f"NC{SPATIAL[3 - rank :]}"
    name = f"nn.global_{kind}_pool{rank}d"

    def formula(data: Tensor, layout: str = default) -> Tensor:
        if data.ndim != rank + 2:
            raise TeError(f"{name}: data of {data.ndim} dimensions, expected {rank + 2}")
        reducer = reduction.max if kind == "max" else reduction.mean
        return reducer(data, tuple(order_of(layout, default, name)[2:]), True)

    def reference(data: Array, layout: str) -> Array:
        axes = tuple(order_of(layout, default, name)[2:])
        if kind == "max":
            return np.max(data, axis=axes, keepdims=True)
        return np.mean(data.astype("float64"), axis=axes, keepdims=True).astype(data.dtype)

    formula.__name__ = formula.__qualname__ = f"global_{kind}_pool{rank}d"
    what = "greatest element" if kind == "max" else "mean of the elements"
    formula.__doc__ = f"The {what} of each image.\n\nlayout: the order of axes."
    return operator(name, Pattern.COMM_REDUCE, reference)(formula)


global_max_pool1d, global_max_pool2d, global_max_pool3d = (_global("max", rank) for rank in (1, 2, 3))
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = (_global("avg", rank) for rank in (1, 2, 3))
