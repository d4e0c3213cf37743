"""Indentation and brackets: processing of the lexer's tokens required by an LALR grammar."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from lark import Token
from lark.exceptions import UnexpectedCharacters

from ...core.diagnostics import SourceFile, Span


@dataclass(frozen=True)
class Excerpt:
    """A text being parsed, and the location of its first character in its source file (1-based)."""

    source: SourceFile
    text: str
    line: int = 1
    column: int = 1

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """The span in the source file of a range of lines and columns of the text."""
        start, end = self._locate(line, column), self._locate(end_line, end_column)
        return Span(self.source, *start, *end)

    def _locate(self, line: int, column: int) -> tuple[int, int]:
        return self.line + line - 1, self.column + column - 1 if line == 1 else column


EXCERPT: ContextVar[Excerpt] = ContextVar("excerpt")
"""The text being parsed: lark passes no user state to lexers and callbacks."""

NEWLINE = "_NEWLINE"
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_OPENER_OF = {closer: opener for opener, closer in _CLOSERS.items()}
_TAB_WIDTH = 8  # the tab width of Python's indentation
_UNSUPPORTED_KEYWORDS = frozenset(
    ["async", "await", "del", "except", "finally", "global", "nonlocal", "raise", "try", "yield"]
)


def token_span(token: Token, last: Token | None = None) -> Span:
    """The span from the start of a token to its end, or to the end of `last`."""
    last = token if last is None else last
    end = last.end_line or last.line or 1, last.end_column or 1
    return EXCERPT.get().span(token.line or 1, token.column or 1, *end)


class IndentationFilter:
    """The post-lexer for lark: drops leading newlines and newlines inside brackets, and inserts _INDENT and _DEDENT.

    The text as a whole may be indented. Brackets are checked here, since the message can name both of a pair.
    """

    always_accept = (NEWLINE,)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        tokens, failure = _collect(stream)
        _check_brackets(tokens, complete=failure is None)
        yield from _insert_indentation(_drop_inner_newlines(tokens), failure)


def _collect(stream: Iterator[Token]) -> tuple[list[Token], UnexpectedCharacters | None]:
    """All tokens up to the first unrecognized character, and lark's error there."""
    tokens: list[Token] = []
    try:
        tokens.extend(stream)
    except UnexpectedCharacters as error:
        return tokens, error
    return tokens, None


def _drop_inner_newlines(tokens: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (token.value in _CLOSERS) - (token.value in _OPENER_OF)
        if token.type != NEWLINE or depth == 0:
            yield token


def _check_brackets(tokens: list[Token], complete: bool) -> None:
    opened: list[Token] = []
    for token in tokens:
        if token.value in _CLOSERS:
            opened.append(token)
        elif (opener := _OPENER_OF.get(token.value)) is not None:
            _check_closer(token, opened.pop() if opened else None, opener)
        elif token.type == "NAME" and token.value in _UNSUPPORTED_KEYWORDS:
            raise token_span(token).error(f"{token.value!r} is not part of TVMScript")
    if complete and opened:
        raise token_span(opened[-1]).error(f"{opened[-1].value!r} was never closed")


def _check_closer(closer: Token, opened: Token | None, opener: str) -> None:
    if opened is None:
        raise token_span(closer).error(f"unmatched {closer.value!r}")
    if opened.value != opener:
        where = f" on line {opened.line}" if opened.line != closer.line else ""
        raise token_span(closer).error(
            f"expected {_CLOSERS[opened.value]!r} to close {opened.value!r}{where}, got {closer.value!r}"
        )


def _insert_indentation(tokens: Iterator[Token], failure: UnexpectedCharacters | None) -> Iterator[Token]:
    levels: list[int] = []
    newline: Token | None = None
    last: Token | None = None
    for token in tokens:
        if token.type == NEWLINE:
            newline = token
            continue
        if not levels:
            levels.append(_first_width(token))
        elif newline is not None:
            yield newline
            yield from _change_of_level(levels, newline, token)
        newline, last = None, token
        yield token
    if failure is not None:
        raise failure
    if last is not None:
        yield _synthetic_token(NEWLINE, newline or last)
        yield from (_synthetic_token("_DEDENT", newline or last) for _ in levels[1:])


def _first_width(token: Token) -> int:
    text, end = EXCERPT.get().text, token.start_pos or 0
    return _width(text[text.rfind("\n", 0, end) + 1 : end])


def _width(blanks: str) -> int:
    return len(blanks.replace("\f", "").expandtabs(_TAB_WIDTH))


def _change_of_level(levels: list[int], newline: Token, token: Token) -> Iterator[Token]:
    width = _width(newline.value.rpartition("\n")[2])
    if width > levels[-1]:
        levels.append(width)
        yield _synthetic_token("_INDENT", token)
    while width < levels[-1]:
        levels.pop()
        if not levels or width > levels[-1]:
            raise token_span(token).error("this line's indentation matches no enclosing block")
        yield _synthetic_token("_DEDENT", token)


def _synthetic_token(type: str, near: Token) -> Token:
    return Token.new_borrow_pos(type, "\n", near)  # lark takes the location of $END from the last nonempty token
