"""The `stepwell-opt` driver: inputs, outputs and errors."""

import io
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from stepwell.core.versions import versions
from stepwell.tools.pass_printing import difference
from stepwell.tools.stepwell_opt import StepwellOptMain, main
from stepwell.transforms import reproducers

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


def messages(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    """The lines on stderr of a run without an error."""
    main(list(args))
    return capsys.readouterr().err.splitlines()


OTHER = '@T.prim_func\ndef other(A: T.Buffer((8,), "float32")):\n    A[0] = T.float32(1)\n'
TWO = "@I.ir_module\nclass M:\n" + textwrap.indent(f"{VECTOR_ADD}\n{OTHER}", "    ")


def test_the_changes_of_passes_are_shown_by_function(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    lines = messages(capsys, str(tmp_path / "two.py"), "-p", "tir-resolve-blocks,cse", "--diff")
    assert lines[0] == "//===== tir-resolve-blocks changes @main: +4 -8 =====//"
    assert lines[-1] == "//===== cse: no change =====//"
    assert [line[0] for line in lines[1:-1]] == [" ", " ", *"-" * 8, *"+" * 4, " ", " "]
    assert lines[3].startswith('-    tir.block "B"')
    assert not any("other" in line for line in lines)


def test_the_changes_of_the_lowering_are_shown(capsys: pytest.CaptureFixture[str], program: str) -> None:
    lines = messages(capsys, program, "-t", "llvm", "--diff")
    assert any(line.startswith("//===== convert-tir-to-scf changes @main") for line in lines)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_changes_are_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    for environment, marks in (({}, ("\033[31m-", "\033[32m+", "\033[1m//")), ({"NO_COLOR": "1"}, ())):
        stream = _Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            for name, value in environment.items():
                patch.setenv(name, value)
            main([program, "-p", "tir-resolve-blocks", "--diff"])
        assert all(mark in stream.getvalue() for mark in marks)
        assert ("\033" in stream.getvalue()) == bool(marks)


def test_a_difference_has_context_and_gaps() -> None:
    old = [f"line {n}" for n in range(30)]
    new = [*old[:5], "new", *old[6:25], *old[26:]]
    lines = list(difference("\n".join(old), "\n".join(new)))
    assert lines == [" line 2", " line 3", " line 4", "-line 5", "+new", " line 6", " line 7", " line 8", "...",
                     " line 22", " line 23", " line 24", "-line 25", " line 26", " line 27", " line 28"]  # fmt: skip


def test_the_program_is_printed_before_and_after_a_pass(capsys: pytest.CaptureFixture[str], program: str) -> None:
    passes = ["-p", "cse,tir-resolve-blocks,dce"]
    lines = messages(capsys, program, *passes, "--print-before=tir-resolve-blocks", "--print-after=tir-resolve-blocks")
    titles = [line for line in lines if line.startswith("//=")]
    assert titles == ["//===== before tir-resolve-blocks =====//", "//===== after tir-resolve-blocks =====//"]
    before, after = "\n".join(lines).split(titles[1])
    assert "tir.block" in before
    assert "tir.func" in after
    assert "tir.block" not in after
    titles = [line for line in messages(capsys, program, *passes, "--print-after=all") if line.startswith("//=")]
    assert [title.split()[2] for title in titles] == ["cse", "tir-resolve-blocks", "dce"]


@pytest.mark.parametrize(
    ("landing", "contents", "gone"),
    [
        ("loops-and-blocks", "tir.block", "scf."),
        ("loops", "tir.for", "tir.block"),
        ("upstream", "scf.for", "tir."),
        ("launches", "tir.func", "tir.block"),
        ("functions-of-the-device", "gpu.launch_func", "tir."),
    ],
)
def test_the_lowering_stops_after_a_landing(
    capsys: pytest.CaptureFixture[str], program: str, landing: str, contents: str, gone: str
) -> None:
    text = run(capsys, program, "--stop-after", landing)
    assert contents in text
    assert gone not in text


def test_a_landing_that_two_pipelines_have_depends_on_the_target(
    capsys: pytest.CaptureFixture[str], program: str
) -> None:
    assert "gpu.launch" not in run(capsys, program, "--stop-after", "upstream")
    assert "__global__" in run(capsys, program, "--stop-after", "upstream", "-t", "cuda")


def test_a_graph_is_lowered_to_a_landing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "graph.mlir").write_text(
        'relay.func @main("x" %x: tensor<4xf32>) {\n  %0 = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "  relay.return %0 : tensor<4xf32>\n}\n"
    )
    assert "relay.call" in run(capsys, str(tmp_path / "graph.mlir"), "--stop-after", "calls-of-kernels")


def test_the_times_of_passes_are_a_table_on_stderr(capsys: pytest.CaptureFixture[str], program: str) -> None:
    lines = messages(capsys, program, "-p", "tir-resolve-blocks", "--time-passes")
    assert [line.split()[-1] for line in lines] == ["pass", "tir-resolve-blocks", "total"]
    names = [line.split("  ")[-1] for line in messages(capsys, program, "-t", "asm", "--time-passes")]
    assert names[-3:] == ["LLVM", "linking", "total"]


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_the_standard_input_is_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    for text, more in (("func.func @f() {\n  func.return\n}\n", []), (VECTOR_ADD, ["-f", "py"])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
        assert "builtin.module" in run(capsys, *arguments, *more)


@dataclass(frozen=True)
class _Failing(ModulePass):
    name = "failing"

    error: str = "none"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = next((each for each in op.walk() if each.name == "tir.store"), None)
        match self.error:
            case "crash":
                raise KeyError(self.error)
            case "refusal":
                raise PassFailedException("not this program")
            case _ if store is not None:
                store.operands = [*store.operands, store.operands[-1]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Makes the pass `failing` known to `stepwell-opt`, and a folder for temporary files."""
    register = StepwellOptMain.register_all_passes

    def register_more(tool: StepwellOptMain) -> None:
        register(tool)
        tool.register_pass("failing", lambda: _Failing)

    monkeypatch.setattr(StepwellOptMain, "register_all_passes", register_more)
    monkeypatch.setenv(reproducers.VARIABLE, str(tmp_path))


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(("kind", "message"), [("crash", "pass failing failed: KeyError: 'crash'"),
                                               ("invalid", "pass failing leaves an invalid module: ")])  # fmt: skip
def test_a_fault_of_a_pass_leaves_a_reproducer_that_one_command_replays(
    capsys: pytest.CaptureFixture[str], program: str, kind: str, message: str
) -> None:
    error = mistake(capsys, program, "-p", f'tir-resolve-blocks,failing{{error="{kind}"}},cse')
    assert message in error
    assert ("Traceback" in error) == (kind == "crash")
    assert error.count('File "') <= 1
    (path,) = re.findall(r"^reproducer: stepwell-opt (\S+\.mlir)$", error, re.MULTILINE)
    text = Path(path).read_text()
    assert "tir.block" not in text  # the program before the failing pass, not the input
    assert f'// passes: failing{{error="{kind}"}}' in text
    assert f"// versions: {versions()}" in text
    replayed = mistake(capsys, path)
    assert replayed.startswith(f"{path}: -p failing")
    assert message in replayed
    Path(path).write_text(text.replace("// versions: ", "// versions: stepwell 0.0, "))
    assert f"{path}: of stepwell 0.0, " in mistake(capsys, path)
    main([path, "-p", "cse"])  # another pipeline


@pytest.mark.usefixtures("failing")
def test_a_reproducer_of_a_refusal_is_written_on_request(
    capsys: pytest.CaptureFixture[str], program: str, tmp_path: Path
) -> None:
    passes = 'failing{error="refusal"}'
    error = mistake(capsys, program, "-p", passes)
    assert error.splitlines() == ["error: not this program", "in pass failing"]
    file = tmp_path / "refused.mlir"
    assert f"reproducer: stepwell-opt {file}" in mistake(capsys, program, "-p", passes, "--reproducer", str(file))
    assert "not this program" in mistake(capsys, str(file))


@pytest.mark.usefixtures("failing")
def test_the_verifier_can_be_disabled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(Attribute, "__post_init__", Attribute.__post_init__)  # xDSL replaces it for the process
    assert "tir.store" in run(capsys, program, "-p", 'failing{error="invalid"}', "--disable-verify")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["missing.py"], "No such file"),
        (["program.py", "-p", "no-such-pass"], "no pass 'no-such-pass'"),
        (["program.py", "-p", "tir-simplfy"], "no pass 'tir-simplfy', did you mean 'tir-simplify'?"),
        (["program.py", "-p", "tir-simplify{unitloops}"], "no option 'unitloops', did you mean 'unit-loops'?"),
        (
            ["program.py", "-p", 'tir-unroll-loops{max-extent="abc"}'],
            "pass tir-unroll-loops: option 'max-extent': expected int, got 'abc'",
        ),
        (["program.py", "-p", "tir-unroll-loops{max-extent=1,2}"], "expected int, got 1,2"),
        (["program.py", "-p", "tir-unroll-loops{max-extent}"], "expected int, got no value"),
        (["program.py", "-p", "tir-simplify", "--print-after", "tir-simplfy"], "no pass 'tir-simplfy', did you mean"),
        (["program.py", "--print-before", "cse"], "--print-before: the pipeline '' has no pass 'cse'"),
        (["program.py", "--stop-after", "lopps"], "no landing 'lopps', did you mean 'loops'? (there are"),
        (
            ["program.py", "-p", "tir-unroll-loops{no-such-option=1}"],
            "pass tir-unroll-loops: no option 'no-such-option' (has: max-extent, max-ops)",
        ),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tiem-passes"], "unrecognized arguments: --tiem-passes, did you mean '--time-passes'?"),
        (["-t", "lvm"], "unknown target 'lvm', did you mean 'llvm'? (there are "),
    ],
)
def test_a_misspelled_option_or_target_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], program: str, arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([program, *arguments])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("usage: ")
    assert message in error
