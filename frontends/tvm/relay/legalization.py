"""Replacement of calls of operators by registered functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import OptionError
from ...relay.expr import Call, Expr, Function
from ...relay.functor import ExprMutator


def legalize(func: Function, rules: Mapping[str, Any]) -> Function:
    """A graph whose calls of operators are replaced by the expressions that rules return.

    rules: by the name of the operator, functions of the attributes, the operands, and the types of the operands and of
    the result; None keeps a call. OptionError for a rule that returns another value.
    """
    return _Legalization(rules).visit(func)


class _Legalization(ExprMutator):
    def __init__(self, rules: Mapping[str, Any]):
        super().__init__()
        self.rules = rules

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        name = getattr(call.op, "name", None)
        if name is None or name not in self.rules:
            return new
        assert isinstance(new, Call)
        types = [*(arg.checked_type for arg in call.args), call.checked_type]
        legal = self.rules[name](new.attrs, list(new.args), types)
        if legal is None:
            return new
        if not isinstance(legal, Expr):
            raise OptionError(f"Legalize: {name}: {legal!r}, expected an expression or None")
        return legal
