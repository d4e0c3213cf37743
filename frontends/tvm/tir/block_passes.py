"""Passes of TVM that do a part of the work of `tir-resolve-blocks`, or remove statements."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....core.errors import PassError
from ....core.walking import find_ops
from ....dialects.tir import AssertOp, BlockOp, CallIntrinOp, ForOp
from ....transforms.tir.resolve_blocks import resolve_init


class LowerInitsPass(ModulePass):
    """Replaces the init of a block by its statements, where each reduce axis is at its lower bound."""

    name = "tvm-lower-init-block"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in list(find_ops(op, BlockOp)):
            if block.init is not None:
                resolve_init(block.init, block.axes, block.variables)


class BindAxesPass(ModulePass):
    """Replaces the axes of blocks by their bindings. PassError for a block with an init."""

    name = "tvm-convert-blocks-to-opaque"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in [each for each in find_ops(op, BlockOp) if each.axes]:
            if block.init is not None:
                raise PassError(f"block {block.block_name.data} has an init, expected LowerInitBlock before")
            _bind_axes(block)


def _bind_axes(block: BlockOp) -> None:
    for variable, axis in zip(block.variables, block.axes, strict=True):
        variable.replace_all_uses_with(axis.binding)
    body = block.detach_region(block.body)
    for variable in list(body.block.args):
        body.block.erase_arg(variable)
    new = BlockOp(block.block_name.data, predicate=block.predicate, annotations=block.annotations, body=body)
    new.location = block.location
    parent = block.parent_block()
    assert parent is not None
    parent.insert_op_before(new, block)
    block.detach()
    block.erase()


class RemoveStatementsPass(ModulePass):
    """Removes statements that have no bodies. is_removed: whether a statement is one of them."""

    name = "tvm-remove-statements"

    def __init__(self, is_removed: Callable[[Operation], bool]):
        self._is_removed = is_removed

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for statement in [each for each in op.walk() if self._is_removed(each)]:
            statement.detach()
            statement.erase()


def is_check(op: Operation) -> bool:
    """Whether a statement checks a condition."""
    return isinstance(op, AssertOp)


def is_assumption(op: Operation) -> bool:
    """Whether a statement states a condition that holds."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data == "assume"


class SerialLoopsPass(ModulePass):
    """Makes parallel, vectorized and unrolled loops serial."""

    name = "tvm-convert-for-loops-to-serial"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in find_ops(op, ForOp):
            if loop.thread is None:
                loop.kind = StringAttr("serial")
