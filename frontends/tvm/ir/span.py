"""Places in source texts: `tvm.ir.Span`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A part of a text, from a line and a column to others. source_name: the name of the text."""

    source_name: str | None
    line: int
    end_line: int
    column: int
    end_column: int

    def same_as(self, other: object) -> bool:
        """Whether two places are equal."""
        return self == other


__all__ = ["Span"]
