"""Bindings of variables that no expression uses removed: `relay.transform.DeadCodeElimination`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...relay.adt import Constructor, DynamicCall, Match
from ...relay.expr import (
    Call,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from ...relay.functor import ExprMutator, ExprVisitor
from ...relay.types import FuncType

DEPTH = 25
"""The depth of nested calls from which a call is taken to have effects."""


class Purity(NamedTuple):
    """Whether an expression reads and writes no reference when it is evaluated, and when its value is called."""

    evaluation: bool
    call: bool


PURE = Purity(True, True)


class _Purities:
    """The purity of expressions with known types. Functions that are fields of tuples, values of references or of data
    types, or parameters are taken to have effects."""

    def __init__(self, functions: Mapping[str, Function]):
        self.functions = functions
        self.known: dict[Any, Purity] = {}
        self.named: dict[str, Purity] = {}
        self.depth = 0
        for name in functions:
            self.of_name(name)

    def of_name(self, name: str) -> Purity:
        """The purity of a function of the module; inside of itself it is pure."""
        if name not in self.functions:
            return Purity(True, False)
        if name not in self.named:
            self.named[name] = PURE
            self.named[name] = self.of(self.functions[name])
        return self.named[name]

    def of(self, expr: Any) -> Purity:
        """The purity of an expression."""
        if expr not in self.known:
            self.known[expr] = self._find(expr)
        return self.known[expr]

    def _find(self, expr: Any) -> Purity:
        match expr:
            case GlobalVar():
                return self.of_name(expr.name_hint)
            case Function():
                self.known |= {each: Purity(True, _is_data(each)) for each in expr.params}
                return Purity(True, all(self.of(expr.body)))
            case Let():
                return self._of_let(expr)
            case Call():
                return self._of_call(expr)
            case If():
                parts = [self.of(each) for each in (expr.cond, expr.true_branch, expr.false_branch)]
                return Purity(all(each.evaluation for each in parts), parts[1].call and parts[2].call)
            case Tuple() | DynamicCall():
                return Purity(all([self.of(each).evaluation for each in expr.children]), True)
            case TupleGetItem():
                return Purity(self.of(expr.tuple_value).evaluation, _is_data(expr))
            case RefCreate():
                return Purity(self.of(expr.value).evaluation, True)
            case RefRead() | RefWrite():
                for each in expr.children:
                    self.of(each)
                return Purity(False, _is_data(expr))
            case Match():
                return self._of_match(expr)
            case _:
                return PURE

    def _of_let(self, expr: Expr) -> Purity:
        is_pure = True
        while isinstance(expr, Let):
            self.known[expr.var] = PURE
            value = self.known[expr.var] = self.of(expr.value)
            is_pure = is_pure and value.evaluation
            expr = expr.body
        body = self.of(expr)
        return Purity(is_pure and body.evaluation, body.call)

    def _of_call(self, expr: Call) -> Purity:
        if self.depth >= DEPTH:
            return Purity(False, _is_data(expr))
        self.depth += 1
        callee = self.of(expr.op) if isinstance(expr, FunctionCall) else PURE
        if isinstance(expr.op, Var):
            callee = Purity(True, callee.call)
        is_pure = all([self.of(each).evaluation for each in expr.args])
        self.depth -= 1
        return Purity(is_pure and all(callee), _is_data(expr) or callee.call)

    def _of_match(self, expr: Match) -> Purity:
        data = self.of(expr.data)
        results: list[Purity] = []
        for clause in expr.clauses:
            self.known |= {each: Purity(True, _is_data(each)) for each in clause.lhs.variables}
            results.append(self.of(clause.rhs))
        return Purity(data.evaluation and all(each.evaluation for each in results), all(each.call for each in results))


def _is_data(expr: Expr) -> bool:
    """Whether a value is no function."""
    return not isinstance(expr.known_type, FuncType) and not isinstance(expr, Constructor)


class _Uses(ExprVisitor):
    """The values of bound variables and the number of their uses; a use in an inner function counts twice. Values
    without effects are visited once a use of their variable is found. pure: the variables whose values have none."""

    def __init__(self, purities: _Purities | None):
        super().__init__()
        self.purities = purities
        self.values: dict[Var, Expr] = {}
        self.counts: dict[Var, int] = {}
        self.levels: dict[Var, int] = {}
        self.level = 0
        self.visits: dict[Any, int] = {}

    def is_pure(self, variable: Var) -> bool:
        """Whether the value of a bound variable has no effect."""
        return self.purities is None or self.purities.of(self.values[variable]).evaluation

    def visit(self, expr: Any) -> None:
        count = self.visits[expr] = self.visits.get(expr, 0) + 1
        if count <= 2:  # a variable with two uses stays
            self._method(expr)(expr)

    def visit_function(self, fn: Function) -> None:
        self.level += 1
        super().visit_function(fn)
        self.level -= 1

    def visit_let(self, let: Let) -> None:
        expr: Expr = let
        while isinstance(expr, Let):
            self.values[expr.var], self.levels[expr.var] = expr.value, self.level
            self.counts[expr.var] = 0
            if not self.is_pure(expr.var):
                self.visit(expr.value)
            expr = expr.body
        self.visit(expr)

    def visit_var(self, var: Var) -> None:
        if var not in self.values:
            return
        self.counts[var] += 1
        if self.counts[var] == 1 and self.is_pure(var):
            self.visit(self.values[var])
        if self.levels[var] < self.level:
            self.counts[var] += 1


class _Elimination(ExprMutator):
    def __init__(self, uses: _Uses, inlines: bool):
        super().__init__()
        self.uses = uses
        self.inlines = inlines

    def _is_removed(self, variable: Var) -> bool:
        """Whether the binding of a variable is removed: no expression uses it, or one that has the value instead."""
        count = self.uses.counts.get(variable, 2)
        return count < (2 if self.inlines else 1) and self.uses.is_pure(variable)

    def visit_var(self, var: Var) -> Expr:
        return self.visit(self.uses.values[var]) if var in self.uses.values and self._is_removed(var) else var

    def visit_let(self, let: Let) -> Expr:
        lets: list[tuple[Var, Expr]] = []
        expr: Expr = let
        while isinstance(expr, Let):
            if not self._is_removed(expr.var):
                lets.append((expr.var, self.visit(expr.value)))
            expr = expr.body
        result = self.visit(expr)
        for variable, value in reversed(lets):
            result = Let(variable, value, result)
        return result


def eliminate_dead_code(
    functions: Mapping[str, Function], inline_once: bool, ignore_impurity: bool
) -> dict[str, Function]:
    """Functions without bindings that no expression uses and that have no effect on references. Types are known.

    inline_once: whether a value that is used once takes the place of its variable, unless inside of a function.
    ignore_impurity: whether effects on references are lost.
    """
    purities = None if ignore_impurity else _Purities(functions)
    result: dict[str, Function] = {}
    for name, func in functions.items():
        uses = _Uses(purities)
        uses.visit(func)
        result[name] = _Elimination(uses, inline_once).visit(func)
    return result
