"""The `stepwell-opt` driver: inputs, outputs and errors."""

from pathlib import Path

import pytest

from stepwell.tools.stepwell_opt import main

VECTOR_ADD = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(VECTOR_ADD)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    main(list(args))
    return capsys.readouterr().out


def mistake(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    assert stop.value.code == 1
    return capsys.readouterr().err


def test_tvmscript_goes_in_and_mlir_comes_out(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert 'tir.block "B"' in run(capsys, program)


def test_a_file_of_any_name_is_tvmscript_when_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "program.txt").write_text(VECTOR_ADD)
    assert "tir.func @main" in run(capsys, str(tmp_path / "program.txt"), "-f", "tvmscript")


def test_tvmscript_comes_out_again(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert 'with T.block("B"):' in run(capsys, program, "-t", "tvmscript")
    assert 'with T.sblock("B"):' in run(capsys, program, "-t", 'tvmscript{style="0.27"}')


def test_passes_run_in_order(capsys: pytest.CaptureFixture[str], program: str) -> None:
    out = run(capsys, program, "-p", "tir-resolve-blocks,convert-tir-to-scf")
    assert "scf.for" in out
    assert "tir." not in out


def test_the_ir_between_passes_is_printed(capsys: pytest.CaptureFixture[str], program: str) -> None:
    out = run(capsys, program, "-p", "tir-resolve-blocks,convert-tir-to-scf", "--print-between-passes")
    assert "IR after tir-resolve-blocks:" in out


@pytest.mark.parametrize("passes", ["", "tir-resolve-blocks", "tir-resolve-blocks,convert-tir-to-scf"])
def test_machine_targets_take_any_landing(capsys: pytest.CaptureFixture[str], program: str, passes: str) -> None:
    assert "fadd float" in run(capsys, program, "-p", passes, "-t", "llvm")
    assert ".globl\tentry.main" in run(capsys, program, "-p", passes, "-t", "asm")


def test_llvm_ir_is_optimised_when_asked(capsys: pytest.CaptureFixture[str], program: str) -> None:
    optimized, emitted = (run(capsys, program, "-t", t) for t in ("llvm{optimize=true}", "llvm"))
    assert "attributes #0" in optimized
    assert "attributes #0" not in emitted


def test_kernels_are_shown_as_cuda(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bound.py"
    path.write_text(VECTOR_ADD.replace("range(8)", 'T.thread_binding(8, thread="threadIdx.x")'))
    assert 'extern "C" __global__ void __launch_bounds__(8) main_kernel(' in run(capsys, str(path), "-t", "cuda")


def test_cuda_of_a_program_that_nobody_has_scheduled(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert 'extern "C" __global__ void' in run(capsys, program, "-t", "cuda")


def test_pieces_of_a_file_are_numbered_by_their_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(VECTOR_ADD + "# // -----\n" + VECTOR_ADD.replace("A[vi]", "C[vi]"))
    error = mistake(capsys, str(path), "--split-input-file")
    assert f"{path}:13:21: error: undefined name 'C'" in error


def test_parse_errors_are_output_under_parsing_diagnostics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(VECTOR_ADD.replace("A[vi]", "C[vi]"))
    assert "error: undefined name 'C'" in run(capsys, str(path), "--parsing-diagnostics")


def test_refusals_are_output_under_verify_diagnostics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "threads.py"
    path.write_text(VECTOR_ADD.replace("range(8)", 'T.thread_binding(8, thread="threadIdx.x")'))
    passes = "tir-resolve-blocks,convert-tir-to-scf"
    assert "threadIdx.x" in run(capsys, str(path), "-p", passes, "--verify-diagnostics")
    assert f"{path}:3:5: error" in mistake(capsys, str(path), "-p", passes)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["missing.py"], "No such file"),
        (["program.py", "-p", "no-such-pass"], "no-such-pass"),
        (["program.py", "-p", "tir-unroll-loops{no-such-option=1}"], "no_such_option"),
        (["program.py", "-t", "tvmscript{style=0.27}"], "Incompatible types"),
        (["program.py", "-t", 'tvmscript{style="0.26"}'], "0.26"),
        (["program.md"], "no front end for 'md'"),
    ],
)
def test_a_mistake_is_a_message_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(VECTOR_ADD)
    error = mistake(capsys, *args)
    assert message in error
    assert "Traceback" not in error
