"""The threads that execute the statements of a kernel in which each statement has its own loops over threads.

`tir-distribute-threads` leaves kernels in this form. A statement without a loop over an axis of threads runs once for
this axis: in the first thread if other threads see its effects, and in all threads if it has none or stores to memory
of which each thread has a copy. Loops and branches around such statements are the same for all threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...dialects.attributes import THREAD_AXES_OF_DIMENSIONS
from ...dialects.tir import AllocBufferOp, AttrOp, ForOp, IfOp, StoreOp, WhileOp, YieldOp
from ...dialects.tir.tree import expressions_before, has_effect, is_expression_op
from .axes import is_block_loop, is_thread_loop
from .barriers import is_barrier
from .fragments import has_fragment_nests, is_fragment_nest
from .memories import is_fragment, is_local, is_shared, memory_of
from .shuffles import is_active_mask, is_exchange


def has_copy_for_each_thread(memory: SSAValue | None) -> bool:
    """Whether each thread has its own copy of some memory, which may have dimensions for the threads."""
    if memory is None or not isinstance(alloc := memory.owner, AllocBufferOp):
        return False
    return THREAD_AXES_OF_DIMENSIONS in alloc.attributes or is_local(memory) or is_fragment(memory)


@dataclass(frozen=True)
class Effects:
    """The effects of a statement.

    private: the stored memory outside of the statement of which each thread has a copy.  is_seen: whether other threads
    see an effect.
    """

    private: tuple[AllocBufferOp, ...]
    is_seen: bool

    @property
    def is_mixed(self) -> bool:
        """Whether all threads must execute a part of the statement, and the first thread alone another part."""
        return bool(self.private) and self.is_seen


def effects_of(statement: Operation) -> Effects:
    """The effects of a statement, with the statements nested in it and its expressions."""
    private: dict[AllocBufferOp, None] = {}
    is_seen = any(_is_seen(op) for op in expressions_before(statement))
    for op in statement.walk():
        memory = memory_of(op.buffer) if isinstance(op, StoreOp) else None
        if memory is None:
            is_seen = is_seen or _is_seen(op)
        elif is_shared(memory):
            is_seen = True
        elif not statement.is_ancestor(memory.owner):
            if isinstance(memory.owner, AllocBufferOp) and has_copy_for_each_thread(memory):
                private[memory.owner] = None
            else:
                is_seen = True
    return Effects(tuple(private), is_seen)


def _is_seen(op: Operation) -> bool:
    """Whether other threads see an effect of an op that is no store, those of nested ops excluded."""
    if is_expression_op(op):
        return any(has_effect(inner) and not is_exchange(inner) and not is_active_mask(inner) for inner in op.walk())
    return not op.regions and not op.results and not isinstance(op, YieldOp)


def is_executed_in_parts(op: Operation) -> bool:
    """Whether the threads execute the statements in an op outside of loops over threads one by one, with barriers
    between them.

    Raises UnsupportedError for a `while` with loops over threads.
    """
    has_threads = any(is_thread_loop(inner) for inner in op.walk())
    if isinstance(op, WhileOp) and has_threads:
        raise UnsupportedError(f"{where(op)}a while loop around loops over threads, expected it in the loops")
    if is_block_loop(op):
        return True
    if not isinstance(op, ForOp | IfOp | AttrOp) or is_thread_loop(op) or is_fragment_nest(op):
        return False
    return has_threads or has_fragment_nests(op) or effects_of(op).is_mixed


def statements_of_threads(block: Block) -> Iterator[Operation]:
    """The statements of a kernel, each with its loops over threads; declarations without an effect excluded."""
    for op in block.ops:
        if is_expression_op(op) or is_barrier(op):
            continue
        if is_executed_in_parts(op):
            for region in op.regions:
                yield from statements_of_threads(region.block)
        elif not op.results or effects_of(op).is_seen:
            yield op
