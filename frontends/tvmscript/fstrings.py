"""The contents of f-strings: literal text, and expressions in braces."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from ...core.diagnostics import Span
from .literals import unescape
from .syntax import Expr, FString, Interpolation, Text

_TEXT = re.compile(r"(?:\\N\{[^}]*\}|\{\{|\}\}|[^{}])+")
_CONVERSION = re.compile(r"!([rsa])\s*(?=[:}])")
_QUOTED = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'[^'\n]*'|\"[^\"\n]*\"", re.DOTALL)
_MAX_FORMAT_DEPTH = 2  # as in Python: a format may contain expressions, but their formats may not

ReadExpression = Callable[[str, Span], Expr]
"""Parses the text of an expression, which starts at the span."""


def fstring_parts(
    text: str, raw: bool, span: Span, read: ReadExpression, depth: int = 0
) -> tuple[Text | Interpolation, ...]:
    """The parts of an f-string whose text (between the quotes) starts at `span`."""
    parts: list[Text | Interpolation] = []
    source = _Source(text, span)
    position = 0
    while position < len(text):
        if (match := _TEXT.match(text, position)) is not None:
            plain = match[0].replace("{{", "{").replace("}}", "}")
            parts.append(Text(span, plain if raw else unescape(plain, span)))
            position = match.end()
        elif text[position] == "}":
            raise source.at(position).error("unmatched '}' in an f-string, a brace as text is written '}}'")
        else:
            pieces, position = _interpolation(source, raw, position, read, depth)
            parts.extend(pieces)
    return tuple(parts)


def _interpolation(
    source: _Source, raw: bool, start: int, read: ReadExpression, depth: int
) -> tuple[list[Text | Interpolation], int]:
    text, opening = source.text, source.at(start)
    if depth == _MAX_FORMAT_DEPTH:
        raise opening.error("braces in an f-string are nested too deeply")
    end = _end_of_expression(text, start + 1, opening)
    inside = text[start + 1 : end]
    if not inside.strip():
        raise opening.error("expected an expression in the braces of an f-string")
    shown = inside.rstrip().endswith("=")  # {x=} yields the text "x=" and the value
    value = read(inside.rstrip().removesuffix("=") if shown else inside, source.at(start + 1))
    conversion = _CONVERSION.match(text, end)
    position = conversion.end() if conversion else end
    style: FString | None = None
    if text[position : position + 1] == ":":
        close = _end_of_format(text, position + 1, opening)
        inner = source.at(position + 1)
        style = FString(inner, fstring_parts(text[position + 1 : close], raw, inner, read, depth + 1))
        position = close
    if text[position : position + 1] != "}":
        raise opening.error("expected '}' after the expression of an f-string")
    how = conversion[1] if conversion else "r" if shown and style is None else ""
    interpolation = Interpolation(opening, value, how, style)
    return [Text(opening, inside), interpolation] if shown else [interpolation], position + 1


def _end_of_expression(text: str, position: int, opening: Span) -> int:
    """The position of the `}`, `!r` or `:` that ends an expression, outside of brackets and strings."""
    depth = 0
    while position < len(text):
        char = text[position]
        if char in "'\"" and (quoted := _QUOTED.match(text, position)) is not None:
            position = quoted.end()
            continue
        if depth == 0 and (char in ":}" or (char == "!" and text[position + 1 : position + 2] != "=")):
            return position
        depth += (char in "([{") - (char in ")]}")
        position += 1
    raise opening.error("'{' was never closed in an f-string")


def _end_of_format(text: str, position: int, opening: Span) -> int:
    depth = 0
    while position < len(text):
        if text[position] == "}" and depth == 0:
            return position
        depth += (text[position] == "{") - (text[position] == "}")
        position += 1
    raise opening.error("'{' was never closed in an f-string")


class _Source:
    """The text of an f-string that starts at a span, with the locations of its characters."""

    def __init__(self, text: str, span: Span):
        self.text = text
        self._span = span
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, position: int) -> Span:
        """The span of one character."""
        line = bisect_right(self._starts, position) - 1
        column = position - self._starts[line] + (self._span.column if line == 0 else 1)
        line += self._span.line
        return Span(self._span.source, line, column, line, column + 1)
