"""`stepwell run`, the main command."""

import io
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.backends import build as build_module
from stepwell.core.cache import VARIABLE, Cache
from stepwell.core.target import Target
from stepwell.tools import entry, program_runs, progress, stepwell
from stepwell.tools.stepwell import main
from stepwell.transforms.pipelines import spec

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
    assert re.search(r"^llvm: median .* us of 1 calls \(from .*\)(, \S+ GFLOP/s)?, \S+ GB/s$", out, re.MULTILINE)


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


PRINTING = """
@T.prim_func
def main(A: T.Buffer((2,), "int32")):
    for i in range(2):
        A[i] = i * 3
        T.print(i, A[i])
"""


def test_a_program_prints_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, write(tmp_path, PRINTING), "--check", "--validate")
    assert code == 0
    assert [line for line in out.splitlines() if line[0].isdigit()] == ["0 0", "1 3"]


def test_sanitized_code_is_compared_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(ROOT / "examples/vector_add.py"), "--sanitize", "--check")
    assert code == 0
    assert "llvm: computes what the oracle computes" in out


def test_the_oracle_runs_under_check_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    huge = PAST_THE_END.replace(
        "range(9):", "range(8):\n        for _ in range(30000000):\n            A[i] = A[i] + 1.0"
    )
    huge = huge.replace("        A[i] = T.float32(0)\n", "")
    code, out, _ = run(capsys, write(tmp_path, huge))
    assert code == 0
    assert "oracle" not in out
    assert "llvm: ran" in out.splitlines()
    code, out, err = run(capsys, write(tmp_path, huge), "--check")
    assert (code, out) == (1, "")
    assert re.match(r"error: main: the oracle would take some \d+ s, expected at most --oracle-limit 60: ", err)
    for option in (["--check"], ["--target", "python"]):
        code, _, err = run(capsys, write(tmp_path, PAST_THE_END.replace("9", "8")), *option, "--oracle-limit", "0")
        assert code == 1
        assert "--oracle-limit 0" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--target", "lvm"],
            "unknown target 'lvm', did you mean 'llvm'? (there are llvm, cuda, cuda-emulated, python)",
        ),
        (["--target", ""], "unknown target ''"),
        (["--target", "llvm -mpcu=skylake"], "did you mean 'mcpu'?"),
        (["--target", "cuda"], "expected --target cuda-emulated"),
        (["--target", "cuda-emulated", "--sanitize"], "does not support sanitize, expected llvm"),
        (["--size", "n=4"], "--size n: no such size, there is none"),
        (["--entry", "mian"], "no function 'mian', did you mean 'main'?"),
        (["-p", "tir-simplfy"], "no pass 'tir-simplfy', did you mean 'tir-simplify'?"),
    ],
)
def test_names_are_checked_before_any_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, write(tmp_path, PAST_THE_END), "--check", *arguments)
    assert (code, out) == (1, "")
    assert message in err


def test_an_unknown_size_is_an_error_that_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, str(ROOT / "examples/softmax.py"), "--size", "k=3")
    assert code == 1
    assert "--size k: no such size, there is m, n" in err


def test_passes_are_applied_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(ROOT / "examples/vector_add.py"), "-p", "tir-resolve-blocks,convert-tir-to-scf"]
    code, out, err = run(capsys, *arguments, "--check", "--print-landings", "--validate")
    assert code == 0
    assert out.startswith("//===== the program =====//\nbuiltin.module {\n  func.func @main")
    assert "llvm: computes what the oracle computes" in out
    assert re.fullmatch(r"validated: \d\d passes\n", err)


