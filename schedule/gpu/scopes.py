"""In which memory temporaries are: that of all blocks, or of one thread."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import NoneAttr

from ...analysis.scopes import child_blocks
from ...analysis.threads.axes import BLOCK_AXES, THREAD_AXES, outermost
from ...analysis.threads.memories import LOCAL
from ...dialects.tir import AllocBufferOp, BlockOp, ForOp
from .. import Schedule
from ..handles import LoopRV
from .kernel import handle_of


def keep_to_threads(sch: Schedule, thread: LoopRV) -> None:
    """Say of temporaries that are used in a loop over threads alone that each thread has its own."""
    loop = sch.get(thread)
    assert isinstance(loop, ForOp)
    for handle, block in zip(sch.get_child_blocks(thread), child_blocks(loop), strict=True):
        for n, allocation in list(_temporaries(block)):
            if allocation.type.memory_space == NoneAttr():
                if all(loop.is_ancestor(use.operation) for use in allocation.buffer.uses):
                    sch.set_scope(handle, n, LOCAL)


def share_between_kernels(sch: Schedule, function: str) -> None:
    """Put temporaries that several kernels use, and that are said to be in memory of a block or a thread, where all
    blocks reach them."""
    func = sch.mod.functions[function]
    kernels = list(outermost(func, (*BLOCK_AXES, *THREAD_AXES)))
    for block in child_blocks(func):
        for n, allocation in list(_temporaries(block)):
            if allocation.type.memory_space != NoneAttr():
                users = [use.operation for use in allocation.buffer.uses]
                if not any(all(kernel.is_ancestor(user) for user in users) for kernel in kernels):
                    sch.set_scope(handle_of(sch, function, block), n, "global")


def _temporaries(block: BlockOp) -> Iterator[tuple[int, AllocBufferOp]]:
    """What a block writes that is allocated in the program, each with its place among what is written."""
    for n, access in enumerate(a for a in block.accesses if a.is_write):
        if isinstance(access.buffer.owner, AllocBufferOp):
            yield n, access.buffer.owner
