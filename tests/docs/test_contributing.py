"""The paths of CONTRIBUTING.md exist, and contain the names that answer its questions."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
QUESTIONS = re.findall(
    r"^\| (.*\?) \| `(.*)` \| `(.*)` \|$", PAGE.split("\n## Where is ...\n")[1].split("\n## ")[0], re.MULTILINE
)


def test_the_table_of_questions_is_read_completely() -> None:
    section = PAGE.split("\n## Where is ...\n")[1].split("\n## ")[0]
    assert len(QUESTIONS) == len(re.findall(r"^\| ", section, re.MULTILINE)) - 1
    assert len(QUESTIONS) >= 12


@pytest.mark.parametrize(("question", "path", "name"), QUESTIONS)
def test_a_path_contains_the_answer_to_its_question(question: str, path: str, name: str) -> None:
    assert name in (ROOT / path).read_text(), question


def test_paths_of_the_source_exist() -> None:
    paths = set(re.findall(r"`((?:[a-z_.-]+/)+[\w.-]*)`", PAGE))
    planned = {"tests/test_prose.py"}
    assert len(paths) > 25
    assert {path for path in paths - planned if not (ROOT / path).exists()} == set()
