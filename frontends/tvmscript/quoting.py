"""Expressions that are computed where they are used, each time anew, and not where they are written.

In TVM an expression is a tree, and a name of Python's holds the tree: what reads memory in it does so at each place
that it is put. Here an expression is the values of ops. So a name holds the ops as a template, and uses are copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block, Operation, SSAValue

from ...core.diagnostics import Span
from ...dialects.tir import HandleType, constant_value
from ...dialects.tir.tree import is_expression, is_pure_expression
from .values import Box, Element, Quoted, Value

if TYPE_CHECKING:
    from .context import Context

MAX_COPIES = 100_000
"""How many ops the copies of expressions in a module may have."""


def quote(context: Context, value: Value) -> Value:
    """A value as a name of Python's holds it; items of tuples, lists and dictionaries too."""
    match value:
        case SSAValue():
            return _quoted(context, value)
        case Element():
            return _quoted_element(context, value)
        case tuple() | list():
            items = cast("tuple[Value, ...] | list[Value]", value)
            return type(items)(quote(context, item) for item in items)
        case dict():
            return {key: quote(context, item) for key, item in cast("dict[Value, Value]", value).items()}
        case _:
            return value


def _quoted(context: Context, value: SSAValue) -> Value:
    if isinstance(value.type, HandleType) or constant_value(value) is not None:
        return value
    tree = _tree(value)
    if not tree:
        return value
    context.templates.update(dict.fromkeys(tree))
    return Quoted(value)


def _quoted_element(context: Context, element: Element) -> Element:
    """Which element it is depends on memory only if an index is read from there."""

    def part(operand: Any) -> Any:
        if isinstance(operand, SSAValue) and not all(map(is_pure_expression, _tree(operand))):
            return _quoted(context, operand)
        return operand

    indices = tuple(
        Box(part(index.low), part(index.extent), index.step) if isinstance(index, Box) else part(index)
        for index in element.indices
    )
    return Element(element.buffer, indices, element.span)


def copy(context: Context, quoted: Quoted, span: Span | None = None) -> SSAValue:
    """The expression, computed at the present place."""
    tree = _tree(quoted.value)
    context.module.copies += len(tree)
    if context.module.copies > MAX_COPIES:
        place = context.node.span if span is None and context.node is not None else span
        if place is not None:
            raise place.error(f"copies of the expressions that names stand for have more than {MAX_COPIES} operations")
    values: dict[SSAValue, SSAValue] = {}
    for op in tree:
        clone = op.clone(values)
        for old, new in zip(op.walk(), clone.walk(), strict=True):
            new.location = old.location
        context.builder.location = op.location
        context.builder.insert(clone)
    return values[quoted.value]


def _tree(value: SSAValue) -> list[Operation]:
    """The expression ops that a value is computed by, operands first; none of one that a statement declares."""
    done: dict[Operation, None] = {}
    pending = [(value.owner, False)]
    while pending:
        op, ready = pending.pop()
        if not isinstance(op, Operation) or op in done or not is_expression(op):
            continue
        if ready:
            done[op] = None
        else:
            pending.append((op, True))
            pending.extend((operand.owner, False) for operand in _operands(op))
    return list(done)


def _operands(op: Operation) -> Iterator[SSAValue]:
    """What an op takes, in its regions too, from the last to the first."""
    inside = set(op.walk())
    for inner in reversed(list(op.walk())):
        yield from (operand for operand in reversed(inner.operands) if operand.owner not in inside)


def sweep_templates(context: Context, block: Block) -> None:
    """Remove the originals in a block that is finished: nothing uses them but copies, and no name for them is left."""
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
