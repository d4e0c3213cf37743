"""The default schedules of convolutions and products of bytes with packed weights (`nn.contrib_conv2d_pack_int8`,
`nn.contrib_dense_pack_int8`) for processors with an instruction that adds the products of four bytes to a sum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...analysis.index import Analyzer, Lin
from ...core.byte_products import GROUP, SUMS, bytes_of_windows
from ...core.cpu import CpuModel
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..intrinsics import byte_products_name, window_products_name
from ..rules.kernel import Kernel, block_of, element_bytes, result_of
from ..rules.results import decline_unless
from .channels import LANES, image_extents, number_annotated, reads_in_order, require_lanes, steps_before
from .packed import reader_by_columns, tile_results, transpose_results
from .tiles import IN_FLIGHT, fill_registers, parts, start_in_registers
from .windows import MOST_TAPS

WIDEST = 2
"""The greatest number of blocks of columns of a tile of sums of a depthwise convolution."""


def packed_product_of_bytes(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a product of bytes with weights in blocks of rows, which are columns of the result.

    A tile of sums is in registers, and the operators that follow the product are applied to it there, as by
    `packed_product`. An instruction adds the products of four bytes to each of its sums.

    sums: the block of the sums. Returns the schedule in words, and the names of the blocks. Declines: processors
    without the instruction, dynamic sizes, and blocks of other numbers of columns than 16.
    """
    _require_instruction(cpu)
    filled = sch.get_producers(sums)
    output, (height, width), (*tile, lane, group, byte) = tile_results(cpu, sch, sums)
    names = tuple(block_of(sch, block).block_name.data for block in (*filled, sums, output))
    sch.reorder(group, *tile, lane, byte)
    _add_in_registers(cpu, sch, sums, group, [*tile, lane])
    return f"sums of products of {GROUP} bytes in registers, {width * LANES} columns of {height} rows", names


