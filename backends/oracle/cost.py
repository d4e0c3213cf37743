"""The time that the oracle takes, estimated before a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Block

from ...analysis.sizes import SizeValues
from ...dialects.tir import AccessOp, CallOp, ForOp, FuncOp

OPERATIONS_PER_SECOND = 8e6
"""Measured with a matrix product of 160: seven operations in 2.7 s for each of its 4.1 million steps."""
_UNKNOWN_EXTENT = 16
"""The iterations of a loop whose extent depends on data or on other loops."""


def estimated_seconds(functions: Mapping[str, FuncOp], entry: str, symbol: Callable[[str], int | None]) -> float:
    """The time of a call of the function `entry` in the oracle, in seconds, to an order of magnitude.

    functions: of the program, by name.  symbol: the value of a symbol or an integer parameter, None if unknown.
    """
    return _Operations(functions, symbol).of_function(entry) / OPERATIONS_PER_SECOND


class _Operations:
    """The numbers of operations that a call executes."""

    def __init__(self, functions: Mapping[str, FuncOp], symbol: Callable[[str], int | None]) -> None:
        self._functions = functions
        self._symbol = symbol
        self._known: dict[str, int] = {}

    def of_function(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = 1  # of a recursive call
            function = self._functions.get(name)
            if function is not None:
                self._known[name] = self._of_block(function.body.block, SizeValues(function, self._symbol))
        return self._known[name]

    def _of_block(self, block: Block, sizes: SizeValues) -> int:
        total = 0
        for op in block.ops:
            if isinstance(op, AccessOp):
                continue
            inside = sum(self._of_block(inner, sizes) for region in op.regions for inner in region.blocks)
            if isinstance(op, ForOp):
                _, extent, step = map(sizes.of, op.mixed_bounds)
                inside *= _UNKNOWN_EXTENT if extent is None else max(0, -(-extent // abs(step or 1)))
            elif isinstance(op, CallOp):
                inside += self.of_function(op.callee.string_value())
            total += 1 + inside
        return total
