"""Copies of expressions at other positions, and replacement of axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...core.dtypes import dtype_of
from ...dialects.tir import Axis, BlockOp, ForOp, LetOp, Mixed, TirBuilder
from ...dialects.tir.tree import captured_operands, erase_if_dead, is_expression_op
from .nest import replace_by_sum, set_axes, with_expressions


def copy_expression(
    value: SSAValue, builder: TirBuilder, known: dict[SSAValue, SSAValue], inside: Operation | None = None
) -> SSAValue:
    """A copy of the expression that computes `value`, emitted by `builder`, with the keys of `known` replaced.

    inside: names that are bound (`tir.let`) in this op are looked through; other names are used as they are.
    """
    if value in known:
        return known[value]
    op = value.owner
    if isinstance(op, LetOp) and inside is not None and inside.is_ancestor(op):
        return copy_expression(op.value, builder, known, inside)
    if isinstance(op, Block) or not is_expression_op(op):
        return value
    operands = {o: copy_expression(o, builder, known, inside) for o in captured_operands(op)}
    copy = op.clone(operands)
    for inner, original in zip(copy.walk(), op.walk(), strict=True):
        inner.location = original.location
    builder.insert(copy)
    return copy.results[value.index]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def copy_bound(
    value: Mixed, builder: TirBuilder, known: dict[SSAValue, SSAValue], inside: Operation | None = None
) -> Mixed:
    """The `copy_expression` of a bound; a constant as it is."""
    return value if isinstance(value, int) else copy_expression(value, builder, known, inside)


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
