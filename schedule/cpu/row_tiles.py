"""Chains of products over tiles of the same rows, as attention: a product, the softmax of its rows, another product."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...analysis.scopes import reads_of, writes_of
from ...core.cpu import CpuModel
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, BlockOp, LoadOp, StoreOp
from ...dialects.tir.base import memref_type
from .. import Schedule
from ..rules.kernel import Kernel, element_bytes, handle_of, result_of
from ..rules.results import decline_unless
from .contraction import transpose_factor
from .nest import Nest
from .rows import leading_axes, row_limit
from .tiles import greatest_height, greatest_width, parts

LEAST_ROWS, MOST_ROWS = 16, 64
"""The least and the greatest number of rows of a tile."""
SHARE = 4
"""The L2 cache holds this number of times the intermediate results of a tile, which it holds beside the factors."""


def row_tiles(cpu: CpuModel, sch: Schedule, function: str) -> tuple[tuple[str, ...], str]:
    """Moves a chain of blocks from a product to another product of the same rows, with a reduction of rows between
    them, into a loop over tiles of these rows, so that the intermediate results of a tile stay in the L2 cache. The
    blocks from the reduction on that compute rows from rows are in one loop over the rows of a tile.

    Returns the names of the other blocks of the chain, and the schedule in words. Declines: functions without such a
    chain; rows of dynamic number or size; intermediate results that the L2 cache holds as a whole.
    """
    blocks = _blocks(sch, function)
    decline_unless(len(_chain(blocks)) > 1 and blocks[-1].init is not None, "its last block adds no results of others")
    for block in blocks:
        if _is_copy(block):
            sch.compute_inline(handle_of(sch, function, block))
    chain = _chain(_blocks(sch, function))
    nests = [Nest(cpu, sch, Kernel(handle_of(sch, function, block), block)) for block in chain]
    axis = min(leading_axes(block, chain[-1]) for block in chain) - 1
    first = _first_of_rows(nests, axis)
    height = _height(cpu, [result_of(block) for block in chain[:-1]], axis)

    for nest in (nests[0], nests[-1]):
        transpose_factor(nest)
    *producers, last = (nest.rv for nest in nests)
    tile, _ = sch.split(sch.get_loops(last)[axis], [None, height])
    sch.compute_at(producers[-1], tile)
    row = sch.get_loops(producers[-1])[axis + 1]
    for n in reversed(range(len(producers) - 1)):
        sch.compute_at(producers[n], tile if n < first else row)
    names = tuple(block.block_name.data for block in chain[:-1])
    return names, f"tiles of {height} rows along {chain[-1].axes[axis].name}"


def _first_of_rows(nests: Sequence[Nest], axis: int) -> int:
    """The index of the first reduction of rows in a chain, from which on all blocks but the last compute rows from
    rows. axis: the axis of the rows.  Raises DeclineError as `row_tiles`."""
    are_rows = [row_limit(nest) > axis for nest in nests]
    decline_unless(axis >= 0 and not are_rows[0] and not are_rows[-1], "no products of the same rows begin and end it")
    found = [n for n, nest in enumerate(nests) if are_rows[n] and nest.kernel.init is not None]
    decline_unless(found and all(are_rows[found[0] : -1]), "no reduction of rows is between its products")
    return found[0]


def _blocks(sch: Schedule, function: str) -> list[BlockOp]:
    return list(find_ops(sch.mod.function_ops[function], BlockOp))


def _chain(blocks: Sequence[BlockOp]) -> list[BlockOp]:
    """The first reduction, and the blocks that read its results, directly or by way of other blocks."""
    chain, results = list[BlockOp](), set[SSAValue]()
    for block in blocks:
        if results & set(reads_of(block)) or (not chain and block.init is not None):
            chain.append(block)
            results.update(writes_of(block))
    return chain


def _is_copy(block: BlockOp) -> bool:
    """Whether a block copies elements of a buffer to an intermediate buffer."""
    stores = list(find_ops(block, StoreOp))
    copies = all(isinstance(store.value.owner, LoadOp) for store in stores)
    return len(stores) == 1 and copies and isinstance(result_of(block).owner, AllocBufferOp)


def _height(cpu: CpuModel, intermediate: Sequence[SSAValue], axis: int) -> int:
    """The number of rows of a tile, a multiple of the rows of a tile of sums in registers. axis: the axis of the rows.
    Raises DeclineError as `row_tiles`."""
    decline_unless(all(isinstance(buffer.owner, AllocBufferOp) for buffer in intermediate), "it has several results")
    shapes = [memref_type(buffer).get_shape() for buffer in intermediate]
    decline_unless(all(size > 0 for shape in shapes for size in shape[axis:]), "a size of its rows is dynamic")
    row = max(prod(shape[axis + 1 :]) * element_bytes(of) for shape, of in zip(shapes, intermediate, strict=True))
    rows = shapes[0][axis]
    total = row * rows * prod(size for size in shapes[0][:axis] if size > 0)
    decline_unless(total > cpu.l2_bytes, "the L2 cache holds its intermediate results")
    high = greatest_height(cpu, greatest_width(cpu))
    most = min(max(cpu.l2_bytes // SHARE // (2 * row), LEAST_ROWS), MOST_ROWS)
    return high * -(-parts(rows, most) // high)
