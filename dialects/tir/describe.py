"""Index expressions in messages, in the user's notation: `n * 2`."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, SSAValue

from . import BINARY_NAMES, CastOp, FuncOp, LetOp, SymbolOp, constant_value

_SIGNS = {
    "add": ("+", 1),
    "sub": ("-", 1),
    "mul": ("*", 2),
    "floordiv": ("//", 2),
    "truncdiv": ("//", 2),
    "floormod": ("%", 2),
    "truncmod": ("%", 2),
}


def format_index(value: SSAValue, precedence: int = 0) -> str:
    """The expression of `value`, with the names of the user; `...` for unknown expressions."""
    known = constant_value(value)
    if known is not None:
        return str(known)
    owner = value.owner
    if isinstance(value, BlockArgument):
        return _parameter(value)
    match owner:
        case SymbolOp() | LetOp():
            return owner.var_name.data
        case CastOp() | arith.IndexCastOp():
            return format_index(owner.operands[0], precedence)
        case Operation():
            return _operator(owner, precedence)
        case _:
            return "..."


def _operator(op: Operation, precedence: int) -> str:
    name = BINARY_NAMES.get(type(op), "")
    if name in ("min", "max"):
        return f"{name}({format_index(op.operands[0])}, {format_index(op.operands[1])})"
    if name not in _SIGNS:
        return "..."
    sign, own = _SIGNS[name]
    text = f"{format_index(op.operands[0], own)} {sign} {format_index(op.operands[1], own + 1)}"
    return f"({text})" if own < precedence else text


def _parameter(value: BlockArgument) -> str:
    function = value.owner.parent_op()
    if isinstance(function, FuncOp):
        return function.params[value.index][0]
    return value.name_hint or "..."
