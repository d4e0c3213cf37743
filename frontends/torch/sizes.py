"""Symbolic sizes of PyTorch as sizes of graphs."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..models.errors import ModelUnsupportedError
from ..models.symbols import Symbol, UnknownSizeError, symbol_maximum, symbol_minimum
from ..models.values import SizeNames
from .library import torch


class Sizes:
    """Converts sizes of a program. A symbol has the name that the user gave to its dimension, else its own name."""

    def __init__(self) -> None:
        self.names = SizeNames()

    def convert(self, size: Any) -> Any:
        """An integer or a `SymInt` as an integer or a symbol. Raises ModelUnsupportedError for a size whose operations
        have no counterpart in sizes of graphs."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        return self.of_expression(size.node.expr, size.node.shape_env)

    def of_expression(self, expression: Any, environment: Any) -> Any:
        """A sympy expression as an integer or a symbol. environment: the `ShapeEnv` of its symbols; None if unknown."""
        try:
            return self._evaluate(expression, environment)
        except UnknownSizeError:
            raise ModelUnsupportedError(f"the size {expression} is not supported") from None

    def _evaluate(self, expression: Any, environment: Any) -> Any:
        if expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            return Symbol(self.names.identifier(_user_name(str(expression), environment)))
        values = [self._evaluate(each, environment) for each in expression.args]
        operation = _OPERATIONS.get(type(expression).__name__)
        if operation is None or not values:
            raise ModelUnsupportedError(f"the size {expression} is not supported")
        return reduce(operation, values)


_OPERATIONS: dict[str, Any] = {
    "Add": lambda a, b: a + b,
    "CleanDiv": lambda a, b: a // b,
    "FloorDiv": lambda a, b: a // b,
    "Max": symbol_maximum,
    "Min": symbol_minimum,
    "Mod": lambda a, b: a % b,
    "Mul": lambda a, b: a * b,
    "Pow": lambda a, b: reduce(lambda x, y: x * y, [a] * b),
    "PythonMod": lambda a, b: a % b,
}
"""The operations of a size by the name of its class in sympy or PyTorch."""


def _user_name(symbol: str, environment: Any) -> str:
    """The name of the `Dim` of a symbol, which only the `ShapeEnv` of an export in this process knows."""
    sources = getattr(environment, "source_to_var", {})
    names = getattr(environment, "source_name_to_debug_name", {})
    for source, name in names.items():
        if str(sources.get(source)) == symbol and name.isidentifier():
            return name
    return symbol
