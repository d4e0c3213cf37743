"""Operators that pad tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, const
from ..expressions.tensor import Tensor, compute, elementwise_tensor
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .transform import strided_slice
from .windows import pad_with_value

Array = Any


# Indices of the elements at positions outside of the tensor, for extents of at least 1


def _at_least_one(extent: Extent) -> Extent:
    """The extent as a divisor, at least 1 even for an empty axis."""
    known = known_extent(extent)
    return scalar.max(extent, const(1)) if known is None else max(known, 1)


def _clamp(position: PrimExpr, extent: Extent) -> PrimExpr:
    return scalar.max(scalar.min(position, extent - 1), const(0))


def _wrap(position: PrimExpr, extent: Extent) -> PrimExpr:
    return position % _at_least_one(extent)


def _mirror_at_ends(position: PrimExpr, extent: Extent) -> PrimExpr:
    """Mirrors at the first and the last element: 2 1 0 1 2 1 0."""
    period = _at_least_one(extent * 2 - 2)
    inside = position % period
    return scalar.min(inside, period - inside)


def _mirror_past_ends(position: PrimExpr, extent: Extent) -> PrimExpr:
    """Mirrors past the first and the last element: 1 0 0 1 2 2 1 0."""
    period = _at_least_one(extent * 2)
    inside = position % period
    return scalar.min(inside, period - 1 - inside)


_INDICES: dict[str, Callable[[PrimExpr, Extent], PrimExpr]] = {
    "edge": _clamp,
    "reflect": _mirror_at_ends,
    "symmetric": _mirror_past_ends,
    "wrap": _wrap,
}


def _pairs(pad_width: Sequence[Sequence[int]], rank: int, name: str) -> list[tuple[int, int]]:
    """The two widths of each dimension. TeError for lists of another length."""
    pairs = [tuple(each) for each in pad_width]
    if len(pairs) != rank or any(len(each) != 2 for each in pairs):
        raise TeError(f"{name}: pad_width {list(pad_width)!r}, expected {rank} pairs of numbers")
    return [(front, behind) for front, behind in pairs]


def _cut(data: Tensor, widths: Sequence[tuple[int, int]], name: str) -> Tensor:
    """The tensor without the elements that negative widths remove from its ends."""
    begin, end, axes = list[int](), list[int](), list[int]()
    for d, (front, behind) in enumerate(widths):
        if front >= 0 and behind >= 0:
            continue
        first, last, extent = max(0, -front), max(0, -behind), known_extent(data.shape[d])
        if extent is None or first + last > extent:
            what = f"extent {data.shape[d]}, expected a known one, of at least {first + last}"
            raise TeError(f"{name}: {(front, behind)} cuts elements off axis {d} of {what}")
        begin, end, axes = [*begin, first], [*end, extent - last], [*axes, d]
    return strided_slice(data, begin, end, None, axes) if axes else data


def _surround(data: Tensor, widths: Sequence[tuple[int, int]], mode: str, name: str, block: str) -> Tensor:
    """The tensor surrounded by its own elements. name: the operator, for errors.  block: the name of the block."""
    grown = [d for d, pair in enumerate(widths) if any(pair)]
    for d in grown:
        if known_extent(data.shape[d]) == 0:
            raise TeError(f"{name}: axis {d} of extent 0 has no element that could be repeated")
    unknown = [data.shape[d] > 0 for d in grown if known_extent(data.shape[d]) is None]

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        indices = [
            _INDICES[mode](axis - widths[d][0], data.shape[d]) if d in grown else axis for d, axis in enumerate(axes)
        ]
        element = data(*indices)
        for is_filled in unknown:
            element = scalar.if_then_else(is_filled, element, const(0, data.dtype))
        return element

    shape = [extent + sum(pair) for extent, pair in zip(data.shape, widths, strict=True)]
    names = [f"i{d}" for d in range(data.ndim)]
    return compute(shape, fcompute, block, "injective,pad", varargs_names=names)


def _pad_reference(data: Array, pad_width: Sequence[Sequence[int]], pad_value: float, pad_mode: str) -> Array:
    cuts = tuple(slice(max(0, -a), n + min(0, b)) for n, (a, b) in zip(data.shape, pad_width, strict=True))
    around = [(max(0, a), max(0, b)) for a, b in pad_width]
    if not data.ndim:
        return np.copy(data)
    if pad_mode == "constant":
        return np.pad(data[cuts], around, constant_values=np.asarray(pad_value).astype(data.dtype))
    mode: Any = pad_mode
    return np.pad(data[cuts], around, mode)


@operator("nn.pad", Pattern.INJECTIVE, _pad_reference)
def pad(data: Tensor, pad_width: Sequence[Sequence[int]], pad_value: float = 0.0, pad_mode: str = "constant") -> Tensor:
    """Pads a tensor before and after each dimension.

    pad_width: the widths before and after each dimension; a negative width first removes elements.  pad_value: the
    value of the new elements.  pad_mode: "constant" for pad_value, "edge" for the nearest element, "reflect" for the
    elements mirrored at the last element, "wrap" for the elements of the opposite end.
    """
    return pad_tensor(data, pad_width, pad_value, pad_mode, "T_pad")


def pad_tensor(data: Tensor, pad_width: Sequence[Sequence[int]], pad_value: float, pad_mode: str, block: str) -> Tensor:
    """The result of `nn.pad`. block: the name of the block that computes it."""
    if pad_mode not in ("constant", "edge", "reflect", "wrap"):
        raise TeError(f"nn.pad: pad_mode {pad_mode!r}, expected 'constant', 'edge', 'reflect' or 'wrap'")
    pairs = _pairs(pad_width, data.ndim, "nn.pad")
    value = const(pad_value, data.dtype)
    inner = _cut(data, pairs, "nn.pad")
    around = [(max(0, front), max(0, behind)) for front, behind in pairs]
    if pad_mode != "constant":
        return _surround(inner, around, pad_mode, "nn.pad", block)
    result = pad_with_value(inner, dict(enumerate(around)), value, block)
    return elementwise_tensor(lambda x: x, [data], block) if result is data else result


_MIRRORS = {"SYMMETRIC": "symmetric", "REFLECT": "reflect"}


def _mirror_pad_reference(data: Array, pad_width: Sequence[Sequence[int]], mode: str) -> Array:
    widths: Any = pad_width
    kind: Any = _MIRRORS[mode]
    return np.pad(data, widths, kind) if data.ndim else np.copy(data)


@operator("nn.mirror_pad", Pattern.INJECTIVE, _mirror_pad_reference)
def mirror_pad(data: Tensor, pad_width: Sequence[Sequence[int]], mode: str = "SYMMETRIC") -> Tensor:
    """Pads a tensor with its mirrored elements before and after each dimension.

    pad_width: the widths before and after each dimension.  mode: "REFLECT" to mirror at the last element, "SYMMETRIC"
    to mirror past it.
    """
    return mirror_pad_tensor(data, pad_width, mode, "T_mirror_pad")


def mirror_pad_tensor(data: Tensor, pad_width: Sequence[Sequence[int]], mode: str, block: str) -> Tensor:
    """The result of `nn.mirror_pad`. block: the name of the block that computes it."""
    if mode not in _MIRRORS:
        raise TeError(f"nn.mirror_pad: mode {mode!r}, expected 'SYMMETRIC' or 'REFLECT'")
    pairs = _pairs(pad_width, data.ndim, "nn.mirror_pad")
    if any(n < 0 for pair in pairs for n in pair):
        raise TeError(f"nn.mirror_pad: pad_width {list(pad_width)!r}, expected numbers from 0 on")
    return _surround(data, pairs, _MIRRORS[mode], "nn.mirror_pad", block)


def _dilated(extent: Extent, step: int) -> Extent:
    """The extent of a dilated dimension, 0 for an empty one."""
    known = known_extent(extent)
    if known is None:
        return scalar.max((extent - 1) * step + 1, const(0))
    return max((known - 1) * step + 1, 0)


def dilate_tensor(data: Tensor, strides: Sequence[int], value: float = 0.0, name: str = "nn.dilate") -> Tensor:
    """The tensor of `nn.dilate`. name: of the tensor."""
    if len(strides) != data.ndim or any(step < 1 for step in strides):
        raise TeError(f"{name}: strides {list(strides)}, expected {data.ndim} numbers from 1 on")
    shape = [_dilated(extent, step) for extent, step in zip(data.shape, strides, strict=True)]

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        between = [scalar.floormod(axis, step).equal(0) for axis, step in zip(axes, strides, strict=True) if step > 1]
        indices = [scalar.floordiv(axis, step) for axis, step in zip(axes, strides, strict=True)]
        element = data(*indices)
        return scalar.if_then_else(scalar.all(*between), element, const(value, data.dtype)) if between else element

    return compute(shape, fcompute, name, "injective,dilate")


def _dilation_reference(data: Array, strides: Sequence[int], dilation_value: float = 0.0) -> Array:
    shape = [max((extent - 1) * step + 1, 0) for extent, step in zip(data.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, data.dtype)
    result[tuple(slice(None, None, step) for step in strides)] = data
    return result


@operator("nn.dilate", Pattern.INJECTIVE, _dilation_reference)
def dilate(data: Tensor, strides: Sequence[int], dilation_value: float = 0.0) -> Tensor:
    """A tensor with elements of one value between its elements.

    strides: for each dimension the distance between elements of the operand, 1 without new elements.
    """
    return dilate_tensor(data, strides, dilation_value)
