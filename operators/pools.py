"""Pooling operators: the maximum or the mean of windows of images, in one to three dimensions and any layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import IterVar, reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, compute, elementwise
from . import reduction
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .windows import SPATIAL, Window, each_dimension, order_of, padded, paddings, spread

Array = Any

# Windows of a fixed size


@dataclass(frozen=True)
class _Along:
    """The windows along one dimension of an image. size, step, far: the number of taps, the stride and the dilation.
    front, behind: the padding.  count: the number of windows.  over: the number of elements that the last window covers
    past the padding."""

    axis: int
    size: int
    step: int
    far: int
    front: int
    behind: int
    count: Extent
    over: int


def _windows(
    name: str,
    shape: Sequence[Extent],
    image: str,
    pool_size: Window,
    strides: Window,
    dilation: Window,
    padding: Window,
    layout: str,
    ceil_mode: bool,
) -> list[_Along]:
    """The windows of an image, in the order of its dimensions. image: the letters of the dimensions."""
    rank = len(image)
    if len(shape) != rank + 2:
        raise TeError(f"{name}: data of {len(shape)} dimensions, expected {rank + 2}")
    axes = order_of(layout, f"NC{image}", name)[2:]
    sizes = each_dimension(pool_size, rank, f"{name}: pool_size")
    steps = each_dimension(strides, rank, f"{name}: strides")
    far = each_dimension(dilation, rank, f"{name}: dilation")
    windows: list[_Along] = []
    for axis, size, step, dilated, around in zip(axes, sizes, steps, far, paddings(padding, rank, name), strict=True):
        known = known_extent(shape[axis])
        if ceil_mode and known is None:
            raise TeError(f"{name}: ceil_mode of an image of shape {list(shape)}, which is not known")
        extent = shape[axis] if known is None else known
        count = spread(extent, size, step, dilated, around, ceil_mode)
        over = 0
        if ceil_mode:
            if (count - 1) * step >= extent + around[0]:  # no window begins in the trailing padding
                count -= 1
            over = max((count - 1) * step + (size - 1) * dilated + 1 - (extent + sum(around)), 0)
        windows.append(_Along(axis, size, step, dilated, *around, count, over))
    if any((count := known_extent(along.count)) is not None and count < 1 for along in windows):
        raise TeError(f"{name}: a window of {sizes}, dilated {far}, is larger than the image {list(shape)}")
    return windows


def _padded_image(data: Tensor, windows: Sequence[_Along], fill: PrimExpr) -> Tensor:
    """The image with its padding, extended to the ends of the last windows."""
    return padded(data, {along.axis: (along.front, along.behind + along.over) for along in windows}, fill)


def _pool(
    data: Tensor,
    windows: Sequence[_Along],
    combine: Callable[[list[PrimExpr], list[IterVar]], Any],
    name: str,
    tag: str = "pool",
) -> Any:
    """A tensor with an element for each window. combine: takes the indices of a tap, and the reduction axes over the
    taps."""
    over = [reduce_axis((0, along.size), f"rv{n}") for n, along in enumerate(windows)]

    def window(*axes: PrimExpr) -> Any:
        at = list(axes)
        for along, tap in zip(windows, over, strict=True):
            at[along.axis] = axes[along.axis] * along.step + tap.var * along.far
        return combine(at, over)

    counts = {along.axis: along.count for along in windows}
    extents = [counts.get(d, extent) for d, extent in enumerate(data.shape)]
    return compute(extents, window, name, tag, varargs_names=[f"ax{d}" for d in range(data.ndim)])


def _require_numbers(data: Tensor, name: str) -> None:
    if data.data_type.is_bool:
        raise TeError(f"{name} of bool, expected numbers")


_ARGUMENTS = """pool_size, strides, dilation: of the windows, a number, or one for each of {rank} dimensions.  padding:
    around the image, one number, one for each dimension, or the numbers before and then after each dimension.  layout:
    the order of the axes.  ceil_mode: whether windows that begin before the end may extend past the end."""


def _windows_in_numpy(
    shape: Sequence[int], windows: Sequence[_Along]
) -> Iterator[tuple[tuple[slice, ...], list[list[int]], list[int]]]:
    """The slices of the result, the positions in the image, and their numbers in the padded image, for each window."""
    for window in product(*(range(along.count) for along in windows)):
        target, inside, among = [slice(None)] * len(shape), list[list[int]](), list[int]()
        for along, index in zip(windows, window, strict=True):
            extent = shape[along.axis]
            positions = [index * along.step - along.front + tap * along.far for tap in range(along.size)]
            inside.append([p for p in positions if 0 <= p < extent])
            among.append(sum(-along.front <= p < extent + along.behind for p in positions))
            target[along.axis] = slice(index, index + 1)
        yield tuple(target), inside, among


def _elements(data: Array, windows: Sequence[_Along], inside: Sequence[Sequence[int]]) -> Array:
    """The elements of a window."""
    for along, positions in zip(windows, inside, strict=True):
        data = np.take(data, positions, along.axis)
    return data


def _empty_result(data: Array, windows: Sequence[_Along], dtype: str) -> Array:
    counts = {along.axis: along.count for along in windows}
    return np.zeros([counts.get(d, n) for d, n in enumerate(data.shape)], dtype)


def _max_pool(rank: int) -> Any:
    """Defines the max pooling of images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default = f"nn.max_pool{rank}d", f"NC{image}"

    def formula(
        data: Tensor,
        pool_size: Window = 1,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = default,
        ceil_mode: bool = False,
    ) -> Tensor:
        _require_numbers(data, name)
        windows = _windows(name, data.shape, image, pool_size, strides, dilation, padding, layout, ceil_mode)
        source = _padded_image(data, windows, reduction.lowest(data.dtype))
        return _pool(data, windows, lambda at, over: reduction.greatest(source(*at), axis=over), "pool_max")

    def reference(data: Array, **attributes: Any) -> Array:
        windows = _windows(name, data.shape, image, **attributes)
        result = _empty_result(data, windows, data.dtype.name)
        least = -np.inf if data.dtype.kind == "f" else np.iinfo(data.dtype).min
        for target, inside, _ in _windows_in_numpy(data.shape, windows):
            axes = tuple(along.axis for along in windows)
            result[target] = np.max(_elements(data, windows, inside), axes, keepdims=True, initial=least)
        return result

    formula.__name__ = formula.__qualname__ = f"max_pool{rank}d"
    formula.__doc__ = f"""The maximum of each window of an image.

    {_ARGUMENTS.format(rank=rank)}
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _max_pool_with_places(rank: int) -> Any:
    """Defines the max pooling with positions of images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default = f"nn.max_pool{rank}d_with_places", f"NC{image}"

    def formula(
        data: Tensor,
        pool_size: Window = 1,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = default,
        ceil_mode: bool = False,
    ) -> list[Tensor]:
        _require_numbers(data, name)
        windows = _windows(name, data.shape, image, pool_size, strides, dilation, padding, layout, ceil_mode)

        def greatest(at: list[PrimExpr], over: list[IterVar]) -> Any:
            own, inside = list(at), list[PrimExpr]()
            for along in windows:
                own[along.axis] = at[along.axis] - along.front
                inside += [own[along.axis] >= 0, own[along.axis] < data.shape[along.axis]]
            position = reduction.position(data, [along.axis for along in windows], own)
            return reduction.place_of_greatest((position, data(*own)), axis=over, where=scalar.all(*inside))

        positions, values = _pool(data, windows, greatest, "pool_max_places")
        return [values, positions]

    def reference(data: Array, **attributes: Any) -> list[Array]:
        windows = _windows(name, data.shape, image, **attributes)
        axes = [along.axis for along in windows]
        extents = [data.shape[axis] for axis in axes]
        values, positions = (_empty_result(data, windows, dtype) for dtype in (data.dtype.name, "int32"))
        for target, inside, _ in _windows_in_numpy(data.shape, windows):
            elements = np.moveaxis(_elements(data, windows, inside), axes, range(-rank, 0))
            flat = elements.reshape(*elements.shape[:-rank], -1)
            own = np.ravel_multi_index(np.meshgrid(*inside, indexing="ij"), extents).ravel()
            first = flat.argmax(-1)
            back = np.expand_dims(first, tuple(range(2, rank + 2)))
            order = [axis for axis in range(data.ndim) if axis not in axes] + axes
            positions[target] = own[back].transpose(np.argsort(order))
            values[target] = np.expand_dims(flat.max(-1), tuple(range(2, rank + 2))).transpose(np.argsort(order))
        return [values, positions]

    formula.__name__ = formula.__qualname__ = f"max_pool{rank}d_with_places"
    formula.__doc__ = f"""The maximum of each window of an image, and its position in the image, as an int32.

    A position is a row-major index within a channel; the first of several equal elements counts. A window of padding
    alone has the position 2**31 - 1. NaN makes both results unspecified.  {_ARGUMENTS.format(rank=rank)}
    """
    return operator(name, Pattern.OPAQUE, reference)(formula)


