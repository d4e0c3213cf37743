"""The default schedule of convolutions by Winograd's algorithm (`nn.conv2d_winograd`) for processors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod
from typing import Any

from ...core.cpu import CpuModel
from ...operators.winograd import GROUP
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import block_of, element_bytes, result_of
from .channels import (
    LANES,
    choose_tile,
    copy_in_order,
    extents_of,
    index_read,
    only,
    require_known,
    transpose_in_registers,
)
from .tiles import fill_registers, keep_in_registers

WIDEST = 4
"""The greatest number of blocks of output channels of a tile of sums."""
FEWEST_PARTS = 6
"""The least number of parts of a convolution that are computed one after the other, each in all steps: fewer parts do
not balance threads."""


@dataclass(frozen=True)
class _Stages:
    """The blocks of the algorithm, in order. padded: None for an image whose channels are in blocks."""

    padded: BlockRV | None
    image: BlockRV
    rows: BlockRV
    values: BlockRV
    sums: BlockRV
    result_rows: BlockRV
    results: BlockRV
    output: BlockRV

    def all(self) -> list[BlockRV]:
        """The blocks before the output, and the output."""
        return [stage for each in fields(self) if (stage := getattr(self, each.name)) is not None]


@dataclass(frozen=True)
class _Sizes:
    """The extents of a convolution. element: the bytes of an element.  size: the extent of a tile.  batch: the number
    of images, None if it is dynamic.  rows, columns: the grid of tiles of an image, 0 if the size of images is dynamic.
    inputs, blocks: the input channels, and the blocks of output channels."""

    element: int
    size: int
    batch: int | None
    rows: int
    columns: int
    inputs: int
    blocks: int

    @property
    def are_flat(self) -> bool:
        """Whether the tiles of all images have one axis; of images of dynamic size they have three."""
        return self.columns > 0

    @property
    def points(self) -> int:
        """The values of a transformed tile."""
        return (self.size + 2) ** 2

    @property
    def whole(self) -> _Part:
        """All images; one if their number is dynamic."""
        return _Part(self.batch or 1, self.rows)

    @property
    def tile_bytes(self) -> int:
        """The bytes of the values and the sums of a tile."""
        return self.element * self.points * (self.inputs + self.blocks * LANES)

    @property
    def weight_bytes(self) -> int:
        return self.element * self.points * self.inputs * self.blocks * LANES

    def grid(self, tile: Any, *place: Any) -> tuple[Any, ...]:
        """The row and the column of tiles, and the place in a tile: a part reads whole rows, and a square no column
        beyond the last."""
        return tile // self.columns, tile % self.columns, *place

    def order(self, tile: Any, u: Any, v: Any, block: Any, lane: Any) -> tuple[Any, ...]:
        """The image, channel, row and column of an element of a tile."""
        row, column = tile // self.columns % self.rows, tile % self.columns
        image = tile // (self.rows * self.columns)
        return image, block * LANES + lane, row * self.size + u, column * self.size + v

    def order_in_grid(self, n: Any, row: Any, column: Any, u: Any, v: Any, block: Any, lane: Any) -> tuple[Any, ...]:
        """As `order`, of tiles with axes over images, rows and columns."""
        return n, block * LANES + lane, row * self.size + u, column * self.size + v


@dataclass(frozen=True)
class _Part:
    """The part of a convolution that is computed in all steps before the next part. images, rows: the images, and the
    rows of tiles of each image."""

    images: int
    rows: int

    def tiles(self, sizes: _Sizes) -> int:
        return self.images * self.rows * sizes.columns

    def text(self, sizes: _Sizes) -> str:
        """The tiles of a part in words."""
        return f"{self.tiles(sizes)} tiles" if sizes.are_flat else f"{self.rows} rows of tiles"

    def count(self, sizes: _Sizes) -> int:
        """The number of parts, of one image if their number is dynamic."""
        return (sizes.batch or 1) * sizes.rows // (self.images * self.rows)

    def bytes_moved(self, sizes: _Sizes, cache: int) -> int:
        """The bytes that pass between the cache of a core and the next cache: the weights for each part, and values and
        sums that the cache does not hold, written and read. cache: the bytes of the cache of a core."""
        own = self.tiles(sizes) * sizes.tile_bytes
        return self.count(sizes) * (sizes.weight_bytes + (0 if own <= cache else 2 * own))


def winograd(cpu: CpuModel, sch: Schedule, products: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a convolution by Winograd's algorithm.

    Images are copied with their channels last, so that all vectors are of channels. Sums of a tile are in registers
    during the loop over input channels. Results are transposed back in registers, unless their channels are in blocks.
    Parts of an image are computed in all steps before the next part, if their values and sums fit into the cache of a
    core, or if a size is dynamic.

    products: the block of the products. Returns the schedule in words, and the names of the blocks. Declines: a dynamic
    number of channels.
    """
    stages, sizes = _stages(sch, products)
    part = _part(sizes, cpu.l2_bytes)
    tiles = (part or sizes.whole).tiles(sizes) if sizes.are_flat else None
    height, blocks = choose_tile(cpu, sizes.element, tiles, sizes.blocks, WIDEST)
    shape = _shape_of_sums(sizes, height)
    names = tuple(block_of(sch, stage).block_name.data for stage in stages.all())
    square = cpu.lanes(sizes.element) if sizes.are_flat else min(cpu.lanes(sizes.element), GROUP)
    if stages.padded is None:
        _copy_image(sch, stages.image)
    else:
        _transpose_image(sch, stages.padded, stages.image, square)
    outer = _copy_results(sch, stages, square, sizes, part)
    _transform_results(sch, stages, outer)
    _sum(sch, stages.sums, outer, shape, blocks)
    _transform_image(sch, stages, outer, sizes.columns)
    where = "" if part is None else f", {part.text(sizes)} at a time"
    return f"sums in registers, {blocks * LANES} channels of {prod(shape)} tiles{where}", names


