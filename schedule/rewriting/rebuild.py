"""The bounds of loops at other positions, and replacement of axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, SSAValue

from ...analysis.index import Analyzer, Lin
from ...core.dtypes import dtype_of
from ...dialects.tir import Axis, BlockOp, ForOp, Mixed, TirBuilder
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.tree import erase_if_dead, with_expressions
from .nest import replace_by_sum, set_axes


def emit_bound(value: Mixed, type: Attribute, builder: TirBuilder) -> SSAValue:
    """The value of a bound, emitted by `builder`: a constant of `type`, or the copy of an expression."""
    return builder.const(value, dtype_of(type)) if isinstance(value, int) else copy_expression(value, builder, {})


def rebind_axes(block: BlockOp, axes: Sequence[Axis], meaning: Callable[[Sequence[SSAValue]], Sequence[Lin]]) -> None:
    """Replace the axes of a block.

    meaning: computes the old axes from the variables of the new axes; the sums replace the old axes in the body.
    """
    body = block.body.block
    before, old = [*block.bindings, *block.domains], list(body.args)
    stand_in = Block(arg_types=[v.type for v in old])
    for variable, other in zip(old, stand_in.args, strict=True):
        variable.replace_all_uses_with(other)
        body.erase_arg(variable)
    for axis in axes:
        body.insert_arg(axis.binding.type, len(body.args))
    set_axes(block, axes)
    for value in before:
        erase_if_dead(value)
    analyzer = Analyzer()
    for other, lin in zip(stand_in.args, meaning(body.args), strict=True):
        replace_by_sum(analyzer, other, lin)


def move_body_out(loop: ForOp) -> None:
    """Move the body of a loop, which does not use the loop variable, before the loop."""
    first = with_expressions(loop)[0]
    block = first.parent
    assert block is not None
    for op in list(loop.body.block.ops):
        op.detach()
        block.insert_op_before(op, first)
