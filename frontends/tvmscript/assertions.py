"""`assert` and `T.Assert`: the condition, and the message with the numbers in it."""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue

from ...core.assertions import DEFAULT_KIND, PLACEHOLDER
from ...core.diagnostics import Span
from ...core.dtypes import dtype_of
from ...dialects.tir import AssertOp
from . import syntax
from .context import ElaborationContext
from .dispatch import evaluate, runs
from .expressions import evaluate_all, values_of_fstring
from .values import BranchFrame, BufferValue, Value
from .vocabulary import form


@runs(syntax.Assert)
def _assert(context: ElaborationContext, node: syntax.Assert) -> None:
    message = _message(context, node.message)
    test = evaluate(context, node.test)
    write_assert(context, node.span, test, message)


@form("Assert")
def _assert_frame(context: ElaborationContext, node: syntax.Call) -> Value:
    given = {**dict(zip(("condition", "message"), node.args, strict=False)), **{k.name: k.value for k in node.keywords}}
    if len(given) != len(node.args) + len(node.keywords) or not {"condition"} <= {*given} <= {"condition", "message"}:
        raise node.span.error("T.Assert takes a condition and a message")
    condition = evaluate(context, given["condition"])
    return BranchFrame(node.span, "assert", (condition, _message(context, given.get("message"))))


def write_assert(context: ElaborationContext, span: Span, test: Value, message: Value) -> None:
    """Emits an assertion. message: a text, or `("RuntimeError", parts)` with texts and numbers."""
    condition = context.condition(test, span)
    kind, parts = _message_parts(context, span, message)
    values = [_scalar(context, part, span) for part in parts if not isinstance(part, str)]
    if values and any(isinstance(part, str) and PLACEHOLDER in part for part in parts):
        raise span.error(f"a message with values cannot have the text {PLACEHOLDER!r}")
    text = "".join(part if isinstance(part, str) else PLACEHOLDER for part in parts)
    context.locate(span).insert(AssertOp(condition, text, kind, values))


def _scalar(context: ElaborationContext, value: Value, span: Span) -> SSAValue:
    number = context.number(value, span)
    if (dtype := dtype_of(number.type)).lanes != 1:
        raise span.error(f"a message has texts and scalars, got a value of type {dtype}")
    return number


def _message_parts(context: ElaborationContext, span: Span, message: Value) -> tuple[str | None, list[Value]]:
    """The kind of an assertion, None for the default kind, and the texts and numbers of its message."""
    if not isinstance(message, tuple):
        return None, [context.string(message, span, "the message")]
    parts = cast("tuple[Value, ...]", message)  # ("RuntimeError", ["part", ...]) of v0.24
    if len(parts) != 2 or not isinstance(parts[0], str) or not isinstance(parts[1], list | tuple | str):
        raise span.error('expected a message, or ("RuntimeError", ["message"])')
    kind = None if parts[0] == DEFAULT_KIND else parts[0]
    return kind, [parts[1]] if isinstance(parts[1], str) else list(cast("list[Value]", parts[1]))


def _message(context: ElaborationContext, node: syntax.Expr | None) -> Value:
    """The message of an assertion, as of `write_assert`; an f-string has the values of its expressions."""
    match node:
        case None:
            return ""
        case syntax.FString():
            return DEFAULT_KIND, _parts(context, node)
        case syntax.Tuple(items=(kind, syntax.List(items=items) | syntax.Tuple(items=items))):
            return evaluate(context, kind), [part for item in items for part in _parts(context, item)]
        case syntax.Tuple(items=(kind, syntax.FString() as text)):
            return evaluate(context, kind), _parts(context, text)
        case _:
            return evaluate(context, node)


def _parts(context: ElaborationContext, node: syntax.Expr) -> list[Value]:
    """The texts and numbers of one part of a message; a buffer in an f-string is its name."""
    if not isinstance(node, syntax.FString):
        return evaluate_all(context, (node,))
    values = (value for value, _ in values_of_fstring(context, node))
    return [value.name if isinstance(value, BufferValue) else value for value in values]
