"""The default schedule of convolutions by Winograd's algorithm (`nn.conv2d_winograd`) for processors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr

from ...core.walking import find_ops
from ...dialects.attributes import SCHEDULE_RULE
from ...dialects.tir import BlockOp, FuncOp
from .. import Schedule
from ..handles import BlockRV, LoopRV

RULE = "conv2d_winograd"
"""The value of `schedule_rule` on the products of the algorithm."""
LANES = 16
"""The lanes of vectors of channels: the output channels of a block of transformed weights."""
HEIGHTS = (6, 5, 4)
"""The tiles of the image whose sums are in registers at once, the best number first."""
TILE_BYTES = 512 << 10
"""The bytes of values and sums that stay in the cache of a core."""
FEWEST_PARTS = 6
"""The least number of parts of a convolution that are computed one after the other, each in all steps: fewer parts do
not balance threads."""


@dataclass(frozen=True)
class Registers:
    """The registers of a processor. blocks: the vectors of `LANES` sums along output channels of a tile of sums.
    square: the elements of a row of a square that is transposed."""

    blocks: int = 1
    square: int = 8


@dataclass(frozen=True)
class _Stages:
    """The blocks of the algorithm, in order."""

    padded: BlockRV
    image: BlockRV
    rows: BlockRV
    values: BlockRV
    sums: BlockRV
    result_rows: BlockRV
    results: BlockRV
    output: BlockRV


@dataclass(frozen=True)
class _Sizes:
    """The extents of a convolution. size: of a tile.  batch: the number of images.  rows, columns: the grid of tiles of
    an image.  inputs, blocks: the input channels, and the blocks of output channels."""

    size: int
    batch: int
    rows: int
    columns: int
    inputs: int
    blocks: int

    @property
    def points(self) -> int:
        """The values of a transformed tile."""
        return (self.size + 2) ** 2

    @property
    def tile_bytes(self) -> int:
        """The bytes of the values and the sums of a tile."""
        return 4 * self.points * (self.inputs + self.blocks * LANES)

    @property
    def weight_bytes(self) -> int:
        return 4 * self.points * self.inputs * self.blocks * LANES


@dataclass(frozen=True)
class _Part:
    """The part of a convolution that is computed in all steps before the next part. images, rows: the images, and the
    rows of tiles of each image."""

    images: int
    rows: int

    def tiles(self, sizes: _Sizes) -> int:
        return self.images * self.rows * sizes.columns

    def count(self, sizes: _Sizes) -> int:
        """The number of parts."""
        return sizes.batch * sizes.rows // (self.images * self.rows)

    def bytes_moved(self, sizes: _Sizes) -> int:
        """The bytes that pass between the cache of a core and the next: the weights for each part, and values and sums
        that the cache does not hold, written and read."""
        own = self.tiles(sizes) * sizes.tile_bytes
        return self.count(sizes) * (sizes.weight_bytes + (0 if own <= TILE_BYTES else 2 * own))


def products_of_winograd(func: FuncOp) -> BlockOp | None:
    """The block of the products of a convolution by Winograd's algorithm; None for other functions."""
    for block in find_ops(func, BlockOp):
        if block.annotations is not None and block.annotations.data.get(SCHEDULE_RULE) == StringAttr(RULE):
            return block
    return None


def schedule_winograd(schedule: Schedule, name: str, registers: Registers) -> str | None:
    """Schedules the function with the products of Winograd's algorithm.

    Images are copied with their channels last, so that all vectors are of channels. Sums of a tile are in registers
    during the loop over input channels. Results are transposed back in registers, where operators that follow the
    convolution are applied to them. Parts of an image are computed in all steps before the next part, if their values
    and sums fit into the cache of a core.

    Returns the schedule in words; None, with the function unchanged, for dynamic sizes and for results with other
    readers than one block.
    """
    func = schedule.mod.functions[name]
    assert isinstance(func, FuncOp)
    products = products_of_winograd(func)
    assert products is not None
    stages = _stages(schedule, schedule.get_block(products.block_name.data, name))
    sizes = None if stages is None else _sizes(schedule, stages)
    if stages is None or sizes is None:
        return None
    part = _part(sizes)
    tiles = sizes.batch * sizes.rows * sizes.columns if part is None else part.tiles(sizes)
    height, blocks = _height(tiles), _width(sizes.blocks, registers.blocks)
    _transpose_image(schedule, stages.padded, stages.image, registers.square)
    outer = _transpose_results(schedule, stages, registers.square, sizes, part)
    _transform_results(schedule, stages, outer)
    _sum(schedule, stages.sums, outer, height, blocks)
    _transform_image(schedule, stages, outer, sizes.columns)
    where = "" if part is None else f", {tiles} tiles at a time"
    return f"Winograd's algorithm, sums of {height} by {blocks * LANES} in registers{where}"


