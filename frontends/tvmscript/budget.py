"""The work of a program at parse time: repeated evaluation, values of Python, and emitted operations, all bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from typing import Any, cast

import numpy as np

from ...core.diagnostics import Span

LIMITS = {
    "evaluation steps": 300_000,
    "items of lists": 500_000,
    "characters of text": 4_000_000,
    "operations": 30_000,
    "operations of macros and lambdas": 30_000,
}
"""The largest amount of each kind of work in a module. Each node of the text adds one step, and one operation
outside of macros and lambdas.

A step is the evaluation of one expression or statement. Items are counted through nesting: a list within two lists
counts twice.
"""

_PER_NODE = ("evaluation steps", "operations")
_INT_BITS = 64  # longer integers count as text, by their digits


class Budget:
    """The work left to a module. nodes: the number of expressions and statements of its text."""

    def __init__(self, nodes: int, limits: Mapping[str, int] | None = None):
        limits = LIMITS if limits is None else limits
        self._limits = {work: limit + nodes * (work in _PER_NODE) for work, limit in limits.items()}
        self._left = dict(self._limits)

    def charge(self, work: str, amount: int, span: Span) -> None:
        """Subtracts work before it is done; raises `ParseError` at `span` beyond the limit."""
        self._left[work] -= amount
        if self._left[work] < 0:
            raise span.error(f"more than {self._limits[work]} {work} while the program is read")

    def charge_value(self, value: Any, span: Span) -> None:
        """Charges a traversal of a Python value: its items through nesting, and the characters of its strings."""
        pending = [value]
        while pending:
            item = pending.pop()
            if isinstance(item, str | bytes):
                self.charge("characters of text", len(item), span)
            elif isinstance(item, int):
                if (bits := item.bit_length()) > _INT_BITS:
                    self.charge("characters of text", bits // 3, span)
            elif isinstance(item, range | tuple | list | dict | set | np.ndarray):
                self.charge("items of lists", length_of(item), span)
                pending.extend(_items_of(item))

    def charge_items(self, value: Any, span: Span) -> None:
        """Charges a list, a text or another sequence without the contents of its items."""
        if isinstance(value, str | bytes):
            self.charge("characters of text", len(value), span)
        elif isinstance(value, range | tuple | list | dict | set | np.ndarray):
            self.charge("items of lists", length_of(value), span)


def length_of(value: Any) -> int:
    """The number of items; of a range also beyond the integers that `len` returns."""
    if isinstance(value, range):
        step = abs(value.step)
        return max(0, (value.stop - value.start if value.step > 0 else value.start - value.stop) + step - 1) // step
    return value.size if isinstance(value, np.ndarray) else len(cast(Sized, value))


def _items_of(value: Any) -> Iterator[Any]:
    """The items of a container that can contain further items."""
    match value:
        case tuple() | list():
            yield from cast("tuple[Any, ...] | list[Any]", value)
        case dict():
            for key, item in cast("dict[Any, Any]", value).items():
                yield key
                yield item
        case _:
            pass
