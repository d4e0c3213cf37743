"""Operators that put elements around a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, const
from ..expressions.tensor import Tensor, compute, elementwise
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .transform import strided_slice
from .windows import padded

Array = Any


# Which element stands at a place outside, for extents from 1 on


def _at_least_one(extent: Extent) -> Extent:
    """A size to divide by, also where there are no elements to be found."""
    known = known_extent(extent)
    return scalar.max(extent, const(1)) if known is None else max(known, 1)


def _nearest(place: PrimExpr, extent: Extent) -> PrimExpr:
    return scalar.max(scalar.min(place, extent - 1), const(0))


def _around(place: PrimExpr, extent: Extent) -> PrimExpr:
    return place % _at_least_one(extent)


def _mirrored_at_ends(place: PrimExpr, extent: Extent) -> PrimExpr:
    """The last element is the mirror: 2 1 0 1 2 1 0."""
    period = _at_least_one(extent * 2 - 2)
    inside = place % period
    return scalar.min(inside, period - inside)


def _mirrored_behind_ends(place: PrimExpr, extent: Extent) -> PrimExpr:
    """The last element is mirrored too: 1 0 0 1 2 2 1 0."""
    period = _at_least_one(extent * 2)
    inside = place % period
    return scalar.min(inside, period - 1 - inside)


_PLACES: dict[str, Callable[[PrimExpr, Extent], PrimExpr]] = {
    "edge": _nearest,
    "reflect": _mirrored_at_ends,
    "symmetric": _mirrored_behind_ends,
    "wrap": _around,
}


def _pairs(pad_width: Sequence[Sequence[int]], rank: int, name: str) -> list[tuple[int, int]]:
    """Two numbers for each dimension. TeError for others."""
    found = [tuple(each) for each in pad_width]
    if len(found) != rank or any(len(each) != 2 for each in found):
        raise TeError(f"{name}: pad_width {list(pad_width)!r}, expected {rank} pairs of numbers")
    return [(front, behind) for front, behind in found]


def _cut(data: Tensor, widths: Sequence[tuple[int, int]], name: str) -> Tensor:
    """A tensor without the elements that negative widths take from its ends."""
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


def _repeated(data: Tensor, widths: Sequence[tuple[int, int]], mode: str, name: str, block: str) -> Tensor:
    """A tensor with its own elements around it. name: the operator, for errors; block: what computes it."""
    grown = [d for d, pair in enumerate(widths) if any(pair)]
    for d in grown:
        if known_extent(data.shape[d]) == 0:
            raise TeError(f"{name}: axis {d} of extent 0 has no element that could be repeated")
    unknown = [data.shape[d] > 0 for d in grown if known_extent(data.shape[d]) is None]

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        places = [
            _PLACES[mode](axis - widths[d][0], data.shape[d]) if d in grown else axis for d, axis in enumerate(axes)
        ]
        element = data(*places)
        for is_filled in unknown:
            element = scalar.if_then_else(is_filled, element, const(0, data.dtype))
        return element

    shape = [extent + sum(pair) for extent, pair in zip(data.shape, widths, strict=True)]
    names = [f"i{d}" for d in range(data.ndim)]
    return compute(shape, fcompute, block, "injective,pad", varargs_names=names)


def _padded_reference(data: Array, pad_width: Sequence[Sequence[int]], pad_value: float, pad_mode: str) -> Array:
    cuts = tuple(slice(max(0, -a), n + min(0, b)) for n, (a, b) in zip(data.shape, pad_width, strict=True))
    around = [(max(0, a), max(0, b)) for a, b in pad_width]
    if not data.ndim:
        return np.copy(data)
    if pad_mode == "constant":
        return np.pad(data[cuts], around, constant_values=np.asarray(pad_value).astype(data.dtype))
    mode: Any = pad_mode
    return np.pad(data[cuts], around, mode)


@operator("nn.pad", Pattern.INJECTIVE, _padded_reference)
def pad(data: Tensor, pad_width: Sequence[Sequence[int]], pad_value: float = 0.0, pad_mode: str = "constant") -> Tensor:
    """With elements in front of and behind each dimension.

    pad_width: two numbers for each dimension; negative ones first cut so many elements off.  pad_value: what the new
    elements are.  pad_mode: "constant" for that, "edge" for the nearest element, "reflect" for those that a mirror
    shows in the last element, "wrap" for those of the other end.
    """
    return surrounded(data, pad_width, pad_value, pad_mode, "T_pad")


def surrounded(data: Tensor, pad_width: Sequence[Sequence[int]], pad_value: float, pad_mode: str, block: str) -> Tensor:
    """What `nn.pad` computes. block: the name of the block that computes it."""
    if pad_mode not in ("constant", "edge", "reflect", "wrap"):
        raise TeError(f"nn.pad: pad_mode {pad_mode!r}, expected 'constant', 'edge', 'reflect' or 'wrap'")
    pairs = _pairs(pad_width, data.ndim, "nn.pad")
    value = const(pad_value, data.dtype)
    inner = _cut(data, pairs, "nn.pad")
    around = [(max(0, front), max(0, behind)) for front, behind in pairs]
    if pad_mode != "constant":
        return _repeated(inner, around, pad_mode, "nn.pad", block)
    made = padded(inner, dict(enumerate(around)), value, block)
    return elementwise(lambda x: x, [data], block) if made is data else made


_MIRRORS = {"SYMMETRIC": "symmetric", "REFLECT": "reflect"}


def _mirrored_reference(data: Array, pad_width: Sequence[Sequence[int]], mode: str) -> Array:
    widths: Any = pad_width
    kind: Any = _MIRRORS[mode]
    return np.pad(data, widths, kind) if data.ndim else np.copy(data)


@operator("nn.mirror_pad", Pattern.INJECTIVE, _mirrored_reference)
def mirror_pad(data: Tensor, pad_width: Sequence[Sequence[int]], mode: str = "SYMMETRIC") -> Tensor:
    """With the elements that mirrors show in front of and behind each dimension.

    pad_width: two numbers for each dimension.  mode: "REFLECT" if the last element is the mirror, "SYMMETRIC" if the
    mirror is behind it.
    """
    return mirrored(data, pad_width, mode, "T_mirror_pad")


def mirrored(data: Tensor, pad_width: Sequence[Sequence[int]], mode: str, block: str) -> Tensor:
    """What `nn.mirror_pad` computes. block: the name of the block that computes it."""
    if mode not in _MIRRORS:
        raise TeError(f"nn.mirror_pad: mode {mode!r}, expected 'SYMMETRIC' or 'REFLECT'")
    pairs = _pairs(pad_width, data.ndim, "nn.mirror_pad")
    if any(n < 0 for pair in pairs for n in pair):
        raise TeError(f"nn.mirror_pad: pad_width {list(pad_width)!r}, expected numbers from 0 on")
    return _repeated(data, pairs, _MIRRORS[mode], "nn.mirror_pad", block)
