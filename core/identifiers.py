"""Names of programs in generated text and object files: checks and encodings."""

from __future__ import annotations

import re
import string
from urllib.parse import quote

_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_SYMBOLS = "".join(sorted({*string.punctuation, " "} - {"%"}))


def is_c_identifier(name: str) -> bool:
    """Whether a name has the form of an identifier of C: ASCII letters, digits and underscores."""
    return _C_IDENTIFIER.fullmatch(name) is not None


def symbol_of(prefix: str, name: str) -> str:
    """The symbol `prefix.name` in object files: printable ASCII, distinct for distinct names, and no identifier of C.

    `%` and characters beyond printable ASCII are encoded as in URLs.
    """
    return f"{prefix}.{quote(name, safe=_OF_SYMBOLS, errors='surrogatepass')}"


def is_encodable(text: str) -> bool:
    """Whether a text has an encoding in UTF-8: no character is half of a surrogate pair."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def fresh_name(hint: str, taken: set[str], separator: str = "_") -> str:
    """`hint` if it is not in `taken`, else the first free name of `hint_1`, `hint_2`, ...; adds the name to `taken`.

    separator: the text before the number.
    """
    name, n = hint, 0
    while name in taken:
        n += 1
        name = f"{hint}{separator}{n}"
    taken.add(name)
    return name
