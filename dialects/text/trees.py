"""Printed expressions: text with the precedence of its operator and the size of its tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, ADD, MULTIPLY, UNARY, ATOM = range(1, 13)
"""The precedences of Python's operators, in ascending order."""

MAX_SIZE = 128
"""The maximum number of operators and operands of an expression that is printed at each of several uses; a value with
a larger expression is named."""

MAX_DEPTH = 100
"""The maximum depth of a printed tree; subtrees of deeper trees are named. Parsers recurse, and Python itself parses at
most 200 nested parentheses."""


@dataclass(frozen=True, slots=True)
class PrintedExpression:
    """The text of an expression, the precedence of its outermost operator, its number of operators and operands, and
    its depth."""

    text: str
    precedence: int = ATOM
    size: int = 1
    depth: int = 1

    def at(self, precedence: int) -> str:
        """The text as an operand at `precedence`, in parentheses if its own precedence is lower."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    def is_large(self, uses: int) -> bool:
        """Whether the expression exceeds the size or depth limit, so that a named value should hold its result."""
        return self.depth > MAX_DEPTH or (uses > 1 and self.size > MAX_SIZE)


def compose_expression(text: str, precedence: int, parts: Iterable[PrintedExpression]) -> PrintedExpression:
    """An expression with the operands `parts`."""
    parts = tuple(parts)
    size = 1 + sum(part.size for part in parts)
    return PrintedExpression(text, precedence, size, 1 + max((part.depth for part in parts), default=0))


def call(function: str, *arguments: PrintedExpression | str) -> PrintedExpression:
    """The expression `function(a, b)`."""
    texts = ", ".join(a if isinstance(a, str) else a.text for a in arguments)
    return compose_expression(f"{function}({texts})", ATOM, [a for a in arguments if isinstance(a, PrintedExpression)])
