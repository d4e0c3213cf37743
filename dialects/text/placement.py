"""Selection of the values of a block that must be named: values that cannot be recomputed or computed later, at their
uses."""

from __future__ import annotations

from bisect import bisect_right

from xdsl.ir import Block, Operation, SSAValue

from ..tir import (
    AssertOp,
    CallExternOp,
    CallIntrinOp,
    CallOp,
    CallPackedOp,
    IfThenElseOp,
    LoadOp,
    PrintOp,
    ReturnOp,
    StoreOp,
)
from ..tir.tree import is_expression_op

_CALLS = (CallOp, CallExternOp, CallPackedOp, CallIntrinOp)


def has_side_effects(op: Operation) -> bool:
    """Whether `op` is or contains a call with side effects, which must run exactly once, at its position."""
    return any(_is_effect(inner) for inner in op.walk()) if isinstance(op, IfThenElseOp) else _is_effect(op)


def _is_effect(op: Operation) -> bool:
    return isinstance(op, _CALLS) and not (isinstance(op, CallExternOp) and op.pure is not None)


def _clobbers(op: Operation) -> bool:
    """Whether `op` may write memory, so that loads must not move across it."""
    return isinstance(op, StoreOp) or has_side_effects(op) or (bool(op.regions) and not is_expression_op(op))


def _reads(op: Operation, reading: set[SSAValue]) -> bool:
    """Whether the expression tree with root `op` reads memory. reading: the values whose trees read memory."""
    inside = op.walk() if op.regions else (op,)
    return any(isinstance(inner, LoadOp) or not reading.isdisjoint(inner.operands) for inner in inside)


class _Positions:
    """The positions in a block that expressions must not be moved across."""

    def __init__(self, is_barrier: list[bool]):
        self._barriers = [i for i, barrier in enumerate(is_barrier) if barrier]

    def between(self, start: int, end: int) -> bool:
        """Whether a barrier lies strictly between positions `start` and `end`."""
        first = bisect_right(self._barriers, start)
        return first < len(self._barriers) and self._barriers[first] < end


def values_to_name(block: Block) -> set[SSAValue]:
    """The results of expressions of `block` (not of nested regions) that must be printed at the position of their op.

    An expression that reads memory must not move across or into a statement that may write memory. A call with side
    effects must run once and may move across pure expressions only.
    """
    ops = list(block.ops)
    index = {op: i for i, op in enumerate(ops)}
    reading: set[SSAValue] = set()
    for op in ops:
        if is_expression_op(op) and _reads(op, reading):
            reading.add(op.results[0])
    writes = _Positions([_clobbers(op) for op in ops])
    effects = _Positions(
        [
            _clobbers(op) or isinstance(op, AssertOp | PrintOp | ReturnOp) or not reading.isdisjoint(op.results)
            for op in ops
        ]
    )
    named: set[SSAValue] = set()
    printed_at: dict[SSAValue, int] = {}
    for position in range(len(ops) - 1, -1, -1):
        op = ops[position]
        if not is_expression_op(op):
            continue
        value = op.results[0]
        nested, end = _last_use(value, block, index, printed_at)
        if has_side_effects(op):
            fixed = nested or value.uses.get_length() > 1 or effects.between(position, end)
        else:
            fixed = value in reading and (nested or writes.between(position, end))
        if fixed:
            named.add(value)
        # An unnamed call moves across pure expressions only, so its effective position does not change.
        printed_at[value] = position if fixed or has_side_effects(op) else end
    return named


def _last_use(
    value: SSAValue, block: Block, index: dict[Operation, int], printed_at: dict[SSAValue, int]
) -> tuple[bool, int]:
    """Whether a statement uses `value` in a nested region, and the position of the last statement that prints it."""
    nested, end = False, index[value.owner]  # pyright: ignore[reportArgumentType]
    for use in value.uses:
        user = block.find_ancestor_op_in_block(use.operation)
        assert user is not None
        if is_expression_op(user):
            end = max(end, printed_at.get(user.results[0], index[user]))
        else:
            nested |= user is not use.operation
            end = max(end, index[user])
    return nested, end
