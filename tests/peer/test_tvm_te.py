"""The recorded results of TVM 0.27 for the corpus of tensor expressions."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.tools.testing.te import CASES, TensorCase

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
    assert set(ask(tvm_python, "--compute")) == {case.name for case in CASES if case.tvm_differs or case.tvm_fails}


def test_every_case_is_recorded_once() -> None:
    assert list(RECORDED) == [case.name for case in CASES]


def test_tvm_refused_the_cases_that_say_why() -> None:
    assert {name for name, made in RECORDED.items() if "error" in made} == {
        case.name for case in CASES if case.tvm_refuses
    }


def test_there_are_at_least_a_hundred_cases_that_run() -> None:
    assert sum(case.runs and not case.tvm_refuses for case in CASES) >= 100


def case(name: str) -> TensorCase:
    return next(case for case in CASES if case.name == name)


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_floats_may_be_off_by_as_much_as_the_case_says() -> None:
    expected = np.array([1, 1000], np.float32)
    assert not case("unary_exp").differs(expected + np.float32(1e-3), expected)
    assert case("unary_exp").differs(expected + np.float32(1e-1), expected)


def test_nan_is_expected_where_it_is_expected() -> None:
    expected = np.array([np.nan, 1], np.float32)
    assert not case("unary_exp").differs(expected.copy(), expected)
    assert case("unary_exp").differs(np.array([0, 1], np.float32), expected)


def test_integers_dtypes_and_shapes_must_be_the_same() -> None:
    expected = np.array([1, 1000000], np.int32)
    assert not case("bit_operations").differs(expected.copy(), expected)
    assert case("bit_operations").differs(expected + np.int32(1), expected)
    assert case("bit_operations").differs(expected.astype(np.int64), expected)
    assert case("bit_operations").differs(expected[None], expected)


def test_arguments_are_in_the_order_of_the_tensors() -> None:
    assert case("several_values_around_their_input").arguments(["A"], ["C", "B"]) == ["C", "A", "B"]
    assert case("matmul").arguments(["A", "B"], ["C"]) == ["A", "B", "C"]
