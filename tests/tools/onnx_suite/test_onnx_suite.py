"""The harness reports the outcome of every case, whatever its behaviour, and counts outcomes correctly."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell import UnsupportedError

pytest.importorskip("onnx")

from stepwell.frontends.onnx import OnnxError, expand_node, load_model
from stepwell.tools.onnx_suite import (
    KINDS,
    CaseOutcome,
    OnnxCase,
    fold_shapes,
    load_cases,
    report,
    result_difference,
    run_cases,
    write_report,
)
from stepwell.tools.onnx_suite.__main__ import main
from stepwell.tools.onnx_suite.peers import PEERS

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def _zeros(
    padded: np.ndarray, x_shape: Sequence[int], kernel: Any, strides: Any, out_shape: Sequence[int], *_: Any, **__: Any
) -> np.ndarray:
    """In place of the results of a pool, which no test needs, and which take half of the time of all cases."""
    return np.zeros([*x_shape[:2], *out_shape], padded.dtype)


@pytest.fixture(scope="module")
def cases() -> Iterator[dict[str, OnnxCase]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("onnx.reference.ops.op_pool_common.pool", _zeros)
        yield {case.name: case for case in load_cases()}


def test_every_case_has_a_kind_and_an_operator(cases: dict[str, OnnxCase]) -> None:
    assert {case.kind for case in cases.values()} == set(KINDS)
    assert cases["test_add"].op == "Add"
    assert cases["test_clip_expanded"].op == "Clip"
    assert cases["test_clip_expanded"].is_expanded


def test_every_model_of_inference_is_read(cases: dict[str, OnnxCase]) -> None:
    graphs = [load_model(case.model) for case in cases.values() if case.kind == "inference"]
    assert len(graphs) > 1000


def test_operators_are_expanded_as_in_the_cases_that_say_so(cases: dict[str, OnnxCase]) -> None:
    names = [name for name in cases if name.endswith("_expanded")]
    assert len(names) > 300
    for name in names:
        graph = load_model(cases[name.removesuffix("_expanded")].model)
        types = {value.name: value.type for value in graph.inputs}
        (node,) = graph.nodes
        nodes = expand_node(node, [types.get(operand) for operand in node.inputs], graph.opset)
        assert nodes is not None
        assert [node.op_type for node in nodes] == [node.op_type for node in load_model(cases[name].model).nodes]


def test_shapes_are_folded_into_the_model_and_the_case_stays(cases: dict[str, OnnxCase]) -> None:
    case = cases["test_reshape_zero_dim"]
    changed = fold_shapes(case)
    assert [item.name for item in load_model(changed.model).inputs] == ["data"]
    np.testing.assert_array_equal(load_model(changed.model).initializers["shape"], case.inputs[1])
    assert (len(changed.inputs), len(case.inputs), len(case.model.graph.input)) == (1, 2, 2)


def test_expanded_cases_fold_what_their_operator_folds(cases: dict[str, OnnxCase]) -> None:
    assert len(fold_shapes(cases["test_reduce_l1_keep_dims_example_expanded"]).inputs) == 1
    assert fold_shapes(cases["test_add"]) is cases["test_add"]


@pytest.mark.parametrize("change", [lambda case: case, fold_shapes])
def test_the_reference_passes(cases: dict[str, OnnxCase], change: Any) -> None:
    names = ("test_add", "test_add_bcast", "test_reshape_zero_dim", "test_clip_expanded", "test_split_to_sequence_1")
    prepare = PEERS["reference"]()
    outcomes = {case.name: end for case, end in run_cases([change(cases[name]) for name in names], prepare, workers=2)}
    assert outcomes == dict.fromkeys(names, CaseOutcome("pass"))


def misbehave(at_once: Any = None, later: Any = None) -> Any:
    """A `prepare` that calls `at_once`, and a `run` that returns its first input or the result of `later`."""

    def prepare(data: bytes) -> Any:
        if at_once is not None:
            at_once()

        def run(inputs: Sequence[Any]) -> Any:
            return [inputs[0] if later is None else later()]

        return run

    return prepare


def fail(error: Exception) -> Any:
    def raises() -> None:
        raise error

    return raises


@pytest.mark.parametrize(
    ("prepare", "result", "detail"),
    [
        (misbehave(fail(OnnxError("bad"))), "import_error", "bad"),
        (misbehave(fail(UnsupportedError("no Add"))), "unsupported", "no Add"),
        (misbehave(fail(KeyError("k"))), "compile_error", "KeyError: 'k'"),
        (misbehave(None, fail(ValueError("v\nmore"))), "run_error", "ValueError: v"),
        (misbehave(None, lambda: os.kill(os.getpid(), SIGKILL)), "crash", "SIGKILL"),
        (misbehave(lambda: os._exit(3)), "crash", "exit code 3"),
        (misbehave(None, lambda: time.sleep(60)), "timeout", "more than 1 s"),
        (misbehave(None, lambda: np.zeros(2)), "wrong", "[0]: expected dtype float32, got float64"),
    ],
)
def test_every_way_to_fail_has_an_outcome(cases: dict[str, OnnxCase], prepare: Any, result: str, detail: str) -> None:
    ((_, outcome),) = run_cases([cases["test_add"]], prepare, limit=1.0)
    assert outcome == CaseOutcome(result, detail)


def test_one_that_hangs_does_not_stop_the_others(cases: dict[str, OnnxCase]) -> None:
    slow = replace(cases["test_add"], name="slow", inputs=[np.zeros(1), *cases["test_add"].inputs[1:]])

    def prepare(data: bytes) -> Any:
        return lambda inputs: time.sleep(60) if inputs[0].size == 1 else cases["test_add"].outputs

    ends = [
        (case.name, end.result)
        for case, end in run_cases([slow, *[cases["test_add"]] * 3], prepare, workers=2, limit=2)
    ]
    assert ends == [("test_add", "pass")] * 3 + [("slow", "timeout")]


def test_memory_that_was_not_written_holds_no_zeros(cases: dict[str, OnnxCase]) -> None:
    zeros = replace(cases["test_add"], outputs=[np.zeros(100_000, "float32")])
    ((_, outcome),) = run_cases([zeros], misbehave(None, lambda: np.empty(100_000, "float32")))
    assert outcome.result == "wrong"


HALF = ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        ([1.0], [1.0005], ""),
        ([1.0, 2.0], [1.0, 2.1], "1 of 2 values, the first at (1,): expected 2.1, got 2.0"),
        ([np.nan, np.inf], [np.nan, np.inf], ""),
        (np.zeros((2, 1)), np.zeros(2), "expected shape (2,), got (2, 1)"),
        (np.zeros(2, "int32"), np.zeros(2, "int64"), "expected dtype int64, got int32"),
        (np.array(1.0, HALF), np.array(1.0078125, HALF), ""),
        (np.array(1.0, HALF), np.array(1.25, HALF), "1 of 1 values, the first: expected 1.25, got 1.0"),
        (np.array(["a"], object), np.array(["b"], object), "1 of 1 values, the first at (0,): expected b, got a"),
        (np.array("a"), np.array("a", object), ""),
        (np.array(True), np.array(False), "1 of 1 values, the first: expected False, got True"),
        (None, np.zeros(1), "expected ndarray, got NoneType"),
    ],
)
def test_a_difference_is_said(got: Any, want: Any, said: str) -> None:
    got, want = (np.array(item) if isinstance(item, list) else item for item in (got, want))
    found = result_difference([got], [want])
    assert found == (f"[0]: {said}" if said else "")


def test_sequences_are_compared_value_by_value() -> None:
    ones = np.ones(2)
    assert result_difference([[ones, ones]], [[ones, ones]]) == ""
    assert result_difference([[ones]], [[ones, ones]]) == "[0]: expected 2 values, got 1"
    assert result_difference([ones], [[ones]]) == "[0]: expected 1 values, got ndarray"
    assert result_difference([[ones, ones]], [[ones, 2 * ones]]).startswith("[0][1]: 2 of 2 values")


def test_a_report_counts_and_groups(cases: dict[str, OnnxCase]) -> None:
    add, mul, clip = (cases[f"test_{name}"] for name in ("add", "mul", "clip"))
    given = [
        (add, CaseOutcome("pass")),
        (mul, CaseOutcome("unsupported", "no b")),
        (clip, CaseOutcome("unsupported", "no b")),
    ]
    text = report({"given": given, "folded": [*given[:2], (clip, CaseOutcome("wrong", "[0]: bad"))]})
    assert "| inference | as given | 3 | 1 | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 0 | 33.3 % |" in text
    assert "| Clip | 1 | . | . | . | 1 | . | . | . | 1 | . | . |" in text
    assert "- unsupported, 2: no b (`test_clip`, `test_mul`)" in text
    assert "### Unsupported, shapes folded" not in text
    assert "### Wrong results, shapes folded\n\n- `test_clip` (Clip): [0]: bad" in text


@pytest.mark.parametrize(("change", "result"), [(0.0, "inexact"), (1e-6, "wrong")])
def test_results_nearer_to_those_in_float64_than_the_expected_ones_are_no_mistake(
    cases: dict[str, OnnxCase], change: float, result: str
) -> None:
    """The inverse transform has imaginary parts 0, which ONNX expects as numpy rounds them in float32."""
    case = cases["test_dft_inverse_opset19"]
    exact = np.fft.ifft(case.inputs[0][..., 0].astype("float64"), axis=1)
    got = np.stack([exact.real, exact.imag + change], -1).astype("float32")
    ((_, outcome),) = run_cases([case], misbehave(None, lambda: got))
    assert outcome.result == result


def test_the_tool_writes_between_the_marks_and_keeps_outcomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = "<!-- suite: made by `make onnx-suite` -->\nthe last run\n<!-- end of suite -->"
    page = tmp_path / "onnx.md"
    page.write_text(f"before\n{marks}\nafter\n")
    results = tmp_path / "results"
    main(["-k", "test_add_bcast", "-j", "2", "--results", str(results), "--write", str(page)])
    text = page.read_text()
    kept = [f'["{mode}", "test_add_bcast", "pass", ""]' for mode in ("given", "folded")]
    assert results.read_text().splitlines() == kept
    assert "as given: 1 of 1 pass" in capsys.readouterr().err
    results.write_text("\n".join(each.replace("pass", "crash") for each in kept) + "\n")
    main(["-k", "test_add_bcast", "--results", str(results)])
    assert "as given: 0 of 1 pass" in capsys.readouterr().err.splitlines()[-2]
    assert text.startswith("before\n<!-- suite")
    assert text.endswith("<!-- end of suite -->\nafter\n")
    assert "the last run" not in text
    assert "| Add | 1 | 1 |" in text


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text")
    with pytest.raises(ValueError, match="expected the lines"):
        write_report(page, "report")
    assert page.read_text() == "text"
