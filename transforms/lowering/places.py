"""Where memory is allocated."""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from ...dialects.tir import AllocBufferOp, ForOp, LaunchThreadOp, WhileOp
from ..analysis.lifetime import is_fresh_in_each_iteration
from .launches import start_of


def sink(alloc: AllocBufferOp) -> None:
    """Move an allocation to the innermost place around its uses, in a loop if each iteration reads only what it has
    written there itself. One without uses goes.
    """
    users = [use.operation for use in alloc.buffer.uses]
    if not users:
        alloc.detach()
        alloc.erase()
        return
    place = alloc
    while (inner := _holder(place.parent, users)) is not None:
        if isinstance(inner, ForOp | LaunchThreadOp | WhileOp) and not is_fresh_in_each_iteration(inner, alloc.buffer):
            break
        block = _block_around(inner, users)
        if block is None:
            break
        place = next(op for op in block.ops if any(op.is_ancestor(u) for u in users))
    if place is not alloc:
        alloc.detach()
        Rewriter.insert_op(alloc, start_of(place))


def _holder(block: Block | None, users: list[Operation]) -> Operation | None:
    """The op with regions directly in `block` that holds all users, or None."""
    assert block is not None
    holders = {id(op): op for op in (block.find_ancestor_op_in_block(user) for user in users) if op is not None}
    (holder, *others) = holders.values()
    return None if others or holder in users else holder


def _block_around(op: Operation, users: list[Operation]) -> Block | None:
    """The block of a region of `op` that holds all users, or None if they are in several."""
    blocks = [b for region in op.regions for b in region.blocks]
    return next((b for b in blocks if all(b.find_ancestor_op_in_block(u) is not None for u in users)), None)
