"""The default schedule of depthwise convolutions with weights in blocks (`nn.contrib_depthwise_conv2d_pack`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.cpu import CpuModel
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import block_of, element_bytes, result_of
from ..rules.results import decline_unless
from .channels import (
    LANES,
    copy_in_order,
    extents_of,
    image_extents,
    index_read,
    number_annotated,
    registers_of_block,
    require_known,
    require_lanes,
    steps_before,
    transpose_in_registers,
)
from .tiles import HIGHEST_IF_DYNAMIC, fill_registers, keep_in_registers, parts, sums_of_windows

COLUMNS = "columns"
"""The annotation of the block of the sums: the columns of an image of the result."""


def packed_depthwise(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a depthwise convolution with weights in blocks of channels.

    Vectors are of channels, so that images may be small and windows may have any step. For each block of channels, the
    pixels of an image without blocks are transposed in registers to vectors of channels, and padded; then the sums of
    some columns of a row at a time are in registers during the loop over the rows of taps, whose taps are unrolled, so
    that windows that overlap load a pixel once; the results are transposed back.

    sums: the block of the sums, with the annotation `columns`, the columns of an image of the result. Returns the
    schedule in words, and the names of the blocks. Declines: dynamic sizes, and blocks of other numbers of channels
    than 16.
    """
    columns, (*_, lanes, _, taps) = number_annotated(sch, sums, COLUMNS), image_extents(sch, sums)
    require_lanes(lanes)
    steps = steps_before(sch, sums)
    output = copy_in_order(sch, sums, _order)
    square = cpu.lanes(element_bytes(result_of(block_of(sch, sums))))
    height = _height(cpu, sch, sums, columns, taps)
    names = tuple(block_of(sch, block).block_name.data for block in (*steps, sums, output))

    block = _transpose_results(sch, output, sums, square)
    for step in (sums, *steps):
        sch.compute_at(step, block, preserve_unit_loops=True)
    *_, pixel, lane, row_tap, column_tap = sch.get_loops(sums)
    _, column = sch.split(pixel, [None, columns])
    _sum(sch, sums, [column, lane, row_tap, column_tap], height)
    for step in steps[:-1]:  # the padding
        fill_registers(sch, sch.get_loops(step)[-1:])
    for step in steps[-1:]:  # none for an image in blocks
        _transpose_image(sch, step, square)
    return f"sums in registers, {LANES} channels of {height} columns", names


def packed_depthwise_of_blocks(cpu: CpuModel, sch: Schedule, sums: BlockRV) -> tuple[str, tuple[str, ...]]:
    """Schedules a depthwise convolution with weights in blocks of channels, whose image and result have blocks too.

    Vectors are of channels. The sums of some columns of a row at a time are in registers during the loop over the rows
    of taps, whose taps are unrolled, so that windows that overlap load a pixel once. An image of dynamic size is
    padded for each block of channels.

    sums: the block of the sums. Returns the schedule in words, and the names of the blocks. Declines: windows or images
    of less than two dimensions, windows of dynamic size, and blocks of other numbers of channels than 16.
    """
    extents = extents_of(sch, sums)
    decline_unless(len(extents) == 7, "its rows and columns are collapsed")
    *_, columns, lanes, _, taps = extents
    lanes, taps = require_known([lanes, taps])
    require_lanes(lanes)
    height = _height(cpu, sch, sums, columns, taps)
    steps = steps_before(sch, sums)
    for step in steps:  # the padding of an image of dynamic size
        sch.compute_at(step, sch.get_loops(sums)[1], preserve_unit_loops=True)
        fill_registers(sch, sch.get_loops(step)[-1:])
    _sum(sch, sums, sch.get_loops(sums)[-4:], height)
    names = tuple(block_of(sch, block).block_name.data for block in (*steps, sums))
    return f"sums in registers, {LANES} channels of {height} columns", names


def _transpose_results(sch: Schedule, output: BlockRV, sums: BlockRV, square: int) -> LoopRV:
    """Copies the results in squares of pixels and channels, transposed in registers. Returns the loop over blocks of
    channels."""
    n, k, pixel = sch.get_loops(output)
    k, k_block, k_in = sch.split(k, [None, LANES // square, square])
    pixel, pixel_in = sch.split(pixel, [None, square])
    sch.reorder(n, k, pixel, k_block, k_in, pixel_in)
    source = index_read(sch, output, sums)
    transpose_in_registers(sch, output, source, [n, k, pixel, k_block], [k_in, pixel_in])
    return k


def _height(cpu: CpuModel, sch: Schedule, sums: BlockRV, columns: int | None, taps: int) -> int:
    """The number of columns of a tile of sums. columns: of an image, None if it is dynamic.  taps: of a row of a
    window."""
    vectors = registers_of_block(cpu, element_bytes(result_of(block_of(sch, sums))))
    most = sums_of_windows(cpu, taps, vectors) // vectors
    return min(most, HIGHEST_IF_DYNAMIC) if columns is None else parts(columns, most)


def _sum(sch: Schedule, sums: BlockRV, row: Sequence[LoopRV], height: int) -> None:
    """Adds the products of some columns of a row in registers. row: the loops over columns, lanes, and rows and columns
    of taps.  height: the columns of a tile."""
    column, lane, row_tap, column_tap = row
    column, column_in = sch.split(column, [None, height])
    sch.reorder(column, row_tap, column_in, column_tap, lane)
    keep_in_registers(sch, sums, row_tap, [column_in, column_tap, lane])


def _transpose_image(sch: Schedule, image: BlockRV, square: int) -> None:
    """Copies the image in squares of pixels and channels, transposed in registers."""
    *outer, pixel, lane = sch.get_loops(image)
    (pixel, pixel_in), (lane, lane_in) = sch.split(pixel, [None, square]), sch.split(lane, [None, square])
    sch.reorder(lane, pixel, pixel_in, lane_in)
    transpose_in_registers(sch, image, 0, [*outer, lane, pixel], [pixel_in, lane_in])


def _order(n: Any, block: Any, pixel: Any, lane: Any) -> tuple[Any, ...]:
    return (n, block * LANES + lane, pixel)
