"""Schedules that Stepwell refuses and TVM 0.27 applies: the program of TVM computes other numbers, or crashes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stepwell import Schedule, ScheduleError
from stepwell.frontends.tvmscript import parse_tvmscript

pytestmark = pytest.mark.peer

CALL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(1):
        with T.sblock("call"):
            vi = T.axis.spatial(1, i)
            T.reads(A[0:4])
            T.writes(B[0:4])
            T.evaluate(T.call_extern("handle", "memcpy", B.data, A.data, 8))
"""
CALLS_IN_ORDER = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, 2, 2), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(2, 2):
        with T.sblock("call"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj, 0:2])
            T.writes(B[0:4])
            T.evaluate(T.call_extern("handle", "memcpy", T.address_of(B[vi * vj * 2]), T.address_of(A[vi, vj, 0]), 8))
"""
OLD_ELEMENTS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(2):
        with T.sblock("scope"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 2 : vi * 2 + 2])
            T.writes(A[vi * 2 : vi * 2 + 2], B[vi * 2 : vi * 2 + 2])
            for x in range(2):
                with T.sblock("A"):
                    v = T.axis.spatial(4, vi * 2 + x)
                    T.where(x < 1)
                    T.reads()
                    T.writes(A[v])
                    A[v] = T.float32(1)
            for x in range(2):
                with T.sblock("B"):
                    v = T.axis.spatial(4, vi * 2 + x)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v] + T.float32(1)
"""
DIVISOR = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), n: T.int32):
    B = T.sblock_alloc_buffer((16,), "float32")
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi]
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            T.reads(B[vi])
            T.writes(C[vi])
            C[vi] = B[vi]
"""
CASES = {
    "a call writes a part of the declared elements": (CALL, "sch.cache_write('call', 0, 'global')", [[4], [4]], []),
    "two calls write the same elements": (
        CALLS_IN_ORDER,
        "sch.reorder(*sch.get_loops('call')[::-1])",
        [[2, 2, 2], [4]],
        [],
    ),
    "a block reads elements that it has not written": (
        OLD_ELEMENTS,
        "sch.cache_write('scope', 0, 'global')",
        [[4], [4]],
        [],
    ),
    "the divisor of an index map is 0": (
        DIVISOR,
        "sch.transform_layout('B', ('write', 0), lambda i: (i // n, i % n), pad_value=0.0)",
        [[16], [16]],
        [0],
    ),
}
"""Program, schedule, shapes of the arrays, and numbers, by the reason for the refusal."""

RUN = """
import json, sys
import numpy as np
import tvm
from tvm.s_tir import Schedule
from tvm.script import from_source

text, steps, shapes, numbers = json.load(sys.stdin)
function = from_source(text)
sch = Schedule(tvm.IRModule({"main": function}))
exec(steps, {"sch": sch, "n": function.params[-1]})
for module in tvm.IRModule({"main": function}), sch.mod:
    arrays = [np.arange(np.prod(shape), dtype="float32").reshape(shape) + 10 * k for k, shape in enumerate(shapes)]
    arguments = [tvm.runtime.tensor(array) for array in arrays]
    tvm.compile(module, target="llvm")["main"](*arguments, *numbers)
    print(json.dumps([each.numpy().tolist() for each in arguments]), flush=True)
"""


@pytest.mark.parametrize("name", CASES)
def test_tvm_computes_other_numbers(name: str, tvm_python: Path) -> None:
    process = subprocess.run([tvm_python, "-c", RUN], input=json.dumps(CASES[name]), capture_output=True, text=True)
    before, *after = process.stdout.splitlines()
    assert [before] != after
    assert after != [] or process.returncode < 0, process.stderr


@pytest.mark.parametrize("name", CASES)
def test_the_schedule_is_refused(name: str) -> None:
    text, steps, _, _ = CASES[name]
    schedule: Any = Schedule(parse_tvmscript(text))
    number = schedule.mod.functions["main"].params[-1][1]
    with pytest.raises(ScheduleError):
        exec(steps, {"sch": schedule, "n": number})
