"""Printed lines that know what they print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

INDENTATION = "    "

Printed: TypeAlias = Operation | SSAValue
"""What a line prints: a statement, or the value that a part of one declares or uses (a block axis, a predicate)."""


@dataclass(slots=True)
class Line:
    """One line of text.

    text: without its indentation.  indent: how many levels deep it stands.  sources: what it prints, each with the
    column of `text` where that starts and the one behind its end.
    """

    text: str
    indent: int
    sources: list[tuple[Printed, int, int]] = field(default_factory=list[tuple[Printed, int, int]])

    def __str__(self) -> str:
        return INDENTATION * self.indent + self.text

    @staticmethod
    def listing(head: str, parts: list[tuple[str, Printed]], indent: int) -> Line:
        """`head(part, part)`: each part is printed by its source."""
        line = Line(f"{head}(", indent)
        for i, (text, source) in enumerate(parts):
            line.text += ", " if i else ""
            line.sources.append((source, len(line.text), len(line.text) + len(text)))
            line.text += text
        line.text += ")"
        return line
