"""The values of sizes: of integers that symbols and integer parameters of a function determine."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ..dialects.tir import BINARY_NAMES, CastOp, FuncOp, LetOp, Mixed, SymbolOp, constant_value

_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": lambda a, b: int(a / b),
    "min": min,
    "max": max,
}
_DIVISIONS = ("floordiv", "floormod", "truncdiv")


class SizeValues:
    """The values of sizes in one function. symbol: the value of a symbol or an integer parameter, None if unknown."""

    def __init__(self, func: FuncOp, symbol: Callable[[str], int | None]) -> None:
        self._parameters: dict[SSAValue, str] = {value: name for name, value in func.params}
        self._symbol = symbol
        self._known: dict[SSAValue, int | None] = {}

    def of(self, value: Mixed) -> int | None:
        """The value of a size; None if it depends on anything else, as on the variable of a loop."""
        if isinstance(value, int):
            return value
        if value not in self._known:
            self._known[value] = self._compute(value)
        return self._known[value]

    def _compute(self, value: SSAValue) -> int | None:
        known = constant_value(value)
        if known is not None:
            return int(known)
        match value.owner:
            case SymbolOp() as symbol:
                return self._symbol(symbol.var_name.data)
            case CastOp() | LetOp() as op:
                return self.of(op.value)
            case Operation() as op if BINARY_NAMES.get(type(op)) in _FOLDS:
                return self._fold(BINARY_NAMES[type(op)], *(self.of(operand) for operand in op.operands))
            case _:
                return self._symbol(self._parameters[value]) if value in self._parameters else None

    def _fold(self, name: str, lhs: int | None, rhs: int | None) -> int | None:
        if lhs is None or rhs is None or (name in _DIVISIONS and rhs == 0):
            return None
        return _FOLDS[name](lhs, rhs)
