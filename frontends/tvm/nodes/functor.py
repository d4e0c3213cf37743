"""Visiting and transforming programs node by node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ....expressions.expr import PrimExpr, Var, as_expr
from .stmt import SeqStmt, Stmt, seq

Node: TypeAlias = Stmt | PrimExpr


def _children(node: Node) -> Iterator[Node]:
    """The nodes directly inside of a node, in the order in which they run."""
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
    """Call a function on each node, behind those inside of it. What it returns is not looked at."""
    todo: list[tuple[Node, bool]] = [(stmt, False)]
    while todo:
        node, is_ready = todo.pop()
        if is_ready:
            fvisit(node)
        else:
            todo.append((node, True))
            todo += [(child, False) for child in reversed(list(_children(node)))]


def pre_order_visit(stmt: Node, fvisit: Callable[[Any], bool]) -> None:
    """Call a function on each node, in front of those inside of it; where it returns False these are left out."""
    todo = [stmt]
    while todo:
        node = todo.pop()
        if fvisit(node):
            todo += reversed(list(_children(node)))


Change: TypeAlias = Callable[[Any], Any] | None


def ir_transform(stmt: Stmt, preorder: Change, postorder: Change, only_enable: Sequence[str] | None = None) -> Stmt:
    """A statement with some nodes replaced.

    preorder: asked about a node first; what it returns takes its place, and nothing inside is looked at.  postorder:
    asked about a node whose insides have been transformed.  None as an answer leaves the node.  only_enable: names of
    the kinds of nodes that are asked about, as `tir.For`; None for all.
    """
    kinds = None if only_enable is None else {name.rpartition(".")[2] for name in only_enable}

    def transform(node: Node) -> Node:
        asked = kinds is None or type(node).__name__ in kinds
        if asked and preorder is not None and (made := preorder(node)) is not None:
            return made
        node = _over_children(node, transform)
        if asked and postorder is not None and (made := postorder(node)) is not None:
            return made
        return node

    result = transform(stmt)
    assert isinstance(result, Stmt)
    return result


def substitute(node: Any, vmap: Mapping[Var, Any] | Callable[[Var], Any]) -> Any:
    """A statement or expression with other expressions in the place of variables. vmap: what for each; variables that
    it does not have, or gives None for, stay."""

    def transform(inner: Node) -> Node:
        if isinstance(inner, Var):
            found = vmap.get(inner) if isinstance(vmap, Mapping) else vmap(inner)
            return inner if found is None else as_expr(found)
        return _over_children(inner, transform)

    return transform(node)


def _over_children(node: Node, transform: Callable[[Node], Node]) -> Node:
    """A node with what is inside of it transformed; the same node if that changes nothing."""
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
