"""Functions of the operators that a pattern matches: `pattern.partition(expr)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ....operators import Operator
from ...relay.expr import Call, Constant, Expr, Function, FunctionCall, Tuple, TupleGetItem, Var
from ...relay.functor import ExprMutator, ExprVisitor, post_order
from ..patterns import (
    CallPattern,
    ConstantPattern,
    DFPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    PathPattern,
    TupleGetItemPattern,
    TuplePattern,
)

ATTRIBUTE = "PartitionedFromPattern"
"""The attribute of a function that lists its operators."""
_INNER = (CallPattern, FunctionPattern, IfPattern, LetPattern, PathPattern, TupleGetItemPattern, TuplePattern)
"""The patterns whose expressions become part of the function; those of other patterns become arguments."""


@dataclass(frozen=True)
class _Group:
    """The expressions of a match, and its function with the arguments of the call."""

    members: set[Expr]
    function: Function
    arguments: list[Expr]


def partition(pattern: DFPattern, expr: Expr, attrs: Mapping[str, Any], check: Callable[[Expr], bool]) -> Expr:
    """An expression in which the operators of each match of a pattern are a function of their own, called in their
    place.

    A match that contains an operator of another match, or whose operators have users outside of the match that the
    result does not need, stays. Matches are searched from the result to the operands.  attrs: attributes of the
    functions.  check: whether a match becomes a function.
    """
    nodes: list[Any] = []
    _Nodes(nodes).visit(expr)
    users = _users(nodes)
    groups: dict[Expr, _Group] = {}
    taken: set[Expr] = set()
    for node in reversed([each for each in nodes if isinstance(each, Expr)]):
        if node in taken:
            continue
        members = _members(pattern, node)
        if members is None or members & taken or not _is_closed(members, node, users) or not check(node):
            continue
        groups[node] = _group(node, members, len(groups), attrs)
        taken |= {each for each in members if not isinstance(each, Constant)}
    return _Partitioning(groups).visit(expr)


class _Nodes(ExprVisitor):
    """Appends the expressions below an expression to a list, operands before their users. The functions of earlier
    partitions are one expression each."""

    def __init__(self, nodes: list[Any]):
        super().__init__()
        self.nodes = nodes

    def visit(self, expr: Any) -> Any:
        if expr in self.memo_map:
            return
        if not (isinstance(expr, Function) and ATTRIBUTE in expr.attrs):
            super().visit(expr)
        self.memo_map[expr] = None
        self.nodes.append(expr)


def _users(nodes: list[Any]) -> dict[Expr, list[Expr]]:
    users: dict[Expr, list[Expr]] = {}
    for node in nodes:
        for child in node.children if isinstance(node, Expr) else ():
            users.setdefault(child, []).append(node)
    return users


def _members(pattern: DFPattern, node: Expr) -> set[Expr] | None:
    """The expressions of a match that become part of its function, None without a match."""
    found = pattern.find(node, {})
    if found is None:
        return None
    members = {each for key, each in found.items() if isinstance(key, _INNER)}
    embedded = [each for key, each in found.items() if isinstance(key, ConstantPattern | ExprPattern)]
    constants = {each for each in embedded if isinstance(each, Constant)}
    return members | constants if members else None


def _is_closed(members: set[Expr], root: Expr, users: Mapping[Expr, list[Expr]]) -> bool:
    """Whether only the result of a match is needed outside: every other user of a member leads to the result."""
    leads: dict[Expr, bool] = {root: True}

    def leads_to_root(node: Expr) -> bool:
        if node not in leads:
            leads[node] = False
            leads[node] = bool(users.get(node)) and all(leads_to_root(user) for user in users[node])
        return leads[node]

    inner = [each for each in members if each is not root and not isinstance(each, Constant | Function)]
    return all(user in members or leads_to_root(user) for each in inner for user in users.get(each, ()))


def _group(root: Expr, members: set[Expr], number: int, attrs: Mapping[str, Any]) -> _Group:
    extraction = _Extraction(members, f"FunctionVar_{number}")
    body = extraction.visit(root)
    names = {ATTRIBUTE: "".join(f"{name}_" for name in extraction.names)}
    function = Function(list(extraction.parameters.values()), body, attrs={**names, **attrs})
    return _Group(members, function, list(extraction.parameters))


class _Extraction(ExprMutator):
    """Copies the members of a match; parameters stand for all other expressions, in the order of computation.

    names: those of the operators, in the order of computation.
    """

    def __init__(self, members: set[Expr], prefix: str):
        super().__init__()
        self.members = members
        self.prefix = prefix
        self.parameters: dict[Expr, Var] = {}
        self.names: list[str] = []

    def visit(self, expr: Any) -> Any:
        if isinstance(expr, Expr) and expr not in self.members:
            if expr not in self.parameters:
                name = f"{self.prefix}_{len(self.parameters)}"
                annotation = getattr(expr, "type_annotation", None) or expr.known_type
                self.parameters[expr] = Var(name, annotation)
            return self.parameters[expr]
        return super().visit(expr)

    def visit_function(self, fn: Function) -> Expr:
        inner = post_order(fn.body)
        self.names += [each.op.name for each in inner if isinstance(each, Call) and isinstance(each.op, Operator)]
        return fn

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        self.names.append(call.op.name if isinstance(call.op, Operator) else "FunctionCall")
        return new

    def visit_tuple(self, tup: Tuple) -> Expr:
        new = super().visit_tuple(tup)
        self.names.append("Tuple")
        return new

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        new = super().visit_tuple_getitem(op)
        self.names.append(f"TupleGetItem{op.index}")
        return new


class _Partitioning(ExprMutator):
    def __init__(self, groups: Mapping[Expr, _Group]):
        super().__init__()
        self.groups = groups

    def visit(self, expr: Any) -> Any:
        if expr in self.memo_map or expr not in self.groups:
            return super().visit(expr)
        group = self.groups[expr]
        self.memo_map[expr] = FunctionCall(group.function, [self.visit(each) for each in group.arguments])
        return self.memo_map[expr]
