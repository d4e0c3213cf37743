"""Operators that rearrange blocks of elements of an image into channels, and channels into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...expressions.errors import TeError
from ...expressions.expr import PrimExpr
from ...expressions.tensor import Tensor, compute
from ..definition import Pattern, operator
from ..extents import Extent, known_extent
from ..requirements import require_one_of
from ..windows import layout_axes

Array = Any


def _block_axes(name: str, shape: Sequence[Extent], block_size: int, layout: str) -> list[int]:
    """The axes N, C, H and W."""
    if len(shape) != 4:
        raise TeError(f"{name}: data of {len(shape)} dimensions, expected 4")
    if block_size < 1:
        raise TeError(f"{name}: block_size {block_size}, expected a number from 1 on")
    return layout_axes(layout, "NCHW", name)


def _require_blocks(name: str, extent: Extent, size: int, what: str) -> None:
    """TeError unless a known extent is a multiple of a block size."""
    known = known_extent(extent)
    if known is not None and known % size:
        raise TeError(f"{name}: {known} {what}, expected a multiple of {size}")


def _depth_to_space_reference(data: Array, block_size: int, layout: str, mode: str) -> Array:
    order = layout_axes(layout, "NCHW", "nn.depth_to_space")
    n, c, h, w = (data.shape[d] for d in order)
    rest, size = c // block_size**2, block_size
    x = data.transpose(order).reshape(n, *((size, size, rest) if mode == "DCR" else (rest, size, size)), h, w)
    x = x.transpose(0, 3, 4, 1, 5, 2) if mode == "DCR" else x.transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(n, rest, h * size, w * size).transpose(np.argsort(order))


@operator("nn.depth_to_space", Pattern.INJECTIVE, _depth_to_space_reference)
def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Rearranges channels into blocks: each element becomes a block of `block_size` by `block_size` elements.

    block_size: the extent of a block along H and W.  layout: the order of the axes.  mode: the order of the channels,
    "DCR" by the position in the block and then by the channel of the result, "CRD" the other way round.
    """
    name, size = "nn.depth_to_space", block_size
    n, c, h, w = _block_axes(name, data.shape, size, layout)
    require_one_of(mode, ("DCR", "CRD"), f"{name}: mode")
    _require_blocks(name, data.shape[c], size * size, "channels")
    channels = data.shape[c] // (size * size)

    def source(*axes: PrimExpr) -> PrimExpr:
        block = axes[h] % size * size + axes[w] % size
        channel = block * channels + axes[c] if mode == "DCR" else axes[c] * (size * size) + block
        at = {n: axes[n], c: channel, h: axes[h] // size, w: axes[w] // size}
        return data(*(at[d] for d in range(4)))

    shape = {n: data.shape[n], c: channels, h: data.shape[h] * size, w: data.shape[w] * size}
    names = [f"ax{d}" for d in range(4)]
    return compute([shape[d] for d in range(4)], source, "depth_to_space", "injective", varargs_names=names)


def _space_to_depth_reference(data: Array, block_size: int, layout: str) -> Array:
    order = layout_axes(layout, "NCHW", "nn.space_to_depth")
    n, c, h, w = (data.shape[d] for d in order)
    x = data.transpose(order).reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    x = x.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * block_size**2, h // block_size, w // block_size)
    return x.transpose(np.argsort(order))


@operator("nn.space_to_depth", Pattern.INJECTIVE, _space_to_depth_reference)
def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Rearranges blocks into channels: each block of `block_size` by `block_size` elements becomes one element.

    block_size: the extent of a block along H and W.  layout: the order of the axes. The channels of the result are
    ordered by the position in the block and then by the channel.
    """
    name, size = "nn.space_to_depth", block_size
    n, c, h, w = _block_axes(name, data.shape, size, layout)
    _require_blocks(name, data.shape[h], size, "elements along H")
    _require_blocks(name, data.shape[w], size, "elements along W")
    channels = data.shape[c]

    def source(*axes: PrimExpr) -> PrimExpr:
        block, channel = axes[c] // channels, axes[c] % channels
        at = {n: axes[n], c: channel, h: axes[h] * size + block // size, w: axes[w] * size + block % size}
        return data(*(at[d] for d in range(4)))

    shape = {n: data.shape[n], c: channels * (size * size), h: data.shape[h] // size, w: data.shape[w] // size}
    names = [f"ax{d}" for d in range(4)]
    return compute([shape[d] for d in range(4)], source, "space_to_depth", "injective", varargs_names=names)
