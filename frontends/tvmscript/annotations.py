"""Annotations of parameters and results."""

from __future__ import annotations

from xdsl.ir import Attribute

from ...core.diagnostics import Span
from . import syntax
from .context import ElaborationContext
from .dispatch import evaluate
from .reader import read_expression
from .values import TypeAnnotation, Value, Variable, Word, describe_value
from .vocabulary import is_dtype, path_of


def evaluate_annotation(context: ElaborationContext, node: syntax.Expr) -> Value:
    """The value of an annotation; a string holds an expression."""
    if isinstance(node, syntax.Constant) and isinstance(node.value, str):
        node = read_expression(node.value, node.span)
    return evaluate(context, node)


def annotated_type(context: ElaborationContext, value: Value, span: Span) -> Attribute:
    """The type denoted by an annotation."""
    match value:
        case Variable():
            return value.type
        case TypeAnnotation() | Word():
            if isinstance(value, Word) and not is_dtype(path_of(value)):
                raise span.error(f"expected a type, got {describe_value(value)}")
            return context.type(value, span)
        case _:
            raise span.error(f"expected a type (T.handle, T.Buffer(...), T.int32, ...), got {describe_value(value)}")


def read_result_type(context: ElaborationContext, node: syntax.Expr) -> Attribute | None:
    """The result type annotated after `->`."""
    value = evaluate_annotation(context, node)
    return None if value is None else annotated_type(context, value, node.span)
