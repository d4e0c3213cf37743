"""Convolutions and transposed convolutions of images, in one to three dimensions and any layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from ..core.dtypes import numpy_dtype, wide_dtype
from ..expressions import functions as scalar
from ..expressions.axes import IterVar, reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, as_expr, cast, const
from ..expressions.tensor import Tensor, compute, is_same_extent
from .definition import Pattern
from .extents import Extent, known_extent
from .nn import accumulator_dtype
from .ranks import ImageOperator, for_rank, for_ranks
from .windows import Window, each_dimension, pad_with_value, paddings, require_known_extents, window_count

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


def _in_layout_order(order: Sequence[int], usual: Sequence[Any]) -> list[Any]:
    """Values in the order N, C and image (or O, I and taps), permuted into the order of a layout."""
    return [usual[order.index(d)] for d in range(len(order))]


@dataclass(frozen=True)
class Along:
    """The windows along one dimension: the number of taps, the stride, the dilation, and the padding before and after
    the image."""

    size: int
    step: int
    far: int
    front: int
    behind: int


@dataclass(frozen=True)
class Groups:
    """The groups of channels. inner, outer: the input and output channels of each group."""

    number: int
    inner: int
    outer: int

    def channel(self, feature: PrimExpr, number: PrimExpr) -> PrimExpr:
        """The input channel with a number within the group of an output channel."""
        return feature // self.outer * self.inner + number if self.number > 1 else number

    def slices(self) -> Iterator[tuple[slice, slice]]:
        """The input and output channels of each group."""
        for n in range(self.number):
            yield slice(n * self.inner, (n + 1) * self.inner), slice(n * self.outer, (n + 1) * self.outer)


def windows_of(op: ImageOperator, padding: Window, sizes: Sequence[int]) -> list[Along]:
    """The windows along each dimension of an operator with strides and dilation. sizes: the numbers of taps."""
    around = paddings(padding, op.rank, op.name)
    parts = zip(sizes, op.numbers("strides"), op.numbers("dilation"), around, strict=True)
    return [Along(size, step, far, *pair) for size, step, far, pair in parts]


def tap_axes(op: ImageOperator, counts: Sequence[int]) -> list[IterVar]:
    """Reduction axes over the taps of windows."""
    return [reduce_axis((0, n), f"r{letter.lower()}") for n, letter in zip(counts, op.image, strict=True)]


class _WithWeights(ImageOperator):
    """The attributes of convolutions and of transposed convolutions, which have them in different orders."""

    strides: Window
    padding: Window
    dilation: Window
    groups: int
    channels: int | None
    kernel_size: Window | None
    data_layout: str
    kernel_layout: str
    out_layout: str
    out_dtype: str

    @property
    def layouts(self) -> _Layouts:
        out = self.out_layout or self.data_layout
        names = {"N": "nn", "C": "ff", "D": "zz", "H": "yy", "W": "xx"}
        data, weight = self.order(self.data_layout), self.order(self.kernel_layout, "OI")
        return _Layouts(data, weight, self.order(out), [names[letter] for letter in out])

    def extents(self, data: Tensor, weight: Tensor) -> list[int]:
        """The number of channels of data, and the extents O, I and taps of the weight. TeError for an unknown
        extent."""
        layouts = self.layouts
        if data.ndim != self.rank + 2 or weight.ndim != self.rank + 2:
            dimensions = f"{data.ndim} and {weight.ndim} dimensions"
            raise TeError(f"{self.name}: data and weight of {dimensions}, expected {self.rank + 2}")
        extents = [data.shape[layouts.data[1]], *(weight.shape[d] for d in layouts.weight)]
        return require_known_extents(extents, self.name)

    def windows(self, sizes: Sequence[int]) -> list[Along]:
        """The windows along each dimension."""
        return windows_of(self, self.padding, sizes)

    def require_groups(self, inputs: int, expected: int, channels: int, weight: str) -> None:
        """TeError unless the number of input channels is as expected, and the groups divide the channels."""
        if self.groups < 1 or inputs != expected or channels % self.groups:
            raise TeError(f"{self.name}: {inputs} channels and {weight} do not go together in {self.groups} groups")

    def require_attributes(self, features: int, sizes: list[int]) -> None:
        """TeError unless the weight has the channels and taps that the attributes state."""
        name, channels, kernel_size = self.name, self.channels, self.kernel_size
        if channels is not None and channels != features:
            raise TeError(f"{name}: weight for {features} channels, expected {channels} as channels says")
        if kernel_size is not None and each_dimension(kernel_size, len(sizes), f"{name}: kernel_size") != sizes:
            raise TeError(f"{name}: weight for windows of {sizes}, expected {kernel_size} as kernel_size says")

    def result(self, shape: Sequence[Extent], fcompute: Any) -> Tensor:
        """The result with a shape in the order N, C and image."""
        layouts, tag = self.layouts, self.name.rpartition(".")[2]
        return compute(_in_layout_order(layouts.out, shape), fcompute, tag, tag, varargs_names=layouts.names)

    def wide_arrays(self, data: Array, weight: Array) -> tuple[Array, Array]:
        """The operands in the order N, C and image, and O, I and taps, in the data type to compute a reference in."""
        wide = wide_dtype(numpy_dtype(self.out_dtype or data.dtype.name))
        return data.transpose(self.layouts.data).astype(wide), weight.transpose(self.layouts.weight).astype(wide)

    def result_array(self, result: Array, data: Array) -> Array:
        """The result of a reference, in its data type and its layout."""
        narrow = result.astype(numpy_dtype(self.out_dtype or data.dtype.name))
        return narrow.transpose(_in_layout_order(self.layouts.out, range(self.rank + 2)))


def _mix(weights: Array, data: Array) -> Array:
    """The products of O by I weights and the channels of arrays, summed over the channels."""
    return np.moveaxis(np.tensordot(weights, data, (1, 1)), 0, 1)


def _strided_slices(taps: Sequence[int], windows: Sequence[Along], counts: Sequence[int]) -> list[slice]:
    """The positions of a tap in all windows, along each dimension. counts: the numbers of windows."""
    parts = zip(taps, windows, counts, strict=True)
    return [slice(t * w.far, t * w.far + (n - 1) * w.step + 1, w.step) for t, w, n in parts]


# Convolutions


def window_counts(extents: Sequence[Extent], windows: Sequence[Along]) -> list[Extent]:
    """The number of windows along each dimension."""
    parts = zip(extents, windows, strict=True)
    return [window_count(n, w.size, w.step, w.far, (w.front, w.behind)) for n, w in parts]


def require_windows(name: str, data: Tensor, counts: Sequence[Extent], windows: Sequence[Along]) -> None:
    """TeError for a window that is larger than the image. counts: the number of windows along each dimension."""
    if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
        sizes, far = [along.size for along in windows], [along.far for along in windows]
        raise TeError(f"{name}: a window of {sizes}, dilated {far}, is larger than the image {list(data.shape)}")


def padded_image(
    name: str,
    data: Tensor,
    spatial: Sequence[int],
    windows: Sequence[Along],
    value: PrimExpr | None = None,
) -> tuple[Tensor, list[Extent]]:
    """The padded data, and the number of windows along each dimension. spatial: the axes of the image.  value: the
    padding, by default 0. TeError for a window that is larger than the image."""
    counts = window_counts([data.shape[d] for d in spatial], windows)
    require_windows(name, data, counts, windows)
    around = {d: (along.front, along.behind) for d, along in zip(spatial, windows, strict=True)}
    return pad_with_value(data, around, const(0, data.dtype) if value is None else value), counts


@dataclass(frozen=True)
class Convolution(_WithWeights):
    """The convolution of an image with weights, summed over the input channels.

    `out[n, o, y] = sum over i and r of data[n, i, y * stride + r * dilation] * weight[o, i, r]`, for each of {rank}
    dimensions y and r.  padding: the zeros around the image: one number, one for each dimension, or the numbers before
    and then after each dimension.  groups: the number of groups of input channels, each with its own output channels.
    channels, kernel_size: the expected number of output channels and the expected taps of the weight.  data_layout,
    kernel_layout, out_layout: the orders of the axes; out_layout is data_layout by default.  out_dtype: the data type
    of the sums and of the result, by default the data type of data.  A depthwise convolution, with as many groups as
    input channels, also accepts the weight of TVM: O numbers the input channels, and I the output channels of each.
    """

    strides: Window = 1
    padding: Window = 0
    dilation: Window = 1
    groups: int = 1
    channels: int | None = None
    kernel_size: Window | None = None
    data_layout: str = "NC{image}"
    kernel_layout: str = "OI{image}"
    out_layout: str = ""
    out_dtype: str = ""

    def formula(self, data: Tensor, weight: Tensor) -> Tensor:
        inputs, outer, inner, *sizes = self.extents(data, weight)
        each = self.outputs_of_each(inputs, outer, inner)
        features, inner = outer * each, inner // each
        self.require_groups(inputs, self.groups * inner, features, f"weight of {outer} by {inner * each}")
        self.require_attributes(features, sizes)
        groups, windows = Groups(self.groups, inner, features // self.groups), self.windows(sizes)
        batch, _, *spatial = self.layouts.data
        source, counts = padded_image(self.name, data, spatial, windows)
        sums = self.sums(source, weight, groups, windows, accumulator_dtype(self.out_dtype, data), each)
        return self.result([data.shape[batch], features, *counts], sums)

    def outputs_of_each(self, inputs: int, outer: int, inner: int) -> int:
        """The output channels of each input channel that the second axis of a depthwise weight numbers, else 1."""
        return inner if self.groups == inputs == outer and inner > 1 else 1

    def sums(
        self, data: Tensor, weight: Tensor, groups: Groups, windows: Sequence[Along], dtype: str, each: int
    ) -> Any:
        """The function from indices to a sum of products. each: as of `outputs_of_each`."""
        layouts, channel = self.layouts, reduce_axis((0, groups.inner), "rc")
        taps = tap_axes(self, [along.size for along in windows])

        def fcompute(*axes: PrimExpr) -> PrimExpr:
            batch, feature, *positions = (axes[d] for d in layouts.out)
            at = at_taps(positions, windows, taps)
            x = data(*_in_layout_order(layouts.data, [batch, groups.channel(feature, channel.var), *at]))
            row = [feature // each, feature % each] if each > 1 else [feature, channel.var]
            w = weight(*_in_layout_order(layouts.weight, [*row, *(tap.var for tap in taps)]))
            return scalar.sum(cast(dtype, x) * cast(dtype, w), axis=[channel, *taps])

        return fcompute

    def reference(self, data: Array, weight: Array) -> Array:
        x, w = self.wide_arrays(data, weight)
        each = self.outputs_of_each(x.shape[1], *w.shape[:2])
        w = w.reshape(w.shape[0] * each, w.shape[1] // each, *w.shape[2:])
        windows, groups = self.windows(w.shape[2:]), Groups(self.groups, w.shape[1], w.shape[0] // self.groups)
        counts = window_counts(x.shape[2:], windows)
        x = np.pad(x, [(0, 0), (0, 0), *((along.front, along.behind) for along in windows)])
        result = np.zeros((x.shape[0], w.shape[0], *counts), x.dtype)
        for taps in product(*map(range, w.shape[2:])):
            window = x[(..., *_strided_slices(taps, windows, counts))]
            for inputs, features in groups.slices():
                result[:, features] += _mix(w[(features, slice(None), *taps)], window[:, inputs])
        return self.result_array(result, data)


conv1d, conv2d, conv3d = for_ranks("nn.conv{rank}d", Pattern.OUT_FUSABLE, Convolution)


def at_taps(positions: Sequence[PrimExpr], windows: Sequence[Along], taps: Sequence[IterVar]) -> list[PrimExpr]:
    """The indices of the elements of the image that the taps of windows multiply."""
    parts = zip(positions, windows, taps, strict=True)
    return [position * along.step + tap.var * along.far for position, along, tap in parts]


# Gradients


@dataclass(frozen=True)
class _WeightGradient(ImageOperator):
    """The gradient of the weight of a convolution, by the gradient of its result and its image.

    kernel_size: the taps of the weight, a number, or one for each of {rank} dimensions.  channels: the expected number
    of output channels.  grad_layout, data_layout, kernel_layout: the orders of the axes of the operands and of the
    result.  out_dtype: the data type of the sums and of the result, by default that of the gradient.  Other attributes
    are those of the convolution.
    """

    strides: Window = 1
    padding: Window = 0
    dilation: Window = 1
    groups: int = 1
    channels: int | None = None
    kernel_size: Window | None = None
    grad_layout: str = "NC{image}"
    data_layout: str = "NC{image}"
    kernel_layout: str = "OI{image}"
    out_dtype: str = ""

    @property
    def windows(self) -> list[Along]:
        """The windows along each dimension. TeError without kernel_size."""
        if self.kernel_size is None:
            raise TeError(f"{self.name}: kernel_size is missing, expected the taps of the weight")
        return windows_of(self, self.padding, self.numbers("kernel_size"))

    def formula(self, grad: Tensor, data: Tensor) -> Tensor:
        of_grad, of_data = self.order(self.grad_layout), self.order(self.data_layout)
        groups, windows = self.groups_of(grad, data), self.windows
        source, counts = padded_image(self.name, data, of_data[2:], windows)
        expected = [data.shape[of_data[0]], groups.number * groups.outer, *counts]
        if not all(is_same_extent(grad.shape[d], as_expr(extent)) for d, extent in zip(of_grad, expected, strict=True)):
            raise TeError(f"{self.name}: grad of shape {list(grad.shape)}, expected {expected} in {self.grad_layout}")
        sums = self.sums(grad, source, groups, windows)
        order, names = self.order(self.kernel_layout, "OI"), ["o", "i", *(f"r{each.lower()}" for each in self.image)]
        shape = [groups.number * groups.outer, groups.inner, *(along.size for along in windows)]
        tag = self.name.rpartition(".")[2]
        return compute(_in_layout_order(order, shape), sums, tag, tag, varargs_names=_in_layout_order(order, names))

    def groups_of(self, grad: Tensor, data: Tensor) -> Groups:
        """The groups of channels. TeError for operands of other dimensions or channels."""
        if grad.ndim != self.rank + 2 or data.ndim != self.rank + 2:
            dimensions = f"{grad.ndim} and {data.ndim} dimensions"
            raise TeError(f"{self.name}: grad and data of {dimensions}, expected {self.rank + 2}")
        axes = (data.shape[self.order(self.data_layout)[1]], grad.shape[self.order(self.grad_layout)[1]])
        inputs, outputs = require_known_extents(axes, self.name)
        if self.groups < 1 or inputs % self.groups or outputs % self.groups:
            raise TeError(f"{self.name}: {inputs} and {outputs} channels in {self.groups} groups")
        if self.channels is not None and self.channels != outputs:
            raise TeError(f"{self.name}: grad of {outputs} channels, expected {self.channels} as channels says")
        return Groups(self.groups, inputs // self.groups, outputs // self.groups)

    def sums(self, grad: Tensor, data: Tensor, groups: Groups, windows: Sequence[Along]) -> Any:
        """The function from indices to a sum of products. data: the padded image."""
        of_grad, of_data = self.order(self.grad_layout), self.order(self.data_layout)
        of_weight, dtype = self.order(self.kernel_layout, "OI"), accumulator_dtype(self.out_dtype, grad)
        names = ["rn", *(f"r{letter}" for letter in "zyx"[3 - self.rank :])]
        axes = [reduce_axis((0, grad.shape[d]), n) for d, n in zip((of_grad[0], *of_grad[2:]), names, strict=True)]
        batch, *places = (axis.var for axis in axes)

        def fcompute(*indices: PrimExpr) -> PrimExpr:
            feature, number, *taps = (indices[d] for d in of_weight)
            parts = zip(places, windows, taps, strict=True)
            at = [place * along.step + tap * along.far for place, along, tap in parts]
            x = data(*_in_layout_order(of_data, [batch, groups.channel(feature, number), *at]))
            slope = grad(*_in_layout_order(of_grad, [batch, feature, *places]))
            return scalar.sum(cast(dtype, slope) * cast(dtype, x), axis=axes)

        return fcompute

    def reference(self, grad: Array, data: Array) -> Array:
        result_type = numpy_dtype(self.out_dtype or grad.dtype.name)
        slopes = grad.transpose(self.order(self.grad_layout)).astype(wide_dtype(result_type))
        x = data.transpose(self.order(self.data_layout)).astype(slopes.dtype)
        windows, counts = self.windows, slopes.shape[2:]
        x = np.pad(x, [(0, 0), (0, 0), *((along.front, along.behind) for along in windows)])
        groups = Groups(self.groups, x.shape[1] // self.groups, slopes.shape[1] // self.groups)
        result = np.zeros((slopes.shape[1], groups.inner, *(along.size for along in windows)), slopes.dtype)
        over = (0, *range(2, self.rank + 2))
        for taps in np.ndindex(*result.shape[2:]):
            window = x[(..., *_strided_slices(taps, windows, counts))]
            for inputs, features in groups.slices():
                products = np.tensordot(slopes[:, features], window[:, inputs], (over, over))
                result[(features, slice(None), *taps)] = products
        order = self.order(self.kernel_layout, "OI")
        return result.astype(result_type).transpose(_in_layout_order(order, range(self.rank + 2)))


conv2d_backward_weight = for_rank(2, "nn.conv2d_backward_weight", Pattern.OUT_FUSABLE, _WeightGradient)


# Transposed convolutions


@dataclass(frozen=True)
class _TransposedConvolution(_WithWeights):
    """The transposed convolution of an image: adds each element times the weights to a window.

    `out[n, o, y * stride + r * dilation]` is the sum of all `data[n, i, y] * weight[i, o, r]`, for each of {rank}
    dimensions y and r.  padding: the elements cropped from the borders of the result: one number, one for each
    dimension, or the numbers before and then after each dimension.  output_padding: the elements added after each
    dimension.  channels, kernel_size: the expected number of output channels of all groups and the expected taps of the
    weight.  groups: the number of groups of input channels, each with its own output channels.  data_layout,
    kernel_layout, out_layout: the orders of the axes; out_layout is data_layout by default.  out_dtype: the data type
    of the sums and of the result, by default the data type of data.
    """

    strides: Window = 1
    padding: Window = 0
    dilation: Window = 1
    channels: int | None = None
    kernel_size: Window | None = None
    groups: int = 1
    data_layout: str = "NC{image}"
    kernel_layout: str = "IO{image}"
    out_layout: str = ""
    output_padding: Window = 0
    out_dtype: str = ""

    def formula(self, data: Tensor, weight: Tensor) -> Tensor:
        inputs, outer, whole, *sizes = self.extents(data, weight)
        self.require_groups(inputs, whole, whole, f"weight of {whole} by {outer}")
        self.require_attributes(outer * self.groups, sizes)
        groups, windows = Groups(self.groups, whole // self.groups, outer), self.windows(sizes)
        batch, _, *spatial = (data.shape[d] for d in self.layouts.data)
        counts = self.counts(spatial, windows)
        if any((count := known_extent(extent)) is not None and count < 1 for extent in counts):
            around = [(along.front, along.behind) for along in windows]
            raise TeError(f"{self.name}: nothing of the result {counts} is left by a padding of {around}")
        sums = self.sums(data, weight, groups, windows, accumulator_dtype(self.out_dtype, data))
        return self.result([batch, self.groups * outer, *counts], sums)

    def counts(self, extents: Sequence[Extent], windows: Sequence[Along]) -> list[Extent]:
        """The extents of the result."""
        parts = zip(extents, windows, self.numbers("output_padding", 0), strict=True)
        return [(n - 1) * w.step + (w.size - 1) * w.far + 1 - (w.front + w.behind) + extra for n, w, extra in parts]

    def sums(self, data: Tensor, weight: Tensor, groups: Groups, windows: Sequence[Along], dtype: str) -> Any:
        """The function from indices to a sum of products."""
        layouts, number = self.layouts, reduce_axis((0, groups.inner), "rc")
        over = tap_axes(self, [-(-along.size // (along.step // gcd(along.step, along.far))) for along in windows])
        extents = [data.shape[d] for d in layouts.data[2:]]

        def fcompute(*axes: PrimExpr) -> PrimExpr:
            batch, feature, *positions = (axes[d] for d in layouts.out)
            channel = groups.channel(feature, number.var)
            parts = zip(positions, over, extents, windows, strict=True)
            found = [_contribution(position, tap.var, extent, along) for position, tap, extent, along in parts]
            elements, taps, conditions = zip(*found, strict=True)
            x = data(*_in_layout_order(layouts.data, [batch, channel, *elements]))
            own = feature % groups.outer if groups.number > 1 else feature
            w = weight(*_in_layout_order(layouts.weight, [own, channel, *taps]))
            where = scalar.all(*(condition for each in conditions for condition in each))
            return scalar.sum(cast(dtype, x) * cast(dtype, w), axis=[*over, number], where=where)

        return fcompute

    def reference(self, data: Array, weight: Array) -> Array:
        x, w = self.wide_arrays(data, weight)
        windows, groups = self.windows(w.shape[2:]), Groups(self.groups, w.shape[1] // self.groups, w.shape[0])
        parts = zip(self.counts(x.shape[2:], windows), windows, strict=True)
        whole = [count + along.front + along.behind for count, along in parts]
        result = np.zeros((x.shape[0], w.shape[0] * self.groups, *whole), x.dtype)
        for taps in product(*map(range, w.shape[2:])):
            positions = _strided_slices(taps, windows, x.shape[2:])
            for inputs, features in groups.slices():
                result[(slice(None), features, *positions)] += _mix(w[(slice(None), inputs, *taps)], x[:, inputs])
        pairs = zip(windows, whole, strict=True)
        kept = result[(..., *(slice(along.front, n - along.behind) for along, n in pairs))]
        return self.result_array(kept, data)


def _contribution(
    position: PrimExpr, tap: PrimExpr, extent: PrimExpr, along: Along
) -> tuple[PrimExpr, PrimExpr, list[PrimExpr]]:
    """The indices of the image element and of the weight that contribute to a position of the result, and the
    conditions under which they do.

    The indices satisfy `element * step + weight * far = position + front`. Such weights are `apart` from each other;
    tap: the index of the weight among them.
    """
    position = position + along.front if along.front else position
    common = gcd(along.step, along.far)
    apart, per = along.step // common, along.far // common
    shared = position // common if common > 1 else position
    first = shared * pow(per, -1, apart) % apart if apart > 1 else const(0)
    weight = tap * apart + first if apart > 1 else tap
    left = shared - weight * per
    element = left // apart if apart > 1 else left
    when = [left >= 0, element < extent]
    when += [weight < along.size] if apart > 1 else []
    when += [(position % common).equal(0)] if common > 1 else []
    return element, weight, when


conv1d_transpose, conv2d_transpose, conv3d_transpose = for_ranks(
    "nn.conv{rank}d_transpose", Pattern.OUT_FUSABLE, _TransposedConvolution
)