def _avg_pool(rank: int) -> Any:
    """Defines the average pooling of images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default = f"nn.avg_pool{rank}d", f"NC{image}"

    def formula(
        data: Tensor,
        pool_size: Window = 1,
        strides: Window = 1,
        dilation: Window = 1,
        padding: Window = 0,
        layout: str = default,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Tensor:
        _require_numbers(data, name)
        windows = _windows(name, data.shape, image, pool_size, strides, dilation, padding, layout, ceil_mode)
        source = _padded_image(data, windows, const(0, data.dtype))
        total = _pool(data, windows, lambda at, over: scalar.sum(source(*at), axis=over), "pool_sum")

        def average(*axes: PrimExpr) -> PrimExpr:
            count: PrimExpr = const(1)
            for along in windows:
                extent = data.shape[along.axis]
                first = axes[along.axis] * along.step - along.front
                low, end = (-along.front, extent + along.behind) if count_include_pad else (0, extent)
                skipped = scalar.max(low - first + (along.far - 1), const(0)) // along.far
                taken = scalar.min((end - first + (along.far - 1)) // along.far, const(along.size))
                count = count * scalar.max(taken - skipped, const(0))
            divisor = cast(data.dtype, scalar.max(count, const(1)))
            return scalar.div(total(*axes), divisor)

        names = [f"ax{d}" for d in range(data.ndim)]
        return compute(total.shape, average, "pool_avg", "elemwise", varargs_names=names)

    def reference(data: Array, count_include_pad: bool, **attributes: Any) -> Array:
        windows = _windows(name, data.shape, image, **attributes)
        is_float = data.dtype.kind == "f"
        result = _empty_result(data, windows, "float64" if is_float else "int64")
        for target, inside, among in _windows_in_numpy(data.shape, windows):
            elements = _elements(data, windows, inside).astype(result.dtype)
            total = np.sum(elements, tuple(along.axis for along in windows), keepdims=True)
            count = max(prod(among if count_include_pad else map(len, inside)), 1)
            result[target] = total / count if is_float else np.sign(total) * (np.abs(total) // count)
        return result.astype(data.dtype)

    formula.__name__ = formula.__qualname__ = f"avg_pool{rank}d"
    formula.__doc__ = f"""The mean of each window of an image.

    {_ARGUMENTS.format(rank=rank)}
    count_include_pad: whether the padding counts, as zeros.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


