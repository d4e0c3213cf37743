"""Expressions on data types of users and on references. Programs have them; graphs, which have operations, do not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .expr import Callee, Expr, Var, as_expr
from .types import FuncType, GlobalTypeVar, TypeCall


class Constructor(Callee):
    """A function that makes a value of a data type of users. inputs: the types of the fields.  belong_to: the type.

    tag: the number of the constructor, which a `TypeData` gives to its constructors; -1 before. type_vars: the
    variables of the data type.
    """

    def __init__(self, name_hint: str, inputs: Sequence[Any], belong_to: GlobalTypeVar):
        self.name_hint = name_hint
        self.inputs = tuple(inputs)
        self.belong_to = belong_to
        self.tag = -1
        self.type_vars: tuple[Any, ...] = ()

    @property
    def checked_type(self) -> FuncType:
        """The type of the function."""
        return FuncType(self.inputs, TypeCall(self.belong_to, self.type_vars), self.type_vars)

    def __repr__(self) -> str:
        return self.name_hint


class Pattern:
    """A pattern of values. parts: the patterns of the fields."""

    parts: tuple[Pattern, ...] = ()

    @property
    def variables(self) -> Iterator[Var]:
        """The variables that the pattern binds, in order."""
        for part in self.parts:
            yield from part.variables


class PatternWildcard(Pattern):
    """The pattern of all values."""


class PatternVar(Pattern):
    """The pattern of all values, which binds a variable."""

    def __init__(self, var: Var):
        self.var = var

    @property
    def variables(self) -> Iterator[Var]:
        """The variable."""
        yield self.var


class PatternConstructor(Pattern):
    """The pattern of the values of a constructor. patterns: those of the fields, None for a constructor without."""

    def __init__(self, constructor: Constructor, patterns: Sequence[Pattern] | None = None):
        self.constructor = constructor
        self.parts = tuple(patterns or ())

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return self.parts


class PatternTuple(Pattern):
    """The pattern of tuples."""

    def __init__(self, patterns: Sequence[Pattern] | None = None):
        self.parts = tuple(patterns or ())

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return self.parts


class Clause:
    """A result for the values of a pattern."""

    def __init__(self, lhs: Pattern, rhs: Any):
        self.lhs = lhs
        self.rhs = as_expr(rhs)


class Match(Callee):
    """The result of the first clause whose pattern a value has. complete: whether each value has a pattern."""

    def __init__(self, data: Any, clauses: Sequence[Clause], complete: bool = True):
        self.data = as_expr(data)
        self.clauses = tuple(clauses)
        self.complete = complete

    @property
    def children(self) -> Sequence[Expr]:
        return (self.data, *(clause.rhs for clause in self.clauses))

    def __repr__(self) -> str:
        return f"match ({type(self.data).__name__}(...))"


class DynamicCall(Expr):
    """A call of an operator whose attributes are results of expressions: sizes and numbers that are known at run time.

    op_name: the operator.  function: the function that builds the call for values of the attributes.  arguments: its
    arguments by name, with expressions in place of values.  attributes: the names of the arguments that are attributes.
    """

    def __init__(self, op_name: str, function: Any, arguments: Mapping[str, Any], attributes: Collection[str]):
        self.op_name = op_name
        self.function = function
        self.arguments = dict(arguments)
        self.attributes = frozenset(attributes)

    @property
    def children(self) -> Sequence[Expr]:
        return [each for value in self.arguments.values() for each in expressions_in(value)]

    def __repr__(self) -> str:
        return f"{self.op_name}(...)"


def expressions_in(value: Any) -> list[Expr]:
    """The expressions of an argument: itself, or those of a list."""
    if isinstance(value, Expr):
        return [value]
    if isinstance(value, list | tuple):
        return [each for part in value for each in expressions_in(part)]  # pyright: ignore[reportUnknownVariableType]
    return []


__all__ = [
    "Clause",
    "Constructor",
    "Match",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
]
