"""Small rewrites for kernels: `DivToMul` and `CanonicalizeCast`."""

from __future__ import annotations

import numpy as np

from ....core.dtypes import parse_dtype
from ....operators import Operator, Pattern, operator_of
from ...relay.expr import Call, Constant, Expr, Function, operator_name
from ...relay.functor import ExprMutator, TypedMutator
from ...relay.types import TensorType


def multiply_by_reciprocals(func: Function) -> Function:
    """A graph in which quotients of floats by constants are products with the reciprocals, which may round
    differently."""
    return _Products().visit(func)


class _Products(TypedMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if operator_name(new) != "divide" or not isinstance(new.args[1], Constant):
            return new
        array = new.args[1].array
        if array.dtype.kind != "f" or not array.all():
            return new
        reciprocal = Constant(np.reciprocal(array))
        return Call(operator_of("multiply"), [new.args[0], reciprocal])


def copy_casts(func: Function) -> Function:
    """A graph in which each elementwise operator has a cast to a wider type of its own, as fusion computes it."""
    return _OwnCasts().visit(func)


class _OwnCasts(ExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self.used: set[Expr] = set()

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        assert isinstance(new, Call)
        if not isinstance(call.op, Operator) or call.op.pattern > Pattern.BROADCAST:
            return new
        args = [self._own(old, arg) for old, arg in zip(call.args, new.args, strict=True)]
        return new if args == list(new.args) else Call(new.op, args, new.attrs)

    def _own(self, old: Expr, new: Expr) -> Expr:
        """An operand of an elementwise operator, a copy if an earlier operator has the cast."""
        if not (isinstance(old, Call) and isinstance(new, Call) and _widens(old)):
            return new
        if old not in self.used:
            self.used.add(old)
            return new
        return Call(new.op, new.args, new.attrs)


def _widens(call: Call) -> bool:
    if operator_name(call) != "cast":
        return False
    source = call.args[0].known_type
    bits = lambda dtype: parse_dtype(dtype).bits  # noqa: E731
    return isinstance(source, TensorType) and bits(source.dtype) < bits(call.attrs["dtype"])
