"""Expressions built statement by statement: `tvm.relay.ScopeBuilder`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ....core.errors import OptionError
from ...relay.expr import Expr, If, Let, Var, as_expr


class ScopeBuilder:
    """Binds names one by one with `let`, branches with `if_scope` and `else_scope`, and ends with `ret`; `get` returns
    the expression.
    """

    def __init__(self) -> None:
        self._scopes: list[_Scope] = [_Scope()]

    def let(self, var: Var | str | tuple[str, Any], value: Any) -> Var:
        """Binds a variable, or a new one of a name, or of a name and a type."""
        if isinstance(var, str):
            var = Var(var)
        elif isinstance(var, tuple):
            var = Var(*var)
        self._scopes[-1].bindings.append((var, as_expr(value)))
        return var

    @contextmanager
    def if_scope(self, cond: Expr) -> Generator[None, None, None]:
        """The statements of the branch that is taken if a condition holds."""
        self._scopes.append(_Scope())
        yield
        then = self._scopes.pop().get()
        self._scopes[-1].branches = (cond, then)

    @contextmanager
    def else_scope(self) -> Generator[None, None, None]:
        """The statements of the other branch. OptionError without a preceding `if_scope`."""
        if self._scopes[-1].branches is None:
            raise OptionError("else_scope without an if_scope before it")
        self._scopes.append(_Scope())
        yield
        orelse = self._scopes.pop().get()
        scope = self._scopes[-1]
        assert scope.branches is not None
        scope.result = If(*scope.branches, orelse)

    def type_of(self, expr: Expr) -> Any:
        """The type of an expression. OptionError if it is not known."""
        if isinstance(expr, Var) and expr.type_annotation is not None:
            return expr.type_annotation
        return expr.checked_type

    def ret(self, value: Any) -> None:
        """Ends the scope with a value. OptionError at a second value."""
        scope = self._scopes[-1]
        if scope.result is not None:
            raise OptionError("ret in a scope that has a value already")
        scope.result = as_expr(value)

    def get(self) -> Expr:
        """The expression. OptionError without a value."""
        return self._scopes[-1].get()


class _Scope:
    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Expr]] = []
        self.branches: tuple[Expr, Expr] | None = None
        self.result: Expr | None = None

    def get(self) -> Expr:
        if self.result is None:
            raise OptionError("a scope without a value: ret, or branches of if_scope and else_scope, are missing")
        result = self.result
        for variable, value in reversed(self.bindings):
            result = Let(variable, value, result)
        return result
