"""Copies of expressions at other positions."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from .base import Mixed
from .builder import TirBuilder
from .expressions import LetOp
from .tree import captured_operands, is_expression_op


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


def copy_out(value: SSAValue, loop: Operation, builder: TirBuilder, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """A copy of a value that a loop computes, emitted by `builder` outside the loop; another value as it is.

    known: the copies of values, to which the new copies are added.
    """
    if value in known or not loop.is_ancestor(value.owner):
        return known.get(value, value)
    assert isinstance(value.owner, Operation)
    for operand in captured_operands(value.owner):
        known[operand] = copy_out(operand, loop, builder, known)
    builder.insert(value.owner.clone(known))
    return known[value]


def copy_bound(
    value: Mixed, builder: TirBuilder, known: dict[SSAValue, SSAValue], inside: Operation | None = None
) -> Mixed:
    """The `copy_expression` of a bound; a constant as it is."""
    return value if isinstance(value, int) else copy_expression(value, builder, known, inside)
