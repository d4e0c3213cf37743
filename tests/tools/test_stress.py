"""The stress test of the cache and the runtime: a short one, and the failures that it finds."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stepwell.tools import stress
from stepwell.tools.stress import RUNS, Stress

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and rename of Linux")


@pytest.mark.parametrize("kind", RUNS)
def test_each_kind_of_program_computes_the_expected_result(kind: str) -> None:
    for n in (0, 3, 1000):
        actual, expected = RUNS[kind](n, np.random.default_rng(n))
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.slow
def test_a_short_stress_test_passes(tmp_path: Path) -> None:
    test = Stress(tmp_path, seed=0, seconds=30)
    assert test.run() == []
    assert all(test.counts[kind] > 0 for kind in (*RUNS, "kills", "damages"))


def start(test: Stress, program: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The failures of a stress test whose processes execute another program."""
    code = [sys.executable, "-u", "-c", program]
    popen = subprocess.Popen
    monkeypatch.setattr(stress.subprocess, "Popen", lambda _, **options: popen(code, **options))
    monkeypatch.setattr(stress, "_SILENCE", 0.5)
    return test.run()


def test_an_error_of_a_process_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; print('graph'); sys.exit('graph 3: expected 1, got 2')"
    failures = start(Stress(tmp_path, 0, 20), program, monkeypatch)
    assert "a process ended with 1:\ngraph 3: expected 1, got 2\n" in failures


def test_a_crash_of_a_process_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})"
    failures = start(Stress(tmp_path, 0, 20), program, monkeypatch)
    assert failures[0].startswith(f"a process ended with {-signal.SIGSEGV}")


def test_the_core_dump_of_a_crash_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os; open('core.7', 'w').close(); os.abort()"
    failures = start(Stress(tmp_path, 0, 20), program, monkeypatch)
    assert failures[0].startswith(f"a process ended with {-signal.SIGABRT}, core dump core.7")


def test_a_process_without_results_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import faulthandler, signal, time; faulthandler.register(signal.SIGUSR1); time.sleep(60)"
    failures = start(Stress(tmp_path, 0, 20), program, monkeypatch)
    assert failures[0].startswith("a process has no result for 0.5 s:\n")
    assert "File" in failures[0]


def test_temporary_files_are_removed_or_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        os.makedirs(tmp_path / "program" / f".partial-{name}")
    program = "import time\nwhile True: print('graph'); time.sleep(0.05)"
    test = Stress(tmp_path, 0, 1)
    assert start(test, program, monkeypatch) == []
    assert list((tmp_path / "program").iterdir()) == []
    assert test.counts["abandoned"] == 2
    monkeypatch.setattr(stress, "THREADS", 0)
    for n in range(9):
        os.makedirs(tmp_path / "program" / f".partial-{n}")
    test = Stress(tmp_path, 0, 0)
    (failure,) = start(test, program, monkeypatch)
    assert failure.startswith("9 temporary files after 0 kills")
