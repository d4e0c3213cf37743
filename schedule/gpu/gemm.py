"""Matrix products, including batched products."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from .. import Schedule
from ..rules.kernel import AffineAccess, Kernel
from ..rules.results import decline_unless
from .contraction import VECTOR_BYTES, Contraction, Tile, contract, in_shared_memory, with_parts

THREADS = 16
"""The maximum number of threads along each side of the tile of a block."""
BLOCKS = 128
"""The number of blocks of threads that a larger tile has to leave."""
DEPTH = 16
"""The maximum number of values of the reduction axis in shared memory at a time."""
LEAST = 4
"""The minimum extent of the sides of a tile."""
STEPS = 64
"""The minimum number of values of the reduction axis in a part of the sums."""
ELEMENTS = 32
"""The maximum number of elements of a thread where a tile has a third side."""
ROWS = 7
"""The maximum length of the third side of a tile."""


def gemm_rule(sch: Schedule, kernel: Kernel) -> tuple[str, ...]:
    """Tiles the result, up to 128 x 128 for a block and 8 x 8 for a thread, with the inputs in shared memory.

    Tiles of the largest size require a result of at least 128 tiles; else tiles are half as large. Where tiles are
    whole, copies have 16 bytes. A tile that contains a whole axis (columns of an image) has some values of the next
    axis as well. Results of less than 128 tiles are summed in parts.

    Declines: blocks other than sums of products of two buffers at their axes, each with an axis of the result that the
    other buffer lacks; sides of unknown size, or of less than 4.
    """
    return in_shared_memory(sch, kernel, lambda kernel, size: _gemm(sch, kernel, size))


def _gemm(sch: Schedule, kernel: Kernel, size: int) -> tuple[str, ...]:
    """The steps for tiles of a size of `in_shared_memory`."""
    left, right = operands(kernel)
    decline_unless(left.is_plain() and right.is_plain(), "it reads at indices that are computed")
    (write,) = kernel.writes
    rows = [axis for axis in kernel.spatial_axes if axis in left.axes() and axis not in right.axes()]
    columns = [axis for axis in kernel.spatial_axes if axis in right.axes() and axis not in left.axes()]
    summed = [axis for axis in kernel.reduction_axes if axis in left.axes() and axis in right.axes()]
    decline_unless(rows and columns, "one of the two it reads has no axis of the result for itself")
    decline_unless(summed, "no axis is summed over for both")
    row, column = (_contiguous_axis(kernel, axes) or longest_axis(kernel, axes) for axes in (rows, columns))
    depth = longest_axis(kernel, summed)
    if write.fastest() is row:
        row, column = column, row
    require_tile(kernel, row, column, depth)
    tiled = (row, column, depth)
    most = 8 if (kernel.size(kernel.spatial_axes) or 0) >= BLOCKS * (8 * THREADS) ** 2 else 4
    most = max(most >> size, 1)
    plan = Contraction(
        grid=[axis for axis in kernel.spatial_axes if axis not in tiled],
        tiles=[
            split_into_runs(
                tile_of_axis(kernel, axis, thread, most), next(read for read in (left, right) if axis in read.axes())
            )
            for axis, thread in ((row, "threadIdx.y"), (column, "threadIdx.x"))
        ],
        summed=depth,
        depth=min(DEPTH >> size, kernel.size([depth]) or DEPTH),
        outer=[axis for axis in kernel.reduction_axes if axis not in tiled],
        inner=[],
        shared=[left.buffer, right.buffer],
    )
    plan = _with_rows(kernel, plan, columns if column in columns else rows)
    return contract(sch, kernel, with_parts(kernel, plan, STEPS))


def _contiguous_axis(kernel: Kernel, axes: Sequence[SSAValue]) -> SSAValue | None:
    """The axis along which the result is contiguous, if it is one of `axes` and long enough for a tile; else None."""
    (write,) = kernel.writes
    fastest = write.fastest()
    if fastest is None or fastest not in axes:
        return None
    return fastest if (kernel.size([fastest]) or LEAST) >= LEAST else None


def _with_rows(kernel: Kernel, plan: Contraction, axes: Sequence[SSAValue]) -> Contraction:
    """The plan with a third side of tiles, along the next of `axes`, if tiles contain a whole axis of those and there
    are enough of them."""
    *_, along = plan.tiles
    if kernel.size([along.axis]) != along.threads * along.each:
        return plan
    for tile in third_sides(kernel, plan.tiles, [axis for axis in axes if axis is not along.axis], ELEMENTS):
        taller = plan.with_third_side(tile)
        if (taller.blocks(kernel) or 0) >= BLOCKS:
            return taller
    return plan


def third_sides(kernel: Kernel, tiles: Sequence[Tile], axes: Sequence[SSAValue], elements: int) -> Iterator[Tile]:
    """The third sides of tiles, the longest first, along the longest of `axes`; each thread has all values of a side,
    and at most `elements` elements."""
    if not axes:
        return
    axis, each = longest_axis(kernel, list(axes)), math.prod(tile.each for tile in tiles)
    for rows in range(min(ROWS, elements // each), 1, -1):
        if (extent := kernel.size([axis])) is not None and extent % rows == 0:
            yield Tile(axis, 1, rows)


def operands(kernel: Kernel) -> tuple[AffineAccess, AffineAccess]:
    """The two accesses whose products are summed. Raises DeclineError for blocks other than sums of products."""
    decline_unless(kernel.has_plain_loops(), "its loops are not its axes")
    decline_unless(kernel.init is not None and kernel.reduction_axes, "it is no reduction")
    decline_unless(len(kernel.spatial_axes) + len(kernel.reduction_axes) == len(kernel.axes), "it has other axes")
    decline_unless(len(kernel.writes) == 1 and kernel.writes[0].is_plain(), "it does not write one element at its axes")
    decline_unless(kernel.spatial_axes, "it has one result")
    decline_unless(all(axis in kernel.loop_of for axis in kernel.reduction_axes), "it is summed over one value")
    reads = [read for read in kernel.reads if any(axis in read.axes() for axis in kernel.reduction_axes)]
    decline_unless(len(reads) == 2, f"it reads {len(reads)} elements for each step, expected two")
    left, right = reads
    (write,) = kernel.writes
    decline_unless(all(read.buffer is not write.buffer for read in kernel.reads), "it reads what it writes")
    decline_unless(kernel.is_one_store(), "it does more than to add to one element")
    decline_unless(left.buffer is not right.buffer, "it reads one buffer twice")
    return left, right


def require_tile(kernel: Kernel, row: SSAValue, column: SSAValue, depth: SSAValue) -> None:
    """Raises DeclineError unless the sides of a tile are known, and the result is large enough for them."""
    decline_unless(kernel.size([row, column, depth]) is not None, "the size of a side is not known")
    for axis in (row, column):
        decline_unless((kernel.size([axis]) or 0) >= LEAST, f"a side has less than {LEAST}")


def tile_of_axis(kernel: Kernel, axis: SSAValue, thread: str, most: int = 4, threads: int = THREADS) -> Tile:
    """The tile of an axis: up to `most` elements, a power of two, for each of up to `threads` threads."""
    extent = kernel.size([axis]) or 1
    count = min(threads, extent)
    return Tile(axis, count, min(most, 2 ** int(math.log2(extent // count))), thread)


def split_into_runs(tile: Tile, read: AffineAccess) -> Tile:
    """A tile split into runs of 16 bytes of the buffer read along it; neighbouring threads have neighbouring runs.

    So the elements that a warp reads at once are contiguous.
    """
    return replace(tile, parts=max(tile.each * read.element_bytes() // VECTOR_BYTES, 1))


def longest_axis(kernel: Kernel, axes: list[SSAValue]) -> SSAValue:
    """The axis with the greatest extent, the last of several; a dynamic extent counts as the greatest."""
    return max(reversed(axes), key=lambda axis: kernel.extents[axis] or 2**31)
