"""Products and convolutions whose vectors are of blocks of output channels: the steps that their rules share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ...analysis.index import Analyzer, Lin
from ...core.cpu import CpuModel
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, LoadOp
from ...dialects.tir.base import memref_type
from .. import Schedule
from ..handles import BlockRV, LoopRV
from ..rules.kernel import are_equal_in, block_of, index_of_read, result_of
from ..rules.results import decline_unless
from .tiles import fill_registers, greatest_height

LANES = 16
"""The output channels of a block of packed or transformed weights."""
Place: TypeAlias = Callable[..., Sequence[Lin]]
"""The indices of a result in blocks of output channels, from an analyzer and the indices in a tensor without blocks."""


def only(blocks: Sequence[BlockRV]) -> BlockRV:
    """The only block. Raises DeclineError for another number of blocks."""
    decline_unless(len(blocks) == 1, f"a step with {len(blocks)} producers or consumers, expected 1")
    return blocks[0]


def steps_before(sch: Schedule, sums: BlockRV) -> list[BlockRV]:
    """The blocks that prepare the image, the last one first: the padding, if there is any, and the transposition."""
    steps, block = list[BlockRV](), sums
    while producers := sch.get_producers(block):
        block = only(producers)
        steps.append(block)
    return steps


def require_known(extents: Sequence[int | None]) -> list[int]:
    """The extents. Raises DeclineError for dynamic extents."""
    known = [extent for extent in extents if extent is not None]
    decline_unless(len(known) == len(extents), "a size is dynamic")
    return known


def extents_of(sch: Schedule, block: BlockRV) -> list[int | None]:
    """The extents of the axes of a block, None for dynamic extents."""
    return [axis.extent if isinstance(axis.extent, int) else None for axis in block_of(sch, block).axes]


def image_extents(sch: Schedule, block: BlockRV) -> list[int]:
    """The extents of the axes of a block without the first, over images. Raises DeclineError for dynamic extents."""
    return require_known(extents_of(sch, block)[1:])


def require_lanes(lanes: int) -> None:
    """Raises DeclineError for blocks of another number of channels than `LANES`."""
    decline_unless(lanes == LANES, f"blocks of {lanes} channels, expected {LANES}")


def number_annotated(sch: Schedule, block: BlockRV, name: str) -> int:
    """The number in an annotation of a block. Raises DeclineError for a block without the annotation."""
    annotations = block_of(sch, block).annotations
    number = None if annotations is None else annotations.data.get(name)
    decline_unless(isinstance(number, IntegerAttr), f"no annotation {name!r}")
    assert isinstance(number, IntegerAttr)
    return number.value.data


def choose_tile(cpu: CpuModel, element: int, rows: int | None, blocks: int, widest: int) -> tuple[int, int]:
    """The rows, and the blocks of output channels, of a tile of sums.

    The blocks are those of the most sums in registers. The number of rows is a divisor of the number of all rows, or
    leaves the most over, among the three greatest that fit into registers; the greatest for a dynamic number of rows.

    element: the bytes of an element.  rows, blocks: the numbers of rows, None if it is dynamic, and of blocks of the
    result.  widest: the greatest number of blocks of a tile.
    """
    registers = registers_of_block(cpu, element)
    widths = [n for n in range(1, widest + 1) if blocks % n == 0]
    width = max(widths, key=lambda width: width * greatest_height(cpu, width * registers))
    highest = greatest_height(cpu, width * registers)
    if rows is None:
        return highest, width
    if rows <= highest:
        return rows, width
    heights = range(highest, max(highest - 3, 0), -1)
    return max(heights, key=lambda height: rows % height or height + highest), width


def registers_of_block(cpu: CpuModel, element: int) -> int:
    """The number of vector registers of a block of channels. element: the bytes of an element."""
    return max(LANES * element // cpu.vector_bytes, 1)


def transpose_in_registers(
    sch: Schedule, block: BlockRV, source: int, outer: Sequence[LoopRV], square: Sequence[LoopRV]
) -> None:
    """Copies squares of a buffer to registers before a block reads them in another order.

    source: the index of the buffer among those that the block reads.  outer, square: the loops around a square, and
    those over its elements.
    """
    copy = sch.cache_read(block, source, "local", [block])
    sch.compute_at(copy, outer[-1])
    tile = sch.get_loops(copy)[len(outer) :]
    if tile:  # else the square has one element
        fill_registers(sch, tile)
    fill_registers(sch, square)


def copy_in_order(sch: Schedule, results: BlockRV, order: Callable[..., Any]) -> BlockRV:
    """Copies results to the order of a tensor without blocks of channels, in which other blocks then read them. Returns
    the block of the copy.

    results: the block that computes the results, by blocks of output channels.  order: the indices in the tensor from
    the indices in the results.
    """
    copy = sch.cache_write(results, 0, "global")
    sch.transform_layout(copy, ("write", 0), order)
    sch.transform_block_layout(copy, order)
    return copy


def copy_from_blocks(sch: Schedule, results: BlockRV, blocks: Callable[..., Any]) -> BlockRV:
    """Computes the elements of a tensor without blocks of channels by blocks, and copies them to the tensor. Returns
    the block of the copy.

    results: the block that computes the elements.  blocks: the indices by blocks from those in the tensor.
    """
    copy = sch.cache_write(results, 0, "global")
    sch.transform_layout(results, ("write", 0), blocks)
    sch.transform_block_layout(results, blocks)
    return copy


def reader_in_order(sch: Schedule, results: BlockRV, order: Callable[..., Any], place: Place) -> BlockRV:
    """The block that reads results element by element, in the order of a tensor without blocks of channels; a copy in
    this order, if several blocks read them, or a block reads them otherwise.

    results, order: as of `copy_in_order`.  place: the indices in the results from those in the tensor.
    """
    users = sch.get_consumers(results)
    buffer = result_of(block_of(sch, results))
    if len(users) == 1 and reads_in_order(block_of(sch, users[0]), buffer, place):
        return users[0]
    return copy_in_order(sch, results, order)


def reads_in_order(block: BlockOp, buffer: SSAValue, place: Place) -> bool:
    """Whether a block reads from a buffer only the element that its axes, the indices in the tensor, are the place
    of."""
    if [axis.kind for axis in block.axes] != ["spatial"] * (len(memref_type(buffer).get_shape()) - 1):
        return False
    analyzer = Analyzer()
    expected = place(analyzer, *map(Lin.of, block.variables))
    loads = (op for op in find_ops(block, LoadOp) if op.buffer is buffer)
    pairs = (pair for op in loads for pair in zip(op.indices, expected, strict=True))
    return all(are_equal_in(block, analyzer.lin(index), place_of) for index, place_of in pairs)


def index_read(sch: Schedule, reader: BlockRV, writer: BlockRV) -> int:
    """The index, among the buffers that a block reads, of the buffer that another block writes."""
    return index_of_read(block_of(sch, reader), result_of(block_of(sch, writer)))
