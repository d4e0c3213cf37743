"""Chains of products over tiles of the same rows, as attention: a product, the softmax of its rows, another product."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...core.cpu import CpuModel
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, BlockOp
from ...dialects.tir.base import memref_type
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import Kernel, element_bytes, handle_of, result_of
from ..rules.results import decline_unless
from .contraction import factor_to_transpose, transposed_factor
from .nest import Nest
from .rows import leading_axes, row_limit
from .tiles import HIGHEST, parts

MOST_ROWS = 64
"""The greatest number of rows of a tile."""
SHARE = 4
"""The L2 cache holds this number of times the intermediate results of a tile, which it holds beside the factors."""


def row_tiles(cpu: CpuModel, sch: Schedule, function: str) -> tuple[tuple[str, ...], str]:
    """Moves a chain of blocks from a product to another product of the same rows into a loop over tiles of these rows,
    so that the intermediate results of a tile stay in the L2 cache. After the first product, the blocks that compute
    rows from rows, from a reduction on, are in one loop over the rows of a tile.

    Returns the names of the other blocks, and the schedule in words. Declines: functions whose first and last blocks
    are no products of the same rows; intermediate results of dynamic size, and those that the L2 cache holds as a whole.
    """
    blocks = list(find_ops(sch.mod.function_ops[function], BlockOp))
    handles = [handle_of(sch, function, block) for block in blocks]
    nests = [Nest(cpu, sch, Kernel(handle, block)) for handle, block in zip(handles, blocks, strict=True)]
    axis = min(leading_axes(block, blocks[-1]) for block in blocks) - 1
    are_rows = [row_limit(nest) > axis for nest in nests]
    decline_unless(axis >= 0 and not are_rows[0] and not are_rows[-1], "no products of the same rows begin and end it")
    height = _height(cpu, [result_of(block) for block in blocks[:-1]], axis)

    for nest in (nests[0], nests[-1]):
        if factor_to_transpose(nest) is not None:
            transposed_factor(nest)
    *producers, last = handles
    tile, _ = sch.split(sch.get_loops(last)[axis], [None, height])
    sch.compute_at(producers[-1], tile)
    row = sch.get_loops(producers[-1])[axis + 1]
    first = next((n for n, block in enumerate(blocks) if are_rows[n] and block.init is not None), len(blocks))
    for n in reversed(range(len(producers) - 1)):
        sch.compute_at(producers[n], row if n >= first and are_rows[n] and are_rows[len(producers) - 1] else tile)
    names = tuple(block.block_name.data for block in blocks[:-1])
    return names, f"tiles of {height} rows along {blocks[-1].axes[axis].name}"


def _height(cpu: CpuModel, intermediate: Sequence[SSAValue], axis: int) -> int:
    """The number of rows of a tile. axis: the axis of the rows.  Raises DeclineError as `row_tiles`."""
    decline_unless(all(isinstance(buffer.owner, AllocBufferOp) for buffer in intermediate), "it has several results")
    shapes = [memref_type(buffer).get_shape() for buffer in intermediate]
    decline_unless(all(size > 0 for shape in shapes for size in shape), "a size is dynamic")
    bytes = [prod(shape) * element_bytes(buffer) for shape, buffer in zip(shapes, intermediate, strict=True)]
    decline_unless(max(bytes) > cpu.l2_bytes, "the L2 cache holds its intermediate results")
    rows = shapes[0][axis]
    row = 2 * max(bytes) // prod(shapes[0][: axis + 1])
    return HIGHEST * -(-parts(rows, min(max(cpu.l2_bytes // SHARE // row, HIGHEST), MOST_ROWS)) // HIGHEST)