max_pool1d, max_pool2d, max_pool3d = (_max_pool(rank) for rank in (1, 2, 3))
max_pool1d_with_places, max_pool2d_with_places, max_pool3d_with_places = (
    _max_pool_with_places(rank) for rank in (1, 2, 3)
)
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(rank) for rank in (1, 2, 3))


# Adaptive windows


def _adaptive(kind: str, rank: int) -> Any:
    """Defines the adaptive pooling of a kind, "max" or "avg", of images of a rank."""
    image = SPATIAL[3 - rank :]
    name, default = f"nn.adaptive_{kind}_pool{rank}d", f"NC{image}"

    def settings(shape: Sequence[Extent], output_size: Window | None, layout: str) -> list[tuple[int, Extent]]:
        """The dimensions of the image, and the number of windows along each dimension."""
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
        over = [reduce_axis((0, _largest_window(data.shape[d], count)), f"rv{n}") for n, (d, count) in enumerate(parts)]
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
        result = compute(shape, window, tag, tag, varargs_names=names)
        if kind == "max":
            return result

        def average(*axes: PrimExpr) -> PrimExpr:
            number: PrimExpr = const(1)
            for d, count in parts:
                start, end = _bounds(axes[d], data.shape[d], count)
                number = number * (end - start)
            return scalar.div(result(*axes), cast(data.dtype, scalar.max(number, const(1))))

        return compute(shape, average, "adaptive_pool_avg", "elemwise", varargs_names=names)

    def reference(data: Array, **attributes: Any) -> Array:
        parts = settings(data.shape, **attributes)
        axes = tuple(d for d, _ in parts)
        is_float = data.dtype.kind == "f"
        result = np.zeros([dict(parts).get(d, n) for d, n in enumerate(data.shape)], "float64" if is_float else "int64")
        for indices in product(*(range(count) for _, count in parts)):
            source, target = [slice(None)] * data.ndim, [slice(None)] * data.ndim
            for (d, count), index in zip(parts, indices, strict=True):
                source[d] = slice(index * data.shape[d] // count, -(-(index + 1) * data.shape[d] // count))
                target[d] = slice(index, index + 1)
            window = data[tuple(source)].astype(result.dtype)
            if kind == "max":
                result[tuple(target)] = window.max(axes, keepdims=True)
            else:
                mean = window.mean(axes, keepdims=True)
                result[tuple(target)] = mean if is_float else np.trunc(mean)
        return result.astype(data.dtype)

    what = "The maximum" if kind == "max" else "The mean"
    formula.__name__ = formula.__qualname__ = f"adaptive_{kind}_pool{rank}d"
    formula.__doc__ = f"""{what} of each window of an image, for a given number of windows.

    output_size: the number of windows along {rank} dimensions, one number, or one for each dimension; None for a window
    per element. Window n begins at `n * extent / output_size`, rounded down, and ends at
    `(n + 1) * extent / output_size`, rounded up.  layout: the order of the axes.
    """
    return operator(name, Pattern.OUT_FUSABLE, reference)(formula)


def _bounds(window: PrimExpr, extent: Extent, count: Extent) -> tuple[PrimExpr, PrimExpr]:
    """The start and the end of a window."""
    if _is_even(extent, count):
        size = extent // count
        return window * size, window * size + size
    return window * extent // count, ((window + 1) * extent + (count - 1)) // count


def _is_even(extent: Extent, count: Extent) -> bool:
    """Whether all windows are known to have equal size."""
    own, windows = known_extent(extent), known_extent(count)
    return own is not None and windows is not None and own % windows == 0


def _largest_window(extent: Extent, count: Extent) -> Extent:
    """The size of the largest window, or an upper bound."""
    own, windows = known_extent(extent), known_extent(count)
    if own is None or windows is None:
        return (extent + (count - 1)) // count + 1
    return max(-(-(n + 1) * own // windows) - n * own // windows for n in range(windows))


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("max", rank) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("avg", rank) for rank in (1, 2, 3))


# Whole images


def _global(kind: str, rank: int) -> Any:
    """Defines the pooling of a kind, "max" or "avg", over whole images of a rank."""
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
    what = "maximum" if kind == "max" else "mean"
    formula.__doc__ = f"The {what} of each channel of each image.\n\nlayout: the order of the axes."
    return operator(name, Pattern.COMM_REDUCE, reference)(formula)


global_max_pool1d, global_max_pool2d, global_max_pool3d = (_global("max", rank) for rank in (1, 2, 3))
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = (_global("avg", rank) for rank in (1, 2, 3))
