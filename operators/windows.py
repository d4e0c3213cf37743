"""Windows of images in one to three dimensions and any layout: their attributes and their number."""

from __future__ import annotations

from collections.abc import Sequence

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr
from ..expressions.tensor import Tensor, compute
from .extents import Extent, known_extent

Window = int | Sequence[int]
"""A number for all dimensions of an image, or one number for each dimension."""

SPATIAL = "DHW"
"""The letters of spatial dimensions in layouts; images of lower rank have the last letters."""


def each_dimension(value: Window, rank: int, name: str, least: int = 1) -> list[int]:
    """A number for each dimension of an image. TeError for lists of another length, and for numbers below `least`."""
    numbers = [value] * rank if isinstance(value, int) else list(value)
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < least:
        raise TeError(f"{name} {value!r}, expected {rank} numbers from {least} on")
    return numbers


def paddings(padding: Window, rank: int, name: str) -> list[tuple[int, int]]:
    """The padding before and after each dimension, from one number, one for each dimension, or all before and then all
    after."""
    numbers = [padding] if isinstance(padding, int) else list(padding)
    if len(numbers) == 2 * rank:
        pairs = list(zip(numbers[:rank], numbers[rank:], strict=True))
    elif len(numbers) in (1, rank):
        pairs = [(n, n) for n in (numbers * rank if len(numbers) == 1 else numbers)]
    else:
        raise TeError(f"{name}: padding {padding!r}, expected 1, {rank} or {2 * rank} numbers")
    if any(n < 0 for pair in pairs for n in pair):
        raise TeError(f"{name}: padding {padding!r}, expected numbers from 0 on")
    return pairs


def layout_axes(layout: str, letters: str, name: str) -> list[int]:
    """The axis of each letter in a layout. TeError unless the layout has each letter once."""
    if sorted(layout) != sorted(letters):
        raise TeError(f"{name}: layout {layout!r}, expected an order of {letters}")
    return [layout.index(letter) for letter in letters]


def window_count(
    size: Extent, window: int, stride: int, dilation: int, around: tuple[int, int], ceil: bool = False
) -> Extent:
    """The number of windows along a dimension."""
    left = size + sum(around) - dilation * (window - 1) - 1
    return (left + stride - 1) // stride + 1 if ceil else left // stride + 1


def require_known_extents(extents: Sequence[Extent], name: str) -> list[int]:
    """The values of known extents. TeError for an unknown extent."""
    numbers = [known_extent(extent) for extent in extents]
    if None in numbers:
        raise TeError(f"{name}: channels and sizes of windows {list(extents)}, expected known numbers")
    return [number for number in numbers if number is not None]


def pad_with_value(data: Tensor, around: dict[int, tuple[int, int]], value: PrimExpr, name: str = "pad_temp") -> Tensor:
    """The tensor padded with a value. around: for each axis, the padding before and after."""
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
