"""Values of number and string literals in Python's syntax."""

from __future__ import annotations

import re
import unicodedata

from ...core.diagnostics import Span

_MAX_DIGITS = 4000  # Python converts at most 4300 decimal digits
_STRING = re.compile(r"([a-zA-Z]*)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)
_PREFIXES = frozenset(["", "r", "u", "b", "f", "rb", "br", "rf", "fr"])
_ESCAPE = re.compile(r"\\(\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.DOTALL)
_SIMPLE_ESCAPES = {
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


def number_value(text: str, span: Span) -> int | float:
    """The value of a number literal; a diagnostic if it is invalid."""
    if text[-1] in "jJ" and text[:2].lower() != "0x":
        raise span.error("complex numbers are not part of TVMScript")
    if len(text) > _MAX_DIGITS:
        raise span.error(f"this number has {len(text)} characters, at most {_MAX_DIGITS} are read")
    try:
        return float(text) if _is_float(text) else int(text, 0)
    except ValueError:
        raise span.error(f"invalid number {text!r}{_number_hint(text)}") from None


def _is_float(text: str) -> bool:
    return text[:2].lower() not in ("0x", "0o", "0b") and not text.replace("_", "").isdigit()


def _number_hint(text: str) -> str:
    if text.isdigit():
        return ": leading zeros are not allowed, an octal number is written 0o17"
    if "_" in text:
        return ": an underscore stands between two digits"
    return ""


def split_string(token: str, span: Span) -> tuple[str, str, int]:
    """The prefix of a string literal in lower case, its text between the quotes, and the offset of the text in the
    token.
    """
    match = _STRING.fullmatch(token)
    if match is None or match[1].lower() not in _PREFIXES:
        raise span.error(f"unknown string prefix {match[1] if match else token!r}")
    return match[1].lower(), match[3], match.start(3)


def unescape(text: str, span: Span, in_bytes: bool = False) -> str:
    """The text with backslash escapes replaced; unknown escapes are kept, as in Python."""

    def replace(match: re.Match[str]) -> str:
        body = match[1]
        if body in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[body]
        if body[0] in "01234567":
            return chr(int(body, 8))
        if body[0] == "x" and len(body) == 3:
            return chr(int(body[1:], 16))
        if in_bytes or (len(body) == 1 and body not in "xuUN"):
            return match[0]
        return _unicode_escape(body, span)

    return _ESCAPE.sub(replace, text)


def _unicode_escape(body: str, span: Span) -> str:
    try:
        char = unicodedata.lookup(body[2:-1]) if body[0] == "N" else chr(int(body[1:], 16))
        char.encode()  # half of a surrogate pair is no character
        return char
    except (KeyError, ValueError, OverflowError):
        raise span.error(f"invalid escape '\\{body}' in a string") from None
