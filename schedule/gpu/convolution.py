"""Convolutions: sums of products with a moving window."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from xdsl.ir import SSAValue

from ...analysis.index import Lin
from ...core.gpu import STATIC_SHARED_BYTES
from .. import Schedule
from ..rules.kernel import AffineAccess, Kernel
from ..rules.results import decline_unless
from .contraction import (
    LEAST_BLOCKS,
    Contraction,
    LargeTileError,
    Tile,
    contract,
    in_shared_memory,
    shared_bytes,
    with_parts,
)
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

    Declines: blocks without an index that is a sum of an axis of the result and a reduction axis, or a multiple of an
    axis; depthwise convolutions, whose only reduction axes are those of the window; sides of unknown size, or of less
    than 4; windows that exceed shared memory.
    """
    return in_shared_memory(sch, kernel, lambda kernel, size: _convolution(sch, kernel, size))


def _convolution(sch: Schedule, kernel: Kernel, size: int) -> tuple[str, ...]:
    """The steps for tiles of a size of `in_shared_memory`."""
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
    threads = THREADS >> max(size - 2, 0)

    def fits(plan: Contraction) -> bool:
        return shared_bytes(kernel, plan, (image, weights)) <= STATIC_SHARED_BYTES

    def plan(each: int, elements: int) -> Contraction | None:
        """The plan with up to `each` filters, and up to `elements` elements, for each thread; None if one channel does
        not fit into shared memory."""
        most = {filter: each, column: min(EACH, elements)}
        tiles = [
            whole_tile(kernel, slow, "threadIdx.y", most[slow], threads),
            whole_tile(kernel, fast, "threadIdx.x", most[fast], threads),
        ]
        flat = Contraction(
            grid=[axis for axis in kernel.spatial_axes if axis not in (column, filter)],
            tiles=tiles,
            summed=channel,
            depth=min(DEPTH, kernel.size([channel]) or DEPTH),
            outer=[axis for axis in kernel.reduction_axes if axis is not channel and axis not in window],
            inner=window,
            shared=[image.buffer, weights.buffer],
        )
        while flat.depth and not fits(flat):
            flat = replace(flat, depth=flat.depth // 2)
        if not flat.depth:
            return None
        sides = third_sides(kernel, tiles, [axis for axis in moved if axis is not column], elements)
        return next((taller for taller in map(flat.with_third_side, sides) if fits(taller)), flat)

    decline_unless(kernel.size(window) is not None, "the size of its window is not known")
    limits = [(max(EACH >> n, 1), max(ELEMENTS >> 2 * n, 1)) for n in (range(2) if size == 0 else [size])]
    plans = [with_parts(kernel, made, CHANNELS) for limit in limits if (made := plan(*limit)) is not None]
    if not plans:
        raise LargeTileError(f"its window and one channel take more than {STATIC_SHARED_BYTES} bytes of shared memory")
    enough = (made for made in plans if (made.blocks(kernel) or LEAST_BLOCKS) >= LEAST_BLOCKS)
    return contract(sch, kernel, next(enough, plans[-1]))


def whole_tile(kernel: Kernel, axis: SSAValue, thread: str, most: int, threads: int) -> Tile:
    """The tile of an axis with a size that divides the extent of the axis, if such a size exists with at least half of
    the threads. most, threads: the maximum numbers of elements of a thread, up to 4, and of threads.

    Columns of images are often 7 times a power of two, and sums of a partial tile are guarded at each step.
    """
    tile, extent = tile_of_axis(kernel, axis, thread, most, threads), kernel.size([axis]) or 1
    sizes = product(range(threads // 2, threads + 1), [each for each in (1, 2, 4) if each <= most])
    whole = [(count * each, count, each) for count, each in sizes if extent % (count * each) == 0]
    if not whole:
        return tile
    _, count, each = max(whole)
    return replace(tile, threads=count, each=each)


def _window_axes(kernel: Kernel, image: AffineAccess) -> list[SSAValue]:
    """The axes of the result along which a window moves, or by which the image is read in steps."""
    steps = [index for index in image.indices if any(abs(k) > 1 for k in index.terms.values())]
    moving = [*_sums(kernel, image), *steps]
    return [axis for axis in kernel.spatial_axes if any(axis in index.terms for index in moving)]


def _sums(kernel: Kernel, image: AffineAccess) -> list[Lin]:
    """The indices that are sums of an axis of the result and a reduction axis."""
    kinds = [{kernel.kinds.get(axis) for axis in index.terms if isinstance(axis, SSAValue)} for index in image.indices]
    return [
        index for index, index_kinds in zip(image.indices, kinds, strict=True) if index_kinds == {"spatial", "reduce"}
    ]
