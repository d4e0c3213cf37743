"""Convolutions: sums of products with a moving window."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import product

from xdsl.ir import SSAValue

from ...analysis.index import Lin
from ...core.gpu import STATIC_SHARED_BYTES
from .. import Schedule
from ..rules.kernel import AffineAccess, Kernel
from ..rules.results import DeclineError, decline_unless
from .contraction import LEAST_BLOCKS, VECTOR_BYTES, Contraction, Tile, contract, with_parts
from .gemm import THREADS, longest_axis, operands, require_tile, third_sides, tile_of_axis

DEPTH = 8
"""The maximum number of channels in shared memory at a time."""
EACH = 4
"""The maximum number of elements of a thread along an axis of threads."""
ELEMENTS = 64
"""The maximum number of elements of a thread."""
CHANNELS = 16
"""The minimum number of channels in a part of the sums."""


def convolution(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Tiles channels, columns and rows of the result; copies the part of the image under a tile and the weights to
    shared memory. Results of few tiles are summed in parts, or have tiles of a quarter of the size as well.

    Declines: blocks without an index that is a sum of an axis of the result and a reduction axis; depthwise
    convolutions, whose only reduction axes are those of the window; sides of unknown size, or of less than 4; windows
    that exceed shared memory.
    """
    left, right = operands(kernel)
    image, weights = (left, right) if right.is_plain() else (right, left)
    moved = _window_axes(kernel, image)
    decline_unless(moved, "no window moves over what it reads")
    decline_unless(weights.is_plain(), "it has no weights at its axes")
    window = [axis for axis in kernel.reduction_axes if any(axis in index.terms for index in _sums(kernel, image))]
    channels = [axis for axis in kernel.reduction_axes if axis not in window and axis in weights.axes()]
    decline_unless(channels, "it sums over nothing but the window")
    filters = [axis for axis in kernel.spatial_axes if axis in weights.axes() and axis not in image.axes()]
    decline_unless(filters, "each channel of the result has its own image")
    channel, filter, column = longest_axis(kernel, channels), longest_axis(kernel, filters), longest_axis(kernel, moved)
    require_tile(kernel, filter, column, channel)
    slow, fast = (column, filter) if kernel.writes[0].fastest() is filter else (filter, column)

    def plan(each: int, elements: int) -> Contraction | None:
        """The plan with up to `each` filters, and up to `elements` elements, for each thread; None if one channel does
        not fit into shared memory."""
        sides = {filter: each, column: EACH}
        tiles = [
            whole_tile(kernel, slow, "threadIdx.y", sides[slow]),
            whole_tile(kernel, fast, "threadIdx.x", sides[fast]),
        ]
        depth = _depth(kernel, tiles, channel, window, (image, weights))
        if not depth:
            return None
        flat = Contraction(
            grid=[axis for axis in kernel.spatial_axes if axis not in (column, filter)],
            tiles=tiles,
            summed=channel,
            depth=depth,
            outer=[axis for axis in kernel.reduction_axes if axis is not channel and axis not in window],
            inner=window,
            shared=[image.buffer, weights.buffer],
        )
        for side in third_sides(kernel, tiles, [axis for axis in moved if axis is not column], elements):
            taller = flat.with_third_side(side)
            size = _shared_bytes(kernel, taller.tiles, {channel: taller.depth}, window, (image, weights))
            if size <= STATIC_SHARED_BYTES:
                return taller
        return flat

    decline_unless(kernel.size(window) is not None, "the size of its window is not known")
    sizes = [(EACH, ELEMENTS), (EACH // 2, ELEMENTS // 4)]
    plans = [with_parts(kernel, made, CHANNELS) for size in sizes if (made := plan(*size)) is not None]
    if not plans:
        raise DeclineError(f"its window and one channel take more than {STATIC_SHARED_BYTES} bytes of shared memory")
    enough = (made for made in plans if (made.blocks(kernel) or LEAST_BLOCKS) >= LEAST_BLOCKS)
    return contract(sch, kernel, next(enough, plans[-1]))


def whole_tile(kernel: Kernel, axis: SSAValue, thread: str, most: int = EACH) -> Tile:
    """The `side` with a size that divides the extent of the axis, if such a size exists with at least half of the
    threads. most: the maximum number of elements of a thread, up to 4.

    Columns of images are often 7 times a power of two, and sums of a partial tile are guarded at each step.
    """
    tile, extent = tile_of_axis(kernel, axis, thread, most), kernel.size([axis]) or 1
    sizes = product(range(THREADS // 2, THREADS + 1), [each for each in (1, 2, 4) if each <= most])
    whole = [(threads * each, threads, each) for threads, each in sizes if extent % (threads * each) == 0]
    if not whole:
        return tile
    _, threads, each = max(whole)
    return replace(tile, threads=threads, each=each)


def _depth(
    kernel: Kernel, tiles: Sequence[Tile], channel: SSAValue, window: Sequence[SSAValue], reads: Sequence[AffineAccess]
) -> int:
    """The number of channels that fit into shared memory, at most `DEPTH`; 0 if a single one does not fit."""
    depth = min(DEPTH, kernel.size([channel]) or DEPTH)
    while depth and _shared_bytes(kernel, tiles, {channel: depth}, window, reads) > STATIC_SHARED_BYTES:
        depth //= 2
    return depth


def _shared_bytes(
    kernel: Kernel,
    tiles: Sequence[Tile],
    depth: Mapping[SSAValue, int],
    window: Sequence[SSAValue],
    reads: Sequence[AffineAccess],
) -> int:
    """The size in bytes of the parts of buffers that a tile reads at a time. depth: { channel -> its values }."""
    sizes = {axis: kernel.size([axis]) or 1 for axis in window} | {t.axis: t.threads * t.each for t in tiles}
    tiled = {tile.axis for tile in tiles}
    return sum(_bytes(read, sizes | dict(depth), tiled) for read in reads)


def _bytes(read: AffineAccess, sizes: Mapping[SSAValue, int], tiled: Container[SSAValue]) -> int:
    """The size in bytes of the accessed box, for axes of `sizes` (default 1), with rows along a tile padded."""
    extents, rows = list[int](), list[int]()
    for index in read.indices:
        axes = {axis: abs(k) for axis, k in index.terms.items() if isinstance(axis, SSAValue)}
        extents.append(1 + sum(k * (sizes.get(axis, 1) - 1) for axis, k in axes.items()))
        if not any(axis in tiled for axis in axes):
            rows.append(extents[-1])
    return math.prod(extents) * read.element_bytes() + math.prod(rows) * VECTOR_BYTES


def _window_axes(kernel: Kernel, image: AffineAccess) -> list[SSAValue]:
    """The axes of the result along which a window moves."""
    return [axis for axis in kernel.spatial_axes if any(axis in index.terms for index in _sums(kernel, image))]


def _sums(kernel: Kernel, image: AffineAccess) -> list[Lin]:
    """The indices that are sums of an axis of the result and a reduction axis."""
    kinds = [{kernel.kinds.get(axis) for axis in index.terms if isinstance(axis, SSAValue)} for index in image.indices]
    return [
        index for index, index_kinds in zip(image.indices, kinds, strict=True) if index_kinds == {"spatial", "reduce"}
    ]
