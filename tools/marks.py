"""Parts of pages that tools write."""

from __future__ import annotations

from pathlib import Path


def write_between_marks(page: Path, start: str, end: str, text: str) -> None:
    """Replaces the text between two lines of a page, `start` and `end`. ValueError for a page without them."""
    try:
        page.write_text(replace_between_marks(page.read_text(), start, end, f"\n{text}"))
    except ValueError as error:
        raise ValueError(f"{page}: {error}") from None


def replace_between_marks(page: str, start: str, end: str, text: str) -> str:
    """The text of a page with another text between two lines, `start` and `end`. ValueError for a page without
    them."""
    before, first, rest = page.partition(start)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"expected the lines '{start}' and '{end}'")
    return f"{before}{start}\n{text}\n{end}{after}"