def _stages(schedule: Schedule, sums: BlockRV) -> _Stages | None:
    """The blocks of the algorithm; None if the results have other readers than one block."""
    (values,) = schedule.get_producers(sums)
    (rows,) = schedule.get_producers(values)
    (image,) = schedule.get_producers(rows)
    (padded,) = schedule.get_producers(image)
    (result_rows,) = schedule.get_consumers(sums)
    (results,) = schedule.get_consumers(result_rows)
    readers = schedule.get_consumers(results)
    return _Stages(padded, image, rows, values, sums, result_rows, results, readers[0]) if len(readers) == 1 else None


def _sizes(schedule: Schedule, stages: _Stages) -> _Sizes | None:
    """The extents of a convolution; None for dynamic extents."""
    batch, rows, points, width, inputs = _extents(schedule, stages.rows)
    blocks = _extents(schedule, stages.sums)[3]
    numbers = [batch, rows, points, width, inputs, blocks]
    if None in [*numbers, *_extents(schedule, stages.output)]:
        return None
    batch, rows, points, width, inputs, blocks = (number or 0 for number in numbers)
    size = points - 2
    return _Sizes(size, batch, rows, (width - 2) // size, inputs, blocks)


def _extents(schedule: Schedule, block: BlockRV) -> list[int | None]:
    """The extents of the axes of a block, None for dynamic extents."""
    op = schedule.get(block)
    assert isinstance(op, BlockOp)
    return [axis.extent if isinstance(axis.extent, int) else None for axis in op.axes]


# Sizes of tiles and parts


def _part(sizes: _Sizes) -> _Part | None:
    """The parts that move the fewest bytes, if there are enough of them; None for a convolution that is computed step
    by step as a whole."""
    whole = _Part(sizes.batch, sizes.rows)
    inside = [_Part(1, rows) for rows in _divisors(sizes.rows)]
    across = [_Part(images, sizes.rows) for images in _divisors(sizes.batch)]
    parts = [part for part in (*inside, *across) if part.count(sizes) >= FEWEST_PARTS]
    best = min((whole, *parts), key=lambda part: part.bytes_moved(sizes))
    return None if best == whole else best


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def _height(tiles: int) -> int:
    """The tiles of the image of a tile of sums: a divisor of the number of tiles, else the number with the most tiles
    left over."""
    if tiles <= HEIGHTS[0]:
        return tiles
    return max(HEIGHTS, key=lambda height: tiles % height or height + HEIGHTS[0])


def _width(blocks: int, most: int) -> int:
    """The blocks of output channels of a tile of sums."""
    return max(n for n in range(1, most + 1) if blocks % n == 0 or n == 1)


# Steps of the algorithm


def _transpose_image(schedule: Schedule, padded: BlockRV, image: BlockRV, square: int) -> None:
    """Pads the image, and copies it with channels last: squares of columns and channels are transposed in registers.

    The padding has loops of its own, since its conditions would multiply the squares.
    """
    row = schedule.get_loops(padded)[-1]
    schedule.vectorize(schedule.split(row, [None, LANES])[1])
    n, y, x, c = schedule.get_loops(image)
    (x, x_in), (c, c_in) = schedule.split(x, [None, square]), schedule.split(c, [None, square])
    schedule.reorder(n, y, c, x, x_in, c_in)
    _transpose(schedule, image, 0, [n, y, c, x], [x_in, c_in])


def _transpose_results(
    schedule: Schedule, stages: _Stages, square: int, sizes: _Sizes, part: _Part | None
) -> Sequence[LoopRV]:
    """Copies the results with their channels first, and moves the other steps to each part. Returns the loops over
    parts."""
    n, k, y, x = schedule.get_loops(stages.output)
    (k, k_in), (x, x_in) = schedule.split(k, [None, square]), schedule.split(x, [None, square])
    around, inside = list[LoopRV](), [n, y]
    if part is not None:
        (n, n_in), (y, y_in) = schedule.split(n, [None, part.images]), schedule.split(y, [None, part.rows * sizes.size])
        around, inside = [n, y], [n_in, y_in]
    schedule.reorder(*around, k, *inside, x, k_in, x_in)
    op, source = schedule.get(stages.output), schedule.get(stages.results)
    assert isinstance(op, BlockOp) and isinstance(source, BlockOp)
    (written,) = (access.buffer for access in source.accesses if access.is_write)
    index = [access.buffer for access in op.accesses if not access.is_write].index(written)
    _transpose(schedule, stages.output, index, [*around, k, *inside, x], [k_in, x_in])
    if around:
        for block in (stages.results, stages.result_rows, stages.sums, stages.values, stages.rows):
            schedule.compute_at(block, around[-1], preserve_unit_loops=True)
    return around


def _transpose(
    schedule: Schedule, block: BlockRV, source: int, outer: Sequence[LoopRV], square: Sequence[LoopRV]
) -> None:
    """Copies squares of a buffer to registers before the block reads them in another order."""
    copy = schedule.cache_read(block, source, "local")
    schedule.compute_at(copy, outer[-1])
    _fill(schedule, schedule.get_loops(copy)[len(outer) :])
    _fill(schedule, square)


def _transform_image(schedule: Schedule, stages: _Stages, outer: Sequence[LoopRV], columns: int) -> None:
    """Computes the values of a row of tiles, for a vector of channels at a time."""
    i, j, tile, c = schedule.get_loops(stages.values)[len(outer) :]
    row, column = schedule.split(tile, [None, columns])
    c, c_in = schedule.split(c, [None, LANES])
    schedule.reorder(row, c, i, column, j, c_in)
    _fill(schedule, [j, c_in])
    schedule.compute_at(stages.rows, c, preserve_unit_loops=True)
    i, x, c_in = schedule.get_loops(stages.rows)[-3:]
    schedule.reorder(x, i, c_in)
    _fill(schedule, [i, c_in])


def _sum(schedule: Schedule, sums: BlockRV, outer: Sequence[LoopRV], height: int, blocks: int) -> None:
    """Adds the products of a tile in registers."""
    i, j, tile, block, lane, c = schedule.get_loops(sums)[len(outer) :]
    tile, tile_in = schedule.split(tile, [None, height])
    point, inner = schedule.fuse(i, j), [tile_in, lane]
    if blocks > 1:
        block, block_in = schedule.split(block, [None, blocks])
        inner = [tile_in, block_in, lane]
    schedule.reorder(point, block, tile, c, *inner)
    start = schedule.decompose_reduction(sums, c)
    _fill(schedule, inner)
    _fill(schedule, schedule.get_loops(start)[-len(inner) :])


def _transform_results(schedule: Schedule, stages: _Stages, outer: Sequence[LoopRV]) -> None:
    """Computes the results of a tile, for a vector of channels at a time."""
    tile, u, v, block, lane = schedule.get_loops(stages.results)[len(outer) :]
    schedule.reorder(tile, block, u, v, lane)
    _fill(schedule, [v, lane])
    schedule.compute_at(stages.result_rows, block, preserve_unit_loops=True)
    u, j, *_, lane = schedule.get_loops(stages.result_rows)[len(outer) + 2 :]
    schedule.reorder(j, u, lane)
    _fill(schedule, [u, lane])


def _fill(schedule: Schedule, tile: Sequence[LoopRV]) -> None:
    """Vectorizes the innermost loop of a tile, and unrolls the others."""
    for loop in tile[:-1]:
        schedule.unroll(loop)
    for loop in tile[-1:]:
        schedule.vectorize(loop)
