"""The prose of the source keeps the writing rule of CONTRIBUTING.md, as far as a program can measure it."""

import re
from pathlib import Path
from statistics import median

import pytest
from house import ROOT, all_docstrings, filler_share, folders, uses_per_thousand, words

FORBIDDEN_STARTS = ("What", "Of", "That", "Those", "How many", "Which")
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]  # CONTRIBUTING.md quotes the words to avoid


def _prose(document: Path) -> str:
    """The text of a page without its programs and quoted output."""
    return re.sub(r"```.*?```|`[^`]*`|^ {4}.*?$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_no_first_sentence_begins_with_a_word_in_place_of_a_noun() -> None:
    starts = re.compile(rf"({'|'.join(FORBIDDEN_STARTS)})\b")
    assert [doc for doc in all_docstrings() if starts.match(doc.first_sentence)] == []


def test_no_first_sentence_consists_of_fillers() -> None:
    assert [(doc.path, doc.line, doc.first_sentence) for doc in all_docstrings() if doc.filler_share > 0.35] == []


@pytest.mark.parametrize("folder", folders())
def test_most_first_sentences_have_few_fillers(folder: str) -> None:
    assert median(doc.filler_share for doc in all_docstrings() if doc.path.startswith(f"{folder}/")) <= 0.10


@pytest.mark.parametrize("folder", folders())
def test_docstrings_name_the_thing_instead_of_saying_what(folder: str) -> None:
    texts = [doc.text for doc in all_docstrings() if doc.path.startswith(f"{folder}/")]
    assert uses_per_thousand("what", texts) <= 1.5


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_pages_name_the_thing_instead_of_saying_what(document: Path) -> None:
    assert uses_per_thousand("what", [_prose(document)]) <= 1.5


def test_docstrings_place_statements_before_and_after_each_other() -> None:
    space = re.compile(r"\b(?:behind|in front of)\b")
    assert [(doc.path, doc.line) for doc in all_docstrings() if space.search(doc.text)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_pages_place_statements_before_and_after_each_other(document: Path) -> None:
    assert re.findall(r".*\b(?:behind|in front of)\b.*", _prose(document)) == []


@pytest.mark.parametrize(
    ("sentence", "share"),
    [
        ("Returns the loops around a block, outermost first.", 0.0),
        ("What it is in.", 0.75),
        ("That of `x`, if there is one.", 4 / 7),
        ("", 0.0),
    ],
)
def test_fillers_are_counted(sentence: str, share: float) -> None:
    assert filler_share(sentence) == pytest.approx(share)
    assert "`" not in "".join(words(sentence))
