"""The text of `T.print`, on every target, and variadic calls of C functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import UnsupportedError

VALUES = """
@T.prim_func
def main(A: T.Buffer((2, 3), "float32"), h: T.Buffer((2,), "float16"), u: T.Buffer((2,), "uint8"),
         k: T.Buffer((2,), "int64"), m: T.Buffer((2,), "uint64"), n: T.int32):
    for i in LOOP:
        T.print("50% \\"é\\"? {}")
        T.print("h[{}] = {}", i, h[i])
        T.print("numbers:", u[i] + T.uint8(250), k[i], m[i], n > i + 4)
        T.print(f"{{double}} {T.float64(1) / T.Cast('float64', n)} of {n}")
        if i == 0:
            T.print(A)
"""

LINES = """\
50% "é"? {}
h[0] = 0.0999756
numbers: 194 -9223372036854775808 18446744073709551615 True
{double} 0.2 of 5
A[0, 0] = 1
A[0, 1] = 2.5
A[0, 2] = -1e+20
A[1, 0] = nan
A[1, 1] = nan
A[1, 2] = -inf
50% "é"? {}
h[1] = 3
numbers: 251 7 0 False
{double} 0.2 of 5
""".splitlines()


def program(loop: str = "range(2)") -> stepwell.Module:
    return stepwell.parse_tvmscript(VALUES.replace("LOOP", loop))


def arguments() -> list[Any]:
    a = np.array([[1, 2.5, -1e20], [np.nan, -np.nan, -np.inf]], "float32")
    k, m = np.array([-(2**63), 7]), np.array([2**64 - 1, 0], "uint64")
    return [a, np.array([0.1, 3], "float16"), np.array([200, 1], "uint8"), k, m, 5]


def interpreted() -> None:
    interpret(program(), "main", arguments())


def compiled(target: str) -> Callable[[], None]:
    return lambda: stepwell.build(program(), target=target)(*arguments())


@pytest.mark.parametrize("run", [interpreted, compiled("python"), compiled("llvm")])
def test_a_processor_prints_in_the_order_of_execution(
    run: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    assert capsys.readouterr().out.splitlines() == LINES


@pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")
def test_the_threads_of_a_gpu_print_the_same_lines(capfd: pytest.CaptureFixture[str]) -> None:
    lib = stepwell.build(program('T.thread_binding(2, "threadIdx.x")'), target="cuda-emulated")
    lib(*arguments())
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(LINES)


def test_lines_are_printed_in_parallel_loops(capsys: pytest.CaptureFixture[str]) -> None:
    stepwell.build(program("T.parallel(2)"))(*arguments())
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(LINES)


BLOCKS = """
@T.prim_func
def main(A: T.Buffer((8, 64, 64), "float32"), C: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(8, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                T.print("row", vi)
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vj, vk]
"""


def test_a_function_that_prints_gets_no_default_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    mod = stepwell.parse_tvmscript(BLOCKS)
    remarks: list[str] = []
    lib = stepwell.build(mod, remarks=lambda remark: remarks.append(str(remark)))
    lib(np.zeros((8, 64, 64), "float32"), np.zeros(8, "float32"))
    assert capsys.readouterr().out.splitlines() == [f"row {i}" for i in range(8)]
    assert any("function main stays as it is: it prints" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("parallel", "llvm"),
        ("vectorize", "llvm"),
        ("bind", "cuda-emulated"),
        ("bind", "python"),
        ("parallel", "python"),
    ],
)
def test_schedules_ignore_printing(kind: str, target: str, capfd: pytest.CaptureFixture[str]) -> None:
    if target == "cuda-emulated" and compiler() is None:
        pytest.skip("needs g++ and binutils")
    schedule = stepwell.Schedule(stepwell.parse_tvmscript(BLOCKS.replace("64, 64", "2, 2")))
    loop = schedule.get_loops("C")[0]
    getattr(schedule, kind)(loop, *(["threadIdx.x"] if kind == "bind" else []))
    stepwell.build(schedule.mod, target=target)(np.zeros((8, 2, 2), "float32"), np.zeros(8, "float32"))
    assert sorted(capfd.readouterr().out.splitlines()) == [f"row {i}" for i in range(8)]


PRINTF = """
@T.prim_func
def main(A: T.Buffer((2,), "float32"), u: T.Buffer((2,), "uint8"), s: T.Buffer((2,), "int8")) -> T.int32:
    n = T.call_extern("int32", "printf", "%f %d %d %d %s\\n", A[0], u[0], s[0], A[0] > 1.0, "text")
    T.call_extern("int32", "printf", "%g %lld\\n", T.Cast("float16", A[1]), T.int64(1099511627776))
    T.call_extern("int32", "fflush", T.int64(0))
    return n
"""


def test_variadic_arguments_are_promoted_as_in_c(capfd: pytest.CaptureFixture[str]) -> None:
    lib = stepwell.build(stepwell.parse_tvmscript(PRINTF))
    count = lib(np.array([2, 0.5], "float32"), np.array([200, 1], "uint8"), np.array([-3, 1], "int8"))
    assert capfd.readouterr().out == "2.000000 200 -3 1 text\n0.5 1099511627776\n"
    assert count == len("2.000000 200 -3 1 text\n")


def test_a_variadic_function_has_arguments_of_a_declared_type() -> None:
    mod = stepwell.parse_tvmscript('@T.prim_func\ndef main():\n    T.call_extern("int32", "printf")')
    with pytest.raises(UnsupportedError, match="C function printf: expected at least 1 arguments, got 0"):
        stepwell.build(mod)