def packed_convolution_of_bytes(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a convolution of bytes with weights in blocks of output channels.

    The pixels of the image are transposed in registers, so that the bytes of four channels are adjacent, and padded
    before. The sums of some columns of a row of the result are in registers during the loops over channels and taps; an
    instruction adds the products of four channels to each of its sums. The results of a row are transposed in
    registers.

    sums: the block of the sums. Returns the schedule in words, and the names of the blocks. Declines: as of
    `packed_product_of_bytes`.
    """
    summands = sum(axis.kind == "reduce" for axis in block_of(sch, sums).axes)
    *_, columns, blocks, lanes = image_extents(sch, sums)[:-summands]
    _require_instruction(cpu)
    require_lanes(lanes)
    *padded, image, rows = steps = steps_before(sch, sums)
    user = _user_of_bytes(sch, sums)
    output, (height, width) = transpose_results(cpu, sch, sums, columns, blocks, user)
    users = [] if user is None else [user]
    names = tuple(block_of(sch, block).block_name.data for block in (*steps, sums, *users, output))

    loops = sch.get_loops(sums)
    (*_, column, block, lane), (*summed, byte) = loops[:-summands], loops[-summands:]
    column, column_in = sch.split(column, [None, height])
    sch.reorder(column, *summed, column_in, block, lane, byte)
    _add_in_registers(cpu, sch, sums, summed[0], [column_in, block, lane])
    for step in padded:
        sch.compute_at(image, sch.get_loops(step)[1])
        fill_registers(sch, sch.get_loops(step)[-1:])
    _transpose_image(cpu, sch, image, rows)
    text = f"sums of products of {GROUP} bytes in registers, {width * LANES} channels of {height} columns"
    return text, names


def packed_depthwise_of_bytes(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a convolution of bytes of each channel with windows of its own.

    Vectors are of columns. The sums of some rows of one or two blocks of columns are in registers. Up to 16 groups of
    taps are unrolled, so that the bytes of a row are loaded once for all windows of the tile. Each load is permuted to
    the bytes of four taps of each window, whose products an instruction adds to the sums of all windows. The image is
    padded channel by channel.

    sums: the block of the sums, whose last reduction axes are groups of taps along a row and taps of a group. Returns
    the schedule in words, and the names of the blocks. Declines: processors without the instruction, dynamic sizes,
    windows so far apart that the bytes of a vector of windows do not fit a vector.
    """
    _require_instruction(cpu)
    block = block_of(sch, sums)
    summands = sum(axis.kind == "reduce" for axis in block.axes)
    extents = image_extents(sch, sums)
    *_, rows, blocks, columns = extents[:-summands]
    decline_unless(columns in SUMS, f"blocks of {columns} columns, expected {list(SUMS)}")
    step, far = (number_annotated(sch, sums, name) for name in ("step", "far"))
    lanes = min(cpu.lanes(4), columns)
    decline_unless(
        bytes_of_windows(lanes, step, far) <= cpu.vector_bytes, f"windows {step} apart, with taps {far} apart"
    )
    padded = sch.get_producers(sums)
    output = reader_by_columns(sch, sums, columns)
    names = tuple(block_of(sch, block).block_name.data for block in (*padded, sums, output))
    width = parts(blocks, WIDEST)
    height = parts(rows, max(IN_FLIGHT // (width * columns // lanes), 1))

    *outer, row, column = sch.get_loops(output)
    row, row_in = sch.split(row, [None, height])
    column, *block_in, lane = sch.split(column, [None, width, columns])
    sch.reorder(*outer, row, column, row_in, *block_in, lane)
    fill_registers(sch, [row_in, *block_in, lane])
    sch.compute_at(sums, column, preserve_unit_loops=True)
    *tile, lane = sch.get_loops(sums)[len(outer) + 2 : -summands]
    *taps, tap = sch.get_loops(sums)[-summands:]
    sch.reorder(*taps, *tile, lane, tap)
    start_in_registers(sch, sums, taps[0])
    vector, lane = sch.split(lane, [None, lanes])
    unrolled = taps if prod(extents[-summands:-1]) <= MOST_TAPS else []
    for loop in (*unrolled, *tile, vector):
        sch.unroll(loop)
    sch.tensorize(lane, window_products_name(lanes, step, far))
    for each in padded:
        sch.compute_at(each, outer[-1])
        fill_registers(sch, sch.get_loops(each)[-1:])
    text = f"sums of products of {GROUP} taps in registers, {width * columns} columns of {height} rows"
    return text, names


def _user_of_bytes(sch: Schedule, sums: BlockRV) -> BlockRV | None:
    """The block that computes a byte of each sum, if it does so for whole blocks of channels, and its other operands
    vary along the channels only, so that vectors of channels are loaded; None otherwise."""
    users = sch.get_consumers(sums)
    if len(users) != 1:
        return None
    block, buffer = block_of(sch, users[0]), result_of(block_of(sch, sums))
    if element_bytes(result_of(block)) != 1 or not reads_in_order(block, buffer, _place):
        return None
    channel, extent = block.variables[1], block.axes[1].extent
    others = (read for read in Kernel(users[0], block).reads if read.buffer is not buffer)
    is_whole = isinstance(extent, int) and extent % LANES == 0
    return users[0] if is_whole and all(read.axes() <= {channel} for read in others) else None


def _place(analyzer: Analyzer, n: Lin, channel: Lin, *image: Lin) -> Sequence[Lin]:
    return n, *image, analyzer.floordiv(channel, LANES), analyzer.floormod(channel, LANES)


def _require_instruction(cpu: CpuModel) -> None:
    """Raises DeclineError for a processor without the instruction."""
    decline_unless(cpu.byte_products, "the processor has no instruction that adds products of bytes")


def _add_in_registers(cpu: CpuModel, sch: Schedule, sums: BlockRV, summed: LoopRV, tile: list[LoopRV]) -> None:
    """Moves the init of sums before the loops over summands, and adds the products of bytes by instructions.

    summed: the outermost reduction loop, but for that over the bytes of a group, the innermost loop.  tile: the loops
    over sums in registers, the innermost one over lanes.
    """
    start_in_registers(sch, sums, summed)
    *rows, lane = tile
    lanes = min(cpu.lanes(4), LANES)
    vector, lane = sch.split(lane, [None, lanes])
    for loop in (*rows, vector):
        sch.unroll(loop)
    sch.tensorize(lane, byte_products_name(lanes))


def _transpose_image(cpu: CpuModel, sch: Schedule, image: BlockRV, rows: BlockRV) -> None:
    """Loads the bytes of four channels of some pixels to registers, and stores them pixel by pixel. rows: the block of
    the loads."""
    place, place_in = sch.split(sch.get_loops(image)[-1], [None, cpu.vector_bytes])
    sch.set_scope(rows, 0, "local")
    around = len(sch.get_loops(image)) - 1
    sch.compute_at(rows, place)
    fill_registers(sch, sch.get_loops(rows)[around:])
    sch.vectorize(place_in)
