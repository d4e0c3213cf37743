"""Pooling operators: the maximum or the mean of windows of images, in one to three dimensions and any layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import Any, ClassVar

import numpy as np

from ..core.dtypes import dtype_of_numpy, is_float_dtype, numpy_dtype, parse_dtype, value_bounds, wide_dtype
from ..expressions import functions as scalar
from ..expressions.axes import IterVar, reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, as_expr, cast, const
from ..expressions.tensor import Tensor, compute, elementwise_tensor, is_same_extent
from . import reduction
from .definition import Pattern
from .extents import Extent, known_extent, widen_index
from .ranks import ImageOperator, for_rank, for_ranks
from .requirements import require_floats
from .requirements import wide_dtype as float_sum_dtype
from .windows import Window, pad_with_value, paddings, window_count

Array = Any

# Windows of a fixed size


@dataclass(frozen=True)
class _Along:
    """The windows along one dimension of an image. size, step, far: the number of taps, the stride and the dilation.
    before, after: the padding.  count: the number of windows.  over: the number of elements that the last window covers
    past the padding."""

    axis: int
    size: int
    step: int
    far: int
    before: int
    after: int
    count: Extent
    over: int


def _along(
    axis: int, extent: Extent, size: int, step: int, far: int, around: tuple[int, int], ceil_mode: bool, skip: bool
) -> _Along:
    """The windows along a dimension of an extent. skip: whether no window begins in the trailing padding, which is no
    longer than a window if the extent is unknown."""
    count, span = window_count(extent, size, step, far, around, ceil_mode), (size - 1) * far + 1
    if not ceil_mode:
        return _Along(axis, size, step, far, *around, count, 0)
    if known_extent(extent) is None:
        if not skip or around[1] + step <= span:  # the last window begins before the trailing padding
            return _Along(axis, size, step, far, *around, count, step - 1)
        count = (extent + around[0] + step - 1) // step
        return _Along(axis, size, step, far, *around, count, max(span - 1 - around[1], 0))
    if skip and (count - 1) * step >= extent + around[0]:
        count -= 1
    over = max((count - 1) * step + span - (extent + sum(around)), 0)
    return _Along(axis, size, step, far, *around, count, over)


@dataclass(frozen=True)
class _Pool(ImageOperator):
    """pool_size, strides, dilation: of the windows, a number, or one for each of {rank} dimensions.  padding:
    around the image, one number, one for each dimension, or the numbers before and then after each dimension.  layout:
    the order of the axes.  ceil_mode: whether the last window may extend past the padding.  skip_padding: whether a
    last window of `ceil_mode` that begins in the trailing padding is left out, as in ONNX and PyTorch."""

    pool_size: Window = 1
    strides: Window = 1
    dilation: Window = 1
    padding: Window = 0
    layout: str = "NC{image}"
    ceil_mode: bool = False
    skip_padding: bool = field(default=False, kw_only=True)

    def windows(self, shape: Sequence[Extent]) -> list[_Along]:
        """The windows of an image, in the order of its dimensions."""
        self.require_rank(shape)
        axes, sizes = self.order(self.layout)[2:], self.numbers("pool_size")
        steps, far, around = self.numbers("strides"), self.numbers("dilation"), self.around
        windows: list[_Along] = []
        for axis, size, step, dilated, pair in zip(axes, sizes, steps, far, around, strict=True):
            known = known_extent(shape[axis])
            if self.ceil_mode and self.skip_padding and known is None and pair[1] > (size - 1) * dilated + 1:
                given = f"skip_padding of an image of shape {list(shape)}, which is not known"
                raise TeError(f"{self.name}: {given}, with padding of {pair[1]}, longer than a window")
            extent = shape[axis] if known is None else known
            windows.append(_along(axis, extent, size, step, dilated, pair, self.ceil_mode, self.skip_padding))
        if any((count := known_extent(along.count)) is not None and count < 1 for along in windows):
            raise TeError(f"{self.name}: a window of {sizes}, dilated {far}, is larger than the image {list(shape)}")
        return windows

    @property
    def around(self) -> list[tuple[int, int]]:
        """The padding before and after each dimension."""
        return paddings(self.padding, self.rank, self.name)

    def windows_of(self, data: Tensor) -> list[_Along]:
        """The windows of an image. TeError for an image of bool."""
        _require_numbers(data, self.name)
        return self.windows(data.shape)


def _padded_image(data: Tensor, windows: Sequence[_Along], fill: PrimExpr) -> Tensor:
    """The image with its padding, extended to the ends of the last windows."""
    return pad_with_value(data, {along.axis: (along.before, along.after + along.over) for along in windows}, fill)


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


def _windows_in_numpy(
    shape: Sequence[int], windows: Sequence[_Along]
) -> Iterator[tuple[tuple[slice, ...], list[list[int]], list[int]]]:
    """The slices of the result, the positions in the image, and their numbers in the padded image, for each window."""
    for window in product(*(range(along.count) for along in windows)):
        target, inside, among = [slice(None)] * len(shape), list[list[int]](), list[int]()
        for along, index in zip(windows, window, strict=True):
            extent = shape[along.axis]
            positions = [index * along.step - along.before + tap * along.far for tap in range(along.size)]
            inside.append([p for p in positions if 0 <= p < extent])
            among.append(sum(-along.before <= p < extent + along.after for p in positions))
            target[along.axis] = slice(index, index + 1)
        yield tuple(target), inside, among


def _elements(data: Array, windows: Sequence[_Along], inside: Sequence[Sequence[int]]) -> Array:
    """The elements of a window."""
    for along, positions in zip(windows, inside, strict=True):
        data = np.take(data, positions, along.axis)
    return data


def _empty_result(data: Array, windows: Sequence[_Along], dtype: str) -> Array:
    counts = {along.axis: along.count for along in windows}
    return np.zeros([counts.get(d, n) for d, n in enumerate(data.shape)], numpy_dtype(dtype))


@dataclass(frozen=True)
class _MaxPool(_Pool):
    __doc__ = f"""The maximum of each window of an image.

    {_Pool.__doc__}
    """

    def formula(self, data: Tensor) -> Tensor:
        windows = self.windows_of(data)
        source = _padded_image(data, windows, reduction.least_value(data.dtype))
        return _pool(data, windows, lambda at, over: reduction.max_reducer(source(*at), axis=over), "pool_max")

    def reference(self, data: Array) -> Array:
        windows = self.windows(data.shape)
        result = _empty_result(data, windows, data.dtype.name)
        least, _ = value_bounds(dtype_of_numpy(data.dtype))
        axes = tuple(along.axis for along in windows)
        for target, inside, _ in _windows_in_numpy(data.shape, windows):
            result[target] = np.max(_elements(data, windows, inside), axes, keepdims=True, initial=least)
        return result


@dataclass(frozen=True)
class _MaxPoolWithPlaces(_Pool):
    __doc__ = f"""The maximum of each window of an image, and its position in the image, as an int32.

    A position is a row-major index within a channel; the first of several equal elements counts. A window of padding
    alone has the position 2**31 - 1. NaN makes both results unspecified.  {_Pool.__doc__}
    """

    def formula(self, data: Tensor) -> list[Tensor]:
        windows = self.windows_of(data)

        def greatest(at: list[PrimExpr], over: list[IterVar]) -> Any:
            own, inside = list(at), list[PrimExpr]()
            for along in windows:
                own[along.axis] = at[along.axis] - along.before
                inside += [own[along.axis] >= 0, own[along.axis] < data.shape[along.axis]]
            position = reduction.row_major_position(data, [along.axis for along in windows], own)
            return reduction.argmax_reducer((position, data(*own)), axis=over, where=scalar.all(*inside))

        positions, values = _pool(data, windows, greatest, "pool_max_places")
        return [values, positions]

    def reference(self, data: Array) -> list[Array]:
        windows = self.windows(data.shape)
        axes = [along.axis for along in windows]
        image, last = [data.shape[axis] for axis in axes], range(-self.rank, 0)
        values, positions = (_empty_result(data, windows, dtype) for dtype in (data.dtype.name, "int32"))
        least, _ = value_bounds(dtype_of_numpy(data.dtype))
        for target, inside, _ in _windows_in_numpy(data.shape, windows):
            if not all(inside):
                values[target], positions[target] = least, 2**31 - 1
                continue
            elements = np.moveaxis(_elements(data, windows, inside), axes, last)
            flat = elements.reshape(*elements.shape[: -self.rank], prod(elements.shape[-self.rank :]))
            own = np.ravel_multi_index(np.meshgrid(*inside, indexing="ij"), image).ravel()
            for results, each in ((positions, own[flat.argmax(-1)]), (values, flat.max(-1))):
                results[target] = np.moveaxis(each.reshape(*each.shape, *[1] * self.rank), last, axes)
        return [values, positions]


def _with_wide_sums(data: Tensor, average: Callable[[Tensor], Tensor]) -> Tensor:
    """The average of windows. Integers of less than 32 bits are added in 32 bits, which hold the sum of a window of
    less than 65,536 elements."""
    dtype = parse_dtype(data.dtype)
    if not dtype.is_int or dtype.bits >= 32:
        return average(data)
    wide = elementwise_tensor(lambda x: cast("int32", x), [data], "T_cast")
    return elementwise_tensor(lambda x: cast(data.dtype, x), [average(wide)], "T_cast")


@dataclass(frozen=True)
class _AvgPool(_Pool):
    __doc__ = f"""The mean of each window of an image.

    {_Pool.__doc__}
    count_include_pad: whether the padding counts, as zeros.
    """

    count_include_pad: bool = False

    def formula(self, data: Tensor) -> Tensor:
        return _with_wide_sums(data, self._average)

    def _average(self, data: Tensor) -> Tensor:
        windows = self.windows_of(data)
        source = _padded_image(data, windows, const(0, data.dtype))
        total = _pool(data, windows, lambda at, over: scalar.sum(source(*at), axis=over), "pool_sum")

        names = [f"ax{d}" for d in range(data.ndim)]
        return compute(
            total.shape,
            lambda *axes: self.divide_by_counts(total(*axes), axes, data),
            "pool_avg",
            "elemwise",
            varargs_names=names,
        )

    def divide_by_counts(self, value: PrimExpr, window: Sequence[PrimExpr], data: Tensor) -> PrimExpr:
        """The quotient of a value and the number of elements of a window."""
        number: PrimExpr = const(1)
        for along in self.windows(data.shape):
            number = number * self.count(window[along.axis], along, data.shape[along.axis])
        return scalar.div(value, cast(data.dtype, scalar.max(number, const(1))))

    def counted(self, inside: Sequence[Sequence[int]], among: Sequence[int]) -> int:
        """The number of elements of a window, as of `_windows_in_numpy`."""
        return max(prod(among if self.count_include_pad else map(len, inside)), 1)

    def count(self, window: PrimExpr, along: _Along, extent: PrimExpr) -> PrimExpr:
        """The number of elements of a window along a dimension."""
        first = window * along.step - along.before
        low, end = (-along.before, extent + along.after) if self.count_include_pad else (0, extent)
        skipped = scalar.max(low - first + (along.far - 1), const(0)) // along.far
        taken = scalar.min((end - first + (along.far - 1)) // along.far, const(along.size))
        return scalar.max(taken - skipped, const(0))

    def reference(self, data: Array) -> Array:
        windows = self.windows(data.shape)
        is_float = is_float_dtype(data.dtype)
        result = _empty_result(data, windows, wide_dtype(data.dtype).name)
        for target, inside, among in _windows_in_numpy(data.shape, windows):
            elements = _elements(data, windows, inside).astype(result.dtype)
            total = np.sum(elements, tuple(along.axis for along in windows), keepdims=True)
            count = self.counted(inside, among)
            result[target] = total / count if is_float else np.sign(total) * (np.abs(total) // count)
        return result.astype(data.dtype)


max_pool1d, max_pool2d, max_pool3d = for_ranks("nn.max_pool{rank}d", Pattern.OUT_FUSABLE, _MaxPool)
max_pool1d_with_places, max_pool2d_with_places, max_pool3d_with_places = for_ranks(
    "nn.max_pool{rank}d_with_places", Pattern.OPAQUE, _MaxPoolWithPlaces
)
avg_pool1d, avg_pool2d, avg_pool3d = for_ranks("nn.avg_pool{rank}d", Pattern.OUT_FUSABLE, _AvgPool)


# Gradients


@dataclass(frozen=True)
class _PoolGradient(ImageOperator):
    """pool_size, strides, padding, layout, ceil_mode: as of the pool. The operands are the gradient of its result, and
    its image."""

    pool_size: Window = 1
    strides: Window = 1
    padding: Window = 0
    layout: str = "NC{image}"
    ceil_mode: bool = False

    @property
    def pool(self) -> _Pool:
        """The pool that determines the windows."""
        raise NotImplementedError

    def shares(self, out_grad: Tensor, data: Tensor) -> Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], PrimExpr]:
        """The function from the indices of a window and of an element in it to the part of the gradient of the window
        that is the element's."""
        raise NotImplementedError

    def factors(self, data: Array) -> Callable[..., Any]:
        """The function from the slices of the result, a position in the image, and the positions and their numbers, as
        of `_windows_in_numpy`, to the factor of the gradient."""
        raise NotImplementedError

    def formula(self, out_grad: Tensor, data: Tensor) -> Tensor:
        require_floats(data, f"{self.name}: data")
        windows = self.pool.windows_of(data)
        counts = {along.axis: along.count for along in windows}
        expected = [as_expr(counts.get(d, extent)) for d, extent in enumerate(data.shape)]
        fits = out_grad.ndim == data.ndim and all(map(is_same_extent, out_grad.shape, expected))
        if not fits or out_grad.dtype != data.dtype:
            given = f"out_grad of shape {list(out_grad.shape)} of {out_grad.dtype}"
            raise TeError(f"{self.name}: {given}, expected {expected} of {data.dtype}")
        share, kind = self.shares(out_grad, data), float_sum_dtype(data)
        over = [reduce_axis((0, -(-along.size // along.step)), f"rv{n}") for n, along in enumerate(windows)]

        def element(*axes: PrimExpr) -> PrimExpr:
            at, inside = list(axes), list[PrimExpr]()
            for along, number in zip(windows, over, strict=True):
                place = axes[along.axis] + along.before
                window = place // along.step - number.var
                inside += [window >= 0, window < along.count, place - window * along.step < along.size]
                at[along.axis] = window
            found = scalar.if_then_else(scalar.all(*inside), share(at, axes), const(0, data.dtype))
            return scalar.sum(cast(kind, found), axis=over)

        names = [f"ax{d}" for d in range(data.ndim)]
        total = compute(data.shape, element, "pool_grad", "pool_grad", varargs_names=names)
        if kind == data.dtype:
            return total
        return elementwise_tensor(lambda x: cast(data.dtype, x), [total], "T_cast")

    def reference(self, out_grad: Array, data: Array) -> Array:
        windows, factor = self.pool.windows(data.shape), self.factors(data)
        result = np.zeros(data.shape, wide_dtype(data.dtype))
        for target, inside, among in _windows_in_numpy(data.shape, windows):
            slope = out_grad[target].astype(result.dtype)
            for position in product(*inside):
                own = list(target)
                for along, index in zip(windows, position, strict=True):
                    own[along.axis] = slice(index, index + 1)
                result[tuple(own)] += slope * factor(target, position, inside, among)
        return result.astype(data.dtype)


@dataclass(frozen=True)
class _MaxPoolGradient(_PoolGradient):
    __doc__ = f"""The gradient of the image of a pool of maxima: that of a window is the gradient of its first maximum.

    {_PoolGradient.__doc__}
    """

    @property
    def pool(self) -> _MaxPoolWithPlaces:
        windows = self.pool_size, self.strides, 1, self.padding
        return _MaxPoolWithPlaces(self.name, self.rank, *windows, self.layout, self.ceil_mode)

    def shares(self, out_grad: Tensor, data: Tensor) -> Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], PrimExpr]:
        places, along = self.pool.formula(data)[1], self.order(self.layout)[2:]

        def share(window: Sequence[PrimExpr], at: Sequence[PrimExpr]) -> PrimExpr:
            is_first = places(*window).equal(reduction.row_major_position(data, along, at))
            return scalar.if_then_else(is_first, out_grad(*window), const(0, data.dtype))

        return share

    def factors(self, data: Array) -> Callable[..., Any]:
        places, image = self.pool.reference(data)[1], [data.shape[d] for d in self.order(self.layout)[2:]]
        return lambda target, position, *_: places[target] == np.ravel_multi_index(position, image)


@dataclass(frozen=True)
class _AvgPoolGradient(_PoolGradient):
    __doc__ = f"""The gradient of the image of a pool of means: that of a window is divided evenly among its elements.

    {_PoolGradient.__doc__}
    count_include_pad: whether the padding counts, as zeros.
    """

    count_include_pad: bool = False

    @property
    def pool(self) -> _AvgPool:
        windows = self.pool_size, self.strides, 1, self.padding
        options = {"count_include_pad": self.count_include_pad}
        return _AvgPool(self.name, self.rank, *windows, self.layout, self.ceil_mode, **options)

    def shares(self, out_grad: Tensor, data: Tensor) -> Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], PrimExpr]:
        divide = self.pool.divide_by_counts
        return lambda window, at: divide(out_grad(*window), window, data)

    def factors(self, data: Array) -> Callable[..., Any]:
        one = np.ones((), wide_dtype(data.dtype))
        return lambda target, position, inside, among: one / self.pool.counted(inside, among)


