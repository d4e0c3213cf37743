"""Source files, source ranges, and the text of diagnostics."""

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

BYTE_ORDER_MARK = "\ufeff"
"""The first character of texts that some editors write, which is no part of the program."""

_LINE_END = re.compile(r"\r\n?|\n")  # the line ends of Python; str.splitlines splits at further characters


@dataclass(frozen=True)
class SourceFile:
    """The source text of a program.

    `first_line`, `indent`: for a decorated function, the line of the file where the text starts (1-based) and the
    number of columns removed from each line.
    """

    name: str
    text: str = field(repr=False)
    first_line: int = 1
    indent: int = 0

    def contains_line(self, file_line: int) -> bool:
        """Whether this text contains line `file_line` (1-based) of the file."""
        return self.first_line <= file_line < self.first_line + len(_LINE_END.split(self.text))

    def line(self, number: int) -> str:
        """Line `number` (1-based) of `text` without its line end; "" if `text` has no such line."""
        lines = _LINE_END.split(self.text)
        return lines[number - 1] if 1 <= number <= len(lines) else ""


@dataclass(frozen=True)
class Span:
    """A range of a source file: 1-based line and column in the text, and the line and column of its end."""

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
        """The diagnostic `file.py:3:24: error: message`, followed by the source line and a caret line."""
        text = self.source.line(self.line).expandtabs(1)
        width = self.end_column - self.column if self.end_line == self.line else len(text) - self.column + 1
        caret = " " * (self.column - 1) + "^" + "~" * (max(1, min(width, len(text) - self.column + 1)) - 1)
        return f"{self.source.name}:{self.file_line}:{self.file_column}: {level}: {message}\n    {text}\n    {caret}"

    def error(self, message: str) -> ParseError:
        """A `ParseError` with `message` at this range."""
        return ParseError(self.render(message), self._to_xdsl())

    def _to_xdsl(self) -> XdslSpan[str]:
        source = self.source
        starts = [0, *(i + 1 for i, c in enumerate(source.text) if c == "\n")]

        def offset(line: int, column: int) -> int:
            return min(starts[min(line, len(starts)) - 1] + column - 1, len(source.text))

        start, end = offset(self.line, self.column), offset(self.end_line, self.end_column)
        return XdslSpan(start, max(start, end), Input(source.text, source.name))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint `, did you mean 'x'?` for the nearest known name, or "" if no name is close."""
    near = nearest(name, known)
    return "" if near is None else f", did you mean {near!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The nearest known name, or None if no name is close."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)), None)


@dataclass(frozen=True)
class Location:
    """A position in a source file: 1-based line and column."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def location_of(op: Operation) -> Location | None:
    """The source location of an operation; None if it has none."""
    match op.location:
        case FileLineColLoc(filename=file, line=line, column=column):
            return Location(file.data, line.data, column.data)
        case _:
            return None


def where(op: Operation) -> str:
    """`file.py:3:5: error: ` for an operation with a source location, else the empty string."""
    location = location_of(op)
    return "" if location is None else f"{location}: error: "


def unsupported_op_error(op: Operation, message: str) -> UnsupportedError:
    """The error that reports `op`, with its source location, as unsupported."""
    return UnsupportedError(f"{where(op)}{op.name}: {message}")
