"""Expressions that a graph computes twice: `EliminateCommonSubexpr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....operators import Operator
from ...relay.expr import Call, Constant, Expr, Function, TupleGetItem
from ...relay.functor import TypedMutator


def share_subexpressions(func: Function, skips: Callable[[Expr], bool]) -> Function:
    """A graph in which calls of one operator with the same operands and attributes are one call, unless `skips`."""
    return _Sharing(skips).visit(func)


class _Sharing(TypedMutator):
    def __init__(self, skips: Callable[[Expr], bool]):
        super().__init__()
        self.skips = skips
        self.known: dict[Any, Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if not isinstance(new.op, Operator) or self.skips(call):
            return new
        attributes = sorted((name, repr(value)) for name, value in new.attrs.items())
        return self.known.setdefault((new.op.name, *map(_key, new.args), *attributes), new)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = super().visit_tuple_getitem(op)
        assert isinstance(new, TupleGetItem)
        return new if self.skips(op) else self.known.setdefault((new.tuple_value, new.index), new)


def _key(operand: Expr) -> Any:
    """A value that is equal for equal operands: numbers by their value, other operands by identity."""
    if isinstance(operand, Constant) and operand.array.ndim == 0:
        return operand.array.dtype.name, operand.array.tobytes()
    return operand
