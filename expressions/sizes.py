"""Symbolic sizes as polynomials, a normal form that identifies equal sizes written in different ways.

A size is a sum of products of atoms: variables, and quotients, remainders, minima and maxima of other sizes. All sizes
are non-negative integers that do not overflow. The text of a size is a Python expression of names.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..core import intervals
from ..core.dtypes import int_fits
from ..core.errors import SizeError
from ..core.intervals import Interval
from ..core.sizes import check_size
from .errors import TeError
from .expr import (
    INT32,
    Add,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    PrimExpr,
    SizeVar,
    Sub,
    Var,
    as_extent,
    binary_expr,
)

Sum: TypeAlias = "frozenset[tuple[Product, int]]"
"""A polynomial: products, each with its integer coefficient."""
Product: TypeAlias = "tuple[Atom, ...]"
"""A product of atoms, sorted by their text."""
Atom: TypeAlias = "PrimExpr | tuple[str, Sum, Sum]"
"""An indivisible factor: a variable or opaque expression, or an operator with its two operands."""

MOST_OPERATORS = 400
"""The greatest number of operators in the text of a size."""
_MOST_PRODUCTS = 10_000
"""The greatest number of products of two sums."""

_OPERATORS = {"floordiv": " // ", "floormod": " % "}
_SYNTAX: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
}


def normal_form(size: PrimExpr) -> Sum:
    """The normal form of a size, identical for sizes that are equal by the arithmetic rules of this module."""
    match size:
        case IntImm():
            return _sum({(): size.value})
        case Add() | Sub():
            total = dict(normal_form(size.a))
            for product, count in normal_form(size.b):
                total[product] = total.get(product, 0) + (count if isinstance(size, Add) else -count)
            return _sum(total)
        case Mul():
            return _multiply(normal_form(size.a), normal_form(size.b))
        case FloorDiv():
            return _quotient(normal_form(size.a), normal_form(size.b))
        case FloorMod():
            return _remainder(normal_form(size.a), normal_form(size.b))
        case Min() | Max():
            a, b = sorted((normal_form(size.a), normal_form(size.b)), key=_text)
            known = [number for form in (a, b) if (number := _constant(form)) is not None]
            if len(known) == 2:
                return _sum({(): min(known) if isinstance(size, Min) else max(known)})
            return a if a == b else _atom((size.operator, a, b))
        case _:
            return _atom(size)


def size_text(size: PrimExpr) -> int | str:
    """A constant size as a number, a symbolic size as text. TeError for a size that depends on elements of tensors."""
    form = normal_form(size)
    known = _constant(form)
    return _text(form) if known is None else known


def size_factors(size: PrimExpr) -> tuple[int, tuple[str, ...]]:
    """The integer factor and the other factors of a size, as texts in a fixed order: variables, quotients, and so on; a
    sum of several products is one factor."""
    form = normal_form(size)
    if len(form) == 1:
        ((product, count),) = form
        if count > 0:
            return count, tuple(map(_atom_text, product))
    return 1, (_text(form),)


def parse_size(text: str, variable: Callable[[str], Var]) -> PrimExpr:
    """The size denoted by `text`. variable: maps a name to its variable. ValueError if the text denotes no size,
    SizeError for more than `MOST_OPERATORS` operators."""
    count = sum(map(text.count, "+-*/%(,"))
    if count > MOST_OPERATORS:
        raise SizeError(f"size '{text[:20]}...' of {count} operators, expected at most {MOST_OPERATORS}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"size {text!r}: expected an expression of names and integers") from None
    return _read(tree, text, variable)


def is_provably_at_least(low: int, size: PrimExpr) -> bool:
    """Whether a size is provably at least `low`: a sum of an integer and of products of sizes, which are from 0 on."""
    form = normal_form(size)
    number = sum(count for product, count in form if not product)
    return all(count > 0 for product, count in form if product) and number >= low


def evaluate_size(text: str, numbers: Mapping[str, int]) -> int:
    """The value of a size. numbers: the values of its variables. TeError for a value that int64 does not hold."""
    size = parse_size(text, lambda name: as_extent(numbers[name]))  # pyright: ignore[reportArgumentType]
    assert isinstance(size, IntImm)  # operators fold constants
    return size.value


def size_function(text: str) -> Callable[[Mapping[str, int]], int]:
    """The function from the values of the variables of a size to its value. ValueError if the text denotes no size.
    The function raises KeyError for a missing variable, and SizeError for a division by 0 and a value that int64 does
    not hold."""
    names: dict[str, SizeVar] = {}
    compute = _function(parse_size(text, lambda name: names.setdefault(name, SizeVar(name))))

    def value(numbers: Mapping[str, int]) -> int:
        try:
            return check_size(compute(numbers), f"size {text}")
        except ZeroDivisionError:
            values = ", ".join(f"{name} = {numbers[name]}" for name in names)
            raise SizeError(f"size {text} divides by 0 for {values}") from None

    return value


def size_interval(text: str, bounds: Mapping[str, int]) -> Interval | None:
    """An interval that contains all values of a size whose variables are from 0 to their bounds; None if a variable has
    no bound, or a divisor is always 0. ValueError if the text denotes no size."""
    names: set[str] = set()
    size = parse_size(text, lambda name: (names.add(name), SizeVar(name))[1])
    if not names <= bounds.keys():
        return None
    try:
        return _interval(size, bounds)
    except ZeroDivisionError:
        return None


def _interval(size: PrimExpr, bounds: Mapping[str, int]) -> Interval:
    match size:
        case IntImm():
            return size.value, size.value
        case Var():
            return 0, bounds[size.name]
        case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max():
            a, b = _interval(size.a, bounds), _interval(size.b, bounds)
            if b == (0, 0) and isinstance(size, FloorDiv | FloorMod):
                raise ZeroDivisionError
            return _INTERVALS[type(size)](a, b)
        case _:
            raise ValueError(f"{size!r} is no size")


_INTERVALS: dict[type[PrimExpr], Callable[[Interval, Interval], Interval]] = {
    Add: intervals.add,
    Sub: intervals.sub,
    Mul: intervals.mul,
    FloorDiv: intervals.floordiv,
    FloorMod: intervals.floormod,
    Min: intervals.minimum,
    Max: intervals.maximum,
}


def values_of_size(size: PrimExpr, arrays: Mapping[str, Any]) -> Any:
    """The values of a size for arrays of values of its variables."""
    return _function(size, {**_PYTHON, Min: np.minimum, Max: np.maximum})(arrays)


def _function(
    size: PrimExpr, functions: Mapping[type[PrimExpr], Callable[[Any, Any], Any]] | None = None
) -> Callable[[Mapping[str, int]], int]:
    known = _PYTHON if functions is None else functions
    match size:
        case IntImm():
            return lambda _, value=size.value: value
        case Var():
            return lambda numbers, name=size.name: numbers[name]
        case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max():
            apply, a, b = known[type(size)], _function(size.a, known), _function(size.b, known)
            return lambda numbers: apply(a(numbers), b(numbers))
        case _:
            raise ValueError(f"{size!r} is no size")


_PYTHON: dict[type[PrimExpr], Callable[[int, int], int]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
    Min: min,
    Max: max,
}


def _read(tree: ast.expr, text: str, variable: Callable[[str], Var]) -> PrimExpr:
    match tree:
        case ast.Name(id=name):
            return variable(name)
        case ast.Constant(value=int(value)):
            return _constant_term(value, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return 0 - _read(operand, text, variable)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYNTAX:
            return binary_expr(_SYNTAX[type(op)], _read(left, text, variable), _read(right, text, variable))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right]):
            return binary_expr(name, _read(left, text, variable), _read(right, text, variable))
        case _:
            raise ValueError(f"size {text!r}: {ast.unparse(tree)} is no size")


def _constant_term(value: int, text: str) -> PrimExpr:
    """A number in the text of a size. SizeError unless it has the type of the variables, int32."""
    if not int_fits(value, INT32):
        raise SizeError(f"size {text!r}: {value} beside symbols, expected at most {2**31 - 1}")
    return as_extent(value)


# Sums


def _sum(total: Mapping[Product, int]) -> Sum:
    return frozenset((product, count) for product, count in total.items() if count)


def _atom(atom: Atom) -> Sum:
    return _sum({(atom,): 1})


def _constant(form: Sum) -> int | None:
    """The value of a constant sum, or None."""
    if not form:
        return 0
    (product, count), *rest = form
    return None if product or rest else count


def _multiply(a: Sum, b: Sum) -> Sum:
    total: dict[Product, int] = {}
    if len(a) * len(b) > _MOST_PRODUCTS:
        raise SizeError(f"a product of sums of {len(a)} and {len(b)} terms, expected at most {_MOST_PRODUCTS} products")
    for left, m in a:
        for right, n in b:
            product = tuple(sorted((*left, *right), key=_atom_text))
            total[product] = total.get(product, 0) + m * n
    return _sum(total)


def _quotient(a: Sum, b: Sum) -> Sum:
    """The quotient of `a` and `b`, rounded down: the exact quotients of divisible products, plus a `floordiv` atom."""
    whole, rest = _divide(a, b)
    if not rest:
        return whole
    divisor, left = _constant(b), _constant(rest)
    if divisor and left is not None:
        return _add(whole, _sum({(): left // divisor}))
    if divisor and divisor > 0 and len(rest) == 1:
        ((product, count),) = rest
        inner = product[0] if len(product) == 1 and count == 1 else None
        if isinstance(inner, tuple) and inner[0] == "floordiv" and (_constant(inner[2]) or 0) > 0:
            return _add(whole, _quotient(inner[1], _multiply(inner[2], b)))
    return _add(whole, _atom(("floordiv", rest, b)))


def _remainder(a: Sum, b: Sum) -> Sum:
    rest = _divide(a, b)[1]
    divisor, left = _constant(b), _constant(rest)
    if divisor and left is not None:
        return _sum({(): left % divisor})
    return _atom(("floormod", rest, b)) if rest else rest


def _divide(a: Sum, b: Sum) -> tuple[Sum, Sum]:
    """The (quotient, rest) of `a`: the quotients of the products that are divisible by `b`, and the other products."""
    if len(b) != 1:
        return (_sum({(): 1}), frozenset()) if a == b else (frozenset(), a)
    ((atoms, divisor),) = b
    whole: dict[Product, int] = {}
    rest: dict[Product, int] = {}
    for product, count in a:
        left = list(product)
        fits = count % divisor == 0
        for atom in atoms:
            fits = fits and atom in left
            if fits:
                left.remove(atom)
        if fits:
            whole[tuple(left)] = count // divisor
        else:
            rest[product] = count
    return _sum(whole), _sum(rest)


def _add(a: Sum, b: Sum) -> Sum:
    total = dict(a)
    for product, count in b:
        total[product] = total.get(product, 0) + count
    return _sum(total)


# Text


def _text(form: Sum) -> str:
    """The text of a sum, `2 * n + m - 1`: longer products first, the constant last."""
    parts = sorted(form, key=lambda part: (-len(part[0]), list(map(_atom_text, part[0]))))
    text = ""
    for product, count in parts:
        numbers = [str(abs(count))] if abs(count) != 1 or not product else []
        is_alone = len(product) == 1 and not numbers and not (count < 0 and not text)
        term = " * ".join([*numbers, *((_atom_text if is_alone else _factor)(atom) for atom in product)])
        text = (f"-{term}" if count < 0 else term) if not text else f"{text} {'-' if count < 0 else '+'} {term}"
    return text or "0"


def _atom_text(atom: Atom) -> str:
    match atom:
        case (operator, a, b) if operator in _OPERATORS:
            return f"{_operand(a)}{_OPERATORS[operator]}{_operand(b)}"
        case (operator, a, b):
            return f"{operator}({_text(a)}, {_text(b)})"
        case Var():
            return atom.name
        case _:
            raise TeError(f"size {atom!r}, expected one that sizes of arguments say")


def _factor(atom: Atom) -> str:
    """The text of an atom as a factor of a product, in parentheses if necessary."""
    return f"({_atom_text(atom)})" if isinstance(atom, tuple) and atom[0] in _OPERATORS else _atom_text(atom)


def _operand(form: Sum) -> str:
    """The text of a sum as an operand of `//` or `%`, in parentheses if necessary."""
    is_name = len(form) == 1 and all(count == 1 and len(p) == 1 and isinstance(p[0], Var) for p, count in form)
    return _text(form) if is_name or _constant(form) is not None else f"({_text(form)})"
