"""`T.print`: the text of a line and the numbers in it, or the elements of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...core.assertions import PLACEHOLDER
from ...core.diagnostics import Span
from ...core.dtypes import dtype_of
from ...dialects.tir import PrintOp
from . import syntax
from .context import ElaborationContext
from .expressions import evaluate_all, values_of_fstring
from .values import BufferValue, Value
from .vocabulary import form

Parts = list[str | SSAValue]
"""The text of one argument: texts, and the numbers between them."""


@form("print")
def _print(context: ElaborationContext, node: syntax.Call) -> Value:
    """`T.print("A[{}] = {}", i, A[i])`; `T.print("x =", x)`, separated by spaces as by Python's `print`;
    `T.print(f"x = {x}")`; `T.print(A)` for the elements of a buffer, each on a line.
    """
    if node.keywords:
        raise node.span.error("T.print takes its arguments by position")
    arguments = [argument for each in node.args for argument in _arguments(context, each)]
    if len(arguments) == 1 and isinstance(arguments[0], BufferValue):
        _print_elements(context, arguments[0], node.span)
    else:
        _insert(context, _line(arguments, node.span), node.span)
    return None


def _arguments(context: ElaborationContext, node: syntax.Expr) -> list[BufferValue | Parts]:
    """The arguments that an expression stands for; an f-string has the values of its expressions, not their text."""
    if not isinstance(node, syntax.FString):
        return [_argument(context, value, node.span) for value in evaluate_all(context, (node,))]
    values = values_of_fstring(context, node)
    return [[part for value, span in values for part in _number_or_text(context, value, span)]]


def _argument(context: ElaborationContext, value: Value, span: Span) -> BufferValue | Parts:
    return value if isinstance(value, BufferValue) else _number_or_text(context, value, span)


def _number_or_text(context: ElaborationContext, value: Value, span: Span) -> Parts:
    if isinstance(value, str):
        return [context.string(value, span, "the text")]
    number = context.number(value, span)
    if (dtype := dtype_of(number.type)).lanes != 1:
        raise span.error(f"T.print: expected a text, a scalar or a buffer, got a value of type {dtype}")
    return [number]


def _line(arguments: Sequence[BufferValue | Parts], span: Span) -> Parts:
    """The parts of a line. A text with placeholders as the first argument takes the other arguments in their places."""
    lists = [argument for argument in arguments if isinstance(argument, list)]
    if len(lists) != len(arguments):
        raise span.error("T.print takes a buffer as its only argument")
    match lists:
        case [[str(text)], *values] if values and PLACEHOLDER in text:
            texts = text.split(PLACEHOLDER)
            if len(texts) != len(lists):
                raise span.error(f"T.print: the text has {len(texts) - 1} placeholders, got {len(values)} values")
            return [texts[0], *(part for each, text in zip(values, texts[1:], strict=True) for part in (*each, text))]
        case _:
            return [part for argument in lists for part in (" ", *argument)][1:]


def _insert(context: ElaborationContext, parts: Parts, span: Span) -> None:
    values = [part for part in parts if isinstance(part, SSAValue)]
    texts = [part for part in parts if isinstance(part, str)]
    if values and any(PLACEHOLDER in text for text in texts):
        raise span.error(f"T.print: a line with values cannot have the text {PLACEHOLDER!r}")
    if any("\0" in text for text in texts):
        raise span.error("T.print: a text cannot have the character U+0000")
    message = "".join(PLACEHOLDER if isinstance(part, SSAValue) else part for part in parts)
    context.locate(span).insert(PrintOp(message, values))


def _print_elements(context: ElaborationContext, buffer: BufferValue, span: Span) -> None:
    """Prints each element of a buffer on a line, with its indices: `A[0, 1] = 2.5`."""
    builder = context.locate(span)
    with builder.loops([f"i{d}" for d in range(len(buffer.shape))], buffer.shape) as indices:
        element = builder.load(buffer.value, list(indices))
        places = ", ".join(PLACEHOLDER for _ in indices) or "()"
        builder.insert(PrintOp(f"{buffer.name}[{places}] = {PLACEHOLDER}", [*indices, element]))
