"""Campaigns of `stepwell fuzz`: processes, crashes, tests of a checkout, the command line."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from stepwell.tools import stepwell
from stepwell.tools.fuzzing.campaign import Campaign
from stepwell.tools.fuzzing.case import Finding
from stepwell.tools.fuzzing.random_tests import RandomTests, batch_of, fails_again, without_interrupted_tests

CONFTEST = 'from hypothesis import settings\nsettings.register_profile("fuzz", database=None, deadline=None)\n'
TESTS = """
import time
from hypothesis import given, strategies as st

@given(st.integers(0, 10**9))
def test_wrong(n):
    assert n < 100

@given(st.integers())
def test_endless(n):
    time.sleep(1)

def test_without_random_inputs():
    assert False
"""


def campaign(tmp_path: Path, **options: Any) -> Campaign:
    given: dict[str, Any] = {"families": ["te"], "corpus": tmp_path / "found", "seed": 7, "seconds": 0.1, "jobs": 1}
    return Campaign(report=lambda text: None, **{**given, **options})


def tasks(search: Campaign, count: int) -> list[tuple[str, int]]:
    return list(islice(search._tasks(float("inf")), count))  # pyright: ignore[reportPrivateUsage]


def test_a_seed_gives_the_same_tasks_and_each_round_has_all_families(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    first = tasks(campaign(tmp_path, families=names), 6)
    assert first == tasks(campaign(tmp_path, families=names), 6)
    assert sorted(name for name, _ in first[:3]) == sorted(name for name, _ in first[3:]) == names
    assert first != tasks(campaign(tmp_path, families=names, seed=8), 6)


def process(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Replaces the worker of campaigns by Python code, whose request is `options`."""
    real = subprocess.Popen
    head = "import json, os, pathlib, sys, time\noptions = json.loads(sys.argv[1])\n"

    def start(command: list[str], **options: Any) -> Any:
        return real([sys.executable, "-c", head + code, command[-1]], **options)

    monkeypatch.setattr("stepwell.tools.fuzzing.campaign.subprocess.Popen", start)


def test_a_crash_of_a_process_is_a_finding_with_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, "pathlib.Path(options['current']).write_text('a pass\\nthe program'); os.abort()")
    search = campaign(tmp_path)
    search.run()
    (finding,) = search.findings
    assert (finding.kind, finding.text) == ("te a pass: crash, SIGABRT", "the program")
    assert (
        (tmp_path / "found" / f"{finding.name}.txt").read_text().startswith("te a pass: crash, SIGABRT\n\nthe program")
    )


def test_a_hang_of_a_process_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(monkeypatch, "time.sleep(60)")
    monkeypatch.setattr("stepwell.tools.fuzzing.campaign.HANG_SECONDS", 0.5)
    search = campaign(tmp_path)
    search.run()
    assert [finding.kind for finding in search.findings] == ["te: hang"]


def test_a_class_is_reported_once_and_the_summary_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = '{"family": "te", "kind": "te: X", "text": "t", "error": "e", "seed": 1}'
    result = f"""'{{"cases": 5, "findings": [{finding}]}}'"""
    process(monkeypatch, f"pathlib.Path(options['result']).write_text({result})")
    search = campaign(tmp_path, seconds=1.0)
    search.run()
    assert [each.kind for each in search.findings] == ["te: X"]
    total = search.totals["te"].cases
    assert total >= 5
    assert search.summary().endswith(f"\n{total} cases, 1 new classes of failures, seed 7")


@pytest.mark.slow
def test_a_batch_of_a_process(tmp_path: Path) -> None:
    search = campaign(tmp_path, seconds=20.0, families=["te"])
    search.run()
    assert search.findings == []
    assert search.totals["te"].cases > 0


# Random tests of a checkout


def test_failures_of_tests_are_findings_with_the_command_that_repeats_each() -> None:
    output = (
        "FAILED tests/test_x.py::test_y[a b] - assert 0\nERROR tests/test_x.py::test_z\n"
        "1 failed, 8 passed, 1 error in 2s\n"
    )
    batch = batch_of("tests/test_x.py", 7, output, crashed=False)
    assert batch.cases == 10
    first, second = batch.findings
    assert (first.kind, second.kind) == ("tests: tests/test_x.py::test_y[a b]", "tests: tests/test_x.py::test_z")
    assert first.text.startswith("FUZZ_EXAMPLES=50 ")
    assert first.text.endswith("--hypothesis-seed=7 'tests/test_x.py::test_y[a b]'")


def test_an_interrupted_test_has_not_failed() -> None:
    output = (
        "____ test_y[a b] ____\nE   KeyboardInterrupt\n____ test_z ____\nE   assert 0\n"
        "FAILED tests/test_x.py::test_y[a b] - KeyboardInterrupt\nFAILED tests/test_x.py::test_z - assert 0\n"
        "FAILED tests/test_x.py::test_y[a b]c\n"
        "3 failed, 8 passed in 2s\n"
    )
    batch = batch_of("tests/test_x.py", 7, without_interrupted_tests(output), crashed=False)
    kinds = [finding.kind for finding in batch.findings]
    assert kinds == ["tests: tests/test_x.py::test_z", "tests: tests/test_x.py::test_y[a b]c"]


def test_a_crash_is_a_failure_of_the_file() -> None:
    batch = batch_of("tests/test_x.py", 7, "Fatal Python error: Aborted", crashed=True)
    assert [finding.kind for finding in batch.findings] == ["tests: tests/test_x.py"]


@pytest.mark.slow
def test_random_tests_end_in_time_and_print_the_example_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("conftest.py", CONFTEST), ("test_all.py", TESTS), ("pytest.ini", "[pytest]\nmarkers = fuzz\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    tests = RandomTests(["."])
    assert tests.files() == ["test_all.py"]
    batch = tests.run("test_all.py", 3, 15.0)
    assert [finding.kind for finding in batch.findings] == ["tests: test_all.py::test_wrong"]
    assert "n=100," in batch.findings[0].error
    assert fails_again(batch.findings[0])
    (tmp_path / "test_all.py").write_text(TESTS.replace("def test_wrong", "def test_other"))
    assert not fails_again(batch.findings[0])
    (tmp_path / "test_all.py").write_text("def test_wrong():\n    pass\n")
    assert not fails_again(batch.findings[0])


# The command line


def test_the_command_replays_a_folder_and_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Finding("te", "te: gone", "t", "e", 1, "6.1", "AA==").save(tmp_path)
    crash = Finding("te", "te: crash, SIGSEGV", "t", "e", 1).save(tmp_path)
    monkeypatch.setattr("stepwell.tools.fuzzing.command.replay", lambda family, finding: None)
    monkeypatch.setattr(Campaign, "run", lambda self: None)
    with pytest.raises(SystemExit) as ended:
        stepwell.main(["fuzz", "--corpus", str(tmp_path), "--seed", "1"])
    assert ended.value.code == 1
    output = capsys.readouterr().out
    assert "passes now, and is deleted: te: gone" in output
    assert "known: te: crash, SIGSEGV" in output
    assert (gone.exists(), crash.exists()) == (False, True)
    with pytest.raises(SystemExit):
        stepwell.main(["fuzz", "--replay", str(crash)])
    assert "no record to replay" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--minutes", "0"], ["--jobs", "0"]])
def test_a_budget_is_above_zero(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        stepwell.main(["fuzz", *options])
    assert "expected numbers above 0" in capsys.readouterr().err
