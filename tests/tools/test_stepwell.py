"""`stepwell run`, the main command."""

from pathlib import Path

import numpy as np
import pytest

from stepwell.backends import build as build_module
from stepwell.core.cache import VARIABLE, Cache
from stepwell.core.target import Target
from stepwell.tools.stepwell import main

ROOT = Path(__file__).parents[2]


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["run", *args, "--repeat", "1"])
    captured = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, captured.out, captured.err


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs_and_is_right(capsys: pytest.CaptureFixture[str], example: Path) -> None:
    code, out, err = run(capsys, str(example), "--check")
    assert (code, err) == (0, "")
    assert "computes what the oracle computes" in out


def test_every_landing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, str(ROOT / "examples/vector_add.py"), "--print-landings")
    for text in ('with T.block("B")', 'tir.block "B"', "after tir-resolve-blocks", "scf.for", "define internal i32"):
        assert text in out


def test_the_oracle_is_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(ROOT / "examples/vector_add.py"), "--target", "python", "--check")
    assert code == 0
    assert "python: computes what the oracle computes" in out


def test_symbolic_sizes_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(ROOT / "examples/softmax.py"), "--size", "m=3", "--size", "n=7", "--check")
    assert code == 0
    assert "a: float32[3, 7]" in out


def write(tmp_path: Path, text: str) -> str:
    (tmp_path / "program.py").write_text(text)
    return str(tmp_path / "program.py")


PAST_THE_END = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(9):
        A[i] = T.float32(0)
"""


def test_native_code_detects_undefined_behaviour_without_the_oracle(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, write(tmp_path, PAST_THE_END), "--sanitize", "--print-landings")
    assert code == 1
    assert "after tir-sanitize" in out
    assert "oracle" not in out
    assert "program.py:5:9: error: tir.store: A[8] is out of bounds" in err
    code, out, _ = run(capsys, write(tmp_path, PAST_THE_END.replace("9", "8")), "--sanitize")
    assert code == 0
    assert "llvm: ran, nothing undefined" in out


def test_sanitized_code_is_compared_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(ROOT / "examples/vector_add.py"), "--sanitize", "--check")
    assert code == 0
    assert "llvm: computes what the oracle computes" in out


def test_the_oracle_refuses_before_native_code_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (
        '@T.prim_func\ndef main(A: T.Buffer((8,), "float32")):\n    for i in range(9):\n        A[i] = T.float32(0)\n'
    )
    code, out, err = run(capsys, write(tmp_path, text), "--check")
    assert code == 1
    assert "llvm" not in out
    assert "program.py:4" in err
    assert "A" in err


def test_a_wrong_result_is_exit_code_1_under_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((8,), "int32")):\n    for i in range(8):\n        A[i] = {}\n'
    build_right = build_module.TARGETS["llvm"]

    def build_wrong(module: object, target: Target) -> object:
        from stepwell import parse_tvmscript

        return build_right(parse_tvmscript(text.format("i + i // 5")), target)

    monkeypatch.setitem(build_module.TARGETS, "llvm", build_wrong)
    program = write(tmp_path, text.format("i"))
    code, out, _ = run(capsys, program, "--check")
    assert code == 1
    assert "A: 3 of 8 elements differ, first at [5]: expected 5, got 6" in out
    assert run(capsys, program)[0] == 0


TWO = """\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(1)

    @T.prim_func
    def g(A: T.Buffer((8,), "float32")):
        A[1] = T.float32(2)
"""


def test_the_entry_is_chosen_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = write(tmp_path, TWO)
    assert run(capsys, program, "--entry", "g", "--check")[0] == 0
    code, _, err = run(capsys, program)
    assert code == 1
    assert "--entry one of f, g" in err
    code, _, err = run(capsys, program, "--entry", "h")
    assert code == 1
    assert "no function 'h'" in err


def test_index_buffers_hold_indices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (
        "@T.prim_func\n"
        'def main(A: T.Buffer((5, 3), "float32"), I: T.Buffer((64,), "int32"), B: T.Buffer((64, 3), "float32")):\n'
        "    for i, j in T.grid(64, 3):\n"
        "        B[i, j] = A[I[i], j]\n"
    )
    assert run(capsys, write(tmp_path, text), "--check")[0] == 0


def test_a_pointer_parameter_cannot_be_made_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = '@T.prim_func\ndef main(p: T.handle):\n    T.evaluate(T.call_extern("int32", "f", p))\n'
    code, _, err = run(capsys, write(tmp_path, text))
    assert code == 1
    assert "cannot make up a pointer for parameter p" in err


def test_inputs_have_the_strides_that_the_type_asks_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (
        "@T.prim_func\n"
        'def main(A: T.Buffer((4, 6), "float32", strides=(8, 1)), B: T.Buffer((4, 6), "float32")):\n'
        "    for i, j in T.grid(4, 6):\n"
        "        B[i, j] = A[i, j]\n"
    )
    assert run(capsys, write(tmp_path, text), "--check")[0] == 0


def test_mlir_files_run_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(
        'tir.func @main("A" %A: memref<4xi32>) {\n'
        '  tir.for serial "i" %i : i32 in [0 +: 4] {\n    tir.store %i, %A[%i] : memref<4xi32>\n  }\n}\n'
    )
    assert run(capsys, str(path), "--check")[0] == 0


@pytest.mark.parametrize("option", [["--size", "n"], ["--repeat", "0"], ["--size", "n=-1"]])
def test_a_malformed_option_is_a_usage_error(capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", "x.py", *option])
    assert stop.value.code == 2
    assert "expected" in capsys.readouterr().err


def test_a_model_is_compiled_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "net.onnx")
    assert code == 1
    assert "net.onnx: a model is compiled first: stepwell compile net.onnx -o FOLDER" in error


def test_generated_inputs_depend_on_the_seed_alone() -> None:
    from stepwell import parse_tvmscript
    from stepwell.tools.inputs import InputGenerator

    func = parse_tvmscript(TWO).functions["f"]
    first, again, other = (InputGenerator(func, seed).arguments()["A"] for seed in (1, 1, 2))  # pyright: ignore[reportArgumentType]
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def cache_command(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    with pytest.raises(SystemExit) as stop:
        main(["cache", *args])
    assert stop.value.code == 0
    return capsys.readouterr().out.splitlines()


def test_the_cache_is_shown_and_cleared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for kind, key in (("program", "a"), ("graph", "b"), ("program", "c")):
        Cache(tmp_path).add(kind, key, lambda path: path.write_bytes(bytes(2**20)))
    head, *lines = cache_command(capsys)
    assert head == f"{tmp_path}, at most 1024.0 MiB"
    assert [line.split() for line in lines] == [
        ["graph", "1", "entries", "1.0", "MiB"],
        ["program", "2", "entries", "2.0", "MiB"],
    ]
    assert cache_command(capsys, "--clear")[1:] == ["removed 3.0 MiB"]
    assert cache_command(capsys) == [head]
    monkeypatch.setenv(VARIABLE, "off")
    assert cache_command(capsys) == ["no cache"]