max_pool2d_grad = for_rank(2, "nn.max_pool2d_grad", Pattern.OUT_FUSABLE, _MaxPoolGradient)
avg_pool2d_grad = for_rank(2, "nn.avg_pool2d_grad", Pattern.OUT_FUSABLE, _AvgPoolGradient)


# Adaptive windows


@dataclass(frozen=True)
class _AdaptivePool(ImageOperator):
    """The {what} of each window of an image, for a given number of windows.

    output_size: the number of windows along {rank} dimensions, one number, or one for each dimension; None for a window
    per element. Window n begins at `n * extent / output_size`, rounded down, and ends at
    `(n + 1) * extent / output_size`, rounded up.  layout: the order of the axes.
    """

    output_size: Window | None = None
    layout: str = "NC{image}"
    kind: ClassVar[str]

    def windows(self, shape: Sequence[Extent]) -> list[tuple[int, Extent]]:
        """The dimensions of the image, and the number of windows along each dimension."""
        self.require_rank(shape)
        spatial = self.order(self.layout)[2:]
        if self.output_size is None:
            return [(d, shape[d]) for d in spatial]
        return list(zip(spatial, self.numbers("output_size"), strict=True))

    def formula(self, data: Tensor) -> Tensor:
        _require_numbers(data, self.name)
        windows = self.windows(data.shape)
        if self.output_size is None:
            return elementwise_tensor(lambda x: x, [data], f"adaptive_pool_{self.kind}")
        return self.pool(data, windows)

    def pool(self, data: Tensor, windows: Sequence[tuple[int, Extent]]) -> Tensor:
        """The pooled image."""
        raise NotImplementedError

    def reference(self, data: Array) -> Array:
        windows = self.windows(data.shape)
        counts, axes = dict(windows), tuple(d for d, _ in windows)
        kind = wide_dtype(data.dtype)
        result = np.zeros([counts.get(d, n) for d, n in enumerate(data.shape)], kind)
        for indices in product(*(range(count) for _, count in windows)):
            source, target = [slice(None)] * data.ndim, [slice(None)] * data.ndim
            for (d, count), index in zip(windows, indices, strict=True):
                source[d] = slice(index * data.shape[d] // count, -(-(index + 1) * data.shape[d] // count))
                target[d] = slice(index, index + 1)
            result[tuple(target)] = self.pool_array(data[tuple(source)].astype(kind), axes)
        return result.astype(data.dtype)

    def pool_array(self, window: Array, axes: tuple[int, ...]) -> Array:
        """The pooled elements of a window, by numpy."""
        raise NotImplementedError


class _AdaptiveMaxPool(_AdaptivePool):
    kind, what = "max", "maximum"

    def pool(self, data: Tensor, windows: Sequence[tuple[int, Extent]]) -> Tensor:
        return _reduce_windows(data, windows, reduction.max_reducer, "adaptive_pool_max")

    def pool_array(self, window: Array, axes: tuple[int, ...]) -> Array:
        return window.max(axes, keepdims=True)


class _AdaptiveAvgPool(_AdaptivePool):
    kind, what = "avg", "mean"

    def pool(self, data: Tensor, windows: Sequence[tuple[int, Extent]]) -> Tensor:
        return _with_wide_sums(data, lambda wide: self._average(wide, windows))

    def _average(self, data: Tensor, windows: Sequence[tuple[int, Extent]]) -> Tensor:
        total = _reduce_windows(data, windows, scalar.sum, "adaptive_pool_sum")

        def average(*axes: PrimExpr) -> PrimExpr:
            number: PrimExpr = const(1)
            for d, count in windows:
                start, end = _bounds(axes[d], data.shape[d], count)
                number = number * (end - start)
            return scalar.div(total(*axes), cast(data.dtype, scalar.max(number, const(1))))

        names = [f"ax{d}" for d in range(data.ndim)]
        return compute(total.shape, average, "adaptive_pool_avg", "elemwise", varargs_names=names)

    def pool_array(self, window: Array, axes: tuple[int, ...]) -> Array:
        mean = window.mean(axes, keepdims=True)
        return mean if window.dtype.kind == "f" else np.trunc(mean)


def _reduce_windows(
    data: Tensor, windows: Sequence[tuple[int, Extent]], reducer: Callable[..., Any], tag: str
) -> Tensor:
    """A tensor with an element for each window. windows: the dimensions of the image, and the number of windows."""
    largest = [_largest_window(data.shape[d], count) for d, count in windows]
    over = [reduce_axis((0, size), f"rv{n}") for n, size in enumerate(largest)]

    def window(*axes: PrimExpr) -> PrimExpr:
        at = dict(enumerate(axes))
        inside: list[PrimExpr] = []
        for (d, count), tap in zip(windows, over, strict=True):
            start, end = _bounds(axes[d], data.shape[d], count)
            at[d] = start + tap.var
            inside += [] if _is_even(data.shape[d], count) else [at[d] < end]
        where = scalar.all(*inside) if inside else None
        return reducer(data(*(at[d] for d in range(data.ndim))), axis=over, where=where)

    shape = [dict(windows).get(d, extent) for d, extent in enumerate(data.shape)]
    return compute(shape, window, tag, tag, varargs_names=[f"ax{d}" for d in range(data.ndim)])


def _bounds(window: PrimExpr, extent: Extent, count: Extent) -> tuple[PrimExpr, PrimExpr]:
    """The start and the end of a window."""
    if _is_even(extent, count):
        size = extent // count
        return window * size, window * size + size
    index = widen_index(window, _product_dtype(extent, count))
    return index * extent // count, ((index + 1) * extent + (count - 1)) // count


def _product_dtype(extent: Extent, count: Extent) -> str:
    """The data type of the products of the extent and the index of a window."""
    factors = [known_extent(extent), known_extent(count)]
    return "int64" if prod(2**30 if factor is None else factor for factor in factors) >= 2**30 else "int32"


def _is_even(extent: Extent, count: Extent) -> bool:
    """Whether all windows are known to have equal size."""
    own, windows = known_extent(extent), known_extent(count)
    return own is not None and windows is not None and own % windows == 0


def _largest_window(extent: Extent, count: Extent) -> Extent:
    """The size of the largest window, or an upper bound."""
    own, windows = known_extent(extent), known_extent(count)
    if own is None or windows is None:
        return (extent + (count - 1)) // count + 1
    size, rest = divmod(own, windows)  # the starts past an element: all multiples of gcd(own, windows) / windows
    return size if rest == 0 else size + (1 if rest == gcd(own, windows) else 2)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = for_ranks(
    "nn.adaptive_max_pool{rank}d", Pattern.OUT_FUSABLE, _AdaptiveMaxPool
)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = for_ranks(
    "nn.adaptive_avg_pool{rank}d", Pattern.OUT_FUSABLE, _AdaptiveAvgPool
)


# Whole images


@dataclass(frozen=True)
class _GlobalPool(ImageOperator):
    """The {what} of each channel of each image.

    layout: the order of the axes.
    """

    layout: str = "NC{image}"

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the image."""
        return tuple(self.order(self.layout)[2:])


class _GlobalMaxPool(_GlobalPool):
    what = "maximum"

    def formula(self, data: Tensor) -> Tensor:
        self.require_rank(data.shape)
        return reduction.max(data, self.axes, True)

    def reference(self, data: Array) -> Array:
        return np.max(data, axis=self.axes, keepdims=True)


class _GlobalAvgPool(_GlobalPool):
    what = "mean"

    def formula(self, data: Tensor) -> Tensor:
        self.require_rank(data.shape)
        return reduction.mean(data, self.axes, True)

    def reference(self, data: Array) -> Array:
        return np.mean(data.astype("float64"), axis=self.axes, keepdims=True).astype(data.dtype)


global_max_pool1d, global_max_pool2d, global_max_pool3d = for_ranks(
    "nn.global_max_pool{rank}d", Pattern.COMM_REDUCE, _GlobalMaxPool
)
global_avg_pool1d, global_avg_pool2d, global_avg_pool3d = for_ranks(
    "nn.global_avg_pool{rank}d", Pattern.COMM_REDUCE, _GlobalAvgPool
)
