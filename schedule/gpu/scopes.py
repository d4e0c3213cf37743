"""Kernels around blocks, and the scopes of temporaries: global memory, or private memory of a thread."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import NoneAttr

from ...analysis.scopes import ancestors, child_blocks
from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES, outermost_bound_loops
from ...analysis.threads.memories import LOCAL
from ...dialects.tir import AllocBufferOp, BlockOp, ForOp
from .. import Schedule
from ..handles import LoopRV
from ..rules.kernel import handle_of


def kernel_around(block: BlockOp) -> ForOp:
    """The outermost loop bound to blocks or threads around a block."""
    return [op for op in ancestors(block) if isinstance(op, ForOp) and op.thread is not None][-1]


def keep_to_threads(sch: Schedule, thread: LoopRV) -> None:
    """Sets the scope of temporaries with all uses inside a loop over threads to private memory of the thread."""
    loop = sch.get(thread)
    assert isinstance(loop, ForOp)
    for handle, block in zip(sch.get_child_blocks(thread), child_blocks(loop), strict=True):
        for n, allocation in list(_temporaries(block)):
            if allocation.type.memory_space == NoneAttr():
                if all(loop.is_ancestor(use.operation) for use in allocation.buffer.uses):
                    sch.set_scope(handle, n, LOCAL)


def share_between_kernels(sch: Schedule, function: str) -> None:
    """Moves temporaries with users in several kernels from memory of a block or thread to global memory."""
    func = sch.mod.function_ops[function]
    kernels = list(outermost_bound_loops(func, (*BLOCK_AXES, *THREAD_AXES)))
    for block in child_blocks(func):
        for n, allocation in list(_temporaries(block)):
            if allocation.type.memory_space != NoneAttr():
                users = [use.operation for use in allocation.buffer.uses]
                if not any(all(kernel.is_ancestor(user) for user in users) for kernel in kernels):
                    sch.set_scope(handle_of(sch, function, block), n, "global")


def _temporaries(block: BlockOp) -> Iterator[tuple[int, AllocBufferOp]]:
    """The allocations that a block writes, each with its index among the written buffers."""
    for n, access in enumerate(a for a in block.accesses if a.is_write):
        if isinstance(access.buffer.owner, AllocBufferOp):
            yield n, access.buffer.owner
