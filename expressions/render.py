"""Expressions as text, for messages and debugging."""

from __future__ import annotations

from .expr import And, BinaryOp, Call, Cast, FloatImm, IfThenElse, IntImm, Not, Or, PrimExpr, Select, StringImm, Var
from .tensor import ProducerLoad, Reduce

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "floormod": "%",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip


def render(expr: PrimExpr) -> str:
    """The text of an expression in Python syntax; conversions are printed as calls of the data type."""
    match expr:
        case Var():
            return expr.name
        case IntImm():
            return str(bool(expr.value)) if expr.data_type.is_bool else str(expr.value)
        case FloatImm():
            return str(expr.value)
        case StringImm():
            return repr(expr.value)
        case Cast():
            return f"{expr.dtype}({render(expr.value)})"
        case BinaryOp():
            return _operator(expr.operator, expr.a, expr.b)
        case And():
            return f"({render(expr.a)} {'or' if isinstance(expr, Or) else 'and'} {render(expr.b)})"
        case Not():
            return f"not {render(expr.a)}"
        case Select() | IfThenElse():
            name = "Select" if isinstance(expr, Select) else "if_then_else"
            return f"{name}({', '.join(map(render, expr.children))})"
        case Call() if len(expr.args) == 2:
            return _operator(expr.op, *expr.args)
        case Call():
            return f"{expr.op}({', '.join(map(render, expr.args))})"
        case ProducerLoad():
            return f"{expr.producer.name}[{', '.join(map(render, expr.indices))}]"
        case Reduce():
            axes = ", ".join(axis.var.name for axis in expr.axis)
            return f"{expr.combiner.name}({', '.join(map(render, expr.source))}, axis=[{axes}])"
        case _:
            return type(expr).__name__


def _operator(name: str, a: PrimExpr, b: PrimExpr) -> str:
    if name in _SYMBOLS:
        return f"({render(a)} {_SYMBOLS[name]} {render(b)})"
    return f"{name}({render(a)}, {render(b)})"
