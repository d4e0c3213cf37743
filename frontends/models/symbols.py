"""Sizes computed at import time: integers, and symbols for sizes known at run time.

Arrays of sizes are object arrays, to which numpy's functions apply as to arrays of integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...expressions.expr import PrimExpr, SizeVar
from ...expressions.sizes import Sum, normal_form, parse_size
from ...expressions.sizes import is_provably_at_least as size_is_provably_at_least
from ...operators.relay import Size, normal_size
from .types import Array


class UnknownSizeError(Exception):
    """The result of a query depends on the value of a symbol."""


class Symbol:
    """A symbolic size: an expression of names. Arithmetic on symbols yields an integer where the symbols cancel."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __add__(self, other: Any) -> Any:
        return _combine("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _combine("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _combine("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combine("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _combine("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combine("*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _divide("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _divide("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return _divide("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _divide("%", other, self)

    def __eq__(self, other: object) -> bool:
        return _compare(self, other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return _compare(self, other, operator.lt)

    def __le__(self, other: Any) -> bool:
        return _compare(self, other, operator.le)

    def __gt__(self, other: Any) -> bool:
        return _compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        return _compare(self, other, operator.ge)

    def __bool__(self) -> bool:
        return self != 0


def symbol_of_size(size: Size) -> Any:
    """Converts a size to an integer or a symbol."""
    return Symbol(size) if isinstance(size, str) else size


def size_of_symbol(value: Any) -> Size:
    """Converts an integer or a symbol to a size."""
    return value.text if isinstance(value, Symbol) else int(value)


def symbol_array(sizes: Iterable[Size]) -> Array:
    """Converts sizes to an array of integers and symbols."""
    values = [symbol_of_size(each) for each in sizes]
    array = np.empty(len(values), object)
    array[:] = values
    return array


def symbol_minimum(a: Any, b: Any) -> Any:
    """The minimum of two integers or symbols."""
    return _choose("min", a, b)


def symbol_maximum(a: Any, b: Any) -> Any:
    """The maximum of two integers or symbols."""
    return _choose("max", a, b)


def _text(value: Any) -> str:
    return value.text if isinstance(value, Symbol) else str(int(value))


def _is_size(value: Any) -> bool:
    return isinstance(value, Symbol | int | np.integer) and not isinstance(value, bool)


def _combine(sign: str, a: Any, b: Any) -> Any:
    if not (_is_size(a) and _is_size(b)):
        raise UnknownSizeError
    return symbol_of_size(normal_size(f"({_text(a)}) {sign} ({_text(b)})"))


def _divide(sign: str, a: Any, b: Any) -> Any:
    """A quotient or remainder. ONNX rounds towards zero, size expressions round down: equal for operands from 0 on."""
    if not is_provably_at_least(0, a) or not is_provably_at_least(1, b):
        raise UnknownSizeError
    return _combine(sign, a, b)


def _choose(name: str, a: Any, b: Any) -> Any:
    if not (isinstance(a, Symbol) or isinstance(b, Symbol)):
        return (min if name == "min" else max)(a, b)
    for less, more in ((a, b), (b, a)):
        try:
            if less <= more:
                return less if name == "min" else more
        except UnknownSizeError:
            pass
    return symbol_of_size(normal_size(f"{name}({_text(a)}, {_text(b)})"))


def is_provably_at_least(low: int, value: Any) -> bool:
    """Whether an integer or symbol is provably at least `low`: a sum of an integer and sizes, which are from 0 on."""
    if not isinstance(value, Symbol):
        return _is_size(value) and value >= low
    return size_is_provably_at_least(low, _tree(value))


def split_constant_term(value: Symbol) -> tuple[Symbol, int]:
    """Splits a symbol into a symbol without a constant term, and the constant term."""
    number = _number(normal_form(_tree(value)))
    return value - number, number


def _tree(value: Symbol) -> PrimExpr:
    names: dict[str, SizeVar] = {}
    return parse_size(value.text, lambda name: names.setdefault(name, SizeVar(name)))


def _number(form: Sum) -> int:
    return sum(count for product, count in form if not product)


def _compare(a: Any, b: Any, holds: Callable[[Any, Any], bool]) -> bool:
    """The result of a comparison if it is equal for all sizes. Raises UnknownSizeError otherwise."""
    difference = a - b
    if not isinstance(difference, Symbol):
        return holds(difference, 0)
    for sign, value in ((1, difference), (-1, b - a)):
        if is_provably_at_least(1, value):
            return holds(sign, 0)
        if is_provably_at_least(0, value) and holds(0, 0) == holds(sign, 0):
            return holds(sign, 0)
    raise UnknownSizeError
