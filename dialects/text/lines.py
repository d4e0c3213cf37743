"""Printed lines, each with the statements and values it prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

INDENTATION = "    "

Printed: TypeAlias = Operation | SSAValue
"""The source of printed text: a statement, or a value that part of a statement declares or uses (a block axis, a
predicate)."""


@dataclass(slots=True)
class Line:
    """A line of text.

    text: the line without its indentation.  indent: the indentation level.  sources: the printed statements and values,
    each with the columns of `text` where it starts (inclusive) and ends (exclusive).
    """

    text: str
    indent: int
    sources: list[tuple[Printed, int, int]] = field(default_factory=list[tuple[Printed, int, int]])

    def __str__(self) -> str:
        return INDENTATION * self.indent + self.text

    @staticmethod
    def call_line(head: str, parts: list[tuple[str, Printed]], indent: int) -> Line:
        """The line `head(part, part)`, with the source of each part."""
        line = Line(f"{head}(", indent)
        for i, (text, source) in enumerate(parts):
            line.text += ", " if i else ""
            line.sources.append((source, len(line.text), len(line.text) + len(text)))
            line.text += text
        line.text += ")"
        return line
