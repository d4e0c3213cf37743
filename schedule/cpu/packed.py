"""The default schedule of convolutions with packed weights (`nn.contrib_conv2d_pack`) for processors."""

from __future__ import annotations

from ...core.cpu import CpuModel
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import block_of, element_bytes
from .channels import LANES, choose_tile, index_read, known_extents, only, transpose_in_registers
from .tiles import keep_in_registers

WIDEST = 2
"""The greatest number of blocks of output channels of a tile of sums: of wider tiles, the vectors of weights leave no
registers to elements of the image."""


def packed_convolution(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a convolution with weights in blocks of output channels.

    Vectors are of output channels, so that windows may have any step: each element of the image is multiplied by the
    vectors of weights of its channel and its tap. Sums of a tile, some columns of a row of the result, are in registers
    during the loops over summands. The results of a row, or of the part of a row that half of the fastest cache holds,
    are transposed in registers, where operators that follow the convolution are applied to them.

    sums: the block of the sums. Returns the schedule in words, and the names of the blocks. Declines: dynamic sizes;
    results that several blocks read.
    """
    output = only(sch.get_consumers(sums))
    known_extents(sch, output)
    axes = block_of(sch, sums).axes
    summands = sum(axis.kind == "reduce" for axis in axes)
    *_, columns, blocks, _ = known_extents(sch, sums)[: len(axes) - summands]
    (written,) = (access.buffer for access in block_of(sch, sums).accesses if access.is_write)
    element = element_bytes(written)
    height, width = choose_tile(cpu, element, columns, blocks, WIDEST)
    names = tuple(block_of(sch, block).block_name.data for block in (sums, output))

    square = cpu.lanes(element)
    most = max(cpu.l1_bytes // 2 // (width * LANES * element) // square, 1)
    n, k, *inside, x = sch.get_loops(output)
    k, k_block, k_in = sch.split(k, [None, width * LANES // square, square])
    x, x_square, x_in = sch.split(x, [None, most, square])
    outer = [n, k, *inside, x]
    sch.reorder(*outer, k_block, x_square, k_in, x_in)
    transpose_in_registers(sch, output, index_read(sch, output, sums), [*outer, k_block, x_square], [k_in, x_in])

    sch.compute_at(sums, x, preserve_unit_loops=True)
    loops = sch.get_loops(sums)
    *_, column, block, lane = loops[:-summands]
    summed = loops[-summands:]
    column, column_in = sch.split(column, [None, height])
    sch.reorder(column, *summed, column_in, block, lane)
    keep_in_registers(sch, sums, summed[0], [column_in, block, lane])
    return f"sums in registers, {width * LANES} channels of {height} columns", names
