"""The default schedules of convolutions and products with packed weights (`nn.contrib_conv2d_pack`,
`nn.contrib_dense_pack`) for processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.index import Analyzer, Lin
from ...core.cpu import CpuModel
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import block_of, element_bytes, result_of
from .channels import (
    LANES,
    choose_tile,
    copy_from_blocks,
    copy_in_order,
    extents_of,
    index_read,
    number_annotated,
    reader_in_order,
    registers_of_block,
    require_known,
    require_lanes,
    transpose_in_registers,
)
from .tiles import fill_registers, greatest_height, keep_in_registers, parts

GROUPS = "groups"
"""The annotation of the block of the sums of a convolution: the number of groups of channels."""
WIDEST = 2
"""The greatest number of blocks of output channels of a tile of sums of several columns: of wider tiles, the vectors of
weights leave no registers to elements of the image."""

WIDEST_PRODUCT = 3
"""The greatest number of blocks of columns of a tile of sums of a product, each of whose multiplications reads its
element of the data from memory."""


def packed_convolution(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a convolution with weights in blocks of output channels.

    Vectors are of output channels, so that windows may have any step: each element of the image is multiplied by the
    vectors of weights of its channel and its tap. Sums of a tile, some columns of a row of the result and channels of
    one group, are in registers during the loops over summands. The results of a row, or of the part of a row that half
    of the fastest cache holds, are transposed in registers; one square at a time in rows of dynamic size.

    sums: the block of the sums. Returns the schedule in words, and the names of the blocks. Declines: dynamic numbers
    of channels, and blocks of other numbers of channels than 16.
    """
    summands = sum(axis.kind == "reduce" for axis in block_of(sch, sums).axes)
    *_, columns, blocks, lanes = extents_of(sch, sums)[:-summands]
    blocks, lanes = require_known([blocks, lanes])
    require_lanes(lanes)
    groups = number_annotated(sch, sums, GROUPS)
    output, (height, width) = transpose_results(cpu, sch, sums, columns, blocks // groups)
    names = tuple(block_of(sch, block).block_name.data for block in (sums, output))

    loops = sch.get_loops(sums)
    *_, column, block, lane = loops[:-summands]
    summed = loops[-summands:]
    column, column_in = sch.split(column, [None, height])
    sch.reorder(column, *summed, column_in, block, lane)
    keep_in_registers(sch, sums, summed[0], [column_in, block, lane])
    return f"sums in registers, {width * LANES} channels of {height} columns", names


def transpose_results(
    cpu: CpuModel, sch: Schedule, sums: BlockRV, columns: int | None, blocks: int, user: BlockRV | None = None
) -> tuple[BlockRV, tuple[int, int]]:
    """Copies the results of a convolution to the order of an image, transposed in registers, for as many columns of a
    row as half of the fastest cache holds, and moves the sums there.

    sums: the block of the sums, whose last spatial axes are columns, blocks and lanes.  columns: their number, None if
    it is dynamic.  blocks: the number of blocks that a tile may have.  user: the block that computes the results from a
    tile of sums in registers; None for sums that are the results. Returns the block of the copy, and the columns and
    blocks of a tile of sums.
    """
    height, width = _tile_of_columns(cpu, sch, sums, columns, blocks)
    results = sums if user is None else user
    output = copy_in_order(sch, sums, _order) if user is None else copy_from_blocks(sch, user, _blocks)
    element = element_bytes(result_of(block_of(sch, results)))
    square = min(cpu.lanes(element), LANES)
    most = max(cpu.l1_bytes // 2 // (width * LANES * element) // square, 1)
    squares = 1 if columns is None else parts(-(-columns // square), most)
    n, k, *inside, x = sch.get_loops(output)
    k, k_block, k_in = sch.split(k, [None, width * LANES // square, square])
    x, x_square, x_in = sch.split(x, [None, squares, square])
    outer = [n, k, *inside, x]
    sch.reorder(*outer, k_block, x_square, k_in, x_in)
    transpose_in_registers(sch, output, index_read(sch, output, results), [*outer, k_block, x_square], [k_in, x_in])

    sch.compute_at(results, x, preserve_unit_loops=True)
    if user is not None:
        *_, column, block, lane = sch.get_loops(user)
        column, column_in = sch.split(column, [None, height])
        sch.compute_at(sums, column, preserve_unit_loops=True)
        fill_registers(sch, [column_in, block, lane])
    return output, (height, width)


def _tile_of_columns(cpu: CpuModel, sch: Schedule, sums: BlockRV, columns: int | None, blocks: int) -> tuple[int, int]:
    """The columns and blocks of a tile of sums of a convolution."""
    element = element_bytes(result_of(block_of(sch, sums)))
    height, width = choose_tile(cpu, element, columns, blocks, WIDEST_PRODUCT if columns == 1 else WIDEST)
    if width == 1 and columns is not None:  # more columns, which are neighbours in memory, for enough sums
        height = parts(columns, greatest_height(cpu, registers_of_block(cpu, element), columns))
    return height, width


def _order(n: Any, *indices: Any) -> tuple[Any, ...]:
    *image, block, lane = indices
    return (n, block * LANES + lane, *image)


def _blocks(n: Any, channel: Any, *image: Any) -> tuple[Any, ...]:
    return (n, *image, channel // LANES, channel % LANES)


def packed_product(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a product with weights in blocks of rows, which are columns of the result.

    A tile of sums, some rows of some blocks of columns, is in registers during the loop over summands. The operators
    that follow the product are applied to the sums there. The blocks of weights of a tile stay in a cache during the
    loop over rows.

    sums: the block of the sums. Returns the schedule in words, and the names of the blocks. Declines: dynamic sizes,
    and blocks of other numbers of columns than 16.
    """
    output, (height, width), (*tile, k) = tile_results(cpu, sch, sums)
    names = tuple(block_of(sch, block).block_name.data for block in (sums, output))
    sch.reorder(k, *tile)
    keep_in_registers(sch, sums, k, tile)
    return f"sums in registers, {width * LANES} columns of {height} rows", names


def tile_results(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[BlockRV, tuple[int, int], Sequence[LoopRV]]:
    """Splits the results of a product into tiles, some rows of some blocks of columns, and moves the sums there. The
    rows are those of the longest axis, or of the last axis of dynamic extent.

    sums: the block of the sums, whose last spatial axes are blocks and lanes. Returns the block that reads the results,
    the rows and the blocks of a tile, and the loops over the sums of a tile and over summands. Declines: dynamic sizes
    other than those of rows, and blocks of other numbers of columns than 16.
    """
    summands = sum(axis.kind == "reduce" for axis in block_of(sch, sums).axes)
    extents = extents_of(sch, sums)
    rows, (blocks, lanes, *_) = extents[: -summands - 2], require_known(extents[-summands - 2 :])
    require_lanes(lanes)
    output = reader_by_columns(sch, sums, LANES)
    longest = max(range(len(rows)), key=lambda axis: (rows[axis] is None, rows[axis] or axis))
    element = element_bytes(result_of(block_of(sch, sums)))
    height, width = choose_tile(cpu, element, rows[longest], blocks, WIDEST_PRODUCT)

    *outer, column = sch.get_loops(output)
    column, block_in, lane = sch.split(column, [None, width, LANES])
    outer[longest], row = sch.split(outer[longest], [None, height])
    sch.reorder(column, *outer, row, block_in, lane)
    fill_registers(sch, [row, block_in, lane])
    sch.compute_at(sums, outer[-1], preserve_unit_loops=True)
    return output, (height, width), sch.get_loops(sums)[len(outer) + 1 :]


def reader_by_columns(sch: Schedule, sums: BlockRV, lanes: int) -> BlockRV:
    """The block that reads sums element by element, or a copy, in the order of a tensor whose last axis is that of the
    columns. sums: the block of the sums, whose last spatial axes are blocks of columns and lanes."""

    def order(*indices: Any) -> tuple[Any, ...]:
        *rows, block, lane = indices
        return (*rows, block * lanes + lane)

    def place(analyzer: Analyzer, *indices: Lin) -> Sequence[Lin]:
        *rows, column = indices
        return *rows, analyzer.floordiv(column, lanes), analyzer.floormod(column, lanes)

    return reader_in_order(sch, sums, order, place)
