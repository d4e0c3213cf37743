"""`stepwell reduce`: failing programs and pipelines become small, and still fail in the same way."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

import stepwell
from stepwell.tools.reducing.predicates import failure, kind_of
from stepwell.tools.reducing.search import minimal_subset
from stepwell.tools.stepwell import main
from stepwell.transforms.pipelines import spec

SIZE = 4
"""The extents of the programs."""


@dataclass(frozen=True)
class CrashOn(ModulePass):
    """A pass that crashes on an operation inside of a loop."""

    name = "crash-on"

    operation: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            around = each.parent_op()
            while around is not None and around.name not in ("tir.for", "tir.block"):
                around = around.parent_op()
            if each.name == self.operation and around is not None:
                raise IndexError(f"no rule for {each.name}")


class Negate(ModulePass):
    """A pass that takes subtractions for additions."""

    name = "negate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in [each for each in op.walk() if isinstance(each, arith.SubfOp)]:
            Rewriter.replace_op(each, arith.AddfOp(each.lhs, each.rhs))


@pytest.fixture(autouse=True)
def passes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"crash-on": lambda: CrashOn, "negate": lambda: Negate}
    monkeypatch.setattr(spec, "get_upstream_passes", lambda: known)


def program(needle: str, blocks: int = 8, after: str = "") -> str:
    """A program of two functions with many blocks, of which one has a statement."""
    lines = ["@I.ir_module", "class Module:"]
    for name in ("helper", "main"):
        lines += ["    @T.prim_func", f'    def {name}(A: T.Buffer(({SIZE}, {SIZE}), "float32"), '
                  f'B: T.Buffer(({SIZE}, {SIZE}), "float32"), K: T.Buffer(({SIZE},), "int32")):']  # fmt: skip
        lines.append(f'        C = T.alloc_buffer(({SIZE}, {SIZE}), "float32")')
        for n in range(blocks):
            source, target = ("A", "C") if n % 2 == 0 else ("C", "B")
            is_place = name == "main" and n == blocks - 1
            lines += [
                f"        for i, j in T.grid({SIZE}, {SIZE}):",
                f'            with T.block("block_{n}"):',
                '                vi, vj = T.axis.remap("SS", [i, j])',
                f"                {target}[vi, vj] = {source}[vi, vj] * T.float32({n + 1}) + T.float32(0.5)",
                *([f"                {needle}"] if is_place else []),
            ]
    return "\n".join([*lines, after, ""])


CASES: dict[str, tuple[str, list[str]]] = {
    "division": (
        program("B[vi, vj] = B[vi, vj] / (A[vi, vj] + 2.0)"),
        ["--crash", "-p", 'tir-simplify,crash-on{operation="arith.divf"}'],
    ),
    "exponential": (program("B[vi, vj] = T.exp(B[vi, vj])"), ["--crash", "-p", 'crash-on{operation="math.exp"}']),
    "maximum": (
        program("B[vi, vj] = T.max(B[vi, vj], A[vi, vj])", 12),
        ["--crash", "-p", 'tir-resolve-blocks,crash-on{operation="tir.max"},tir-simplify'],
    ),
    "branch": (
        program("if vi < vj:\n                    K[vi] = vj"),
        ["--crash", "-p", 'tir-resolve-blocks,tir-simplify,crash-on{operation="tir.if"}'],
    ),
    "integers": (program("K[vi] = K[vi] // 3 + vj", 20), ["--crash", "-p", 'crash-on{operation="arith.floordivsi"}']),
    "wrong difference": (program("B[vi, vj] = B[vi, vj] - A[vj, vi]"), ["--wrong-result", "-p", "tir-simplify,negate"]),
    "wrong difference after other passes": (
        program("B[vi, vj] = A[vi, vj] - T.float32(3)", 10),
        ["--wrong-result", "-p", "tir-resolve-blocks,negate,tir-simplify"],
    ),
    "bounds": (program(f"K[vi + {SIZE}] = 3"), ["--message", "is accessed out of bounds"]),
    "threads": (
        program("K[vi] = 3", 8)
        + '\n    @T.prim_func\n    def last(A: T.Buffer((8,), "float32")):\n'
        '        for i in T.thread_binding(8, thread="threadIdx.x"):\n            A[i] = A[i] * 2.0\n',
        ["--message", "target llvm has no threads"],
    ),
    "command": (
        program("B[vi, vj] = T.sqrt(A[vi, vj])"),
        ["--test", f"{sys.executable} -c \"import sys; sys.exit('T.sqrt' not in open(sys.argv[1]).read())\""],
    ),
}  # fmt: skip


def reduce(tmp_path: Path, text: str, arguments: list[str]) -> tuple[str, int]:
    """The text of the reduced program, and its lines as MLIR."""
    file = tmp_path / "program.py"
    file.write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(["reduce", str(file), *arguments])
    assert stop.value.code == 0
    reduced = (tmp_path / "program.reduced.py").read_text()
    return reduced, len(str(stepwell.parse_tvmscript(reduced)).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_failing_program_becomes_small(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    text, arguments = CASES[name]
    assert 50 <= len(text.splitlines()) <= 300
    reduced, lines = reduce(tmp_path, text, arguments)
    assert lines < 15, reduced
    assert len([line for line in reduced.splitlines() if line.strip() and not line.startswith("#")]) < 15, reduced
    if "-p" in arguments:
        assert len(capsys.readouterr().out.splitlines()[-1].split(",")) == 1, "one pass is left"


def test_there_are_ten_programs() -> None:
    assert len(CASES) == 10


SMALL = """\
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] - T.exp(A[vi])
"""


def test_a_program_and_its_pipeline_are_reduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reduced, _ = reduce(tmp_path, SMALL, ["--crash", "-p", 'tir-simplify,crash-on{operation="math.exp"}'])
    assert "T.exp(" in reduced
    assert " - " not in reduced
    assert "64" not in reduced
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == '-p crash-on{operation="math.exp"}'
    assert out[0].startswith(f"{tmp_path / 'program.reduced.py'}: ")


def test_a_wrong_result_stays_wrong(tmp_path: Path) -> None:
    reduced, _ = reduce(tmp_path, SMALL, ["--wrong-result", "-p", "negate"])
    assert " - " in reduced
    assert "T.exp" not in reduced
    message = failure(stepwell.parse_tvmscript(reduced), "negate", validate=True)
    assert kind_of(message) == "FaultyPassError: pass negate changes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--crash"], "expected a crash, got no error"),
        (["--wrong-result", "-p", "tir-simplify"], "expected a wrong result, got no error"),
        (["--message", "no such text"], "the program does not fail, expected a failing program"),
        (["--crash", "-p", "tir-simplfy"], "no pass 'tir-simplfy', did you mean 'tir-simplify'?"),
        (["--test", "false"], "the program does not fail"),
    ],
)
def test_a_program_that_does_not_fail_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "program.py").write_text(SMALL)
    with pytest.raises(SystemExit) as stop:
        main(["reduce", str(tmp_path / "program.py"), *arguments])
    assert stop.value.code == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("needed", "expected"),
    [({3, 11}, [3, 11]), (set[int](), []), ({0}, [0]), (set(range(20)), list(range(20)))],
)
def test_the_subset_is_minimal(needed: set[int], expected: list[int]) -> None:
    fails: Callable[[list[int]], bool] = lambda rest: needed <= set(rest)  # noqa: E731
    assert minimal_subset(list(range(20)), fails) == expected


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("FaultyPassError: pass x{a=1} failed: KeyError: 'x'", "FaultyPassError: pass x{a=1} failed: KeyError"),
        ("FaultyPassError: pass x leaves an invalid module: f:1:1", "FaultyPassError: pass x leaves"),
        ("UnsupportedError: no", ""),
        ("", ""),
        ("crash, SIGSEGV", "crash, SIGSEGV"),
        ("RecursionError: deep\nmore", "RecursionError"),
    ],
)
def test_the_kind_of_a_failure(message: str, kind: str) -> None:
    assert kind_of(message) == kind
