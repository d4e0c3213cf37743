"""The options `--remarks` and `--statistics` of the tools."""

import json
from pathlib import Path

import pytest

from stepwell.tools import stepwell, stepwell_opt

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.vectorized(8):
        B[i] = A[i] + 1.0
"""
GRAPH = """\
relay.func @main("x" %x: tensor<16x16xf32>) {
  %0 = relay.exp(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  relay.return %0 : tensor<16x16xf32>
}
"""
DECISION = "3:5: tir-vectorize-loops: applied: loop i becomes vectors of 8 lanes"


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def optimize(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The output of `stepwell-opt` on stderr."""
    stepwell_opt.main(list(args))
    return capsys.readouterr().err


def test_stepwell_opt_prints_remarks_on_stderr(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert optimize(capsys, "--remarks", program, "-p", "tir-vectorize-loops") == f"{program}:{DECISION}\n"
    assert optimize(capsys, program, "-p", "tir-vectorize-loops") == ""


def test_remarks_are_lines_of_json(capsys: pytest.CaptureFixture[str], program: str) -> None:
    (line,) = optimize(capsys, program, "--remarks=json", "-p", "tir-vectorize-loops").splitlines()
    remark = json.loads(line)
    assert (remark["kind"], remark["pass"], remark["line"]) == ("applied", "tir-vectorize-loops", 3)


def test_the_passes_of_a_target_make_remarks(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert DECISION in optimize(capsys, program, "--remarks", "-t", "llvm")


def test_stepwell_run_prints_remarks_on_stderr(capsys: pytest.CaptureFixture[str], program: str) -> None:
    with pytest.raises(SystemExit) as stop:
        stepwell.main(["run", "--remarks", program, "--repeat", "1"])
    assert not stop.value.code
    output = capsys.readouterr()
    assert output.err == f"{program}:{DECISION}\n"
    assert "remark" not in output.out


TABLE = """\
pass                 applied  missed
tir-vectorize-loops        1       0
total                      1       0
"""


@pytest.mark.parametrize("command", ["stepwell-opt", "stepwell run"])
def test_statistics_are_a_table_on_stderr_before_the_remarks(
    capsys: pytest.CaptureFixture[str], program: str, command: str
) -> None:
    if command == "stepwell-opt":
        assert optimize(capsys, program, "--statistics", "-p", "tir-vectorize-loops") == TABLE
    else:
        with pytest.raises(SystemExit):
            stepwell.main(["run", program, "--repeat", "1", "--statistics", "--remarks", "--print-landings"])
        assert capsys.readouterr().err == f"{TABLE}{program}:{DECISION}\n"


def test_an_unknown_format_is_refused(capsys: pytest.CaptureFixture[str], program: str) -> None:
    with pytest.raises(SystemExit) as stop:
        stepwell.main(["run", program, "--remarks=xml"])
    assert stop.value.code == 2
    assert "invalid choice: 'xml'" in capsys.readouterr().err


def test_stepwell_compile_prints_remarks_on_stderr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "graph.mlir").write_text(GRAPH)
    with pytest.raises(SystemExit) as stop:
        stepwell.main(
            ["compile", str(tmp_path / "graph.mlir"), "-o", str(tmp_path / "out"), "--remarks=json", "--statistics"]
        )
    assert not stop.value.code
    lines = capsys.readouterr().err.splitlines()
    remarks = [json.loads(line) for line in lines if line.startswith("{")]
    assert any(line.startswith("tir-schedule-cpu") for line in lines)
    assert {remark["pass"] for remark in remarks} >= {"tir-schedule-cpu", "tir-vectorize-loops", "expand-math"}
    assert {remark["function"] for remark in remarks} == {"fused_exp", "fused_exp.collapsed"}