def test_the_oracle_detects_a_wrong_pass(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Negate(ModulePass):
        name = "negate"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for add in [each for each in op.walk() if each.name == "arith.addf"]:
                Rewriter.replace_op(add, arith.SubfOp(add.operands[0], add.operands[1]))

    monkeypatch.setattr(spec, "get_upstream_passes", lambda: {"negate": lambda: Negate})
    program = str(ROOT / "examples/vector_add.py")
    code, out, _ = run(capsys, program, "-p", "negate", "--check")
    assert code == 1
    assert "B: 8 of 8 elements differ, first at [0]" in out
    assert run(capsys, program, "-p", "negate")[0] == 0
    code, out, err = run(capsys, program, "-p", "tir-resolve-blocks,negate", "--validate")
    assert (code, out) == (1, "")
    assert "error: pass negate changes the results of main: B: 8 of 8 elements differ, first at [0]: expected" in err


def test_the_times_of_passes_and_of_llvm_are_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, str(ROOT / "examples/vector_add.py"), "-p", "tir-resolve-blocks,cse", "--time-passes")
    names = [line.split("  ")[-1] for line in err.splitlines()]
    assert names[:3] == ["pass", "tir-resolve-blocks", "cse"]
    assert names[-3:] == ["LLVM", "linking", "total"]


def test_the_rate_of_integer_operations_has_its_own_unit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((8,), "int32")):\n    for i in range(8):\n        A[i] = A[i] * 3\n'
    assert re.search(r", \S+ Gop/s, \S+ GB/s$", run(capsys, write(tmp_path, text))[1])


def test_the_usage_of_the_command_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, usage, message in (
        (["run", "x.py", "--taget", "python"], "usage: stepwell run", "--taget python, did you mean '--target'?"),
        (["cache", "--claer"], "usage: stepwell cache", "--claer, did you mean '--clear'?"),
        (["profile", "x.py", "more"], "usage: stepwell profile", "unrecognized arguments: more"),
        (["rn", "x.py"], "usage: stepwell run", "unknown command 'rn', did you mean 'run'? (there are compile, run, "),
        (["frob"], "usage: stepwell [", "unknown command 'frob' (there are compile, run, "),
        (["--verison"], "usage: stepwell [", "unrecognized arguments: --verison, did you mean '--version'?"),
        ([], "usage: stepwell [", "expected a command (there are compile, run, "),
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith(usage)
        assert message in error


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert re.match(r"stepwell \d+\.\d+", capsys.readouterr().out)


def test_an_interrupt_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program_runs, "read_program", interrupt)
    assert run(capsys, "x.py") == (130, "", "interrupted\n")


def test_an_interrupt_of_the_imports_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "import_module", interrupt)
    with pytest.raises(SystemExit) as stop:
        entry.stepwell()
    assert stop.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_command_alone_is_imported() -> None:
    code = """
import sys
from stepwell.tools import stepwell
try:
    stepwell.main(sys.argv[1:])
except SystemExit:
    pass
print([name for name in ("hypothesis", "numpy", "stepwell.operators", "stepwell.module") if name in sys.modules])
"""
    for words, imported in (
        (["--help"], []),
        (["cache"], []),
        (["runn"], ["numpy", "stepwell.module"]),
        (["run", str(ROOT / "examples/vector_add.py")], ["numpy", "stepwell.module"]),
    ):
        process = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert process.stdout.splitlines()[-1] == str(imported)


def test_a_command_without_its_packages_says_how_to_install_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'hypothesis'", name="hypothesis")

    monkeypatch.setattr(stepwell, "import_module", refuse)
    with pytest.raises(SystemExit) as stop:
        main(["fuzz"])
    assert stop.value.code == 1
    expected = "error: stepwell fuzz needs the package hypothesis: pip install 'stepwell[fuzz]'\n"
    assert capsys.readouterr().err == expected
    with pytest.raises(ModuleNotFoundError):
        main(["run"])


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    for stream, lines in ((Terminal(), "\roracle: 0 s of some 7 s "), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.show_progress("oracle", 7.0):
            time.sleep(0.2)
        assert stream.getvalue().startswith(lines)
        assert bool(stream.getvalue()) == bool(lines)


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
    from stepwell.backends.validation.inputs import InputGenerator

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


@pytest.mark.parametrize("stage", ["stepwell._parser", "run.run_program"])
def test_an_interrupt_ends_a_command_with_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"stepwell.tools.{stage}", interrupt)
    assert run(capsys, "x.py") == (130, "", "interrupted\n")
