"""Replacement of calls of operators by registered functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import OptionError
from ...relay.expr import Call, Expr, Function, Tuple, operator_name
from ...relay.functor import ExprMutator
from ...relay.types import TupleType


def legalize(func: Function, rules: Mapping[str, Any]) -> Function:
    """A graph whose calls of operators are replaced by the expressions that rules return.

    rules: by the name of the operator, functions of the attributes, the operands, and the types of the operands and of
    the result; an operator on any number of tensors has a tuple of them as its operand. None keeps a call.  OptionError
    for a rule that returns another value.
    """
    return _Legalization(rules).visit(func)


class _Legalization(ExprMutator):
    def __init__(self, rules: Mapping[str, Any]):
        super().__init__()
        self.rules = rules

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        name = operator_name(call)
        if name is None or name not in self.rules:
            return new
        assert isinstance(new, Call)
        operands, types = list(new.args), [arg.checked_type for arg in call.args]
        if call.op.variadic:
            operands, types = [Tuple(operands)], [TupleType(types)]
        legal = self.rules[name](new.attrs, operands, [*types, call.checked_type])
        if legal is None:
            return new
        if not isinstance(legal, Expr):
            raise OptionError(f"Legalize: {name}: {legal!r}, expected an expression or None")
        return legal
