"""The programs of introductions to TVMScript, in the syntax of their time."""

import numpy as np
import pytest

import stepwell

WRITTEN = """
@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        A = T.match_buffer(a, (8,), dtype="float32")
        B = T.match_buffer(b, (8,), dtype="float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0
"""

PRINTED = """
# from tvm.script import tir as T
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]) -> None:
        # function attr dict
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # body
        # with T.block("root")
        for i in T.serial(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] + T.float32(1)
"""

SPLIT = PRINTED.replace("for i in T.serial(8)", "for i_0, i_1, i_2 in T.grid(2, 2, 2)").replace(
    "spatial(8, i)", "spatial(8, i_0 * 4 + i_1 * 2 + i_2)"
)
REORDERED = SPLIT.replace("for i_0, i_1, i_2", "for i_0, i_2, i_1")

BOUND = """
# from tvm.script import tir as T
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]) -> None:
        # function attr dict
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # body
        # with T.block("root")
        for i_0 in T.thread_binding(2, thread="blockIdx.x"):
            for i_2 in T.thread_binding(2, thread="threadIdx.x"):
                for i_1 in T.serial(2):
                    with T.block("B"):
                        vi = T.axis.spatial(8, i_0 * 4 + i_1 * 2 + i_2)
                        T.reads(A[vi])
                        T.writes(B[vi])
                        B[vi] = A[vi] + T.float32(1)
"""

FLATTENED = """
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(a: T.Buffer[128, "float32"], b: T.Buffer[128, "float32"], c: T.Buffer[128, "float32"]) -> None:
        # function attr dict
        T.func_attr({"from_legacy_te_schedule": True, "global_symbol": "main", "tir.noalias": True})
        T.preflattened_buffer(a, [128], dtype="float32", data=a.data)
        T.preflattened_buffer(b, [128], dtype="float32", data=b.data)
        T.preflattened_buffer(c, [128], dtype="float32", data=c.data)
        # body
        for i_outer in T.serial(16):
            cse_var_1: T.int32 = i_outer * 8
            c[cse_var_1:cse_var_1 + 8] = a[cse_var_1:cse_var_1 + 8] + b[cse_var_1:cse_var_1 + 8]
"""


@pytest.mark.parametrize("text", [WRITTEN, PRINTED, SPLIT, REORDERED], ids=["written", "printed", "split", "reordered"])
@pytest.mark.parametrize("target", ["llvm", "python"])
def test_vector_addition_runs(text: str, target: str) -> None:
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    stepwell.build(stepwell.parse_tvmscript(text), target)(a, b)
    assert b.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_what_was_printed_is_what_was_written() -> None:
    written, printed = (stepwell.parse_tvmscript(text)["main"] for text in (WRITTEN, PRINTED))
    assert written.script() == printed.script()


def printed(schedule: stepwell.Schedule) -> str:
    """The text of a program, without the name of the module."""
    return schedule.mod["main"].script()


def test_the_first_schedule_prints_what_the_introduction_shows() -> None:
    shown = {text: stepwell.parse_tvmscript(text)["main"].script() for text in (SPLIT, REORDERED, BOUND)}
    sch = stepwell.Schedule(stepwell.parse_tvmscript(WRITTEN))
    block_b = sch.get_block("B")
    (i,) = sch.get_loops(block_b)
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    assert printed(sch) == shown[SPLIT]
    sch.reorder(i_0, i_2, i_1)
    assert printed(sch) == shown[REORDERED]
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    assert printed(sch) == shown[BOUND]


def test_the_first_schedule_computes_what_the_introduction_shows() -> None:
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    stepwell.build(stepwell.parse_tvmscript(BOUND), "python")(a, b)
    assert b.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_vectorised_loop_after_lowering_runs() -> None:
    a, b, c = np.arange(128, dtype="float32"), np.full(128, 2, "float32"), np.zeros(128, "float32")
    stepwell.build(stepwell.parse_tvmscript(FLATTENED))(a, b, c)
    assert np.array_equal(c, a + b)
