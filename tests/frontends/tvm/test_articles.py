"""Programs of tutorials for TVM, with only their import lines changed: they run and print what they print there, in
today's spelling."""

import runpy
from pathlib import Path

import pytest

ARTICLES = Path(__file__).parents[2] / "data" / "articles"


@pytest.mark.parametrize("name", sorted(file.stem for file in ARTICLES.glob("*.py")))
def test_an_article_prints_what_it_shows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ARTICLES / f"{name}.py"))
    assert capsys.readouterr().out == (ARTICLES / f"{name}.txt").read_text()
