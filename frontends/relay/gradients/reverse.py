"""Reverse accumulation: the gradients of the parameters of a function from those of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ....core.errors import OptionError, UnsupportedError
from ....operators import Operator
from ..expr import Call, Expr, Function, FunctionCall, GlobalVar, If, Let, Tuple, TupleGetItem, Var, call
from ..functor import ExprMutator, NumberMutator, post_order
from ..graph import module_of
from ..types import TupleType, Type
from .rules import RULES, zeros_like

Adjoint: TypeAlias = "Expr | list[Any] | None"
"""The gradient of a value: of a tensor an expression, of a tuple a list, None for zeros."""


def gradient(
    func: Function,
    functions: Mapping[str, Function] | None = None,
    target: int | None = None,
    wanted: Sequence[Var] | None = None,
) -> Function:
    """The function that returns the result of `func`, and a tuple with the gradient of each parameter: that of the sum
    of all elements of the result.

    functions: those that `func` calls by name.  target: the position of the field of a tuple whose elements are summed,
    instead of all.  wanted: the parameters whose gradients are returned, by default all. UnsupportedError for an
    operator without a rule on the way from a parameter of floats; the errors of types of `module_of`.
    """
    inner = _Resolver(functions or {}, {}).visit(func.body)
    plain = Function(func.params, inner)
    module_of({"main": plain})
    body = NumberMutator().visit(inner)
    sources = func.params if wanted is None else wanted
    grads = _Accumulation(sources).run(body, _ones(body, body.checked_type, target))
    results = [_filled(grads.get(param), param, param.checked_type) for param in sources]
    return Function(func.params, Tuple([body, Tuple(results)]))


class _Resolver(ExprMutator):
    """Replaces bindings and calls of functions by their values, and fields of tuples by the fields."""

    def __init__(self, functions: Mapping[str, Function], known: Mapping[Any, Any]):
        super().__init__()
        self.functions = functions
        self.memo_map = dict(known)

    def visit_let(self, let: Let) -> Expr:
        self.memo_map[let.var] = self.visit(let.value)
        return self.visit(let.body)

    def visit_call(self, call: Call) -> Expr:
        if not isinstance(call, FunctionCall):
            return super().visit_call(call)
        callee = self.visit(call.op)
        if isinstance(callee, GlobalVar):
            callee = self._function(callee.name_hint)
        if not isinstance(callee, Function):
            raise UnsupportedError(f"gradient of a call of {callee!r}, expected a function of the graph or the module")
        args = dict(zip(callee.params, map(self.visit, call.args), strict=True))
        return _Resolver(self.functions, {**self.memo_map, **args}).visit(callee.body)

    def _function(self, name: str) -> Function:
        if name not in self.functions:
            raise OptionError(f"function @{name} is called, there is {', '.join(self.functions) or 'none'}")
        return self.functions[name]

    def visit_function(self, fn: Function) -> Expr:
        return fn

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        whole = self.visit(op.tuple_value)
        return whole.fields[op.index] if isinstance(whole, Tuple) else super().visit_tuple_getitem(op)


class _Accumulation:
    """The gradients of parameters. params: the parameters."""

    def __init__(self, params: Sequence[Var]):
        self.params = set(params)
        self.adjoints: dict[Expr, Adjoint] = {}

    def run(self, root: Expr, grad: Adjoint) -> dict[Expr, Adjoint]:
        """The gradients of all expressions below `root`, given its own."""
        order = list(post_order(root, _operands))
        depends = self._dependent(order)
        self._add(root, grad)
        for node in reversed(order):
            adjoint = self.adjoints.get(node)
            if adjoint is not None and node in depends:
                self._push(node, adjoint)
        return self.adjoints

    def _dependent(self, order: Sequence[Expr]) -> set[Expr]:
        """The expressions whose values depend on a parameter."""
        depends: set[Expr] = set()
        for node in order:
            if node in self.params or isinstance(node, If) or any(each in depends for each in node.children):
                depends.add(node)
        return depends

    def _push(self, node: Expr, adjoint: Any) -> None:
        """Adds the gradient of an expression to those of its operands."""
        match node:
            case Tuple():
                for each, part in zip(node.fields, adjoint, strict=True):
                    self._add(each, part)
            case TupleGetItem():
                fields = node.tuple_value.checked_type.fields
                self._add(node.tuple_value, [adjoint if n == node.index else None for n in range(len(fields))])
            case If():
                self._push_branches(node, adjoint)
            case Call():
                self._push_call(node, adjoint)
            case _:
                pass

    def _push_call(self, node: Call, adjoint: Any) -> None:
        assert isinstance(node.op, Operator)
        if not node.args:
            return
        if node.op.name not in RULES:
            raise UnsupportedError(f"operator {node.op.name} has no gradient: register one with register_gradient")
        for operand, grad in zip(node.args, RULES[node.op.name](node, adjoint), strict=True):
            self._add(operand, grad)

    def _push_branches(self, node: If, adjoint: Adjoint) -> None:
        """Adds the gradients of the parameters by the branch that the condition selects."""
        branches = [_Accumulation(list(self.params)) for _ in range(2)]
        bodies = node.true_branch, node.false_branch
        found = [each.run(body, adjoint) for each, body in zip(branches, bodies, strict=True)]
        used = [param for param in self.params if any(param in each for each in found)]
        used.sort(key=lambda param: param.name_hint)
        sides = [Tuple([_filled(each.get(param), param, param.checked_type) for param in used]) for each in found]
        chosen = If(node.cond, *sides)
        for n, param in enumerate(used):
            self._add(param, TupleGetItem(chosen, n))

    def _add(self, node: Expr, grad: Adjoint) -> None:
        self.adjoints[node] = _sum(self.adjoints.get(node), grad)


def _sum(left: Adjoint, right: Adjoint) -> Adjoint:
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, list) and isinstance(right, list):
        return [_sum(a, b) for a, b in zip(left, right, strict=True)]
    return call("add", left, right)


def _operands(node: Expr) -> Sequence[Expr]:
    """The operands of an expression; branches are part of their `If`."""
    return [] if isinstance(node, If) else node.children


def _ones(value: Expr, type: Type, target: int | None) -> Adjoint:
    """The gradient of the sum of all elements of a value, or of the field of a tuple at a position; the first field of
    a tuple in this field."""
    if isinstance(type, TupleType):
        inner = None if target is None else 0
        summed = range(len(type.fields)) if target is None else [target]
        return [_ones(_field(value, n), each, inner) if n in summed else None for n, each in enumerate(type.fields)]
    return call("ones_like", value)


def _filled(grad: Adjoint, value: Expr, type: Type) -> Expr:
    """A gradient with zeros where there is none."""
    if isinstance(type, TupleType):
        parts = grad if isinstance(grad, list) else [None] * len(type.fields)
        return Tuple([_filled(part, _field(value, n), each) for n, (part, each) in enumerate(zip(parts, type.fields))])
    return zeros_like(value) if grad is None else grad  # pyright: ignore[reportReturnType]


def _field(value: Expr, index: int) -> Expr:
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)
