"""Observers of passes, and the times of passes."""

import re
from dataclasses import dataclass, field

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import stepwell
from stepwell.core.errors import FaultyPassError
from stepwell.transforms.observers import PassObserver, observe_passes, pass_observers, stage
from stepwell.transforms.pipelines import parse_passes, run_pipeline
from stepwell.transforms.timing import PassTimes

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + 1.0
"""


@dataclass
class _Log(PassObserver):
    lines: list[str] = field(default_factory=list[str])

    def before_pass(self, module_pass: ModulePass, module: stepwell.Module) -> None:
        self.lines.append(f"before {module_pass.name}")
        stepwell.apply_passes(module, "cse")  # is not observed

    def after_pass(self, module_pass: ModulePass, module: stepwell.Module, seconds: float) -> None:
        assert seconds > 0
        self.lines.append(f"after {module_pass.name}, {sum(1 for _ in module.op.walk())}")

    def after_failure(self, module_pass: ModulePass, error: Exception) -> None:
        self.lines.append(f"{module_pass.name}: {type(error).__name__}")

    def after_stage(self, name: str, seconds: float) -> None:
        self.lines.append(name)


class _Broken(ModulePass):
    name = "broken"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert not pass_observers()
        store = next(each for each in op.walk() if each.name == "tir.store")
        store.operands = [*store.operands, store.operands[-1]]


class _Crash(ModulePass):
    name = "crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("x")


def test_an_observer_sees_each_pass_in_order() -> None:
    log = _Log()
    with observe_passes(log, None):
        stepwell.apply_passes(stepwell.parse_tvmscript(PROGRAM), "tir-resolve-blocks,cse")
    assert log.lines == ["before tir-resolve-blocks", "after tir-resolve-blocks, 7", "before cse", "after cse, 7"]
    stepwell.apply_passes(stepwell.parse_tvmscript(PROGRAM), "cse")
    assert len(log.lines) == 4


@pytest.mark.parametrize("broken", [_Broken(), _Crash()])
def test_an_observer_sees_the_fault_of_a_pass(broken: ModulePass) -> None:
    log, module = _Log(), stepwell.parse_tvmscript(PROGRAM)
    with observe_passes(log), pytest.raises(FaultyPassError):
        run_pipeline(module, [broken], verify=True)
    assert log.lines == [f"before {broken.name}", f"{broken.name}: FaultyPassError"]


def test_an_invalid_module_names_the_pass_the_place_and_the_operation() -> None:
    module = stepwell.parse_tvmscript(PROGRAM, filename="program.py")
    with pytest.raises(FaultyPassError) as error:
        run_pipeline(module, [*parse_passes("cse"), _Broken()], verify=True)
    assert re.fullmatch(
        r"pass broken leaves an invalid module: program.py:6:13: error: tir.store: .*\n"
        r"    .*tir.store.*",
        str(error.value),
    )
    run_pipeline(module, [_Broken()])  # without the verifier


def test_the_error_of_a_pass_has_a_note_with_its_name() -> None:
    module = stepwell.parse_tvmscript(PROGRAM.replace("range(8)", 'T.thread_binding(8, thread="threadIdx.x")'))
    with pytest.raises(stepwell.UnsupportedError) as error:
        stepwell.apply_passes(module, "tir-resolve-blocks,convert-tir-to-scf")
    assert error.value.__notes__ == ["in pass convert-tir-to-scf"]


def test_a_stage_is_observed() -> None:
    log = _Log()
    with stage("unseen"), observe_passes(log), stage("seen"):
        pass
    assert log.lines == ["seen"]


def test_times_are_a_table_with_shares_and_the_total() -> None:
    tables: list[PassTimes] = []
    stepwell.apply_passes(
        stepwell.parse_tvmscript(PROGRAM), "tir-resolve-blocks,tir-simplify{unit-loops=true}", times=tables.append
    )
    (times,) = tables
    resolve, simplify = times.stages
    assert (resolve.operations, simplify.operations) == ("10 -> 7", "7")
    head, *rows, total = str(times).splitlines()
    assert head.split() == ["time", "share", "operations", "pass"]
    assert re.fullmatch(r" *\d+\.\d\d ms +\d+\.\d % +10 -> 7  tir-resolve-blocks", rows[0])
    assert re.fullmatch(r" *\d+\.\d\d ms +\d+\.\d % +7  tir-simplify\{unit_loops=true\}", rows[1])
    assert re.fullmatch(r" *\d+\.\d\d ms +100\.0 % +total", total)
    assert times.seconds == pytest.approx(resolve.seconds + simplify.seconds)


def test_the_times_of_a_build_contain_those_of_llvm() -> None:
    tables: list[PassTimes] = []
    for _ in range(2):  # the second program is not from the cache
        stepwell.build(stepwell.parse_tvmscript(PROGRAM), times=tables.append)
    for times in tables:
        names = [each.name for each in times.stages]
        assert names[0] == "convert-te-to-tir"
        assert names[-3:] == ["emission of LLVM IR", "LLVM", "linking"]


def test_empty_times_are_a_table() -> None:
    assert [line.split() for line in str(PassTimes()).splitlines()][1:] == [["0.00", "ms", "total"]]
