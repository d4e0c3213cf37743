"""Operators that divide axes into blocks: layouts such as `NCHW16c`, and blocks of images as images of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, const
from ..expressions.tensor import Tensor, compute
from .definition import Pattern, operator
from .extents import Extent, known_extent
from .windows import pad_with_value

Array = Any


@dataclass(frozen=True)
class Layout:
    """The order of the axes of a tensor: `NCHW16c` has the axes N, C, H, W and, within each of C, 16 channels.

    axes: for each axis its dimension, and the number of elements of a block, None for the number of blocks.
    """

    text: str
    axes: tuple[tuple[str, int | None], ...]

    @staticmethod
    def of(text: str) -> Layout:
        """The layout of a text. TeError for another text, and for a dimension that has no axis of blocks, or two."""
        parts = re.findall(r"([1-9][0-9]*)([a-z])|([A-Z])", text)
        axes = tuple((outer or inner.upper(), int(factor) if factor else None) for factor, inner, outer in parts)
        letters = [letter for letter, factor in axes if factor is None]
        spelled = "".join(f"{factor}{inner}{outer}" for factor, inner, outer in parts)
        if spelled != text or len(set(letters)) < len(letters) or {letter for letter, _ in axes} - set(letters):
            raise TeError(f"layout {text!r}, expected capital letters, and numbers with their small letters: NCHW16c")
        return Layout(text, axes)

    @property
    def letters(self) -> str:
        """The dimensions in order: the layout without blocks."""
        return "".join(letter for letter, factor in self.axes if factor is None)

    def block(self, letter: str) -> int:
        """The number of elements of a dimension that belong to one index of its axis of blocks."""
        return prod(factor for other, factor in self.axes if other == letter and factor is not None)

    def extents(self, shape: Sequence[Extent]) -> dict[str, Extent]:
        """The extents of the dimensions of a tensor of a shape. TeError for a shape that the layout does not fit."""
        fits = len(shape) == len(self.axes) and all(
            factor is None or known_extent(extent) == factor
            for extent, (_, factor) in zip(shape, self.axes, strict=True)
        )
        if not fits:
            raise TeError(f"layout {self.text} of a tensor of shape {list(shape)}")
        outer = zip(shape, self.axes, strict=True)
        return {letter: extent * self.block(letter) for extent, (letter, factor) in outer if factor is None}

    def shape(self, extents: Mapping[str, Extent]) -> list[Extent]:
        """The shape of a tensor whose dimensions have extents. TeError for one that is not a multiple of its block."""
        result: list[Extent] = []
        for letter, factor in self.axes:
            known, block = known_extent(extents[letter]), self.block(letter)
            if known is not None and known % block:
                raise TeError(f"layout {self.text}: extent {known} of {letter}, expected a multiple of {block}")
            whole = extents[letter] if known is None else known
            result.append(factor if factor is not None else whole // block if block > 1 else whole)
        return result

    def require_dimensions(self, other: Layout) -> None:
        """TeError unless another layout has the same dimensions."""
        if sorted(self.letters) != sorted(other.letters):
            raise TeError(f"layout {other.text}, expected the dimensions of {self.text}")


def elements_of(layout: Layout, indices: Sequence[Any]) -> dict[str, Any]:
    """The index along each dimension of the element at indices of a layout."""
    result: dict[str, Any] = {}
    for index, (letter, factor) in zip(indices, layout.axes, strict=True):
        result[letter] = index if letter not in result else result[letter] * factor + index
    return result


def indices_of(layout: Layout, elements: Mapping[str, Any]) -> list[Any]:
    """The indices of a layout of the element with an index along each dimension."""
    result: list[Any] = []
    left = {letter: layout.block(letter) for letter in layout.letters}
    for letter, factor in layout.axes:
        index, block = elements[letter], left[letter]
        if factor is None:
            result.append(index // block if block > 1 else index)
            continue
        within = index % block
        left[letter] = block // factor
        result.append(within // left[letter] if left[letter] > 1 else within)
    return result


def _require_order(layout: Layout) -> None:
    """TeError if a block stands before the blocks that contain it."""
    seen: set[str] = set()
    for letter, factor in layout.axes:
        if factor is not None and letter not in seen:
            raise TeError(f"layout {layout.text}: a block of {letter} before {letter}")
        seen.add(letter)


def _layouts(src_layout: str, dst_layout: str) -> tuple[Layout, Layout]:
    source, target = Layout.of(src_layout), Layout.of(dst_layout)
    source.require_dimensions(target)
    for each in (source, target):
        _require_order(each)
    return source, target


def transform_array(data: Array, src_layout: str, dst_layout: str) -> Array:
    """An array with its axes in the order of another layout, as `layout_transform`."""
    source, target = _layouts(src_layout, dst_layout)
    shape = target.shape(source.extents(data.shape))
    elements = elements_of(target, np.indices([int(each) for each in shape], sparse=True))
    return data[tuple(np.broadcast_to(each, shape) for each in indices_of(source, elements))]


@operator("layout_transform", Pattern.INJECTIVE, transform_array)
def layout_transform(data: Tensor, src_layout: str, dst_layout: str) -> Tensor:
    """Changes the order of the axes of a tensor, and their blocks: from `NCHW` to `NCHW16c`, `NHWC` or `NHWC4c`.

    A capital letter is a dimension, a number and a small letter are a block of its elements; the last block of a
    dimension has the nearest elements.
    """
    source, target = _layouts(src_layout, dst_layout)

    def element(*indices: PrimExpr) -> PrimExpr:
        return data(*indices_of(source, elements_of(target, indices)))

    shape = target.shape(source.extents(data.shape))
    names = [f"ax{n}" for n in range(len(shape))]
    return compute(shape, element, "T_layout_trans", "injective", varargs_names=names)


def has_blocks(name: str, layout: str, plain: str, lanes: int) -> bool:
    """Whether images of a layout have their channels in blocks.

    name: of the operator.  plain: the layout without blocks.  lanes: the channels of a block. TeError for another
    layout.
    """
    blocks = f"{plain}{lanes}c"
    if layout not in (plain, blocks):
        raise TeError(f"{name}: layout {layout!r} of images, expected {plain} or {blocks}")
    return layout == blocks


def channels_of(name: str, data: Tensor, layout: str, plain: str, lanes: int) -> Extent:
    """The number of channels of an image whose channels may be in blocks. name, plain, lanes: as of `has_blocks`.
    TeError for an image that its layout does not fit."""
    inner = [lanes] if has_blocks(name, layout, plain, lanes) else []
    if data.ndim != len(plain) + len(inner):
        expected = len(plain) + len(inner)
        raise TeError(f"{name}: data of {data.ndim} dimensions, expected {expected} in the layout {layout}")
    if [known_extent(extent) for extent in data.shape[len(plain) :]] != inner:
        raise TeError(f"{name}: data of shape {list(data.shape)}, expected blocks of {lanes} in the layout {layout}")
    return data.shape[1] * lanes if inner else data.shape[1]


# Blocks of images


def _require_blocks(name: str, block_shape: Sequence[int], pairs: Sequence[Sequence[int]], rank: int) -> None:
    whole = all(size > 0 for size in block_shape) and all(len(pair) == 2 and min(pair) >= 0 for pair in pairs)
    if not whole or len(block_shape) != len(pairs) or len(block_shape) >= rank:
        raise TeError(f"{name}: blocks of {list(block_shape)} with {list(pairs)} of {rank} dimensions")


def _to_batch_reference(
    data: Array, block_shape: Sequence[int], paddings: Sequence[Sequence[int]], pad_value: float
) -> Array:
    count, rank = len(block_shape), data.ndim
    around = [(0, 0), *map(tuple, paddings), *[(0, 0)] * (rank - count - 1)]
    padded = np.pad(data, around, constant_values=pad_value)  # pyright: ignore[reportArgumentType]
    sizes = padded.shape[1 : count + 1]
    divided = [n for size, block in zip(sizes, block_shape, strict=True) for n in (size // block, block)]
    parts = padded.reshape(len(data), *divided, *padded.shape[count + 1 :])
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, parts.ndim)]
    outer = [size // block for size, block in zip(sizes, block_shape, strict=True)]
    return parts.transpose(order).reshape(len(data) * prod(block_shape), *outer, *padded.shape[count + 1 :])


@operator("nn.space_to_batch_nd", Pattern.INJECTIVE, _to_batch_reference)
def space_to_batch_nd(
    data: Tensor, block_shape: Sequence[int], paddings: Sequence[Sequence[int]], pad_value: float = 0
) -> Tensor:
    """Divides images into blocks, and makes an image of the elements at the same position in all blocks.

    block_shape: the extents of a block, along the axes after the first one.  paddings: the elements before and after
    each of these axes.  pad_value: their value. The first axis of the result numbers the positions in a block, and
    within them the images.
    """
    _require_blocks("nn.space_to_batch_nd", block_shape, paddings, data.ndim)
    count = len(block_shape)
    padded = pad_with_value(
        data, {n + 1: (pair[0], pair[1]) for n, pair in enumerate(paddings)}, const(pad_value, data.dtype)
    )
    sizes = padded.shape[1 : count + 1]
    for size, block in zip(sizes, block_shape, strict=True):
        known = known_extent(size)
        if known is not None and known % block:
            raise TeError(f"nn.space_to_batch_nd: {known} elements with padding, expected a multiple of {block}")
    batch = data.shape[0]

    def element(*axes: PrimExpr) -> PrimExpr:
        places = _positions(axes[0] // batch, block_shape)
        at = [a * block + n for a, block, n in zip(axes[1:], block_shape, places, strict=False)]
        return padded(axes[0] % batch, *at, *axes[count + 1 :])

    outer = [size // block for size, block in zip(sizes, block_shape, strict=True)]
    shape = [batch * prod(block_shape), *outer, *data.shape[count + 1 :]]
    return compute(shape, element, "space_to_batch_nd", "injective")


def _positions(number: PrimExpr, block_shape: Sequence[int]) -> list[PrimExpr]:
    """The position in a block with a number in row-major order."""
    result: list[PrimExpr] = []
    for block in reversed(block_shape):
        result.insert(0, number % block)
        number = number // block
    return result


def _to_space_reference(data: Array, block_shape: Sequence[int], crops: Sequence[Sequence[int]]) -> Array:
    count, batch = len(block_shape), len(data) // prod(block_shape)
    parts = data.reshape(*block_shape, batch, *data.shape[1:])
    order = [count, *(n for d in range(count) for n in (count + 1 + d, d)), *range(2 * count + 1, parts.ndim)]
    sizes = [size * block for size, block in zip(data.shape[1:], block_shape, strict=False)]
    whole = parts.transpose(order).reshape(batch, *sizes, *data.shape[count + 1 :])
    cut = [slice(before, size - after) for size, (before, after) in zip(sizes, crops, strict=True)]
    return whole[(slice(None), *cut)]


@operator("nn.batch_to_space_nd", Pattern.INJECTIVE, _to_space_reference)
def batch_to_space_nd(data: Tensor, block_shape: Sequence[int], crops: Sequence[Sequence[int]]) -> Tensor:
    """Makes images of blocks from images of the elements at one position in all blocks, as `nn.space_to_batch_nd`
    divides them.

    block_shape: the extents of a block, along the axes after the first one.  crops: the elements that are cut off
    before and after each of these axes.
    """
    _require_blocks("nn.batch_to_space_nd", block_shape, crops, data.ndim)
    count, blocks = len(block_shape), prod(block_shape)
    known = known_extent(data.shape[0])
    if known is not None and known % blocks:
        raise TeError(f"nn.batch_to_space_nd: {known} images, expected a multiple of {blocks}")
    batch = data.shape[0] // blocks
    whole = [size * block for size, block in zip(data.shape[1:], block_shape, strict=False)]
    sizes = [size - before - after for size, (before, after) in zip(whole, crops, strict=True)]
    for size in sizes:
        left = known_extent(size)
        if left is not None and left < 0:
            raise TeError(f"nn.batch_to_space_nd: crops {list(crops)} of {whole} elements")

    def element(*axes: PrimExpr) -> PrimExpr:
        at = [a + pair[0] for a, pair in zip(axes[1:], crops, strict=False)]
        number: PrimExpr = const(0)
        for place, block in zip(at, block_shape, strict=True):
            number = number * block + place % block
        outer = [place // block for place, block in zip(at, block_shape, strict=True)]
        return data(number * batch + axes[0], *outer, *axes[count + 1 :])

    return compute([batch, *sizes, *data.shape[count + 1 :]], element, "batch_to_space_nd", "injective")
