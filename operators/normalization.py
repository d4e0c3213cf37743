"""Operators that normalize elements to mean 0 and variance 1, or to norm 1.

Floats of 16 bits are computed in 32 bits and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, cast, const
from ..expressions.tensor import Tensor, compute, elementwise_tensor, is_same_extent
from . import reduction
from .axes import Axes, nonnegative_axes, nonnegative_axis
from .definition import Pattern, operator
from .extents import known_extent
from .requirements import require_floats, wide_dtype
from .windows import pad_with_value

Array = Any
MeanIndices = Callable[[Sequence[PrimExpr]], Sequence[PrimExpr | int]]
"""The function from the indices of an element to the indices of its mean."""


def _require_vectors(name: str, data: Tensor, axes: Sequence[int], **vectors: Tensor | None) -> None:
    """TeError unless data are floats, and the vectors have their data type and their extents along `axes`."""
    require_floats(data, name)
    extents = [data.shape[d] for d in axes]
    for what, each in vectors.items():
        if each is None:
            continue
        fits = each.ndim == len(axes) and all(map(is_same_extent, each.shape, extents))
        if not fits or each.dtype != data.dtype:
            actual = f"{what} of shape {list(each.shape)} and {each.dtype}"
            raise TeError(f"{name}: {actual}, expected {extents} and {data.dtype}")


def _widen(data: Tensor) -> Tensor:
    """The tensor in the data type of the computation."""
    kind = wide_dtype(data)
    return data if data.dtype == kind else elementwise_tensor(lambda x: cast(kind, x), [data], "T_cast")


def _inverse(variance: Tensor, epsilon: float) -> Tensor:
    """The reciprocal of the standard deviation."""
    small = const(epsilon, variance.dtype)
    return elementwise_tensor(lambda v: scalar.rsqrt(v + small), [variance], "T_rsqrt")


def _moments(data: Tensor, along: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor]:
    """The mean along axes, and the reciprocal of the standard deviation; the axes remain with extent 1."""
    wide = _widen(data)
    mean = reduction.mean(wide, along, True)
    squares = elementwise_tensor(lambda x, m: (x - m) * (x - m), [wide, mean], "T_squares")
    return mean, _inverse(reduction.mean(squares, along, True), epsilon)


def _scale_and_shift(
    data: Tensor, mean: Tensor, inverse: Tensor, mean_index: MeanIndices, axes: Sequence[int], gamma: Tensor | None,
    beta: Tensor | None, name: str,
) -> Tensor:  # fmt: skip
    """`(x - mean) * inverse * gamma + beta` for each element. axes: the axes of gamma and beta."""
    kind = mean.dtype

    def fcompute(*index: PrimExpr) -> PrimExpr:
        at, along = mean_index(index), [index[d] for d in axes]
        element = (cast(kind, data(*index)) - mean(*at)) * inverse(*at)
        if gamma is not None:
            element = element * cast(kind, gamma(*along))
        if beta is not None:
            element = element + cast(kind, beta(*along))
        return cast(data.dtype, element)

    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(data.shape, fcompute, f"T_{name.rpartition('.')[2]}", "injective", varargs_names=names)


def normalize_along(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, axes: Sequence[int], along: Sequence[int], epsilon: float,
    name: str,
) -> Tensor:  # fmt: skip
    """Normalizes elements by their mean and standard deviation along axes, multiplies by gamma and adds beta.

    axes: the axes of gamma and beta, either of which may be None.  along: the axes of the mean.  name: the operator,
    for errors.
    """
    _require_vectors(name, data, axes, gamma=gamma, beta=beta)
    mean, inverse = _moments(data, along, epsilon)

    def mean_index(index: Sequence[PrimExpr]) -> Sequence[PrimExpr | int]:
        return [0 if d in along else at for d, at in enumerate(index)]

    return _scale_and_shift(data, mean, inverse, mean_index, axes, gamma, beta, name)


def normalize_groups(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, num_groups: int, channel: int, along: Sequence[int],
    epsilon: float, name: str,
) -> Tensor:  # fmt: skip
    """Normalizes as `normalize_along` along other axes and within each of several groups of channels.

    channel: the axis of the channels, of gamma and of beta.  along: the other axes.
    """
    _require_vectors(name, data, [channel], gamma=gamma, beta=beta)
    count = known_extent(data.shape[channel])
    if count is None or num_groups < 1 or count % num_groups:
        raise TeError(f"{name}: {num_groups} groups of {data.shape[channel]} channels, expected a known multiple")
    size = count // num_groups

    def part(*index: PrimExpr) -> PrimExpr:
        return data(*index[:channel], index[channel] * size + index[channel + 1], *index[channel + 2 :])

    shape = [*data.shape[:channel], num_groups, size, *data.shape[channel + 1 :]]
    names = [f"ax{d}" for d in range(len(shape))]
    parts = compute(shape, part, "T_groups", "injective", varargs_names=names)
    over = [channel + 1, *(d if d < channel else d + 1 for d in along)]
    mean, inverse = _moments(parts, over, epsilon)

    def mean_index(index: Sequence[PrimExpr]) -> Sequence[PrimExpr | int]:
        split = [*index[:channel], index[channel] // max(size, 1), 0, *index[channel + 1 :]]
        return [0 if d in over else at for d, at in enumerate(split)]

    return _scale_and_shift(data, mean, inverse, mean_index, [channel], gamma, beta, name)


# References


def _mean(data: Array, along: Sequence[int]) -> Array:
    with np.errstate(all="ignore"):
        return np.divide(data.sum(tuple(along), keepdims=True), math.prod(data.shape[d] for d in along))


def _broadcastable(vector: Array, axes: Sequence[int], rank: int) -> Array:
    """A tensor with several axes of another tensor, in a shape that broadcasts with the other tensor."""
    order = np.argsort(axes)
    shape = [1] * rank
    for d, n in zip(axes, vector.shape, strict=True):
        shape[d] = n
    return vector.astype("float64").transpose(order).reshape(shape)


def _normalize_reference(
    data: Array, gamma: Array, beta: Array, axes: Sequence[int], along: Sequence[int], epsilon: float, center: bool,
    scale: bool,
) -> Array:  # fmt: skip
    wide = data.astype("float64")
    centred = wide - _mean(wide, along)
    result = centred / np.sqrt(_mean(centred**2, along) + epsilon)
    result = result * _broadcastable(gamma, axes, data.ndim) if scale else result
    result = result + _broadcastable(beta, axes, data.ndim) if center else result
    return result.astype(data.dtype)


# By mean and variance


def _batch_reference(
    data: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array, axis: int, epsilon: float,
    center: bool, scale: bool,
) -> list[Array]:  # fmt: skip
    channel = nonnegative_axis(axis, data.ndim, "nn.batch_norm")
    factor, more, mean, variance = (
        _broadcastable(each, [channel], data.ndim) for each in (gamma, beta, moving_mean, moving_var)
    )
    result = (data - mean) / np.sqrt(variance + epsilon) * (factor if scale else 1) + (more if center else 0)
    return [result.astype(data.dtype), np.copy(moving_mean), np.copy(moving_var)]


@operator("nn.batch_norm", Pattern.BROADCAST, _batch_reference)
def batch_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, axis: int = 1,
    epsilon: float = 1e-5, center: bool = True, scale: bool = True,
) -> list[Tensor]:  # fmt: skip
    """Batch normalization with a given mean and variance: `(x - mean) / sqrt(variance + epsilon) * gamma + beta`.

    The second and the third result are copies of moving_mean and moving_var.  axis: the axis of the channels, each of
    which has its mean, variance, gamma and beta.  center, scale: whether to add beta, and whether to multiply by gamma.
    """
    channel = nonnegative_axis(axis, data.ndim, "nn.batch_norm")
    vectors = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    _require_vectors("nn.batch_norm", data, [channel], **vectors)
    mean, inverse = _widen(moving_mean), _inverse(_widen(moving_var), epsilon)
    result = _scale_and_shift(
        data,
        mean,
        inverse,
        lambda index: [index[channel]],
        [channel],
        gamma if scale else None,
        beta if center else None,
        "nn.batch_norm",
    )
    return [result, *(elementwise_tensor(lambda x: x, [each], "T_copy") for each in (moving_mean, moving_var))]


def _training_reference(
    data: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array, axis: int, epsilon: float,
    center: bool, scale: bool, momentum: float,
) -> list[Array]:  # fmt: skip
    channel = nonnegative_axis(axis, data.ndim, "nn.batch_norm_training")
    along = [d for d in range(data.ndim) if d != channel]
    wide = data.astype("float64")
    mean = _mean(wide, along)
    moments = [each.reshape(-1) for each in (mean, _mean((wide - mean) ** 2, along))]
    result = _normalize_reference(data, gamma, beta, [channel], along, epsilon, center, scale)
    pairs = zip((moving_mean, moving_var), moments, strict=True)
    moved = [moving.astype("float64") * (1 - momentum) + new * momentum for moving, new in pairs]
    return [result, *(each.astype(data.dtype) for each in moved)]


@operator("nn.batch_norm_training", Pattern.OUT_FUSABLE, _training_reference)
def batch_norm_training(
    data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, axis: int = 1,
    epsilon: float = 1e-5, center: bool = True, scale: bool = True, momentum: float = 0.1,
) -> list[Tensor]:  # fmt: skip
    """Batch normalization with the mean and the variance of the batch, which move the given ones.

    The first result is that of `nn.batch_norm` with the moments of data along all axes but `axis`; the second and the
    third are `(1 - momentum) * moving_mean + momentum * mean`, and likewise for the variance, of which the sum of
    squares is divided by the number of elements.  axis, center, scale: as of `nn.batch_norm`.
    """
    name = "nn.batch_norm_training"
    channel = nonnegative_axis(axis, data.ndim, name)
    _require_vectors(name, data, [channel], gamma=gamma, beta=beta, moving_mean=moving_mean, moving_var=moving_var)
    along, wide = [d for d in range(data.ndim) if d != channel], _widen(data)
    mean = reduction.mean(wide, along, True)
    squares = elementwise_tensor(lambda x, m: (x - m) * (x - m), [wide, mean], "T_squares")
    variance = reduction.mean(squares, along, True)

    def at(index: Sequence[PrimExpr]) -> list[PrimExpr | int]:
        return [each if d == channel else 0 for d, each in enumerate(index)]

    own, more = gamma if scale else None, beta if center else None
    result = _scale_and_shift(data, mean, _inverse(variance, epsilon), at, [channel], own, more, name)

    def moved(moving: Tensor, moment: Tensor) -> Tensor:
        kind = moment.dtype

        def element(c: PrimExpr) -> PrimExpr:
            new = moment(*(c if d == channel else 0 for d in range(data.ndim))) * const(momentum, kind)
            return cast(data.dtype, cast(kind, moving(c)) * const(1 - momentum, kind) + new)

        return compute([data.shape[channel]], element, "T_moving", "injective", varargs_names=["ax0"])

    return [result, moved(moving_mean, mean), moved(moving_var, variance)]


def _layer_reference(
    data: Array, gamma: Array, beta: Array, axis: Axes, epsilon: float, center: bool, scale: bool
) -> Array:
    axes = nonnegative_axes(axis, data.ndim, "nn.layer_norm")
    return _normalize_reference(data, gamma, beta, axes, axes, epsilon, center, scale)


@operator("nn.layer_norm", Pattern.OUT_FUSABLE, _layer_reference)
def layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, axis: Axes = -1, epsilon: float = 1e-5, center: bool = True,
    scale: bool = True,
) -> Tensor:  # fmt: skip
    """Layer normalization: `(x - mean) / sqrt(variance + epsilon) * gamma + beta` with the moments along `axis`.

    axis: one axis or several, also the axes of gamma and beta.  center, scale: whether to add beta, and whether to
    multiply by gamma.
    """
    axes = nonnegative_axes(axis, data.ndim, "nn.layer_norm")
    _require_vectors("nn.layer_norm", data, axes, gamma=gamma, beta=beta)
    return normalize_along(
        data, gamma if scale else None, beta if center else None, axes, axes, epsilon, "nn.layer_norm"
    )


def _instance_axes(rank: int, axis: int) -> tuple[int, tuple[int, ...]]:
    """The axis of the channels, and the axes of the image."""
    channel = nonnegative_axis(axis, rank, "nn.instance_norm")
    return channel, tuple(d for d in range(1, rank) if d != channel)


def _instance_reference(
    data: Array, gamma: Array, beta: Array, axis: int, epsilon: float, center: bool, scale: bool
) -> Array:
    channel, along = _instance_axes(data.ndim, axis)
    return _normalize_reference(data, gamma, beta, [channel], along, epsilon, center, scale)


@operator("nn.instance_norm", Pattern.OUT_FUSABLE, _instance_reference)
def instance_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, axis: int = 1, epsilon: float = 1e-5, center: bool = True,
    scale: bool = True,
) -> Tensor:  # fmt: skip
    """Instance normalization: `(x - mean) / sqrt(variance + epsilon) * gamma + beta` within each channel of each image.

    axis: the axis of the channels, each of which has its gamma and beta; the first axis is the axis of the images.
    center, scale: whether to add beta, and whether to multiply by gamma.
    """
    channel, along = _instance_axes(data.ndim, axis)
    _require_vectors("nn.instance_norm", data, [channel], gamma=gamma, beta=beta)
    return normalize_along(
        data, gamma if scale else None, beta if center else None, [channel], along, epsilon, "nn.instance_norm"
    )


def _group_reference(
    data: Array, gamma: Array, beta: Array, num_groups: int, axis: int, epsilon: float, center: bool, scale: bool
) -> Array:
    channel = nonnegative_axis(axis, data.ndim, "nn.group_norm")
    along = [d for d in range(data.ndim) if d == channel or d]
    sections = zip(
        *(np.split(each, num_groups, d) for each, d in ((data, channel), (gamma, 0), (beta, 0))), strict=True
    )
    groups = [_normalize_reference(x, g, b, [channel], along, epsilon, center, scale) for x, g, b in sections]
    return np.concatenate(groups, channel)


@operator("nn.group_norm", Pattern.OUT_FUSABLE, _group_reference)
def group_norm(
    data: Tensor, gamma: Tensor, beta: Tensor, num_groups: int, axis: int = 1, epsilon: float = 1e-5,
    center: bool = True, scale: bool = True,
) -> Tensor:  # fmt: skip
    """Group normalization: `(x - mean) / sqrt(variance + epsilon) * gamma + beta` within each group of channels.

    num_groups: the number of groups of equal size.  axis: the axis of the channels, each of which has its gamma and
    beta; the first axis is the axis of the images.  center, scale: whether to add beta, and whether to multiply by
    gamma.
    """
    channel = nonnegative_axis(axis, data.ndim, "nn.group_norm")
    _require_vectors("nn.group_norm", data, [channel], gamma=gamma, beta=beta)
    along = [d for d in range(1, data.ndim) if d != channel]
    return normalize_groups(
        data, gamma if scale else None, beta if center else None, num_groups, channel, along, epsilon, "nn.group_norm"
    )


# By sum of squares


def _rms_reference(data: Array, weight: Array, axis: Axes, epsilon: float) -> Array:
    axes = nonnegative_axes(axis, data.ndim, "nn.rms_norm")
    wide = data.astype("float64")
    result = wide / np.sqrt(_mean(wide**2, axes) + epsilon) * _broadcastable(weight, axes, data.ndim)
    return result.astype(data.dtype)


def _squares(data: Tensor) -> Tensor:
    return elementwise_tensor(lambda x: x * x, [_widen(data)], "T_squares")


@operator("nn.rms_norm", Pattern.OUT_FUSABLE, _rms_reference)
def rms_norm(data: Tensor, weight: Tensor, axis: Axes = -1, epsilon: float = 1e-5) -> Tensor:
    """Root-mean-square normalization: `x / sqrt(mean of x * x + epsilon) * weight` with the mean along `axis`.

    axis: one axis or several, also the axes of weight.
    """
    axes = nonnegative_axes(axis, data.ndim, "nn.rms_norm")
    _require_vectors("nn.rms_norm", data, axes, weight=weight)
    inverse = _inverse(reduction.mean(_squares(data), axes, True), epsilon)

    def fcompute(*index: PrimExpr) -> PrimExpr:
        at = [0 if d in axes else i for d, i in enumerate(index)]
        along = [index[d] for d in axes]
        kind = inverse.dtype
        return cast(data.dtype, cast(kind, data(*index)) * inverse(*at) * cast(kind, weight(*along)))

    names = [f"ax{d}" for d in range(data.ndim)]
    return compute(data.shape, fcompute, "T_rms_norm", "injective", varargs_names=names)


def _l2_reference(data: Array, eps: float, axis: Axes) -> Array:
    wide = data.astype("float64")
    total = np.sum(wide**2, nonnegative_axes(axis, data.ndim, "nn.l2_normalize"), keepdims=True)
    return (wide / np.sqrt(np.maximum(total, eps))).astype(data.dtype)


@operator("nn.l2_normalize", Pattern.OUT_FUSABLE, _l2_reference)
def l2_normalize(data: Tensor, eps: float, axis: Axes = None) -> Tensor:
    """Normalization to Euclidean norm 1: `x / sqrt(sum of x * x)` with the sum along `axis`.

    eps: the lower bound of the sum.  axis: one axis, several axes, or None for all axes.
    """
    require_floats(data, "nn.l2_normalize")
    axes = nonnegative_axes(axis, data.ndim, "nn.l2_normalize")
    total = reduction.sum(_squares(data), axes, True)
    kind, least = total.dtype, const(eps, total.dtype)
    norm = elementwise_tensor(lambda x: scalar.sqrt(Select(x < least, least, x)), [total], "T_norm")  # NaN remains NaN
    return elementwise_tensor(lambda x, n: cast(data.dtype, cast(kind, x) / n), [data, norm], "T_l2_normalize")


def _lrn_reference(data: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    dimension = nonnegative_axis(axis, data.ndim, "nn.lrn")
    wide = np.moveaxis(data.astype("float64"), dimension, -1)
    total = np.zeros_like(wide)
    for n in range(wide.shape[-1]):
        first = max(0, n - (size - 1) // 2)
        total[..., n] = (wide[..., first : n + size // 2 + 1] ** 2).sum(-1)
    return np.moveaxis(wide / (bias + alpha / size * total) ** beta, -1, dimension).astype(data.dtype)


@operator("nn.lrn", Pattern.OUT_FUSABLE, _lrn_reference)
def lrn(data: Tensor, size: int = 5, axis: int = 1, bias: float = 2, alpha: float = 1e-5, beta: float = 0.75) -> Tensor:
    """Local response normalization: `x / (bias + alpha / size * sum of y * y) ** beta` over the neighbours y of x along
    `axis`.

    size: the number of neighbours, x included; for an even size, one more follows x than precedes x. Neighbours out of
    range are 0.
    """
    require_floats(data, "nn.lrn")
    dimension = nonnegative_axis(axis, data.ndim, "nn.lrn")
    if size < 1:
        raise TeError(f"nn.lrn: size {size}, expected at least 1")
    wide = _widen(data)
    kind = wide.dtype
    around = pad_with_value(wide, {dimension: ((size - 1) // 2, size // 2)}, const(0, kind))
    k = reduce_axis((0, size), "k")

    def window(*index: PrimExpr) -> PrimExpr:
        y = around(*(at + k.var if d == dimension else at for d, at in enumerate(index)))
        return scalar.sum(y * y, axis=k)

    names = [f"ax{d}" for d in range(data.ndim)]
    total = compute(data.shape, window, "T_squares", "comm_reduce", varargs_names=names)

    def function(x: Any, squares: Any) -> PrimExpr:
        base = const(bias, kind) + const(alpha / size, kind) * squares
        return cast(data.dtype, cast(kind, x) / scalar.power(base, const(beta, kind)))

    return elementwise_tensor(function, [data, total], "T_lrn")
