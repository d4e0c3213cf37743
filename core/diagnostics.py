"""Source files, positions in them, and how a message about one looks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.utils.lexer import Input
from xdsl.utils.lexer import Span as XdslSpan

from .errors import ParseError, UnsupportedError

_LINE_END = re.compile(r"\r\n?|\n")  # Python's line ends; str.splitlines knows more


@dataclass(frozen=True)
class SourceFile:
    """The text a program was read from. `first_line`, `indent`: where the text starts in its file, for a decorated
    function (lines above it, columns removed from each line)."""

    name: str
    text: str = field(repr=False)
    first_line: int = 1
    indent: int = 0

    def has(self, file_line: int) -> bool:
        """Whether this text holds a line of its file, by its number there."""
        return self.first_line <= file_line < self.first_line + len(_LINE_END.split(self.text))

    def line(self, number: int) -> str:
        """The line with number `number` (1-based, in `text`), without its end."""
        lines = _LINE_END.split(self.text)
        return lines[number - 1] if 1 <= number <= len(lines) else ""


@dataclass(frozen=True)
class Span:
    """A stretch of a source file: 1-based line and column in the text, and where it ends."""

    source: SourceFile
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def file_line(self) -> int:
        return self.line + self.source.first_line - 1

    @property
    def file_column(self) -> int:
        return self.column + self.source.indent

    def render(self, message: str, level: str = "error") -> str:
        """`file.py:3:24: error: message`, the line, a caret line."""
        text = self.source.line(self.line).expandtabs(1)
        width = self.end_column - self.column if self.end_line == self.line else len(text) - self.column + 1
        caret = " " * (self.column - 1) + "^" + "~" * (max(1, min(width, len(text) - self.column + 1)) - 1)
        return f"{self.source.name}:{self.file_line}:{self.file_column}: {level}: {message}\n    {text}\n    {caret}"

    def error(self, message: str) -> ParseError:
        """The `ParseError` that shows `message` here."""
        return ParseError(self.render(message), self._in_xdsl())

    def _in_xdsl(self) -> XdslSpan[str]:
        source = self.source
        starts = [0, *(i + 1 for i, c in enumerate(source.text) if c == "\n")]

        def offset(line: int, column: int) -> int:
            return min(starts[min(line, len(starts)) - 1] + column - 1, len(source.text))

        start, end = offset(self.line, self.column), offset(self.end_line, self.end_column)
        return XdslSpan(start, max(start, end), Input(source.text, source.name))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""


def where(op: Operation) -> str:
    """`file.py:3:5: ` for an operation with a source location, else the empty string."""
    match op.location:
        case FileLineColLoc(filename=file, line=line, column=column):
            return f"{file.data}:{line.data}:{column.data}: error: "
        case _:
            return ""


def unsupported(op: Operation, message: str) -> UnsupportedError:
    """The error that reports `op`, with its source location, as unsupported."""
    return UnsupportedError(f"{where(op)}{op.name}: {message}")
