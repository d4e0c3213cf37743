"""Random search: batches of cases, classes of failures, findings and their replay."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from stepwell.core.errors import OptionError, ParseError, StepwellError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.fuzzing import reduction
from stepwell.tools.fuzzing.case import Case, CheckedProgram, Family, Finding, class_of, load_finding
from stepwell.tools.fuzzing.families import FAMILIES
from stepwell.tools.fuzzing.reduction import reduce_program
from stepwell.tools.fuzzing.search import CHUNK, replay, search


def family(check: object, name: str = "test") -> Family:
    return Family(name, "a family of a test", check)  # pyright: ignore[reportArgumentType]


def reject_large(data: st.DataObject, case: Case) -> None:
    n = data.draw(st.integers(0, 10**6))
    case.show(f"n = {n}", "large" if n > 10 else "small")
    assert n < 1000, f"{n} is too large"


def two_bugs(data: st.DataObject, case: Case) -> None:
    n = data.draw(st.integers(0, 1000))
    case.show(n)
    if n % 2:
        parse_tvmscript("x = (")
    raise ValueError(f"{n} is even")


def test_a_failure_is_shrunk_and_replayed() -> None:
    (finding,) = search(family(reject_large), 1, cases=50).findings
    assert (finding.kind, finding.text) == ("test large: AssertionError in check: N is too large", "n = 1000")
    assert "AssertionError: 1000 is too large" in finding.error
    assert finding.blob
    assert "n = 1000" in (replay(family(reject_large), finding) or "")
    assert replay(family(lambda data, case: reject_small(data)), finding) is None


def reject_small(data: st.DataObject) -> None:
    assert data.draw(st.integers(0, 10**6)) > 5


def test_a_search_without_failures_counts_its_cases() -> None:
    batch = search(family(lambda data, case: data.draw(st.integers())), 1, cases=50)
    assert (batch.findings, 0 < batch.cases <= CHUNK) == ([], True)


def test_each_class_of_failures_is_reported_once() -> None:
    findings = search(family(two_bugs), 1, cases=200).findings
    kinds = sorted(finding.kind for finding in findings)
    assert len(kinds) == 2
    assert kinds[0].startswith("test: ParseError in frontends/tvmscript/layout:_check_brackets")
    assert kinds[1] == "test: ValueError in check: N is even"
    assert search(family(two_bugs), 1, cases=50, known=kinds).findings == []


def test_a_case_that_hypothesis_discards_is_no_failure() -> None:
    assert search(family(lambda data, case: assume(False)), 1, cases=50).findings == []


def test_the_input_under_check_is_in_a_file(tmp_path: Path) -> None:
    seen: list[str] = []

    def check(data: st.DataObject, case: Case) -> None:
        case.show("the program", "a pass")
        seen.append((tmp_path / "current.txt").read_text())

    search(family(check), 1, cases=5, current=tmp_path / "current.txt")
    assert set(seen) == {"a pass\nthe program"}


def test_a_class_names_the_innermost_function_under_test() -> None:
    with pytest.raises(ParseError) as raised:
        parse_tvmscript("x = (")
    assert class_of("f", "", raised.value) == "f: ParseError in frontends/tvmscript/layout:_check_brackets"


def test_a_finding_is_saved_and_loaded(tmp_path: Path) -> None:
    finding = Finding("tir", "tir tir-simplify: AssertionError in check", "a program", "a traceback", 7, "6.1", "AA==")
    path = finding.save(tmp_path)
    assert load_finding(path) == finding
    assert path.with_suffix(".txt").read_text().startswith("tir tir-simplify: AssertionError in check\n\na program\n")
    path.write_text("{}")
    with pytest.raises(OptionError, match="expected a finding of stepwell fuzz, got"):
        load_finding(path)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", [name for name in FAMILIES if FAMILIES[name].shrinks])
def test_a_family_finds_nothing(name: str, fuzz_seed: int) -> None:
    batch = search(FAMILIES[name], fuzz_seed, cases=3)
    assert [finding.kind + "\n" + finding.text + finding.error for finding in batch.findings] == []


def crash_on_large(data: st.DataObject, case: Case) -> None:
    n = data.draw(st.integers(0, 10**6))
    case.show(f"n = {n}", "large" if n > 10 else "small")
    if n >= 1000:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_crash_is_shrunk_and_replayed_in_processes_of_their_own() -> None:
    batch = search(family(crash_on_large), 1, cases=CHUNK, is_isolated=True)
    (finding,) = batch.findings
    assert (finding.kind, finding.text, finding.is_crash) == ("test large: crash, SIGKILL", "n = 1000", True)
    error = replay(family(crash_on_large), finding)
    assert error is not None
    assert "CrashError: crash, SIGKILL" in error
    assert replay(family(lambda data, case: case.show(data.draw(st.integers(0, 10**6)))), finding) is None


def test_isolated_checks_that_raise_are_no_crashes() -> None:
    assert search(family(reject_large), 1, cases=CHUNK, is_isolated=True).findings == []


def check_exponentials(module: Module) -> None:
    for op in module.op.walk():
        assert op.name != "math.exp", f"{op.name} in a program of {len(str(module))} characters"


def loops_with_an_exponential(data: st.DataObject, case: Case) -> None:
    extent = data.draw(st.integers(60, 70))
    text = (
        f"@T.prim_func\ndef main(A: T.Buffer(({extent},), 'float32'), n: T.int32):\n    for i in range({extent}):\n"
        "        A[i] = A[i] - T.exp(A[i])\n        A[i] = A[i] + 1.0\n"
    )
    case.check_program(parse_tvmscript(text), check_exponentials)


def crash_of_a_program(data: st.DataObject, case: Case) -> None:
    data.draw(st.booleans())
    case.check_program("first\nsecond\nthird\n", lambda text: os.kill(os.getpid(), "second" in text and signal.SIGKILL))


def test_a_failing_program_is_reduced_beside_the_original(tmp_path: Path) -> None:
    (finding,) = search(family(loops_with_an_exponential), 1, cases=5).findings
    path = finding.save(tmp_path)
    original, reduced = (path.with_suffix(suffix).read_text() for suffix in (".mlir", ".reduced.mlir"))
    assert original == f"{finding.text}\n"
    assert "math.exp" in str(parse_mlir(reduced))
    assert not re.search(r'6\d|tir.for|addf|subf|"n"', reduced)
    finding.delete(tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_text_that_crashes_is_reduced_to_its_lines() -> None:
    (finding,) = search(family(crash_of_a_program), 1, cases=5, is_isolated=True).findings
    assert (finding.kind, finding.suffix, finding.reduced) == ("test: crash, SIGKILL", ".py", "second\n")


def divide_by_zero(_text: str) -> None:
    raise ZeroDivisionError


def test_a_program_that_passes_when_its_check_runs_again_is_not_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = CheckedProgram("text", lambda text: None)
    assert reduce_program(passes, "ValueError in check", 10.0) == ""
    fails = CheckedProgram("text", divide_by_zero)
    assert reduce_program(fails, "ValueError in check", 10.0) == ""
    assert reduce_program(fails, "ZeroDivisionError in check", 0.0) == ""
    monkeypatch.setattr(reduction, "minimal_subset", lambda *_: 1 / 0)
    with pytest.raises(StepwellError, match="the program is not reduced: ZeroDivisionError"):
        reduce_program(fails, "ZeroDivisionError in check", 10.0)
