"""Printed expressions: text that knows how tightly it binds and how large it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, ADD, MULTIPLY, UNARY, ATOM = range(1, 13)
"""How tightly Python's operators bind."""

MAX_SIZE = 128
"""A value that is used more than once is printed at each use up to so many operators and operands, else named."""

MAX_DEPTH = 100
"""A deeper tree is cut by names: readers recurse, and Python itself reads no more than 200 nested parentheses."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Printed text, how tightly its outermost operator binds, and how many operators and operands it has."""

    text: str
    precedence: int = ATOM
    size: int = 1
    depth: int = 1

    def at(self, precedence: int) -> str:
        """The text, in parentheses if it binds less tightly."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    def is_large(self, uses: int) -> bool:
        """Whether it is better computed once, under a name."""
        return self.depth > MAX_DEPTH or (uses > 1 and self.size > MAX_SIZE)


def combine(text: str, precedence: int, parts: Iterable[Expression]) -> Expression:
    """An expression made of parts."""
    parts = tuple(parts)
    size = 1 + sum(part.size for part in parts)
    return Expression(text, precedence, size, 1 + max((part.depth for part in parts), default=0))


def call(function: str, *arguments: Expression | str) -> Expression:
    """`function(a, b)`."""
    texts = ", ".join(a if isinstance(a, str) else a.text for a in arguments)
    return combine(f"{function}({texts})", ATOM, [a for a in arguments if isinstance(a, Expression)])
