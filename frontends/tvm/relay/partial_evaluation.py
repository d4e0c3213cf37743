"""Programs evaluated as far as their constants determine them: `relay.transform.PartialEvaluate`.

Each value has an atom of the new program, and a static part if it is known: a tensor, a tuple, a reference, a value of
a data type, or a function. Calls of known functions are evaluated in place of the call, matches of known values are the
clause that matches, and reads of known references are the value that was last written. Branches that are taken or not,
and functions that are not known, may write all references.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from ....core.errors import OptionError
from ...relay.adt import (
    Clause,
    Constructor,
    DynamicCall,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from ...relay.expr import (
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
)
from ...relay.functor import ExprMutator
from ...relay.inference import incomplete_parts
from ...relay.types import IncompleteType, substitute
from ..containers import ADT
from .interpreter import Interpreter
from .normal_forms import to_a_normal_form

_times = count()


@dataclass(eq=False)
class _Reference:
    """A reference that the evaluation knows."""


@dataclass(frozen=True, eq=False)
class _Data:
    """A value of a data type of users."""

    constructor: Constructor
    fields: Sequence[Partial]


Apply: TypeAlias = "Callable[[Partial, Sequence[Partial]], Partial]"
"""A known function: from its value and its arguments to its result."""
Static: TypeAlias = "np.ndarray[Any, Any] | tuple[Partial, ...] | _Reference | _Data | Apply | None"


@dataclass(eq=False)
class Partial:
    """A value. dynamic: an atom of the new program.  static: the known value, None without.  time: the number of values
    before."""

    dynamic: Any
    static: Static = None
    time: int = field(default_factory=lambda: next(_times))

    @property
    def weight(self) -> tuple[int, int]:
        """A measure that the arguments of recursive calls decrease: the time, and the value of an integer."""
        static = self.static
        is_integer = isinstance(static, np.ndarray) and not static.shape and static.dtype.name in ("int32", "int64")
        return self.time, max(0, int(static)) if is_integer else 0  # pyright: ignore[reportArgumentType]


@dataclass(eq=False)
class _Scope:
    """The values of variables, and the types of type variables, in a function."""

    values: ChainMap[Var, Partial]
    types: Mapping[Any, Any]

    def child(self) -> _Scope:
        """A scope inside of this one."""
        return _Scope(self.values.new_child(), self.types)

    def type(self, type: Any) -> Any:
        """A type without the type variables of functions that are evaluated in place of calls, None if it has any."""
        known = None if type is None else substitute(type, self.types)
        return None if known is None or incomplete_parts(known) else known


class _Evaluator:
    def __init__(self, functions: Mapping[str, Function]):
        self.functions = functions
        self.names: dict[str, Partial] = {}
        self.lets: list[tuple[Var, Expr]] = []
        self.store: dict[_Reference, Partial] = {}
        self.weights: dict[Function, tuple[tuple[int, int], ...]] = {}
        self.interpreter = Interpreter({})

    def evaluate(self, name: str) -> Function:
        """The function of the module called `name`, evaluated for unknown arguments."""
        known = self.named(name)
        return self.unknown_call(self.functions[name], known, _Scope(ChainMap(), {}))

    def named(self, name: str) -> Partial:
        """The value of a function of the module."""
        if name not in self.names:
            func = self.functions[name]
            self.names[name] = Partial(GlobalVar(name), self.function(func, _Scope(ChainMap(), {}), None))
        return self.names[name]

    # The new program

    def push(self, expr: Expr, static: Static = None) -> Partial:
        """The value of an expression of the new program, which is bound to a variable."""
        variable = Var("x")
        self.lets.append((variable, expr))
        return Partial(variable, static)

    def scoped(self, evaluate: Callable[[], Partial]) -> Any:
        """An expression of the new program with bindings of its own. What it writes is unknown afterwards."""
        lets, self.lets = self.lets, []
        store, self.store = self.store, dict(self.store)
        result = evaluate().dynamic
        for variable, value in reversed(self.lets):
            result = Let(variable, value, result)
        self.lets, self.store = lets, store
        return result

    def forget(self) -> None:
        """Makes the values of all references unknown."""
        self.store = {}

    # Functions

    def function(self, func: Function, scope: _Scope, own: Var | None) -> Apply:
        """A known function, which evaluates its body if the arguments of recursive calls decrease. own: the variable to
        which the function is bound."""

        def apply(self_: Partial, args: Sequence[Partial], is_inlined: bool = True) -> Partial:
            if func.attrs.get("Primitive"):
                return self.push(FunctionCall(self_.dynamic, [each.dynamic for each in args]))
            before, weights = self.weights.get(func), tuple(each.weight for each in args)
            if before is not None:
                least = tuple((min(a, c), min(b, d)) for (a, b), (c, d) in zip(before, weights, strict=True))
                if least == before:
                    self.forget()
                    return self.push(FunctionCall(self_.dynamic, [each.dynamic for each in args]))
                weights = least
            inner = scope.child()
            if is_inlined:
                inner.types = {**scope.types, **{each: IncompleteType() for each in func.type_params}}
            inner.values.update(zip(func.params, args, strict=True))
            if own is not None:
                inner.values[own] = self_
            self.weights[func] = weights
            result = self.visit(func.body, inner)
            if before is None:
                del self.weights[func]
            else:
                self.weights[func] = before
            return result

        return apply

    def unknown_call(self, func: Function, known: Partial, scope: _Scope) -> Function:
        """A function of the new program: a known one for unknown arguments."""
        if func.attrs.get("Primitive"):
            return func
        params = [Var(each.name_hint, scope.type(each.type_annotation)) for each in func.params]

        def evaluate() -> Partial:
            self.forget()
            return known.static(known, [Partial(each) for each in params], is_inlined=False)  # pyright: ignore[reportCallIssue, reportOptionalCall, reportUnknownVariableType]

        body = self.scoped(evaluate)
        return Function(params, body, scope.type(func.result_annotation), func.type_params, func.attrs)

    def bind_function(self, func: Function, scope: _Scope, own: Var | None) -> Partial:
        """The value of a function inside of a function."""
        variable = Var(own.name_hint if own is not None else "f")
        known = Partial(variable, self.function(func, scope, own))
        self.lets.append((variable, self.unknown_call(func, known, scope)))
        return known

    # Expressions

    def visit(self, expr: Any, scope: _Scope) -> Partial:
        """The value of an expression."""
        scope = scope.child()
        while isinstance(expr, Let):
            value = expr.value
            is_function = isinstance(value, Function)
            scope.values[expr.var] = (
                self.bind_function(value, scope, expr.var) if is_function else self.visit(value, scope)
            )
            expr = expr.body
        match expr:
            case Var():
                return scope.values.get(expr) or Partial(expr)
            case Constant():
                return self.push(expr, np.asarray(expr.array))
            case Number():
                return Partial(expr)
            case GlobalVar():
                return self.named(expr.name_hint) if expr.name_hint in self.functions else Partial(expr)
            case Constructor():
                return Partial(expr, lambda _, args: self.construct(expr, args))
            case Function():
                return self.bind_function(expr, scope, None)
            case FunctionCall():
                return self.call(expr, scope)
            case Call():
                args = [self.visit(each, scope) for each in expr.args]
                return self.operator(expr.with_args([each.dynamic for each in args]), args, expr)
            case DynamicCall():
                return self.dynamic_call(expr, scope)
            case Tuple():
                fields = tuple(self.visit(each, scope) for each in expr.fields)
                return self.push(Tuple([each.dynamic for each in fields]), fields)
            case TupleWrapper():
                return self.visit(expr.tuple_value, scope)
            case TupleGetItem():
                whole = self.visit(expr.tuple_value, scope)
                is_known = isinstance(whole.static, tuple)
                return whole.static[expr.index] if is_known else self.push(TupleGetItem(whole.dynamic, expr.index))  # pyright: ignore[reportIndexIssue, reportOptionalSubscript]
            case If():
                return self.branch(expr, scope)
            case Match():
                return self.match(expr, scope)
            case RefCreate() | RefRead() | RefWrite():
                return self.reference(expr, scope)
            case _:
                raise OptionError(f"PartialEvaluate: {expr!r}, expected an expression")

    def call(self, expr: FunctionCall, scope: _Scope) -> Partial:
        """The value of a call of a function."""
        callee = self.visit(expr.op, scope)
        args = [self.visit(each, scope) for each in expr.args]
        if callable(callee.static):
            return callee.static(callee, args)
        self.forget()
        return self.push(FunctionCall(callee.dynamic, [each.dynamic for each in args], expr.attrs))

    def construct(self, constructor: Constructor, args: Sequence[Partial]) -> Partial:
        """A value of a data type."""
        return self.push(FunctionCall(constructor, [each.dynamic for each in args]), _Data(constructor, args))

    def operator(self, call: Expr, args: Sequence[Partial], original: Call) -> Partial:
        """The value of a call of an operator: a constant if its operands are."""
        known = [each.dynamic if isinstance(each.dynamic, Number) else _constant(each) for each in args]
        if any(each is None for each in known) or not any(isinstance(each, Constant | Tuple) for each in known):
            return self.push(call)
        return self.constant(self.interpreter.evaluate(original.with_args(known)))

    def dynamic_call(self, expr: DynamicCall, scope: _Scope) -> Partial:
        """The value of a call of an operator with attributes that expressions compute."""
        values = {each: self.visit(each, scope) for each in expr.children}
        known = {each: _constant(value) for each, value in values.items()}
        if all(each is not None for each in known.values()):
            return self.constant(self.interpreter.evaluate(_Replacing(known).visit(expr)))
        return self.push(_Replacing({each: value.dynamic for each, value in values.items()}).visit(expr))

    def constant(self, value: Any) -> Partial:
        """The value of a tensor, or of a tuple of tensors."""
        if isinstance(value, ADT):
            fields = tuple(self.constant(each) for each in value)
            return self.push(Tuple([each.dynamic for each in fields]), fields)
        array = value.numpy()
        return self.push(Constant(array), array)

    def branch(self, expr: If, scope: _Scope) -> Partial:
        """The value of the branch that is taken, or of both."""
        condition = self.visit(expr.cond, scope)
        if isinstance(condition.static, np.ndarray):
            return self.visit(expr.true_branch if condition.static.item() else expr.false_branch, scope)
        branches = [
            self.scoped(lambda each=each: self.visit(each, scope)) for each in (expr.true_branch, expr.false_branch)
        ]
        self.forget()
        return self.push(If(condition.dynamic, *branches))

    def reference(self, expr: RefCreate | RefRead | RefWrite, scope: _Scope) -> Partial:
        """The value of an operation on a reference."""
        if isinstance(expr, RefCreate):
            value, new = self.visit(expr.value, scope), _Reference()
            self.store[new] = value
            return self.push(RefCreate(value.dynamic), new)
        place = self.visit(expr.ref, scope)
        if isinstance(expr, RefRead):
            known = self.store.get(place.static) if isinstance(place.static, _Reference) else None
            return known or self.push(RefRead(place.dynamic))
        value = self.visit(expr.value, scope)
        if isinstance(place.static, _Reference):
            self.store[place.static] = value
        else:
            self.forget()
        return self.push(RefWrite(place.dynamic, value.dynamic), ())

    def match(self, expr: Match, scope: _Scope) -> Partial:
        """The value of the clause that matches, or of all."""
        data = self.visit(expr.data, scope)
        for clause in expr.clauses:
            bound: dict[Var, Partial] = {}
            matches = _matches(clause.lhs, data, bound)
            if matches is None:
                clauses = [self.clause(each, scope) for each in expr.clauses]
                self.forget()
                return self.push(Match(data.dynamic, clauses, expr.complete))
            if matches:
                inner = scope.child()
                inner.values.update(bound)
                return self.visit(clause.rhs, inner)
        raise OptionError(f"PartialEvaluate: {expr!r}: no clause for {data.dynamic!r}")

    def clause(self, clause: Clause, scope: _Scope) -> Clause:
        """A clause with new variables."""
        inner = scope.child()
        new = {each: Var(each.name_hint, scope.type(each.type_annotation)) for each in clause.lhs.variables}
        inner.values.update({each: Partial(variable) for each, variable in new.items()})
        return Clause(_renamed(clause.lhs, new), self.scoped(lambda: self.visit(clause.rhs, inner)))


class _Replacing(ExprMutator):
    """Replaces expressions by others."""

    def __init__(self, values: Mapping[Expr, Any]):
        super().__init__()
        self.memo_map |= values


def _constant(value: Partial) -> Expr | None:
    """The constant that a value is, None for another value."""
    if isinstance(value.static, np.ndarray):
        return Constant(value.static)
    if not isinstance(value.static, tuple):
        return None
    fields = [_constant(each) for each in value.static]
    return None if None in fields else Tuple(fields)  # pyright: ignore[reportArgumentType]


def _matches(pattern: Pattern, value: Partial, bound: dict[Var, Partial]) -> bool | None:
    """Whether a value has a pattern, whose variables are bound; None if that is not known."""
    static = value.static
    match pattern:
        case PatternVar():
            bound[pattern.var] = value
            return True
        case PatternConstructor():
            if not isinstance(static, _Data):
                return None
            if static.constructor.tag != pattern.constructor.tag:
                return False
            fields = static.fields
        case PatternTuple():
            if not isinstance(static, tuple):
                return None
            fields = static
        case _:
            return True
    parts = [_matches(part, each, bound) for part, each in zip(pattern.parts, fields, strict=True)]
    return False if False in parts else None if None in parts else True


def _renamed(pattern: Pattern, names: Mapping[Var, Var]) -> Pattern:
    """A pattern with other variables."""
    match pattern:
        case PatternVar():
            return PatternVar(names[pattern.var])
        case PatternConstructor():
            return PatternConstructor(pattern.constructor, [_renamed(each, names) for each in pattern.parts])
        case PatternTuple():
            return PatternTuple([_renamed(each, names) for each in pattern.parts])
        case _:
            return pattern


def evaluate_partially(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Functions whose expressions are evaluated as far as constants determine them. Expressions that have several users
    are bound first, so that they are evaluated once."""
    named = {name: to_a_normal_form(func) for name, func in functions.items()}
    evaluator = _Evaluator(named)
    return {name: evaluator.evaluate(name) for name in named}
