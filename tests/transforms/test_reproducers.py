"""Reproducers of the faults of passes in `apply_passes`, `build` and `build_graph`."""

import re
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

import stepwell
from stepwell import relay
from stepwell.backends.graph.build import build_graph
from stepwell.core.errors import FaultyPassError
from stepwell.tools.stepwell_opt import main
from stepwell.transforms import reproducers
from stepwell.transforms.pipelines import spec
from stepwell.transforms.tir.resolve_blocks import TirResolveBlocksPass

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
"""


class Crash(ModulePass):
    name = "crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("a bug")


class Negate(ModulePass):
    name = "negate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for add in [each for each in op.walk() if isinstance(each, arith.AddfOp)]:
            Rewriter.replace_op(add, arith.SubfOp(add.lhs, add.rhs))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(reproducers.VARIABLE, str(tmp_path))
    monkeypatch.setattr(spec, "get_upstream_passes", lambda: {"crash": lambda: Crash, "negate": lambda: Negate})
    return tmp_path


def module() -> stepwell.Module:
    return stepwell.parse_tvmscript(PROGRAM)


def reproducer_of(error: FaultyPassError) -> str:
    (path,) = re.findall(r"^reproducer: stepwell-opt (\S+)$", "\n".join(error.__notes__), re.MULTILINE)
    return Path(path).read_text()


def test_apply_passes_leaves_a_reproducer_of_the_failing_pass(folder: Path) -> None:
    remarks: list[object] = []
    with pytest.raises(FaultyPassError, match="pass crash failed: KeyError: 'a bug'") as raised:
        stepwell.apply_passes(module(), "tir-resolve-blocks,crash,cse", remarks=remarks.append)
    text = reproducer_of(raised.value)
    assert "// passes: crash\n" in text
    assert "tir.block" not in text  # the program before the failing pass
    assert remarks == []
    (file,) = folder.iterdir()
    with pytest.raises(SystemExit):
        main([str(file)])


def test_a_changed_result_is_reproduced_with_the_validation() -> None:
    with pytest.raises(FaultyPassError, match="pass negate changes the results") as raised:
        stepwell.apply_passes(module(), "tir-resolve-blocks,negate", validate=True)
    text = reproducer_of(raised.value)
    assert "// passes: negate\n// options: --validate\n" in text


def test_builds_leave_a_reproducer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TirResolveBlocksPass, "apply", Crash.apply)
    x = relay.var("x", shape=(2, 3))
    for build in (
        lambda: stepwell.build(module()),
        lambda: stepwell.build(module(), sanitize=True),
        lambda: build_graph(relay.module(relay.Function([x], relay.nn.relu(x)))),
    ):
        with pytest.raises(FaultyPassError) as raised:
            build()
        assert "// passes: tir-resolve-blocks\n" in reproducer_of(raised.value)


def test_no_file_is_written_on_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(reproducers.VARIABLE, "off")
    with pytest.raises(FaultyPassError) as raised:
        stepwell.apply_passes(module(), "crash")
    assert not any("reproducer" in note for note in getattr(raised.value, "__notes__", []))
    assert list(folder.iterdir()) == []
