"""Expressions as text of TVMScript, for messages and debugging."""

from __future__ import annotations

from math import isfinite

from .expr import And, BinaryOp, Call, Cast, FloatImm, IfThenElse, IntImm, Not, Or, PrimExpr, Select, StringImm, Var
from .tensor import ProducerLoad, Reduce

_SYMBOLS = {
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6), "floordiv": ("//", 6), "floormod": ("%", 6),
    "eq": ("==", 4), "ne": ("!=", 4), "lt": ("<", 4), "le": ("<=", 4), "gt": (">", 4), "ge": (">=", 4),
    "bool and": ("and", 2), "bool or": ("or", 1),
}  # fmt: skip
"""The operators that have a symbol, with their precedence in Python: the greatest binds first."""
_NOT, _ATOM = 3, 7
_FUNCTIONS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "shl": "shift_left", "shr": "shift_right",
    "truncdiv": "Div",
}  # fmt: skip
"""TVMScript's names of the functions that have others."""
_INDICES = ("int32", "int64")
"""The data types of integers that print as numbers."""


def render(expr: PrimExpr) -> str:
    """The text of an expression; integers of index types are numbers, and other constants calls of their data type."""
    return _render(expr)[0]


def _render(expr: PrimExpr) -> tuple[str, int]:
    """The text of an expression, and its precedence."""
    match expr:
        case And():
            return _operator("bool or" if isinstance(expr, Or) else "bool and", expr.a, expr.b)
        case BinaryOp():
            return _operator(expr.operator, expr.a, expr.b)
        case Not():
            return f"not {_inside(expr.a, _NOT)}", _NOT
        case Call(op="xor", args=(value, IntImm() as ones)) if ones.value in (-1, 2**ones.data_type.bits - 1):
            return _call("bitwise_not", value), _ATOM
        case Call() if len(expr.args) == 2 and not isinstance(expr, IfThenElse):
            return _operator(expr.op, *expr.args)
        case _:
            return _atom(expr), _ATOM


def _atom(expr: PrimExpr) -> str:
    match expr:
        case Var():
            return expr.name
        case IntImm() if expr.dtype in _INDICES:
            return str(expr.value)
        case IntImm():
            return f"T.{expr.dtype}({bool(expr.value) if expr.data_type.is_bool else expr.value})"
        case FloatImm():
            text = repr(expr.value).removesuffix(".0")
            return f"T.{expr.dtype}({text if isfinite(expr.value) else repr(text)})".replace("'", '"')
        case StringImm():
            return f'"{expr.value}"'
        case Cast():
            return f'T.Cast("{expr.dtype}", {render(expr.value)})'
        case Select() | IfThenElse():
            return _call("Select" if isinstance(expr, Select) else "if_then_else", *expr.children)
        case Call():
            return _call(expr.op, *expr.args)
        case ProducerLoad():
            return f"{expr.producer.name}[{', '.join(map(render, expr.indices))}]"
        case Reduce():
            axes = ", ".join(axis.var.name for axis in expr.axis)
            return f"{expr.combiner.name}({', '.join(map(render, expr.source))}, axis=[{axes}])"
        case _:
            return expr.text()


def _call(name: str, *args: PrimExpr) -> str:
    return f"T.{_FUNCTIONS.get(name, name)}({', '.join(map(render, args))})"


def _operator(name: str, a: PrimExpr, b: PrimExpr) -> tuple[str, int]:
    if name not in _SYMBOLS:
        return _call(name, a, b), _ATOM
    symbol, precedence = _SYMBOLS[name]
    return f"{_inside(a, precedence)} {symbol} {_inside(b, precedence + 1)}", precedence


def _inside(expr: PrimExpr, precedence: int) -> str:
    """The text of an operand, in parentheses unless it binds at least as strongly as `precedence` says."""
    text, own = _render(expr)
    return text if own >= precedence else f"({text})"
