"""The root block: the body of a function, which becomes an explicit block when it is annotated."""

from __future__ import annotations

from xdsl.ir import Operation

from ...core.errors import ScheduleError
from ...dialects.tir import BlockOp, FuncOp, MatchBufferOp, ReturnOp, SymbolOp
from ...dialects.tir.tree import with_expressions
from ..primitives.queries import ROOT_BLOCK
from ..state import State


def wrap_root(state: State, func: FuncOp) -> BlockOp:
    """Wrap the body of a function in a block named root, to which all handles of the function then refer.

    Like TVM's root block, it declares no reads and writes. ScheduleError if the body cannot be wrapped.
    """
    body = func.body.block
    for op in func.walk():
        if isinstance(op, ReturnOp):
            raise ScheduleError("not supported yet: a root block of a function that returns", [op])
        if isinstance(op, BlockOp) and op.block_name.data == ROOT_BLOCK:
            raise ScheduleError(f"another block is called {ROOT_BLOCK} already", [op])
    declared = {op for match in body.ops if isinstance(match, MatchBufferOp) for op in with_expressions(match)}
    inside = [op for op in body.ops if op not in declared and not isinstance(op, SymbolOp)]
    root = BlockOp(ROOT_BLOCK)
    root.location = func.location
    for op in inside:
        op.detach()
        root.body.block.add_op(op)
    body.add_op(root)
    _retarget(state, func, root)
    return root


def unwrap_root(state: State, block: BlockOp) -> None:
    """Unwrap a root block without annotations: the body of its function becomes the root block again."""
    func = block.parent_op()
    alone = block.next_op is None and all(isinstance(op, BlockOp | MatchBufferOp | SymbolOp) for op in _others(block))
    plain = not block.axes and block.annotations is None and block.predicate is None and block.init is None
    if not isinstance(func, FuncOp) or block.block_name.data != ROOT_BLOCK or not (alone and plain):
        return
    for access in block.accesses:
        for op in with_expressions(access)[::-1]:
            op.detach()
            op.erase()
    for op in list(block.body.block.ops):
        op.detach()
        func.body.block.insert_op_before(op, block)
    block.detach()
    block.erase()
    _retarget(state, block, func)


def _others(block: BlockOp) -> list[Operation]:
    """The other ops in the region of a block, except the declarations of parameter buffers."""
    assert block.parent is not None
    declared = {op for match in block.parent.ops if isinstance(match, MatchBufferOp) for op in with_expressions(match)}
    return [op for op in block.parent.ops if op is not block and op not in declared]


def _retarget(state: State, old: BlockOp | FuncOp, new: BlockOp | FuncOp) -> None:
    """Redirect all handles of `old` to `new`."""
    for value, target in state.values.items():
        if target is old:
            state.values[value] = new
