"""The parser: text to the syntax tree, by the LALR grammar in grammar.lark."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, cast

import lark
from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lexer import PatternStr

from ...core.cache import digest, user_cache
from ...core.diagnostics import SourceFile, Span, did_you_mean
from ...core.errors import ParseError
from ...core.identifiers import is_encodable
from . import syntax
from .builder import SyntaxTreeBuilder
from .fstrings import fstring_parts
from .layout import EXCERPT, NEWLINE, Excerpt, IndentationFilter, token_span
from .tables import load_tables, tables_text

MAX_NESTING = 600
"""The maximum nesting of statements and expressions, in Python stack frames needed to elaborate them."""

_FRAMES: dict[type[syntax.Node], int] = {syntax.Call: 8, syntax.With: 9, syntax.For: 3, syntax.If: 3, syntax.BoolOp: 5}


def read_module(source: SourceFile) -> syntax.File:
    """The syntax tree of a text; `ParseError` with file, line and caret if it does not match the grammar."""
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    if not is_encodable(text):
        raise Span(source, 1, 1, 1, 1).error("a text with half of a surrogate pair has no encoding in UTF-8")
    tree = _read(Excerpt(source, text + "\n"))
    return replace(tree, size=_check_shape(tree))


def _read(excerpt: Excerpt) -> syntax.File:
    previous = EXCERPT.set(excerpt)
    try:
        return cast(Any, _lark()).parse(excerpt.text)
    except UnexpectedToken as error:
        raise _unexpected_token(error) from None
    except UnexpectedCharacters as error:
        raise _unexpected_character(error, excerpt) from None
    finally:
        EXCERPT.reset(previous)


@cache
def _lark() -> Lark:
    """The parser, made once per process on first use: of the tables that the package has for this version of lark, or
    the cache for another version."""
    grammar = _grammar()
    saved = load_tables(grammar)
    if saved is not None:
        return _saved_lark(saved)
    store = user_cache()
    if store is None:
        return _new_lark(grammar)
    key = digest("tables", grammar, lark.__version__, sys.version)
    content = store.read("parser", key)
    if content is not None:
        return _saved_lark(BytesIO(content))
    parser = _new_lark(grammar)
    file = BytesIO()
    parser.save(file, exclude_options=tuple(_options()))
    store.keep("parser", key, file.getvalue())
    return parser


def _grammar() -> str:
    return files(cast(str, __package__)).joinpath("grammar.lark").read_text(encoding="utf-8")


def tables_of_grammar() -> str:
    """The content of the file of tables."""
    grammar = _grammar()
    return tables_text(grammar, _new_lark(grammar), tuple(_options()))


def _saved_lark(saved: Any) -> Lark:
    return Lark.__new__(Lark)._load(saved, **_options())  # pyright: ignore[reportPrivateUsage]


def _new_lark(grammar: str) -> Lark:
    return Lark(
        grammar,
        start="file",
        parser="lalr",
        lexer="basic",
        keep_all_tokens=True,
        maybe_placeholders=True,
        **_options(),
    )


def _options() -> dict[str, Any]:
    """The options of the parser that its tables do not contain."""
    return {
        "postlex": IndentationFilter(),
        "transformer": SyntaxTreeBuilder(lambda text, raw, span: fstring_parts(text, raw, span, _read_embedded)),
    }


def read_expression(text: str, span: Span) -> syntax.Expr:
    """The syntax tree of an expression in a string that starts at `span`."""
    expression = _read_embedded(text, span)
    _check_shape(expression)
    return expression


def _read_embedded(text: str, span: Span) -> syntax.Expr:
    """The syntax tree of the expression of an f-string or a string, which starts at the span."""
    if "#" in text:  # a comment would hide the parenthesis
        raise span.error("expected an expression")
    match _read(Excerpt(span.source, f"({text})\n", span.line, span.column - 1)).body:
        case (syntax.ExprStmt(value=value),):
            return value
        case _:
            raise span.error("expected an expression")


# ---- checks beyond the grammar


def _check_shape(tree: syntax.Node) -> int:
    """Rejects nesting too deep for recursive functions, and `as` outside of a `with` (the grammar parses parenthesized
    with-items as a tuple); returns the number of nodes.
    """
    count = 0
    pending: list[tuple[syntax.Node, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        count += 1
        if depth > MAX_NESTING:
            raise node.span.error("nested too deeply")
        for child in node.children():
            if isinstance(child, syntax.WithItem) and not isinstance(node, syntax.With):
                raise child.span.error("'as' has its place in a with statement")
            pending.append((child, depth + _FRAMES.get(type(node), 2)))
    return count


# ---- messages

_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "_NEWLINE": "end of line",
    "_INDENT": "an indented block",
    "_DEDENT": "end of block",
    "$END": "end of file",
}
_LAYOUT = frozenset(["_NEWLINE", "_INDENT", "_DEDENT", "$END"])
_STARTS_EXPRESSION = frozenset(["NAME", "NUMBER", "STRING", "LPAR"])
_UNSAID = frozenset("| ^ & << >> + - * / // % @ ** < <= > >= == != in is and or not if for . ( [ ; as =".split())
_UNSAID_IN_LINE = frozenset([",", ":"])


def _unexpected_token(error: UnexpectedToken) -> ParseError:
    token, parser = cast(Token, error.token), cast(Any, error.interactive_parser)
    previous: object = parser.parser_state.value_stack[-1] if parser.parser_state.value_stack else None
    # the LALR table alone would include terminals that the parser does not accept here
    expectation = _expectation(parser.accepts())
    return token_span(token).error(f"expected {expectation}, got {_describe(token)}{_keyword_hint(previous, token)}")


def _describe(token: Token) -> str:
    if token.type in _LAYOUT:
        return _WORDS[token.type]
    text = str(token).partition("\n")[0]
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _expectation(terminals: set[str]) -> str:
    """The expected terminals in words: one word for an expression; operators only if nothing else fits."""
    if terminals >= _STARTS_EXPRESSION:
        return "a statement" if "WITH" in terminals else "an expression"
    symbols = {_symbol(terminal) for terminal in terminals if terminal != "AUGMENT"}
    unsaid = _UNSAID | _UNSAID_IN_LINE if NEWLINE in symbols else _UNSAID
    words = sorted(_WORDS.get(symbol) or repr(symbol) for symbol in symbols - unsaid or symbols)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@cache
def _symbol(terminal: str) -> str:
    """The text of a terminal with fixed spelling; else its name."""
    pattern = next((t.pattern for t in _lark().terminals if t.name == terminal), None)
    return pattern.value if isinstance(pattern, PatternStr) else terminal


def _keyword_hint(previous: object, token: Token) -> str:
    """A suggestion for `fro i in range(8)`: this name, or the previous one, may be a misspelled keyword."""
    for word in (previous, token):
        if isinstance(word, Token) and word.type == "NAME" and len(word) > 1 and word not in _keywords():
            if hint := did_you_mean(word, _keywords()):
                return hint
    return ""


@cache
def _keywords() -> tuple[str, ...]:
    patterns: Iterable[object] = (terminal.pattern for terminal in _lark().terminals)
    words = (pattern.value for pattern in patterns if isinstance(pattern, PatternStr))
    return tuple(word for word in words if word.isalpha() and word not in ("from", "import"))


def _unexpected_character(error: UnexpectedCharacters, excerpt: Excerpt) -> ParseError:
    char = excerpt.text[error.pos_in_stream]
    span = excerpt.span(error.line, error.column, error.line, error.column + 1)
    if char in "'\"":
        return span.error("this string is never closed")
    if char == "\\":
        return span.error("expected end of line after '\\'")
    return span.error(f"unexpected character {char!r}")
