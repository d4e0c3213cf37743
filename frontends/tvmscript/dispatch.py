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

# The first argument is the context of the function's dialect.
Evaluator = Callable[[Any, Any], Value]
Runner = Callable[[Any, Any], None]
Caller = Callable[[Any, Any, Span, list[Value], dict[str, Value]], Value]
EvaluatorT = TypeVar("EvaluatorT", bound=Evaluator)
RunnerT = TypeVar("RunnerT", bound=Runner)
CallerT = TypeVar("CallerT", bound=Caller)

TIR, RELAX = "tir", "relax"
"""The dialects of functions: those of `@T.prim_func` and those of `@R.function`."""

_EVALUATORS: dict[str, dict[type[syntax.Expr], Evaluator]] = {TIR: {}, RELAX: {}}
_RUNNERS: dict[str, dict[type[syntax.Stmt], Runner]] = {TIR: {}, RELAX: {}}
_CALLERS: dict[str, dict[type, Caller]] = {TIR: {}, RELAX: {}}


def evaluates(*kinds: type[syntax.Expr], dialect: str = TIR) -> Callable[[EvaluatorT], EvaluatorT]:
    """Registers the function that evaluates expressions of these classes: in functions of a dialect, for `TIR` in those
    of other dialects too that have no such function of their own."""

    def register(evaluator: EvaluatorT) -> EvaluatorT:
        _EVALUATORS[dialect].update(dict.fromkeys(kinds, evaluator))
        return evaluator

    return register


def runs(*kinds: type[syntax.Stmt], dialect: str = TIR) -> Callable[[RunnerT], RunnerT]:
    """Registers the function that runs statements of these classes in functions of a dialect."""

    def register(runner: RunnerT) -> RunnerT:
        _RUNNERS[dialect].update(dict.fromkeys(kinds, runner))
        return runner

    return register


def calls(kind: type, dialect: str = TIR) -> Callable[[CallerT], CallerT]:
    """Registers the function that calls values of a class, as `evaluates`. kind: `object` for all other callable
    values."""

    def register(caller: CallerT) -> CallerT:
        _CALLERS[dialect][kind] = caller
        return caller

    return register


def evaluate_as_python(context: ElaborationContext, node: syntax.Expr) -> Value:
    """The value of an expression by the rules that all dialects have in common."""
    return _EVALUATORS[TIR][type(node)](context, node)


def evaluate(context: ElaborationContext, node: syntax.Expr) -> Value:
    """The value of an expression; emits the ops that it needs at the current insertion point."""
    context.module.budget.charge("evaluation steps", 1, node.span)
    evaluator = _EVALUATORS[context.dialect].get(type(node)) or _EVALUATORS[TIR][type(node)]
    return evaluator(context, node)


def run_statements(context: ElaborationContext, statements: syntax.Body) -> None:
    """Emits the statements at the current insertion point."""
    for statement in statements:
        context.module.budget.charge("evaluation steps", 1, statement.span)
        runner = _RUNNERS[context.dialect].get(type(statement))
        if runner is None:
            raise statement.span.error(f"this statement has no place in a function of {context.dialect}")
        runner(context, statement)


def apply(
    context: ElaborationContext, function: Value, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The result of a call."""
    kind = type(function)
    caller = _CALLERS[context.dialect].get(kind) or _CALLERS[TIR].get(kind)
    if caller is None and not callable(function):
        raise span.error(f"{describe_value(function)} cannot be called")
    return (caller or _CALLERS[TIR][object])(context, function, span, args, keywords)
