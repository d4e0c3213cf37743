"""`stepwell-run`: interprets a program of any landing, and prints a message for an error."""

from pathlib import Path

import pytest

from stepwell import apply_passes, parse_tvmscript
from stepwell.frontends import te
from stepwell.tools.stepwell_run import main

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32"), n: T.int32) -> T.int32:
    for i in range(2):
        B[i] = A[i] * 2.0 + T.float32(n)
    return n + 1
"""
ARGS = "dense<[1.0, 2.0]> : tensor<2xf32>, dense<0.0> : tensor<2xf32>, 3 : i32"


def run(tmp_path: Path, ending: str, text: str, *args: str) -> None:
    path = tmp_path / f"program.{ending}"
    path.write_text(text)
    main([str(path), *args])


@pytest.mark.parametrize("landing", ["tvmscript", "mlir", "upstream"])
def test_a_program_runs_at_every_landing(tmp_path: Path, capsys: pytest.CaptureFixture[str], landing: str) -> None:
    text = PROGRAM
    if landing != "tvmscript":
        passes = {"mlir": "tir-simplify", "upstream": "tir-resolve-blocks,tir-simplify,convert-tir-to-scf"}[landing]
        text = str(apply_passes(parse_tvmscript(PROGRAM), passes))
    run(tmp_path, "py" if landing == "tvmscript" else "mlir", text, "--args", ARGS, "--verbose")
    expected = ["argument 0: [1.0, 2.0]", "argument 1: [5.0, 7.0]", "argument 2: 3", "result: 4"]
    assert capsys.readouterr().out.splitlines() == expected


def test_tensors_run_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    mod = te.create_te_func([A, te.compute((n,), lambda i: A[n - 1 - i], name="B")], name="reversed")
    given = "dense<[1.0, 2.0, 3.0]> : tensor<3xf32>, dense<0.0> : tensor<3xf32>"
    run(tmp_path, "mlir", str(mod), "--symbol", "reversed", "--args", given, "--verbose")
    assert capsys.readouterr().out.splitlines()[1] == "argument 1: [3.0, 2.0, 1.0]"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--args", "3 : i32"], "error: @main: expected 3 arguments (memref<2xf32>, memref<2xf32>, i32), got 1"),
        (["--args", ARGS.replace("3 : i32", "3.0 : f32")], "error: --args: expected an integer : i32, got 3.0"),
        (["--args", "1 : i32, 1 : i32, 1 : i32"], "error: --args: expected dense<...> : tensor<...>, got 1 : i32"),
        (["--args", ARGS.replace("dense<0.0> : tensor<2xf32>", "dense<0.0> : tensor<3xf32>")], "argument B"),
        (["--symbol", "mian"], "error: Could not find symbol mian"),
    ],
)
def test_a_mistake_is_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        run(tmp_path, "py", PROGRAM, *args)
    assert stop.value.code == 1
    assert message in capsys.readouterr().err


def test_what_is_excluded_is_a_message_with_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path, "py", PROGRAM.replace("A[i]", "A[i + 1]"), "--args", ARGS)
    message = "program.py:5:16: error: tir.load: A[2] is out of bounds: index 2 of dimension 0, expected 0 <= index < 2"
    assert message in capsys.readouterr().err
