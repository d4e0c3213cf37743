"""`make fuzz`: what is run with which seed, and what is said of it at the end."""

import importlib.util
import subprocess
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci/fuzz.py"
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


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_fuzz", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_a_seed_gives_the_same_rounds_again_and_each_has_more_examples(fuzz: ModuleType) -> None:
    files = [f"test_{n}.py" for n in range(5)]
    rounds = list(islice(fuzz.runs(files, 7), 10))
    assert rounds == list(islice(fuzz.runs(files, 7), 10))
    assert [(run.seed, run.examples) for run in rounds] == [(7, 50)] * 5 + [(8, 100)] * 5
    assert sorted(run.file for run in rounds[:5]) == sorted(run.file for run in rounds[5:]) == files


def test_failures_are_counted_with_the_command_that_repeats_each(fuzz: ModuleType) -> None:
    run = fuzz.Run("tests/test_x.py", 7, 50)
    output = (
        "FAILED tests/test_x.py::test_y[a b] - assert 0\nERROR tests/test_x.py::test_z\n"
        "1 failed, 8 passed, 1 error in 2s\n"
    )
    said = fuzz.summary([fuzz.result_of(run, output, crashed=False)])
    assert "--hypothesis-seed=7 'tests/test_x.py::test_y[a b]'\n" in said
    assert "reproduce: FUZZ_EXAMPLES=50 " in said
    assert said.endswith("\n10 tests, 2 failures, 1 runs of files, 1 rounds")


def test_a_crash_is_a_failure_of_the_file(fuzz: ModuleType) -> None:
    result = fuzz.result_of(fuzz.Run("tests/test_x.py", 7, 50), "Fatal Python error: Aborted", crashed=True)
    assert result.failures == ("tests/test_x.py",)


@pytest.mark.slow
def test_a_search_ends_in_time_and_prints_the_example_that_fails(tmp_path: Path) -> None:
    for name, text in (("conftest.py", CONFTEST), ("test_all.py", TESTS), ("pytest.ini", "[pytest]\nmarkers = fuzz\n")):
        (tmp_path / name).write_text(text)
    command = [sys.executable, SCRIPT, "--minutes", "0.3", "--seed", "3", "--jobs", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout.startswith("seed 3\n")
    assert "n=100," in done.stdout
    assert "test_all.py::test_wrong\n1 tests, 1 failures, 1 runs of files, 1 rounds" in done.stdout
