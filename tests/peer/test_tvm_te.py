"""What TVM 0.27 makes of the corpus of tensor expressions."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stepwell.tools.testing.te import CASES

HERE = Path(__file__).parent
RECORDED = json.loads((HERE.parent / "data" / "te" / "tvm-0.27.json").read_text())


def ask(python: Path, *options: str) -> dict[str, Any]:
    command = [python, HERE / "te_record.py", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.peer
def test_the_recorded_texts_are_what_tvm_prints(tvm_python: Path) -> None:
    assert ask(tvm_python) == RECORDED


@pytest.mark.peer
def test_tvm_computes_what_numpy_does_except_where_a_case_says_why_not(tvm_python: Path) -> None:
    assert set(ask(tvm_python, "--compute")) == {case.name for case in CASES if case.tvm_differs}


def test_every_case_is_recorded_once() -> None:
    assert list(RECORDED) == [case.name for case in CASES]


def test_tvm_refused_the_cases_that_say_why() -> None:
    assert {name for name, made in RECORDED.items() if "error" in made} == {
        case.name for case in CASES if case.tvm_refuses
    }


def test_there_are_at_least_a_hundred_cases_that_run() -> None:
    assert sum(case.runs and not case.tvm_refuses for case in CASES) >= 100
