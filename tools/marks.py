"""Parts of pages that tools write."""

from __future__ import annotations

from pathlib import Path


def write_between_marks(page: Path, start: str, end: str, text: str) -> None:
    """Replaces the text between two lines of a page, `start` and `end`. ValueError for a page without them."""
    before, first, rest = page.read_text().partition(start)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"{page}: expected the lines '{start}' and '{end}'")
    page.write_text(f"{before}{start}\n\n{text}\n{end}{after}")
