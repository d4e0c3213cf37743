"""Bindings of expressions to variables: graphs in A-normal form, in basic block normal form, and without bindings.

A scope is the body of a function, or a branch. Each expression belongs to the innermost scope that contains all of its
users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....operators import Operator
from ...relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from ...relay.functor import ExprMutator, post_order


@dataclass(eq=False)
class _Scope:
    """A scope: the scope around it, its depth, and the bindings that belong to it, in the order of computation."""

    outer: _Scope | None
    bindings: list[tuple[Var, Expr]] = field(default_factory=list[tuple[Var, Expr]])

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else self.outer.depth + 1

    def wrap(self, body: Expr) -> Expr:
        """An expression inside of the bindings of the scope."""
        for variable, value in reversed(self.bindings):
            body = Let(variable, value, body)
        self.bindings = []
        return body


def _common(a: _Scope, b: _Scope) -> _Scope:
    """The innermost scope around two scopes."""
    while a is not b:
        inner = a if a.depth >= b.depth else b
        assert inner.outer is not None
        a, b = (inner.outer, b) if inner is a else (a, inner.outer)
    return a


class _Scopes:
    """The scopes of the expressions of a graph. own: those of branches and bodies, by their node and position."""

    def __init__(self, root: Expr):
        self.of: dict[Expr, _Scope] = {}
        self.own: dict[tuple[Expr, int], _Scope] = {}
        self.lifted: set[Expr] = set()
        self.root = _Scope(None)
        self.of[root] = self.root
        for node in reversed(list(post_order(root, _below))):  # users before their operands
            for n, child in enumerate(_below(node)):
                self._use(child, self._scope_of_child(node, n))

    def _scope_of_child(self, node: Expr, n: int) -> _Scope:
        opens = isinstance(node, Function) or (isinstance(node, If) and n > 0) or (isinstance(node, Let) and n > 0)
        if not opens:
            return self.of[node]
        return self.own.setdefault((node, n), _Scope(self.of[node]))

    def _use(self, child: Expr, scope: _Scope) -> None:
        older = self.of.get(child)
        if older is None:
            self.of[child] = scope
            return
        common = _common(older, scope)
        if common is not older or common is not scope:
            self.lifted.add(child)
        self.of[child] = common


def _below(node: Expr) -> list[Expr]:
    """The expressions of which an expression consists; those that open a scope are the last ones."""
    match node:
        case Function():
            return [node.body]
        case FunctionCall():
            return [each for each in (node.op, *node.args) if not isinstance(each, GlobalVar)]
        case Let():
            return [node.value, node.body]
        case _:
            return [*node.children]


def _is_atom(node: Expr) -> bool:
    return isinstance(node, Var | GlobalVar)


class _Binding:
    """Rebuilds a graph with bindings. is_bound: whether an expression becomes the value of a variable."""

    def __init__(self, root: Expr, is_bound: Callable[[Expr, _Scopes], bool]):
        self.scopes = _Scopes(root)
        self.is_bound = is_bound
        self.known: dict[Expr, Expr] = {}
        self.count = 0

    def value(self, node: Expr, name: Var | None = None) -> Expr:
        """The expression or the variable of a node; its bindings are added to their scopes."""
        if _is_atom(node):
            return self.known.get(node, node)
        if node not in self.known:
            new = self._rebuilt(node)
            if not isinstance(node, Let) and (name is not None or self.is_bound(node, self.scopes)):
                variable = name or self._variable(node)
                self.scopes.of[node].bindings.append((variable, new))
                new = variable
            self.known[node] = new
        return self.known[node]

    def _variable(self, node: Expr) -> Var:
        self.count += 1
        return Var(f"x_{self.count}")

    def _rebuilt(self, node: Expr) -> Expr:
        match node:
            case FunctionCall():
                return FunctionCall(self.value(node.op), [self.value(each) for each in node.args], node.attrs)
            case Call():
                return node.with_args([self.value(each) for each in node.args])
            case Tuple():
                return Tuple([self.value(each) for each in node.fields])
            case TupleGetItem():
                return TupleGetItem(self.value(node.tuple_value), node.index)
            case Function():
                body = self._scoped(node, 0, node.body)
                return Function(node.params, body, node.result_annotation, node.type_params, node.attrs)
            case If():
                condition = self.value(node.cond)
                branches = [
                    self._scoped(node, n + 1, each) for n, each in enumerate((node.true_branch, node.false_branch))
                ]
                return If(condition, *branches)
            case Let():
                return self._rebuilt_let(node)
            case _:
                return node

    def _scoped(self, node: Expr, n: int, body: Expr) -> Expr:
        scope = self.scopes.own[node, n]
        value = self.value(body)
        return scope.wrap(value)

    def _rebuilt_let(self, node: Let) -> Expr:
        raise NotImplementedError


class _ANormal(_Binding):
    """Each expression is bound; bindings of the user are those of their scope."""

    def __init__(self, root: Expr):
        super().__init__(root, lambda node, scopes: True)

    def _rebuilt_let(self, node: Let) -> Expr:
        scope = self.scopes.of[node]
        if isinstance(node.value, Function):
            scope.bindings.append((node.var, self._rebuilt(node.value)))
        else:
            before = len(scope.bindings)
            value = self.value(node.value)
            last = scope.bindings[-1] if len(scope.bindings) > before else None
            if last is not None and last[0] is value:
                scope.bindings[-1] = (node.var, last[1])
                self.known[node.value] = node.var
            else:
                scope.bindings.append((node.var, value))
        inner = self.scopes.own[node, 1]
        body = self.value(node.body)
        scope.bindings += inner.bindings
        inner.bindings = []
        return body


class _BasicBlocks(_Binding):
    """Expressions that several scopes share are bound in the scope around them."""

    def __init__(self, root: Expr):
        super().__init__(root, lambda node, scopes: node in scopes.lifted and not isinstance(node, Constant))

    def _rebuilt_let(self, node: Let) -> Expr:
        value = self.value(node.value)
        return Let(node.var, value, self._scoped(node, 1, node.body))


def to_a_normal_form(func: Function) -> Function:
    """A function whose expressions are each bound to a variable."""
    return _apply(_ANormal, func)


def to_basic_blocks(func: Function) -> Function:
    """A function whose branches and inner functions share no expressions but variables."""
    return _apply(_BasicBlocks, func)


def bind_values(expr: Expr) -> Expr:
    """An expression whose parts are each bound to a variable."""
    return to_a_normal_form(expr) if isinstance(expr, Function) else _rebuild(_ANormal, expr)


def _apply(kind: type[_ANormal | _BasicBlocks], func: Function) -> Function:
    body = _rebuild(kind, func.body)
    return Function(func.params, body, func.result_annotation, func.type_params, func.attrs)


def _rebuild(kind: type[_ANormal | _BasicBlocks], expr: Expr) -> Expr:
    binding = kind(expr)
    value = binding.value(expr)
    return binding.scopes.root.wrap(value)


def to_graph(func: Function) -> Function:
    """A function in which bound variables are replaced by their values, except functions."""
    return _Substitution().visit(func)  # pyright: ignore[reportReturnType]


class _Substitution(ExprMutator):
    def visit_let(self, let: Let) -> Expr:
        value = self.visit(let.value)
        if isinstance(value, Function):
            return Let(let.var, value, self.visit(let.body))
        self.memo_map[let.var] = value
        return self.visit(let.body)


def shared_expression(expr: Expr) -> Expr | None:
    """An expression that several scopes share, and that no variable holds, None without one."""
    scopes = _Scopes(expr)
    bound = {each.var for each in scopes.of if isinstance(each, Let)}
    bound |= {param for each in scopes.of if isinstance(each, Function) for param in each.params}
    free = isinstance(expr, Function)
    candidates = [each for each in scopes.lifted if not isinstance(each, Constant | Operator)]
    inner = [each for each in candidates if not isinstance(each, Var) or (each not in bound and not free)]
    return inner[0] if inner else None
