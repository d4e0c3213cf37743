"""Copies that threads may divide among themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...core.walking import find_ops
from ...dialects.tir import (
    AccessOp,
    AllocBufferOp,
    BlockOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    LoadOp,
    StoreOp,
    YieldOp,
    constant_value,
)
from ...dialects.tir.tree import is_pure_expression
from ..scopes import ancestors
from .axes import is_uniform_across_threads, outer_loop_of_axis, team_of, thread_axis_of, written_memory
from .memories import is_shared, memory_of


def divides_copies(loop: ForOp, axis: str) -> bool:
    """Whether the threads of a loop around `loop`, bound to `axis`, may divide the iterations of `loop` among
    themselves, because each thread executes the same copies in all of them.

        for tx in T.thread_binding(8, thread="threadIdx.x"):
            for j in range(8):      # may be bound to threadIdx.x
                S[j] = A[j]         # in shared memory

    The blocks in the loop store one element of shared memory at their axes, and its value depends on these axes alone
    and on memory that the kernel does not write. So an element gets the same value from any iteration and any thread.
    As nothing in the loop depends on the number of the thread, each iteration by one thread, executed together, stores
    the same elements as all iterations by each. Sufficient, not necessary: it costs a walk through the kernel, where
    the comparison of value flows takes seconds for digits of a fused loop.
    """
    outer = next((op for op in ancestors(loop) if isinstance(op, ForOp) and thread_axis_of(op) == axis), None)
    team = team_of(loop)
    if outer is None or team is None or outer_loop_of_axis(outer) is not None:
        return False
    first, last = outer.mixed_bounds, loop.mixed_bounds
    if first != last or first[0] != 0 or first[2] != 1 or not isinstance(first[1], int):
        return False
    if any(thread_axis_of(op) == axis for op in loop.walk()) or _depends_on(loop, outer):
        return False
    written = written_memory(_kernel(team))
    if not all(_is_uniform(op, written) for op in _between(loop, outer)):
        return False
    return all(_is_copy(op, team, written) for op in _statements(loop))


def _kernel(team: Operation) -> Operation:
    """The outermost bound loop around a loop over threads, or the loop itself."""
    return [op for op in (team, *ancestors(team)) if thread_axis_of(op) is not None][-1]


def _statements(loop: ForOp) -> Iterator[Operation]:
    """The ops in the loops of a nest, without these loops and without expressions outside of blocks."""
    for op in loop.body.block.ops:
        if isinstance(op, ForOp):
            yield from _statements(op)
        elif not is_pure_expression(op):
            yield op


def _between(loop: ForOp, outer: ForOp) -> list[Operation]:
    """The ops around a loop inside of an outer loop."""
    around = list(ancestors(loop))
    return around[: around.index(outer)]


def _is_uniform(op: Operation, written: set[SSAValue | None]) -> bool:
    """Whether all threads run the body of a loop or branch together."""
    return isinstance(op, ForOp | IfOp) and all(is_uniform_across_threads(value, written) for value in op.operands)


def _depends_on(loop: ForOp, outer: ForOp) -> bool:
    """Whether a loop, or an op around it in `outer`, depends on the variable of `outer`."""
    inside = {loop, *_between(loop, outer)}
    values: list[SSAValue] = [outer.variable]
    for value in values:
        for user in {use.operation for use in value.uses}:
            if user in inside or loop.is_ancestor(user):
                return True
            values += [result for result in user.results if result not in values]
    return False


def _is_copy(op: Operation, team: Operation, written: Collection[SSAValue | None]) -> bool:
    """Whether a statement is a block that stores one element of shared memory at its axes, with a value that depends on
    these alone. written: memory whose elements may change."""
    if not isinstance(op, BlockOp) or op.init is not None or any(axis.kind != "spatial" for axis in op.axes):
        return False
    stores = list(find_ops(op, StoreOp))
    if len(stores) != 1 or stores[0].parent is not op.body.block or stores[0].predicate is not None:
        return False
    (store,) = stores
    memory = memory_of(store.buffer)
    axes = [index for index in store.indices if not isinstance(constant_value(index), int)]
    moving = [v for v, axis in zip(op.variables, op.axes, strict=True) if axis.extent != 1]
    if memory is None or not is_shared(memory) or not set(moving) <= set(axes) <= set(op.variables):
        return False
    return all(_is_of_axes(each, op, team, written) for each in op.body.walk() if each is not store) and all(
        _is_known(value, op, team) for value in store.operands
    )


def _is_of_axes(each: Operation, block: BlockOp, team: Operation, written: Collection[SSAValue | None]) -> bool:
    """Whether an op of a block computes a value of the axes of the block and of memory that does not change."""
    if isinstance(each, AccessOp):
        return True
    if isinstance(each, LoadOp):
        if memory_of(each.buffer) in written or None in written:
            return False
    elif not isinstance(each, IfThenElseOp | YieldOp) and not is_pure_expression(each):
        return False
    return all(_is_known(value, block, team) for value in each.operands)


def _is_known(value: SSAValue, block: BlockOp, team: Operation) -> bool:
    """Whether a value is an axis of a block, is computed in it, or is fixed for all threads."""
    owner = value.owner
    if isinstance(value, BlockArgument):
        parent = value.owner.parent_op()
        return parent is block or not (parent is not None and (parent is team or team.is_ancestor(parent)))
    assert not isinstance(owner, Block)
    return block.is_ancestor(owner) or isinstance(owner, AllocBufferOp) or not team.is_ancestor(owner)
