"""Visitors and transformers of node trees."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.expr import PrimExpr, Var, as_expr
from ....expressions.statements import BufferElement
from .expr import BufferLoad, ExternCallExpr
from .stmt import BufferStore, SeqStmt, Stmt, seq

Node: TypeAlias = Stmt | PrimExpr


def children_of(node: Node) -> Iterator[Node]:
    """The direct children of a node, in execution order."""
    if isinstance(node, PrimExpr):
        yield from node.children
        return
    for field in node.FIELDS:
        value = getattr(node, field)
        if isinstance(value, tuple):
            yield from value  # pyright: ignore[reportUnknownVariableType]
        elif value is not None:
            yield value


def post_order_visit(stmt: Node, fvisit: Callable[[Any], Any]) -> None:
    """Calls a function on each node, after its children. The function's result is ignored."""
    todo: list[tuple[Node, bool]] = [(stmt, False)]
    while todo:
        node, is_ready = todo.pop()
        if is_ready:
            fvisit(node)
        else:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(list(children_of(node)))]


def pre_order_visit(stmt: Node, fvisit: Callable[[Any], bool]) -> None:
    """Calls a function on each node, before its children; skips the children if the function returns False."""
    todo = [stmt]
    while todo:
        node = todo.pop()
        if fvisit(node):
            todo += reversed(list(children_of(node)))


Change: TypeAlias = Callable[[Any], Any] | None


def ir_transform(stmt: Stmt, preorder: Change, postorder: Change, only_enable: Sequence[str] | None = None) -> Stmt:
    """A statement with some nodes replaced.

    preorder: called on a node first; its result replaces the node, whose children are then skipped.  postorder: called
    on a node whose children have been transformed.  A result of None keeps the node.  only_enable: names of the node
    classes to call them on, as `tir.For`; None for all.
    """
    kinds = None if only_enable is None else {name.rpartition(".")[2] for name in only_enable}

    def transform(node: Node) -> Node:
        selected = kinds is None or type(node).__name__ in kinds
        if selected and preorder is not None and (replacement := preorder(node)) is not None:
            return replacement
        node = map_children(node, transform)
        if selected and postorder is not None and (replacement := postorder(node)) is not None:
            return replacement
        return node

    result = transform(stmt)
    assert isinstance(result, Stmt)
    return result


def substitute(node: Any, vmap: Mapping[Var, Any] | Callable[[Var], Any]) -> Any:
    """A statement or expression with variables replaced by expressions. vmap: the replacements; a variable stays if it
    has no entry, or if the function returns None.
    """

    def transform(inner: Node) -> Node:
        if isinstance(inner, Var):
            replacement = vmap.get(inner) if isinstance(vmap, Mapping) else vmap(inner)
            return inner if replacement is None else as_expr(replacement)
        return map_children(inner, transform)

    return transform(node)


def map_children(node: Node, transform: Callable[[Node], Node]) -> Node:
    """A node with its children transformed; the same node if no child changes."""
    if isinstance(node, PrimExpr):
        children: list[Any] = [transform(child) for child in node.children]
        same = all(new is old for new, old in zip(children, node.children, strict=True))
        return node if same else node.with_children(children)
    changed: dict[str, Any] = {}
    for field in node.FIELDS:
        value = getattr(node, field)
        if isinstance(value, tuple):
            items: tuple[Any, ...] = tuple(transform(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if any(new is not old for new, old in zip(items, value, strict=True)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
                changed[field] = items
        elif value is not None and (new := transform(value)) is not value:
            changed[field] = new
    if not changed:
        return node
    if isinstance(node, SeqStmt):
        return seq(*changed["seq"])
    result = copy.copy(node)
    result.underneath = None
    for field, value in changed.items():
        setattr(result, field, value)
    return result


def accessed_buffers(root: Stmt) -> tuple[set[DeclaredBuffer], set[DeclaredBuffer]]:
    """The buffers read and the buffers written by statements. A call may read and write its buffers."""
    read: set[DeclaredBuffer] = set()
    written: set[DeclaredBuffer] = set()

    def visit(node: Any) -> bool:
        match node:
            case BufferLoad() | BufferElement():
                read.add(node.buffer)
            case BufferStore():
                written.add(node.buffer)
            case ExternCallExpr():
                read.update(node.call.buffers)
                written.update(node.call.buffers)
            case _:
                pass
        return True

    pre_order_visit(root, visit)
    return read, written
