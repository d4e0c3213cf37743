"""Evaluation by class: the functions that evaluate expressions, run statements and call values.

Expressions contain macros, macros contain statements, and statements contain expressions. Each module registers the
functions for its classes here, and calls those of other modules through `evaluate`, `run_statements` and `apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.diagnostics import Span
from . import syntax
from .values import Value, describe_value

if TYPE_CHECKING:
    from .context import ElaborationContext

Evaluator = Callable[["ElaborationContext", Any], Value]
Runner = Callable[["ElaborationContext", Any], None]
Caller = Callable[["ElaborationContext", Any, Span, list[Value], dict[str, Value]], Value]
EvaluatorT = TypeVar("EvaluatorT", bound=Evaluator)
RunnerT = TypeVar("RunnerT", bound=Runner)
CallerT = TypeVar("CallerT", bound=Caller)

_EVALUATORS: dict[type[syntax.Expr], Evaluator] = {}
_RUNNERS: dict[type[syntax.Stmt], Runner] = {}
_CALLERS: dict[type, Caller] = {}


def evaluates(*kinds: type[syntax.Expr]) -> Callable[[EvaluatorT], EvaluatorT]:
    """Registers the function that evaluates expressions of these classes."""

    def register(evaluator: EvaluatorT) -> EvaluatorT:
        _EVALUATORS.update(dict.fromkeys(kinds, evaluator))
        return evaluator

    return register


def runs(*kinds: type[syntax.Stmt]) -> Callable[[RunnerT], RunnerT]:
    """Registers the function that runs statements of these classes."""

    def register(runner: RunnerT) -> RunnerT:
        _RUNNERS.update(dict.fromkeys(kinds, runner))
        return runner

    return register


def calls(kind: type) -> Callable[[CallerT], CallerT]:
    """Registers the function that calls values of a class. kind: `object` for all other callable values."""

    def register(caller: CallerT) -> CallerT:
        _CALLERS[kind] = caller
        return caller

    return register


def evaluate(context: ElaborationContext, node: syntax.Expr) -> Value:
    """The value of an expression; emits the ops that it needs at the current insertion point."""
    context.module.budget.charge("evaluation steps", 1, node.span)
    return _EVALUATORS[type(node)](context, node)


def run_statements(context: ElaborationContext, statements: syntax.Body) -> None:
    """Emits the statements at the current insertion point."""
    for statement in statements:
        context.module.budget.charge("evaluation steps", 1, statement.span)
        _RUNNERS[type(statement)](context, statement)


def apply(
    context: ElaborationContext, function: Value, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The result of a call."""
    kind = type(function) if type(function) in _CALLERS else object
    if kind is object and not callable(function):
        raise span.error(f"{describe_value(function)} cannot be called")
    return _CALLERS[kind](context, function, span, args, keywords)