def _stages(sch: Schedule, sums: BlockRV) -> tuple[_Stages, _Sizes]:
    """The blocks of the algorithm, and the extents of the convolution. Raises DeclineError for dynamic extents."""
    values = only(sch.get_producers(sums))
    rows = only(sch.get_producers(values))
    image = only(sch.get_producers(rows))
    padded = next(iter(sch.get_producers(image)), None)
    result_rows = only(sch.get_consumers(sums))
    results = only(sch.get_consumers(result_rows))
    sizes = _sizes(sch, image, rows, sums)
    output = _reader_of_blocks(sch, results) or copy_in_order(
        sch, results, sizes.order if sizes.are_flat else sizes.order_in_grid
    )
    if sizes.are_flat:
        sch.transform_layout(results, ("write", 0), sizes.grid)
    return _Stages(padded, image, rows, values, sums, result_rows, results, output), sizes


def _reader_of_blocks(sch: Schedule, results: BlockRV) -> BlockRV | None:
    """The block that reads the results as images whose channels are in blocks; None for images without blocks."""
    readers = sch.get_consumers(results)
    axes = block_of(sch, readers[0]).axes if len(readers) == 1 else []
    return readers[0] if [axis.kind for axis in axes] == ["spatial"] * 5 and axes[-1].extent == LANES else None


