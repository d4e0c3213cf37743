"""Whole programs: the programs of tests/data, and the corpus if present."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.corpus import SPELLINGS, corpus, programs_of_eras

PRINTED = Path(__file__).parents[2] / "data/corpus/tvmscript"
STYLES = ("classic", "0.27")


def assert_round_trip(text: str, name: str) -> str:
    """Asserts that a program verifies, and round-trips in every style that can express it."""
    module = parse_tvmscript(text, name)
    module.verify()
    printed = module.script()
    assert parse_tvmscript(printed, f"printed {name}").script() == printed
    assert parse_tvmscript(module.script("0.27"), f"printed {name}").script() == printed
    return printed


@pytest.mark.parametrize("path", programs_of_eras(), ids=lambda path: path.name)
def test_a_program_of_each_era_round_trips(path: Path) -> None:
    if path.name == "everything.classic.py":  # constant arrays are missing in the current syntax
        printed = parse_tvmscript(path.read_text(), path.name).script()
        assert parse_tvmscript(printed, "printed").script() == printed
        return
    assert_round_trip(path.read_text(), path.name)


@pytest.mark.parametrize("name", SPELLINGS)
def test_both_spellings_of_a_program_print_identically(name: str) -> None:
    today, classic = ((PRINTED / f"{name}.{era}.py").read_text() for era in ("tvm", "classic"))
    assert parse_tvmscript(today).script() == parse_tvmscript(classic).script()
    assert str(parse_tvmscript(today)) == str(parse_tvmscript(classic))


def in_v09(text: str) -> str:
    """The program in the syntax of v0.9: T.Buffer with brackets, T.serial, a module of tvm.script."""
    text = re.sub(r"T\.Buffer\((\([^()]*\)), (\"[^\"]*\")\)", r"T.Buffer[\1, \2]", text)
    text = re.sub(r"\brange\(", "T.serial(", text)
    text = re.sub(
        r"\):\n        T.func_attr\(\{",
        r""") -> None:
        T.func_attr({"global_symbol": "main", """,
        text,
    )
    return text.replace("@I.ir_module", "@tvm.script.ir_module")


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_v09_spelling_of_a_program_prints_identically(name: str) -> None:
    classic = (PRINTED / f"{name}.classic.py").read_text()
    assert "T.Buffer[" in in_v09(classic)
    assert "global_symbol" in in_v09(classic)
    assert parse_tvmscript(in_v09(classic)).script() == parse_tvmscript(classic).script()


# ---- the corpus


def _corpus() -> Path:
    folder = corpus()
    if folder is None:
        pytest.skip("the corpus is neither in tests/data/corpus nor in ../shared/corpus")
    return folder


def _corpus_names() -> list[str]:
    folder = corpus()
    return sorted(p.name.removesuffix(".tvm.py") for p in folder.glob("tvmscript/*.tvm.py")) if folder else ["absent"]


@pytest.mark.parametrize("name", _corpus_names())
def test_the_corpus_prints_identically_from_all_its_spellings(name: str) -> None:
    folder = _corpus() / "tvmscript"
    today, classic = ((folder / f"{name}.{era}.py").read_text() for era in ("tvm", "classic"))
    printed = assert_round_trip(today, name)
    assert assert_round_trip(classic, name) == printed
    assert parse_tvmscript(in_v09(classic)).script() == printed


def _schedules() -> Iterator[tuple[str, str]]:
    for i, line in enumerate((_corpus() / "schedules/schedules.jsonl").read_text().splitlines()):
        case = json.loads(line)
        yield f"{case['program']} {i} in", case["in"]
        yield f"{case['program']} {i} out", case["out"]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_schedule_of_the_corpus_round_trips(step: int) -> None:
    texts = {text: name for name, text in _schedules()}
    assert len(texts) > 100
    for text, name in list(texts.items())[::step]:
        printed = parse_tvmscript(text, name).script()
        assert parse_tvmscript(printed, f"printed {name}").script() == printed


def test_inferred_accesses_are_those_the_corpus_names() -> None:
    """Compared where TVM prints inferred accesses; regions with minima and maxima as bounds may have another form."""
    different: list[str] = []
    for path in sorted((_corpus() / "tvmscript").glob("*.classic.py")):
        text = path.read_text()
        bare = "\n".join(line for line in text.splitlines() if not re.match(r"\s*T\.(reads|writes)\(", line))
        if parse_tvmscript(bare).script() != parse_tvmscript(text).script():
            different.append(path.name)
    assert different == ["resize_bilinear.classic.py"]
