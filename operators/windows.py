"""Windows of images, in one to three dimensions and any layout: what is said of them, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from ..expressions import functions as scalar
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr
from ..expressions.tensor import Tensor, compute
from .extents import Extent, known_extent

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


def spread(
    size: Extent, window: int, stride: int, dilation: int, around: tuple[int, int], ceil: bool = False
) -> Extent:
    """How many windows there are along a dimension."""
    left = size + sum(around) - dilation * (window - 1) - 1
    return (left + stride - 1) // stride + 1 if ceil else left // stride + 1


def known_numbers(extents: Sequence[Extent], name: str) -> list[int]:
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
