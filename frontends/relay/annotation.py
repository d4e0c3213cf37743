"""Marks of the regions of other compilers: `relay.annotation.compiler_begin` and `compiler_end`.

A mark is a call whose result is its operand. Operations have no marks, which only graphs as the user wrote them keep.
"""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from ...operators import Operator
from ...operators.definition import Attribute, Pattern
from .expr import Call, Expr

DEFAULT = "default"
"""The name of this compiler."""


def _mark(name: str) -> Operator:
    names = (Attribute("compiler", "str", Parameter.empty),)
    return Operator(name, Pattern.OPAQUE, _operand, _operand, ("data",), False, names)


def _operand(data: Any, compiler: str) -> Any:
    """The operand."""
    return data


BEGIN, END = _mark("annotation.compiler_begin"), _mark("annotation.compiler_end")
MARKS = {each.name: each for each in (BEGIN, END)}
"""The operators of marks by name."""


def compiler_begin(data: Expr, compiler: str) -> Call:
    """The start of the region of a compiler: `data` is computed before the region."""
    return Call(BEGIN, [data], {"compiler": compiler})


def compiler_end(data: Expr, compiler: str) -> Call:
    """The end of the region of a compiler: `data` is a result of the region."""
    return Call(END, [data], {"compiler": compiler})


def is_mark(expr: Any, *kinds: Operator) -> bool:
    """Whether an expression is a mark of one of the kinds, of any without kinds."""
    return isinstance(expr, Call) and any(expr.op is each for each in kinds or (BEGIN, END))


__all__ = ["compiler_begin", "compiler_end"]
