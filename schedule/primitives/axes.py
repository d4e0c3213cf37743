"""The primitives `add_unit_loop` and `reorder_block_iter_var`: unit loops, and the order of the axes of a block."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from ...core.errors import ScheduleError
from ...dialects.schedule import AddUnitLoopOp, ReorderBlockIterVarOp
from ...dialects.tir import BlockOp, ForOp, FuncOp
from ...dialects.tir.tree import with_expressions
from ..handles import BlockLike, LoopRV
from ..recorder import Recorder
from ..rewriting.nest import make_loop, set_axes
from ..state import State, applies


class AxisPrimitives(Recorder):
    """Primitives that add unit loops and permute the axes of a block."""

    def add_unit_loop(self, block_or_loop: BlockLike | LoopRV) -> LoopRV:
        """Wrap a block or loop in a loop of one iteration.

            for i in range(8):                  for i, u in T.grid(8, 1):
                with T.block("B"):       ->         with T.block("B"):

        block_or_loop: a loop, or a block with or without enclosing loops; not the root block.
        Returns the new loop, named `u`, with a variable of 32 bits. Always legal.
        """
        where = block_or_loop if isinstance(block_or_loop, LoopRV) else self._block(block_or_loop)
        return self.record(AddUnitLoopOp, block_or_loop=where)[0]

    def reorder_block_iter_var(self, block: BlockLike, new_order: list[int]) -> None:
        """Permute the axes of a block.

            vi, vj, vk = T.axis.remap("SSR", [i, j, k])    ->    vk, vi, vj = T.axis.remap("RSS", [k, i, j])

        new_order: for each position, the current index of the axis that moves to it, counted from 0.
        Always legal: the loops determine the order of the instances. ScheduleError if new_order is not a permutation.
        """
        self.record(ReorderBlockIterVarOp, block=self._block(block), new_order=list(new_order))


@applies(AddUnitLoopOp)
def add_unit_loop(state: State, block_or_loop: BlockOp | FuncOp | ForOp) -> ForOp:
    if isinstance(block_or_loop, FuncOp):
        raise ScheduleError("the root block is the body of the function; no loop can be around it", [block_or_loop])
    with state.changing(check=False):
        unit = make_loop("u", 0, 1, i32)
        _put_around(block_or_loop, unit)
    return unit


def _put_around(op: Operation, loop: ForOp) -> None:
    """Wrap a statement, and the expressions computed for it, in a loop."""
    ops = with_expressions(op)
    block = ops[0].parent
    assert block is not None
    block.insert_op_before(loop, ops[0])
    for inner in ops:
        inner.detach()
        loop.body.block.add_op(inner)


@applies(ReorderBlockIterVarOp)
def reorder_block_iter_var(state: State, block: BlockOp | FuncOp, new_order: list[int]) -> None:
    axes = [] if isinstance(block, FuncOp) else block.axes
    if sorted(new_order) != list(range(len(axes))):
        names = ", ".join(axis.name for axis in axes) or "none"
        raise ScheduleError(
            f"new_order {new_order}: expected each of the numbers below {len(axes)} once, one for each axis ({names})",
            [block],
        )
    if isinstance(block, FuncOp):
        return
    with state.changing(check=False):
        body = block.body.block
        old = list(body.args)
        for n in new_order:
            fresh = body.insert_arg(old[n].type, len(body.args))
            fresh.name_hint = old[n].name_hint
            old[n].replace_all_uses_with(fresh)
        for argument in old:
            body.erase_arg(argument)
        set_axes(block, [axes[n] for n in new_order])
