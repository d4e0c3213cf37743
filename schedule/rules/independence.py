"""The test whether each block of a function computes its results independently, so that schedules need no check."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...analysis.index import Analyzer
from ...analysis.reducers import match_reducer
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.scopes import all_blocks, child_blocks
from ...analysis.unscheduled import is_graph_kernel
from ...core.walking import find_ops
from ...dialects.tir import (
    AccessOp,
    AllocBufferOp,
    BlockOp,
    BufferOp,
    ForOp,
    FuncOp,
    IfThenElseOp,
    InitOp,
    LoadOp,
    MatchBufferOp,
    Mixed,
    StoreOp,
    SymbolOp,
    YieldOp,
)
from ...dialects.tir.tree import is_pure_expression
from ..handles import BlockRV
from .kernel import AffineAccess, Kernel

_AROUND = ForOp | BlockOp | AllocBufferOp | MatchBufferOp | SymbolOp
"""The ops of a function around its blocks, besides pure expressions."""
_INSIDE = AccessOp | InitOp | StoreOp | LoadOp | IfThenElseOp | YieldOp
"""The ops of a block, besides pure expressions."""


def is_independent(func: FuncOp) -> bool:
    """Whether a function is generated from a graph, or `has_independent_results`: default schedules of it need no check
    of dependences."""
    return is_graph_kernel(func) or has_independent_results(func)


def has_independent_results(func: FuncOp) -> bool:
    """Whether the blocks of a function are those of formulas: each computes all elements of a buffer of its own, one at
    each point of its spatial axes, by a known reduction over the others, from buffers that are complete before.

    The order of the points then has no effect on the results, and blocks may be moved to their consumers, copied and
    divided without a check of dependences. False where that is not obvious.
    """
    blocks = child_blocks(func)
    written = [_result_of(block) for block in blocks]
    if len(all_blocks(func)) != len(blocks) or None in written or len(set(written)) != len(written):
        return False
    if not all(isinstance(op, _AROUND) or is_pure_expression(op) for op in _ops_around_blocks(func)):
        return False
    return all(
        not {load.buffer for load in find_ops(block, LoadOp)}.intersection(written[n + 1 :])
        for n, block in enumerate(blocks)
    )


def _ops_around_blocks(op: Operation) -> Iterator[Operation]:
    """The ops inside `op`, without those of blocks."""
    for inner in (inner for region in op.regions for block in region.blocks for inner in block.ops):
        yield inner
        if not isinstance(inner, BlockOp):
            yield from _ops_around_blocks(inner)


def _result_of(block: BlockOp) -> SSAValue | None:
    """The buffer of which a block computes each element by one formula; None for another block."""
    kernel = Kernel(BlockRV(""), block)
    if not kernel.has_plain_loops() or not kernel.is_one_store() or not _has_domains_of_loops(kernel):
        return None
    if len(kernel.spatial_axes) + len(kernel.reduction_axes) != len(kernel.axes):
        return None
    if not all(isinstance(op, _INSIDE) or is_pure_expression(op) for op in block.body.block.walk()):
        return None
    (write,) = kernel.writes
    if not _fills_its_buffer(kernel, write) or any(read.buffer is write.buffer for read in kernel.reads):
        return None
    if bool(kernel.reduction_axes) != (block.init is not None):
        return None
    if block.init is not None and (isinstance(match_reducer(block), str) or not _starts_its_element(block)):
        return None
    return write.buffer if _is_own_memory(write.buffer) and _declares_its_accesses(block) else None


def _fills_its_buffer(kernel: Kernel, write: AffineAccess) -> bool:
    """Whether a block stores each element of a buffer at one point of its spatial axes."""
    extents = {axis: of.extent for axis, of in zip(kernel.axes, kernel.block.axes, strict=True)}
    several = {axis for axis in kernel.spatial_axes if extents[axis] != 1}
    return (
        write.is_plain()
        and several <= write.axes() <= set(kernel.spatial_axes)
        and all(
            size == (extents[index.atom] if isinstance(index.atom, BlockArgument) else 1)
            for index, size in zip(write.indices, buffer_shape(write.buffer), strict=True)
        )
    )


def _has_domains_of_loops(kernel: Kernel) -> bool:
    """Whether the domain of each axis with a loop is the range of the loop."""
    return all(
        of.low == 0 and (axis not in kernel.loop_of or of.extent == kernel.loops[kernel.loop_of[axis]].mixed_bounds[1])
        for axis, of in zip(kernel.axes, kernel.block.axes, strict=True)
    )


def _starts_its_element(block: BlockOp) -> bool:
    """Whether the init of a block stores one element, the one that the block updates."""
    assert block.init is not None
    first, *others = find_ops(block.init, StoreOp)
    update = _update(block)
    same = first.buffer is update.buffer and all(map(Analyzer().same, first.indices, update.indices))
    return same and not others


def _declares_its_accesses(block: BlockOp) -> bool:
    """Whether the regions that a block declares contain the elements that it loads and stores."""
    analyzer = Analyzer()
    with analyzer.inside(_update(block)):
        return all(_is_declared(analyzer, block, op) for op in find_ops(block, LoadOp, StoreOp))


def _is_declared(analyzer: Analyzer, block: BlockOp, op: LoadOp | StoreOp) -> bool:
    """Whether a region contains the element of a load or store. A sum reads its own result without a declaration."""
    is_write = isinstance(op, StoreOp) or op.buffer is _update(block).buffer
    regions = [each.region for each in block.accesses if each.buffer is op.buffer and each.is_write is is_write]
    return any(all(map(partial(_is_in_range, analyzer), op.indices, region)) for region in regions)


def _is_in_range(analyzer: Analyzer, index: SSAValue, side: tuple[Mixed, Mixed]) -> bool:
    """Whether an index is in a range, a minimum and an extent."""
    (low, extent), at = map(analyzer.exact, side), analyzer.exact(index)
    return analyzer.is_provably("ge", at, low) and analyzer.is_provably("lt", at, low + extent)


def _update(block: BlockOp) -> StoreOp:
    """The store of a block of one store, apart from its init."""
    return next(op for op in block.body.block.ops if isinstance(op, StoreOp))


def _is_own_memory(buffer: SSAValue) -> bool:
    """Whether a buffer is contiguous, and the only one of its memory, as far as parameters do not overlap."""
    type = buffer.type
    if not isinstance(type, MemRefType) or type.layout != NoneAttr():
        return False
    if isinstance(buffer, BlockArgument):
        return True
    owner = buffer.owner
    if isinstance(owner, BufferOp) and owner.mixed_strides is not None:
        return False
    if isinstance(owner, MatchBufferOp):
        return not owner.source.has_more_than_one_use()
    return isinstance(owner, AllocBufferOp)
