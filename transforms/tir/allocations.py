"""The placement of allocations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from ...analysis.index import Analyzer
from ...analysis.lifetime import is_fresh_in_each_iteration
from ...analysis.private import accesses_own_elements
from ...analysis.threads.axes import THREAD_AXES, is_thread_loop, thread_axis_of
from ...analysis.threads.memories import is_fragment, is_of_warp, is_shared
from ...dialects.tir import AllocBufferOp, ForOp, LaunchThreadOp, WhileOp
from ...dialects.tir.tree import insertion_point_before

_LANES = ("vectorized", "unrolled")
_LOOPS = ForOp | LaunchThreadOp | WhileOp


def sink_allocation(alloc: AllocBufferOp, analyzer: Analyzer, *, into_lanes: bool = True) -> None:
    """Moves an allocation to the innermost region around its uses, and erases it if it has no uses.

    It moves into a loop only if each iteration reads only elements that the iteration has written, or accesses only
    elements of its own, and not into a loop over threads that share it. A buffer that only a parallel loop uses is
    private to each iteration by definition: it moves into the loop, unless each iteration accesses only elements of its
    own there. analyzer: an analyzer of the program, which stays valid.  into_lanes: whether it moves into vectorized
    and unrolled loops, whose iterations then have memory of their own.
    """
    users = [use.operation for use in alloc.buffer.uses]
    if not users:
        alloc.detach()
        alloc.erase()
        return
    is_common, is_of_lanes = is_shared(alloc.buffer) or is_of_warp(alloc.buffer), is_fragment(alloc.buffer)

    def is_closed(op: Operation) -> bool:
        if (is_common and is_thread_loop(op)) or (is_of_lanes and thread_axis_of(op) == THREAD_AXES[0]):
            return True
        return not into_lanes and isinstance(op, ForOp) and op.kind.data in _LANES

    holders = list(takewhile(lambda held: not is_closed(held[0]), _holders(alloc, users)))
    loops = [n for n, (op, _) in enumerate(holders) if isinstance(op, _LOOPS)]
    # Memory fresh in each iteration of a loop is fresh in enclosing loops as well: the innermost loop is queried first.
    fresh = next((n for n in reversed(loops) if _is_private(holders[n][0], alloc, analyzer)), -1)
    end = next((n for n in loops if n > fresh and not _has_own_elements(holders[n][0], alloc, analyzer)), len(holders))
    if end:
        block = holders[end - 1][1]
        user = next(op for op in block.ops if any(op.is_ancestor(u) for u in users))
        alloc.detach()
        Rewriter.insert_op(alloc, insertion_point_before(user))


def _is_private(loop: Operation, alloc: AllocBufferOp, analyzer: Analyzer) -> bool:
    """Whether no contents of a buffer pass from one iteration of a loop to another."""
    if is_fresh_in_each_iteration(loop, alloc.buffer, analyzer):
        return True
    is_parallel = isinstance(loop, ForOp) and loop.kind.data == "parallel"
    return is_parallel and not _has_own_elements(loop, alloc, analyzer)


def _has_own_elements(loop: Operation, alloc: AllocBufferOp, analyzer: Analyzer) -> bool:
    return isinstance(loop, ForOp | LaunchThreadOp) and accesses_own_elements(loop, alloc.buffer, analyzer)


def _holders(alloc: AllocBufferOp, users: list[Operation]) -> Iterator[tuple[Operation, Block]]:
    """The ops with regions that contain all users, from the outermost, each with the block that contains the users."""
    block = alloc.parent
    while (op := _holder(block, users)) is not None and (block := _block_around(op, users)) is not None:
        yield op, block


def _holder(block: Block | None, users: list[Operation]) -> Operation | None:
    """The op with regions directly in `block` that contains all users, or None."""
    assert block is not None
    holders = {id(op): op for op in (block.find_ancestor_op_in_block(user) for user in users) if op is not None}
    (holder, *others) = holders.values()
    return None if others or holder in users else holder


def _block_around(op: Operation, users: list[Operation]) -> Block | None:
    """The block of a region of `op` that contains all users, or None if they are in several."""
    blocks = [b for region in op.regions for b in region.blocks]
    return next((b for b in blocks if all(b.find_ancestor_op_in_block(u) is not None for u in users)), None)
