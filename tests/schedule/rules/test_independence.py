"""The test whether each block of a function computes its results independently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Schedule, parse_tvmscript
from stepwell.dialects.tir import FuncOp
from stepwell.module import Module
from stepwell.schedule.cpu import schedules
from stepwell.schedule.rules.independence import has_independent_results, is_independent
from stepwell.tools.testing.choices import HypothesisChoices
from stepwell.tools.testing.unscheduled_programs import PROGRAMS, program_text, unscheduled_program

HEAD = "A: T.Buffer((8, 8), 'float32'), B: T.Buffer((8, 8), 'float32'), C: T.Buffer((8, 8), 'float32')"
SUM = """
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
ELEMENTS = """
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + B[vj, vi]
"""
AFTER = """
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vj, vi] + C[vj, vi]
"""
DEPENDENT = {
    "another order": SUM.replace("C[vi, vj] + A[vi, vk] * B[vk, vj]", "C[vi, vj] * T.float32(2) + A[vi, vk]"),
    "no init": SUM.replace("with T.init():\n            C[vi, vj] = T.float32(0)", "pass"),
    "an init elsewhere": SUM.replace("C[vi, vj] = T.float32(0)", "C[vj, vi] = T.float32(0)"),
    "a result for several points": SUM.replace("C[vi, vj]", "C[vi, 0]"),
    "a part of the result": ELEMENTS.replace("T.grid(8, 8)", "T.grid(4, 8)"),
    "loops over a part of the domain": ELEMENTS.replace("T.grid(8, 8)", "T.grid(4, 8)").replace(
        'vi, vj = T.axis.remap("SS", [i, j])', "vi = T.axis.spatial(8, i)\n        vj = T.axis.spatial(8, j)"
    ),
    "a transposed result of itself": ELEMENTS.replace("A[vi, vj]", "C[vj, vi]"),
    "its own elements": ELEMENTS.replace("A[vi, vj]", "C[vi, vj]"),
    "a computed index": ELEMENTS.replace("C[vi, vj] =", "C[vi, (vj * 3) % 8] ="),
    "a condition": ELEMENTS.replace("vi, vj = T", "T.where(i < j)\n        vi, vj = T"),
    "two stores": ELEMENTS + "        B[vi, vj] = T.float32(0)\n",
    "two writers": ELEMENTS + ELEMENTS.replace('"C"', '"D"').replace("A[vi, vj]", "T.float32(1)"),
    "a writer after a reader": ELEMENTS + AFTER,
    "a store without a block": ELEMENTS + "\nfor i in range(8):\n    A[i, 0] = T.float32(0)",
    "a call": ELEMENTS + "\nT.evaluate(T.call_extern('int32', 'putchar', 10))",
    "a region that is too small": ELEMENTS.replace(
        'vi, vj = T.axis.remap("SS", [i, j])',
        'vi, vj = T.axis.remap("SS", [i, j])\n        T.reads(A[vi, vj], B[vi, vi])\n        T.writes(C[vi, vj])',
    ),
    "a loop inside": ELEMENTS.replace(
        "C[vi, vj] = A[vi, vj] + B[vj, vi]", "for k in range(2):\n            C[vi, vj] = A[vi, vj] + B[vj, k]"
    ),
    "an opaque axis": ELEMENTS.replace(
        'vi, vj = T.axis.remap("SS", [i, j])', "vi = T.axis.spatial(8, i)\n        vj = T.axis.opaque(8, j)"
    ),
    "a shared loop": """
for i in range(8):
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, 7 - vj]
""",
}


def function(body: str, head: str = HEAD) -> FuncOp:
    lines = "\n    ".join(body.strip().splitlines())
    (func,) = parse_tvmscript(f"@T.prim_func\ndef main({head}):\n    {lines}\n").function_ops.values()
    assert isinstance(func, FuncOp)
    return func


@pytest.mark.parametrize(
    "body", [SUM, ELEMENTS, ELEMENTS + AFTER.replace("C[vj, vi]", "C[vi, vj]").replace("B[", "E[")]
)
def test_formulas_are_independent(body: str) -> None:
    assert has_independent_results(function(body, f"{HEAD}, E: T.Buffer((8, 8), 'float32')"))


@pytest.mark.parametrize("name", DEPENDENT)
def test_other_blocks_are_not(name: str) -> None:
    assert not has_independent_results(function(DEPENDENT[name]))


def test_buffers_with_strides_are_not() -> None:
    body = "A = T.match_buffer(a, (8, 8))\nB = T.match_buffer(b, (8, 8))\nC = T.match_buffer(c, (8, 8){})" + ELEMENTS
    head = "a: T.handle, b: T.handle, c: T.handle"
    assert has_independent_results(function(body.format(""), head))
    assert not has_independent_results(function(body.format(", strides=(1, 1)"), head))


def test_most_programs_are_formulas() -> None:
    sizes = dict.fromkeys("mnk", 8)
    found = {
        name
        for name in PROGRAMS
        for func in parse_tvmscript(program_text(name, "float32", sizes)).function_ops.values()
        if not has_independent_results(func)  # pyright: ignore[reportArgumentType]
    }
    assert found == {"elements in place", "elements that follow from others", "product without an init"}


@given(data=st.data())
def test_steps_of_independent_functions_pass_the_checks(data: st.DataObject) -> None:
    module = unscheduled_program(HypothesisChoices(data.draw))
    scheduled = schedules.schedule_cpu(module, data.draw(st.sampled_from(("avx2", "avx512,l1_bytes=64", "sse"))))
    checked = Schedule(module)
    checked.replay(scheduled.trace)  # ScheduleError for a step that is not legal
    assert str(checked.mod) == str(scheduled.mod)


def test_functions_of_graphs_are_independent() -> None:
    module = parse_tvmscript(
        f"@T.prim_func\ndef main({HEAD}):\n    T.func_attr({{'relay.kernel': True}})"
        + "\n    ".join(DEPENDENT["its own elements"].splitlines())
    )
    assert isinstance(module, Module)
    (func,) = module.function_ops.values()
    assert isinstance(func, FuncOp)
    assert is_independent(func)
    assert not has_independent_results(func)
