"""Visitors and transformers of expressions. Each node is visited once, and the result is reused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype
from ...core.errors import OptionError
from ...operators import Operator
from .adt import (
    Clause,
    Constructor,
    DynamicCall,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    expressions_in,
)
from .expr import (
    Call,
    Constant,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    Number,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    as_expr,
)
from .types import TensorType


class ExprFunctor:
    """Calls a method for the class of a node: `visit_call`, `visit_var`, ... `visit` of a node that has been visited
    returns the earlier result.
    """

    def __init__(self) -> None:
        self.memo_map: dict[Any, Any] = {}

    def visit(self, expr: Any) -> Any:
        """The result of the method of the class of `expr`, an expression or an operator. OptionError for others."""
        if isinstance(expr, TupleWrapper):
            return self.visit(expr.tuple_value)
        if expr not in self.memo_map:
            self.memo_map[expr] = self._method(expr)(expr)
        return self.memo_map[expr]

    def _method(self, expr: Any) -> Callable[[Any], Any]:
        for kind, name in _METHODS:
            if isinstance(expr, kind):
                return getattr(self, name)
        raise OptionError(f"visit: {expr!r}, expected an expression")

    def visit_function(self, fn: Function) -> Any:
        """A function."""
        raise NotImplementedError

    def visit_let(self, let: Let) -> Any:
        """A binding."""
        raise NotImplementedError

    def visit_call(self, call: Call) -> Any:
        """A call of an operator or of a function."""
        raise NotImplementedError

    def visit_var(self, var: Var) -> Any:
        """A variable."""
        raise NotImplementedError

    def visit_if(self, if_: If) -> Any:
        """A conditional expression."""
        raise NotImplementedError

    def visit_tuple(self, tup: Tuple) -> Any:
        """A tuple."""
        raise NotImplementedError

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        """A field of a tuple."""
        raise NotImplementedError

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        """A reference to a function."""
        raise NotImplementedError

    def visit_op(self, op: Operator) -> Any:
        """The operator of a call."""
        raise NotImplementedError

    def visit_constant(self, const: Constant) -> Any:
        """A constant, or a number beside a tensor."""
        raise NotImplementedError

    def visit_constructor(self, constructor: Constructor) -> Any:
        """A constructor of a data type of users."""
        raise NotImplementedError

    def visit_match(self, match: Match) -> Any:
        """A choice by patterns."""
        raise NotImplementedError

    def visit_ref_create(self, ref: RefCreate) -> Any:
        """A new reference."""
        raise NotImplementedError

    def visit_ref_read(self, ref: RefRead) -> Any:
        """The value of a reference."""
        raise NotImplementedError

    def visit_ref_write(self, ref: RefWrite) -> Any:
        """A replacement of the value of a reference."""
        raise NotImplementedError

    def visit_dynamic_call(self, call: DynamicCall) -> Any:
        """A call of an operator with attributes that are known at run time."""
        raise NotImplementedError


_METHODS: tuple[tuple[type, str], ...] = (
    (Function, "visit_function"),
    (Call, "visit_call"),
    (Let, "visit_let"),
    (Var, "visit_var"),
    (GlobalVar, "visit_global_var"),
    (If, "visit_if"),
    (Tuple, "visit_tuple"),
    (TupleGetItem, "visit_tuple_getitem"),
    (Constant, "visit_constant"),
    (Number, "visit_constant"),
    (Operator, "visit_op"),
    (Constructor, "visit_constructor"),
    (Match, "visit_match"),
    (RefCreate, "visit_ref_create"),
    (RefRead, "visit_ref_read"),
    (RefWrite, "visit_ref_write"),
    (DynamicCall, "visit_dynamic_call"),
)


class ExprVisitor(ExprFunctor):
    """Visits every node below an expression; subclasses override the methods of the nodes of interest."""

    def visit_function(self, fn: Function) -> Any:
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_let(self, let: Let) -> Any:
        for each in (let.var, let.value, let.body):
            self.visit(each)

    def visit_call(self, call: Call) -> Any:
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_if(self, if_: If) -> Any:
        for each in (if_.cond, if_.true_branch, if_.false_branch):
            self.visit(each)

    def visit_tuple(self, tup: Tuple) -> Any:
        for field in tup.fields:
            self.visit(field)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        self.visit(op.tuple_value)

    def visit_var(self, var: Var) -> Any:
        """Does nothing."""

    def visit_global_var(self, gvar: GlobalVar) -> Any:
        """Does nothing."""

    def visit_op(self, op: Operator) -> Any:
        """Does nothing."""

    def visit_constant(self, const: Constant) -> Any:
        """Does nothing."""

    def visit_constructor(self, constructor: Constructor) -> Any:
        """Does nothing."""

    def visit_match(self, match: Match) -> Any:
        self.visit(match.data)
        for clause in match.clauses:
            for variable in clause.lhs.variables:
                self.visit(variable)
            self.visit(clause.rhs)

    def visit_ref_create(self, ref: RefCreate) -> Any:
        self.visit(ref.value)

    def visit_ref_read(self, ref: RefRead) -> Any:
        self.visit(ref.ref)

    def visit_ref_write(self, ref: RefWrite) -> Any:
        self.visit(ref.ref)
        self.visit(ref.value)

    def visit_dynamic_call(self, call: DynamicCall) -> Any:
        for child in call.children:
            self.visit(child)


class ExprMutator(ExprFunctor):
    """Rebuilds an expression bottom-up; subclasses return other nodes from the methods of the nodes of interest. A node
    whose subexpressions stay is itself.
    """

    def visit_function(self, fn: Function) -> Expr:
        params, body = [self.visit(param) for param in fn.params], self.visit(fn.body)
        is_same = params == list(fn.params) and body is fn.body
        return fn if is_same else Function(params, body, fn.result_annotation, fn.type_params, fn.attrs)

    def visit_let(self, let: Let) -> Expr:
        variable, value, body = self.visit(let.var), self.visit(let.value), self.visit(let.body)
        is_same = variable is let.var and value is let.value and body is let.body
        return let if is_same else Let(variable, value, body)

    def visit_call(self, call: Call) -> Expr:
        op, args = self.visit(call.op), [self.visit(arg) for arg in call.args]
        if op is call.op and args == list(call.args):
            return call
        new = Call(op, args, call.attrs)
        new.location = call.location
        return new

    def visit_if(self, if_: If) -> Expr:
        cond, then, orelse = self.visit(if_.cond), self.visit(if_.true_branch), self.visit(if_.false_branch)
        is_same = cond is if_.cond and then is if_.true_branch and orelse is if_.false_branch
        return if_ if is_same else If(cond, then, orelse)

    def visit_tuple(self, tup: Tuple) -> Expr:
        fields = [self.visit(field) for field in tup.fields]
        return tup if fields == list(tup.fields) else Tuple(fields)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        whole = self.visit(op.tuple_value)
        return op if whole is op.tuple_value else TupleGetItem(whole, op.index)

    def visit_var(self, var: Var) -> Expr:
        return var

    def visit_global_var(self, gvar: GlobalVar) -> Expr:
        return gvar

    def visit_op(self, op: Operator) -> Any:
        return op

    def visit_constant(self, const: Constant) -> Expr:
        return const

    def visit_constructor(self, constructor: Constructor) -> Expr:
        return constructor

    def visit_match(self, match: Match) -> Expr:
        data = self.visit(match.data)
        clauses = [self._clause(clause) for clause in match.clauses]
        is_same = data is match.data and clauses == list(match.clauses)
        return match if is_same else Match(data, clauses, match.complete)

    def _clause(self, clause: Clause) -> Clause:
        lhs, rhs = self._pattern(clause.lhs), self.visit(clause.rhs)
        return clause if lhs is clause.lhs and rhs is clause.rhs else Clause(lhs, rhs)

    def _pattern(self, pattern: Pattern) -> Pattern:
        if isinstance(pattern, PatternVar):
            variable = self.visit(pattern.var)
            return pattern if variable is pattern.var else PatternVar(variable)
        parts = [self._pattern(part) for part in pattern.parts]
        if parts == list(pattern.parts):
            return pattern
        if isinstance(pattern, PatternConstructor):
            return PatternConstructor(pattern.constructor, parts)
        return PatternTuple(parts)

    def visit_ref_create(self, ref: RefCreate) -> Expr:
        value = self.visit(ref.value)
        return ref if value is ref.value else RefCreate(value)

    def visit_ref_read(self, ref: RefRead) -> Expr:
        reference = self.visit(ref.ref)
        return ref if reference is ref.ref else RefRead(reference)

    def visit_ref_write(self, ref: RefWrite) -> Expr:
        reference, value = self.visit(ref.ref), self.visit(ref.value)
        return ref if reference is ref.ref and value is ref.value else RefWrite(reference, value)

    def visit_dynamic_call(self, call: DynamicCall) -> Expr:
        arguments = {name: self._argument(value) for name, value in call.arguments.items()}
        if all(arguments[name] is value for name, value in call.arguments.items()):
            return call
        return DynamicCall(call.op_name, call.function, arguments, call.attributes)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Expr):
            return self.visit(value)
        return [self._argument(each) for each in value] if expressions_in(value) else value


class TypedMutator(ExprMutator):
    """Rebuilds an expression bottom-up; new nodes have the types of those that they replace."""

    def visit(self, expr: Any) -> Any:
        new = super().visit(expr)
        if isinstance(new, Expr) and isinstance(expr, Expr) and new is not expr:
            new.known_type = expr.known_type
        return new


class NumberMutator(TypedMutator):
    """Replaces numbers beside tensors of known types by constants."""

    def visit_constant(self, const: Constant) -> Expr:
        if not isinstance(const, Number) or not isinstance(const.known_type, TensorType):
            return const
        return Constant(np.asarray(const.value, numpy_dtype(const.known_type.dtype)))


class TypeAnnotator(TypedMutator):
    """Writes the types of nodes to the annotations that the user left out, of variables and results of functions."""

    def visit_var(self, var: Var) -> Expr:
        if var.type_annotation is not None or var.known_type is None:
            return var
        return Var(var.name_hint, var.known_type, var.virtual_device)

    def visit_function(self, fn: Function) -> Expr:
        new = super().visit_function(fn)
        if not isinstance(new, Function) or fn.body.known_type is None:
            return new
        return Function(new.params, new.body, fn.body.checked_type, new.type_params, new.attrs)


class _Binding(TypedMutator):
    def __init__(self, values: Mapping[Var, Expr]):
        super().__init__()
        self.memo_map |= values


def bind(expr: Expr, binds: Mapping[Var, Any]) -> Any:
    """An expression in which variables are replaced by values; a function has no such parameters then."""
    values = {variable: as_expr(value) for variable, value in binds.items()}
    binding = _Binding(values)
    if not isinstance(expr, Function):
        return binding.visit(expr)
    params = [each for each in expr.params if each not in values]
    return Function(params, binding.visit(expr.body), expr.result_annotation, expr.type_params, expr.attrs)


def post_order_visit(expr: Expr, fvisit: Callable[[Any], None]) -> None:
    """Calls `fvisit` for every node below an expression once, operands before their users."""
    for node in post_order(expr):
        fvisit(node)


def post_order(expr: Expr, below: Callable[[Any], Sequence[Any]] | None = None) -> Iterator[Any]:
    """Yields every node below an expression once, operands before their users. below: the function to the nodes that a
    node consists of, in the order of computation; by default all, operators and variables too."""
    below = below or _below
    seen: set[Any] = set()
    todo: list[tuple[Any, bool]] = [(expr, False)]
    while todo:
        node, is_done = todo.pop()
        if is_done:
            yield node
        elif node not in seen:
            seen.add(node)
            todo.append((node, True))
            todo += [(child, False) for child in reversed(below(node))]


def _below(node: Any) -> list[Any]:
    """The nodes that a node consists of, in the order of computation."""
    match node:
        case FunctionCall():
            return [*node.children]
        case Call():
            return [node.op, *node.args]
        case Function():
            return [*node.params, node.body]
        case Let():
            return [node.var, *node.children]
        case Expr():
            return [*node.children]
        case _:
            return []


__all__ = ["ExprFunctor", "ExprMutator", "ExprVisitor", "bind", "post_order_visit"]
