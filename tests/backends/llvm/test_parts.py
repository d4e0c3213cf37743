"""Programs that are compiled in parts."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell import build, build_graph, parse_mlir, parse_tvmscript, relay
from stepwell.backends.graph import Executable, GraphExecutor
from stepwell.backends.llvm import units
from stepwell.backends.runtime import BufferParameter, Program
from stepwell.core.errors import ArgumentError, ExecutionError, OptionError, UnsupportedError
from stepwell.core.remarks import Remark
from stepwell.module import Module
from stepwell.tools.warm_python import WarmPython
from stepwell.transforms.pipelines import division, lower_graph


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "PART_WEIGHT", 1)


FUNCTIONS = """
@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((64, 512), "float32"), B: T.Buffer((64, 512), "float32")):
        C = T.alloc_buffer((64, 512), "float32")
        for i, j in T.grid(64, 512):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(64, 512):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[63 - vi, vj]

    @T.prim_func
    def checked(A: T.Buffer((4,), "float32"), n: T.int32):
        assert n > 0, "n must be positive"
        D = T.alloc_buffer((4,), "float32")
        for i in range(4):
            D[i] = A[3 - i]
        for i in range(4):
            A[i] = D[i]
        T.evaluate(T.call_packed("test.parts.first", A.data))

    @T.prim_func
    def also_checked(n: T.int32):
        assert n > 5, "n must be above 5"
        T.evaluate(T.call_packed("test.parts.second", n))

    @T.prim_func
    def reverse(A: T.Buffer((64, 512), "float32"), B: T.Buffer((64, 512), "float32")):
        C = T.alloc_buffer((64, 512), "float32")
        for i in T.parallel(64):
            for j in T.serial(512):
                C[63 - i, j] = A[i, j]
        for i in T.parallel(64):
            for j in T.serial(512):
                B[i, j] = C[i, 511 - j]
"""


def check_functions(lib: Program) -> None:
    calls: list[object] = []
    stepwell.register_func("test.parts.first", lambda address: calls.append("first"), override=True)
    stepwell.register_func("test.parts.second", calls.append, override=True)
    a = np.random.default_rng(0).random((64, 512), "float32")
    for _ in range(2):
        b, c = np.zeros_like(a), np.zeros_like(a)
        lib["double"](a, b)
        lib["reverse"](a, c)
        np.testing.assert_array_equal(b, 2 * a[::-1])
        np.testing.assert_array_equal(c, a[::-1, ::-1])
    lib["also_checked"](7)
    lib["checked"](np.zeros(4, "float32"), 1)
    assert calls == [7, "first"]
    with pytest.raises(ExecutionError, match=r"^checked: .*n must be positive"):
        lib["checked"](np.zeros(4, "float32"), 0)
    with pytest.raises(ExecutionError, match=r"^also_checked: .*n must be above 5"):
        lib["also_checked"](5)
    with pytest.raises(ArgumentError, match="shape"):
        lib["double"](a[:3], a)


@pytest.mark.parametrize("lines", [units.UNIT_LINES, 1])
def test_functions_of_parts_have_their_own_failures_packed_functions_and_workspace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: int
) -> None:
    monkeypatch.setattr(units, "UNIT_LINES", lines)
    lib = build(parse_tvmscript(FUNCTIONS))
    assert list(lib.functions) == ["double", "checked", "also_checked", "reverse"]
    assert lib.source("llvm-optimized").count("@stepwell.workspace = hidden") == 1
    check_functions(lib)
    lib.export(tmp_path / "lib")
    check_functions(Program.load(tmp_path / "lib"))


def test_a_sanitized_program_is_compiled_in_parts() -> None:
    check_functions(build(parse_tvmscript(FUNCTIONS), sanitize=True))


def test_every_pass_of_a_part_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_VERIFY", "1")
    check_functions(build(parse_tvmscript(FUNCTIONS)))
    assert graph_result(build_graph(graph())) == pytest.approx(1)


def graph() -> Module:
    x = relay.var("x", shape=(4, 64))
    w = relay.const(np.random.default_rng(0).random((64, 64), "float32"))
    y = relay.nn.softmax(relay.nn.relu(relay.nn.dense(relay.nn.dense(x, w), w)))
    return relay.module(relay.Function([x], y))


def graph_result(executable: Executable) -> float:
    executor = GraphExecutor(executable)
    executor.run(x=np.ones((4, 64), "float32"))
    return float(np.asarray(executor.get_output(0)).sum()) / 4


def test_a_graph_reads_inputs_that_its_kernels_in_other_parts_only_read() -> None:
    executable = build_graph(graph())
    assert executable.program.source("llvm").count("declare hidden i32") >= 2
    whole = build_graph(graph(), after=lambda *_: None)
    signature = replace(executable.program["main"].signature, short=whole.program["main"].signature.short)
    assert signature == whole.program["main"].signature
    assert [isinstance(each, BufferParameter) and each.written for each in signature.parameters].count(False) == 2
    assert graph_result(executable) == graph_result(whole) == pytest.approx(1)


def test_a_graph_that_is_not_lowered_yet_has_its_kernels_in_parts() -> None:
    lib = build(graph())
    *kernels, main = lib.functions
    assert main == "main"
    assert len(kernels) == 3
    assert all(name.startswith("fused_nn_") for name in kernels)
    assert list(lib.functions) == list(lower_graph(graph()).functions)


def test_the_texts_of_a_program_are_those_of_its_parts() -> None:
    lib = build(parse_tvmscript(FUNCTIONS))
    assert lib.source("llvm").count('@"stepwell.signatures" = ') == 1
    for name in lib.functions:
        assert lib.source("llvm").count(f"define internal i32 @fn.{name}(") == 1
        assert f"fn.{name}" in lib.source("asm")


def test_a_c_function_has_one_type_in_all_parts() -> None:
    text = """
    tir.func @f("x" %x: f32) { %y = tir.call_extern "labs"(%x) : f32 -> f32 }
    tir.func @g("x" %x: f64) { %y = tir.call_extern "labs"(%x) : f64 -> f64 }
    """
    with pytest.raises(
        UnsupportedError, match=r"^external symbol 'labs' is used with two types, float @labs.* and double"
    ):
        build(parse_mlir(text))


TWO_TYPES = """
        T.evaluate(T.call_extern("int32", "labs", n))
        T.evaluate(T.call_extern("float32", "labs", n))
