"""Quoted expressions: recomputed at each use, not where they are defined.

In TVM an expression is a tree, and a Python name refers to the tree: its memory reads happen at each place of use. Here
an expression is a value computed by ops. So a name refers to the ops as a template, and each use emits a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block, Operation, SSAValue

from ...core.diagnostics import Span
from ...dialects.tir import HandleType, constant_value
from ...dialects.tir.tree import is_expression_op, is_pure_expression
from .values import Element, Quoted, SliceIndex, Value

if TYPE_CHECKING:
    from .context import ElaborationContext


def quote(context: ElaborationContext, value: Value, span: Span | None = None) -> Value:
    """A value in the form bound to a Python name; recurses into tuples, lists and dictionaries.

    span: where the name is bound, by default where the current statement is.
    """
    if isinstance(value, tuple | list | dict):
        context.charge(context.builder.span if span is None else span, value)
    return _quote(context, value)


def _quote(context: ElaborationContext, value: Value) -> Value:
    match value:
        case bool() | int() | float() | str():
            return value
        case SSAValue():
            return _quote_value(context, value)
        case Element():
            return _quote_element(context, value)
        case tuple() | list():
            items = cast("tuple[Value, ...] | list[Value]", value)
            return type(items)(_quote(context, item) for item in items)
        case dict():
            return {key: _quote(context, item) for key, item in cast("dict[Value, Value]", value).items()}
        case _:
            return value


def _quote_value(context: ElaborationContext, value: SSAValue) -> Value:
    if isinstance(value.type, HandleType) or constant_value(value) is not None:
        return value
    tree = _tree(value)
    if not tree:
        return value
    context.templates.update(dict.fromkeys(tree))
    return Quoted(value)


def _quote_element(context: ElaborationContext, element: Element) -> Element:
    """An element with quoted indices; only an index that reads memory needs quoting."""

    def part(operand: Any) -> Any:
        if isinstance(operand, SSAValue) and not all(map(is_pure_expression, _tree(operand))):
            return _quote_value(context, operand)
        return operand

    indices = tuple(
        SliceIndex(part(index.low), part(index.extent), index.step) if isinstance(index, SliceIndex) else part(index)
        for index in element.indices
    )
    return Element(element.buffer, indices, element.span)


def copy_quoted(context: ElaborationContext, quoted: Quoted, span: Span | None = None) -> SSAValue:
    """Emits a copy of a quoted expression at the current insertion point; returns its value."""
    tree = _tree(quoted.value)
    if span is not None:
        context.locate(span)
    values: dict[SSAValue, SSAValue] = {}
    for op in tree:
        clone = op.clone(values)
        for old, new in zip(op.walk(), clone.walk(), strict=True):
            new.location = old.location
        context.builder.location = op.location
        context.builder.insert(clone)
    return values[quoted.value]


def _tree(value: SSAValue) -> list[Operation]:
    """The expression ops that compute a value, operands first; excludes values declared by statements."""
    done: dict[Operation, None] = {}
    pending = [(value.owner, False)]
    while pending:
        op, ready = pending.pop()
        if not isinstance(op, Operation) or op in done or not is_expression_op(op):
            continue
        if ready:
            done[op] = None
        else:
            pending.append((op, True))
            pending.extend((operand.owner, False) for operand in _operands(op))
    return list(done)


def _operands(op: Operation) -> Iterator[SSAValue]:
    """The operands of an op and of the ops in its regions, last to first."""
    inside = set(op.walk())
    for inner in reversed(list(op.walk())):
        yield from (operand for operand in reversed(inner.operands) if operand.owner not in inside)


def sweep_templates(context: ElaborationContext, block: Block) -> None:
    """Removes the templates in a finished block: only copies are used, and no name refers to the templates any more."""
    for op in list(reversed(context.templates)):
        if not _is_inside(op, block):
            continue
        del context.templates[op]
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def _is_inside(op: Operation, block: Block) -> bool:
    outer = op.parent
    while outer is not None and outer is not block:
        outer = outer.parent_block()
    return outer is block