def _sizes(sch: Schedule, image: BlockRV, rows: BlockRV, sums: BlockRV) -> _Sizes:
    """The extents of a convolution, from three steps of the algorithm. Raises DeclineError for a dynamic number of
    channels."""
    batch, height, _, _ = extents_of(sch, image)
    *_, points, width, inputs = extents_of(sch, rows)
    *_, blocks, _, _ = extents_of(sch, sums)
    points, inputs, blocks = require_known([points, inputs, blocks])
    size = points - 2
    are_flat = len(block_of(sch, rows).axes) == 4
    tall, wide = require_known([height, width]) if are_flat else (2, 2)
    element = element_bytes(result_of(block_of(sch, sums)))
    return _Sizes(element, size, batch, (tall - 2) // size, (wide - 2) // size, inputs, blocks)


# Sizes of tiles and parts


def _shape_of_sums(sizes: _Sizes, most: int) -> tuple[int, int]:
    """The rows and columns of tiles whose sums are in registers: divisors of those of a group in images of dynamic
    size. most: the greatest number of tiles."""
    if sizes.are_flat:
        return 1, most
    return (2, 2) if most >= 4 else (1, min(most, 2))


def _part(sizes: _Sizes, cache: int) -> _Part | None:
    """The parts that move the fewest bytes, if there are enough of them or a size is dynamic; None for a convolution
    that is computed step by step as a whole."""
    if not sizes.are_flat:
        return _Part(1, GROUP // sizes.size)
    whole = sizes.whole
    inside = [_Part(1, rows) for rows in _divisors(sizes.rows)]
    if sizes.batch is None:
        return min(inside, key=lambda part: part.bytes_moved(sizes, cache))
    across = [_Part(images, sizes.rows) for images in _divisors(sizes.batch)]
    parts = [part for part in (*inside, *across) if part.count(sizes) >= FEWEST_PARTS]
    best = min((whole, *parts), key=lambda part: part.bytes_moved(sizes, cache))
    return None if best == whole else best


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


# Steps of the algorithm


def _transpose_image(sch: Schedule, padded: BlockRV, image: BlockRV, square: int) -> None:
    """Pads the image, and copies it with channels last: squares of columns and channels are transposed in registers.

    The padding has loops of its own, since its conditions would multiply the squares.
    """
    row = sch.get_loops(padded)[-1]
    sch.vectorize(sch.split(row, [None, LANES])[1])
    n, y, x, c = sch.get_loops(image)
    (x, x_in), (c, c_in) = sch.split(x, [None, square]), sch.split(c, [None, square])
    sch.reorder(n, y, c, x, x_in, c_in)
    transpose_in_registers(sch, image, 0, [n, y, c, x], [x_in, c_in])


def _copy_image(sch: Schedule, image: BlockRV) -> None:
    """Copies an image whose channels are in blocks with channels last, padded."""
    n, y, x, c = sch.get_loops(image)
    c, c_in = sch.split(c, [None, LANES])
    sch.reorder(n, y, c, x, c_in)
    fill_registers(sch, [c_in])


def _copy_results(sch: Schedule, stages: _Stages, square: int, sizes: _Sizes, part: _Part | None) -> Sequence[LoopRV]:
    """Copies the results to images, and moves the other steps to each part. Images without blocks have their channels
    first: squares of columns and channels are transposed in registers. Returns the loops over parts."""
    n, k, y, x, *lane = sch.get_loops(stages.output)
    around, inside = list[LoopRV](), [n, y]
    if part is not None:
        (n, n_in), (y, y_in) = sch.split(n, [None, part.images]), sch.split(y, [None, part.rows * sizes.size])
        around, inside = [n, y], [n_in, y_in]
    if lane:
        sch.reorder(*around, k, *inside, x, *lane)
        fill_registers(sch, lane)
    else:
        (k, k_in), (x, x_in) = sch.split(k, [None, square]), sch.split(x, [None, square])
        sch.reorder(*around, k, *inside, x, k_in, x_in)
        source = index_read(sch, stages.output, stages.results)
        transpose_in_registers(sch, stages.output, source, [*around, k, *inside, x], [k_in, x_in])
    if around:
        for block in (stages.results, stages.result_rows, stages.sums, stages.values, stages.rows):
            sch.compute_at(block, around[-1], preserve_unit_loops=True)
    return around


def _transform_image(sch: Schedule, stages: _Stages, outer: Sequence[LoopRV], columns: int) -> None:
    """Computes the values of a row of tiles, for a vector of channels at a time."""
    i, j, *tile, c = sch.get_loops(stages.values)[len(outer) :]
    *row, column = tile if len(tile) > 1 else sch.split(tile[0], [None, columns])
    c, c_in = sch.split(c, [None, LANES])
    sch.reorder(*row, c, i, column, j, c_in)
    fill_registers(sch, [j, c_in])
    sch.compute_at(stages.rows, c, preserve_unit_loops=True)
    i, x, c_in = sch.get_loops(stages.rows)[-3:]
    sch.reorder(x, i, c_in)
    fill_registers(sch, [i, c_in])


def _sum(sch: Schedule, sums: BlockRV, outer: Sequence[LoopRV], shape: tuple[int, int], blocks: int) -> None:
    """Adds the products of some rows and columns of tiles in registers."""
    i, j, *row, tile, block, lane, c = sch.get_loops(sums)[len(outer) :]
    tile, tile_in = sch.split(tile, [None, shape[1]])
    inner = [tile_in]
    if shape[0] > 1:
        row[-1], row_in = sch.split(row[-1], [None, shape[0]])
        inner = [row_in, tile_in]
    point = sch.fuse(i, j)
    if blocks > 1:
        block, block_in = sch.split(block, [None, blocks])
        inner.append(block_in)
    sch.reorder(point, block, *row, tile, c, *inner, lane)
    keep_in_registers(sch, sums, c, [*inner, lane])


def _transform_results(sch: Schedule, stages: _Stages, outer: Sequence[LoopRV]) -> None:
    """Computes the results of a tile, for a vector of channels at a time."""
    *tile, u, v, block, lane = sch.get_loops(stages.results)[len(outer) :]
    sch.reorder(*tile, block, u, v, lane)
    fill_registers(sch, [v, lane])
    sch.compute_at(stages.result_rows, block, preserve_unit_loops=True)
    u, j, *_, lane = sch.get_loops(stages.result_rows)[len(outer) + len(tile) + 1 :]
    sch.reorder(j, u, lane)
    fill_registers(sch, [u, lane])
