"""HTML of programs, which notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def code_html(text: str, language: str | None = None) -> str:
    """The HTML of a program text, with colors if Pygments knows the language and is installed, as with every notebook.

    language: the name of a lexer of Pygments, None for a language that Pygments does not know.
    """
    if language is not None:
        try:
            # lazy: Pygments is a part of notebooks, which alone show HTML
            from pygments import highlight
            from pygments.formatters import HtmlFormatter
            from pygments.lexers import get_lexer_by_name
        except ImportError:
            pass
        else:
            return highlight(text, get_lexer_by_name(language), HtmlFormatter[str](noclasses=True))
    return f"<pre>{escape(text)}</pre>"


def folded_html(title: str, body: str) -> str:
    """HTML that a click on a title unfolds."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    lines = [f"<tr>{''.join(f'<td><code>{escape(cell)}</code></td>' for cell in row)}</tr>" for row in rows]
    return f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>{''.join(lines)}</table>"
