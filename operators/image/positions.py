"""Positions in an image of the elements of a resized image, as `image.resize2d` defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...expressions import functions as scalar
from ...expressions.expr import PrimExpr, cast, const
from ..extents import Extent, known_extent


@dataclass(frozen=True)
class Dimension:
    """The resizing of one dimension. extent, size: the extents before and after.  scale: the scale factor, if it
    differs from the quotient of the extents.  start, end: the resized part, as fractions of the whole."""

    extent: Extent
    size: Extent
    scale: float | None = None
    start: float = 0.0
    end: float = 1.0


def _number(extent: Extent) -> Any:
    """The extent as a number if it is known, else as a float64."""
    known = known_extent(extent)
    return cast("float64", extent) if known is None else known


def _line(along: Dimension, mode: str) -> tuple[Any, Any, Any]:
    """Three numbers m, p, q: element x of the result is at position `(x * m + p) / q` of the image.

    The numbers are integers unless a scale or a part is given, so that a position at an element, or halfway between two
    elements, is exact.
    """
    extent, size = _number(along.extent), _number(along.size)
    up, down = (extent, size) if along.scale is None else (1, along.scale)
    last = size - 1 if isinstance(size, PrimExpr) else max(size - 1, 1)
    if mode == "align_corners":
        return extent - 1, 0, scalar.max(last, const(1.0, "float64")) if isinstance(last, PrimExpr) else last
    if mode == "asymmetric":
        return up, 0, down
    if mode == "tf_half_pixel_for_nn":
        return up * 2, up, down * 2
    if mode == "tf_crop_and_resize":
        if known_extent(along.size) == 1:
            return 0, (extent - 1) * (along.start + along.end), 2
        return (extent - 1) * (along.end - along.start), (extent - 1) * along.start * last, last
    if mode == "half_pixel_symmetric" and along.scale is not None:
        return 2, extent * down - size + 1 - down, down * 2
    if mode == "pytorch_half_pixel" and known_extent(along.size) == 1:
        return 0, 0, 1
    return up * 2, up - down, down * 2


def position_of(index: PrimExpr, along: Dimension, mode: str) -> PrimExpr:
    """The position of an element of the result in the image, as a float64."""
    m, p, q = (each if isinstance(each, PrimExpr) else const(float(each), "float64") for each in _line(along, mode))
    return (cast("float64", index) * m + p) / q


def keeps_position(along: Dimension, mode: str) -> bool:
    """Whether every element of a dimension is known to keep its position."""
    if known_extent(along.extent) is None or known_extent(along.size) is None:
        return False
    m, p, q = _line(along, mode)
    return along.extent == along.size and m == q and p == 0


def index_of(number: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """A float64 as an index, clamped to the extent."""
    last = _number(extent) - 1
    low, high = const(0.0, "float64"), last if isinstance(last, PrimExpr) else const(float(last), "float64")
    return cast(extent.dtype, scalar.min(scalar.max(number, low), high))


def round_position(position: PrimExpr, how: str) -> PrimExpr:
    half = const(0.5, "float64")
    match how:
        case "round":
            return scalar.round(position)
        case "floor":
            return scalar.floor(position)
        case "ceil":
            return scalar.ceil(position)
        case "round_prefer_floor":
            return scalar.ceil(position - half)
        case _:
            return scalar.floor(position + half)