"""


def test_an_error_of_a_pass_names_its_place() -> None:
    text = FUNCTIONS.replace('        T.evaluate(T.call_packed("test.parts.second", n))\n', TWO_TYPES)
    with pytest.raises(UnsupportedError, match=r"^p\.py:31:20: .* C function labs is called with different types"):
        build(parse_tvmscript(text, filename="p.py"))


# Processes

_PROGRAM = f"""
import json
import os
import sys
import warnings
from pathlib import Path

from stepwell import build, parse_tvmscript
from stepwell.backends.llvm import parts
from stepwell.core import processes
from stepwell.transforms.pipelines import division

warnings.simplefilter("error")
division.PART_WEIGHT = 1
parts._PARTS_OF_PROCESS = 1
TEXT = {FUNCTIONS!r}
WRONG = TEXT.replace('        T.evaluate(T.call_packed("test.parts.second", n))', {TWO_TYPES!r})
forks = []
fork = processes._fork
processes._fork = lambda: forks.append(1) or fork()


def facts(jobs):
    os.environ["STEPWELL_COMPILE_JOBS"] = str(jobs)
    lib = build(parse_tvmscript(TEXT, filename="p.py"))
    lib.export(Path(sys.argv[1]) / str(jobs))
    remarks = []
    build(parse_tvmscript(TEXT, filename="p.py"), remarks=remarks.append)
    try:
        build(parse_tvmscript(WRONG, filename="p.py"))
    except Exception as error:
        return [lib.source("llvm"), lib.source("llvm-optimized"), *map(str, remarks), repr(error)]


print(json.dumps([[facts(jobs), len(forks)] for jobs in (1, 2, 3)]))
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system makes no children that work")
def test_code_texts_remarks_and_errors_are_those_of_any_number_of_processes(
    warm_python: WarmPython, tmp_path: Path
) -> None:
    done = warm_python.run("-c", _PROGRAM, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    facts, forks = zip(*json.loads(done.stdout), strict=True)
    assert forks == (0, 3, 9)
    assert facts[0] == facts[1] == facts[2]
    *_, error = facts[0]
    assert error.startswith("UnsupportedError('p.py:31:20: ")
    files = [{file.name: file.read_bytes() for file in (tmp_path / jobs).iterdir()} for jobs in "123"]
    assert files[0] == files[1] == files[2]
    assert sum(name.startswith("code") for name in files[0]) == 5
    check_functions(Program.load(tmp_path / "3"))


def test_remarks_are_in_the_order_of_the_parts() -> None:
    remarks: list[Remark] = []
    build(parse_tvmscript(FUNCTIONS), remarks=remarks.append)
    merged = [each for each in remarks if each.pass_name == "merge-allocations"]
    functions = [each.place.function.removesuffix("_disjoint") for each in merged]
    assert list(dict.fromkeys(functions)) == ["double", "reverse"]
    assert {each.pass_name for each in remarks} >= {"outline-parallel-loops", "llvm"}


def test_a_wrong_number_of_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_COMPILE_JOBS", "0")
    with pytest.raises(
        OptionError, match="STEPWELL_COMPILE_JOBS: expected a number of processes, from 1 to 512, got 0"
    ):
        build(parse_tvmscript(FUNCTIONS))
