"""Execution by one thread of statements outside of blocks, which primitives cannot schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.scopes import ancestors
from ...analysis.threads.axes import thread_axis_of
from ...dialects.tir import ForOp, FuncOp, LoadOp, StoreOp, WhileOp
from ...dialects.tir.tree import following_ops, is_expression_op


def run_by_one_thread(func: FuncOp) -> int:
    """Wraps statements that access memory outside of loops over blocks or threads in loops of one block and one thread.

    The ops after a named loaded value move along with it. Returns the number of such kernels.
    """
    return _wrap_statements(func.body.block)


def host_reads_memory(op: Operation) -> bool:
    """Whether bounds or conditions of an op, or of its ancestors, are loaded from memory."""
    around = [op, *ancestors(op)]
    return any(isinstance(op, WhileOp) or any(isinstance(e, LoadOp) for e in _computed_for(op)) for op in around)


def names_loaded_values(func: FuncOp) -> bool:
    """Whether a function names values that it loads, which the host would have to know."""
    return any(
        op.results and not is_expression_op(op) and any(isinstance(value, LoadOp) for value in _computed_for(op))
        for op in func.body.block.ops
    )


def _computed_for(op: Operation) -> Iterator[Operation]:
    """The expressions that the operands of an op are computed from."""
    todo: list[SSAValue] = list(op.operands)
    seen = set[Operation]()
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, Operation) and owner not in seen:
            seen.add(owner)
            yield owner
            for inner in owner.walk():
                todo += inner.operands


def _wrap_statements(block: Block) -> int:
    count, pending = 0, list[Operation]()
    for op in list(block.ops):
        pending.append(op)
        if is_expression_op(op):
            continue
        ops, pending = pending, []
        if not _touches_memory(ops):
            continue
        if op.results:
            _wrap([*ops, *following_ops(op)])
            return count + 1
        if any(thread_axis_of(inner) is not None for inner in op.walk()):
            if thread_axis_of(op) is None:
                count += sum(_wrap_statements(region.block) for region in op.regions if region.blocks)
        else:
            _wrap(ops)
            count += 1
    return count


def _touches_memory(ops: Sequence[Operation]) -> bool:
    return any(isinstance(inner, LoadOp | StoreOp) for op in ops for inner in op.walk())


def _wrap(ops: Sequence[Operation]) -> None:
    """Moves statements into a loop over one block, around a loop over one thread."""
    block = ForOp("bx", 0, 1, i32, kind="thread_binding", thread="blockIdx.x")
    thread = ForOp("tx", 0, 1, i32, kind="thread_binding", thread="threadIdx.x")
    block.location = thread.location = ops[-1].location
    Rewriter.insert_op(block, InsertPoint.before(ops[0]))
    block.body.block.add_op(thread)
    for op in ops:
        op.detach()
        thread.body.block.add_op(op)
