"""The checks of scheduled programs: they detect errors, and track changed layouts of parameters."""

from typing import Any

import numpy as np
import pytest

from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.layouts import apply_layouts, parameter_layouts
from stepwell.tools.testing.scheduling import apply_steps, check_computes_the_same, check_same_outputs, refusal_of

COPY = """
@T.prim_func
def main(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi] + 1
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 2), "int32")
    B = T.match_buffer(b, (n, 2), "int32")
    for i, j in T.grid(n, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1
"""


def laid_out_by(text: str, **steps: Any) -> tuple[Any, Schedule]:
    """A module, and a schedule that changes the layout of the buffers that its block reads or writes."""
    mod = parse_tvmscript(text)
    schedule = Schedule(mod)
    for side, arguments in steps.items():
        schedule.transform_layout("B", (side, 0), *arguments)
    return mod, schedule


@pytest.mark.parametrize("target", ["python", "llvm"])
def test_other_numbers_are_found(target: str) -> None:
    before, after = parse_tvmscript(COPY), parse_tvmscript(COPY.replace("+ 1", "+ 2"))
    check_computes_the_same(before, parse_tvmscript(COPY), target=target)
    with pytest.raises(AssertionError, match="main: B"):
        check_same_outputs(before, after, target=target)


def test_integers_must_be_exact_and_floats_nearly() -> None:
    text = COPY.replace("int32", "float32").replace("+ 1", "* T.float32(1)")
    check_same_outputs(parse_tvmscript(text), parse_tvmscript(text.replace("T.float32(1)", "T.float32(1.0000001)")))
    large = COPY.replace("int32", "int64").replace("+ 1", f"+ T.int64({2**60})")
    with pytest.raises(AssertionError):
        check_same_outputs(parse_tvmscript(large), parse_tvmscript(large.replace(f"{2**60}", f"{2**60 + 1}")))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_symbolic_sizes_are_what_is_asked_for(size: int) -> None:
    mod = parse_tvmscript(SYMBOLIC)
    other = parse_tvmscript(SYMBOLIC.replace("in T.grid(n, 2)", "in T.grid(T.min(n, 6), 2)"))
    if size <= 6:
        check_same_outputs(mod, other, size=size)
    else:
        with pytest.raises(AssertionError):
            check_same_outputs(mod, other, size=size)


@pytest.mark.parametrize("pad_value", [None, 3])
@pytest.mark.parametrize("side", ["read", "write"])
def test_parameters_that_are_laid_out_anew_are_followed(side: str, pad_value: int | None) -> None:
    mod, schedule = laid_out_by(COPY, **{side: (lambda i: (i // 2, i % 2), pad_value)})
    check_computes_the_same(mod, schedule.mod, trace=schedule.trace)
    check_same_outputs(mod, schedule.mod, trace=schedule.trace, target="llvm")


def test_one_layout_follows_another() -> None:
    mod, schedule = laid_out_by(COPY, read=(lambda i: (i // 2, i % 2),), write=(lambda i: (i + 1,), 9))
    schedule.transform_layout("B", ("read", 0), lambda i, j: (j, i))
    schedule.transform_layout("B", ("write", 0), lambda i: (i % 2, i // 2))
    check_computes_the_same(mod, schedule.mod, trace=schedule.trace)


def test_sizes_of_a_layout_may_be_symbolic() -> None:
    mod, schedule = laid_out_by(SYMBOLIC, read=(lambda i, j: (j, i),))
    for size in (2, 5):
        check_computes_the_same(mod, schedule.mod, trace=schedule.trace, size=size)


def test_padding_that_the_function_writes_is_checked_and_other_padding_is_not() -> None:
    mod, schedule = laid_out_by(COPY, write=(lambda i: (i // 2, i % 2), 3), read=(lambda i: (i // 2, i % 2),))
    layouts = parameter_layouts(mod, schedule.trace)
    arguments = {"A": np.arange(5, dtype=np.int32), "B": np.arange(5, dtype=np.int32)}
    after = apply_layouts(arguments, layouts, is_input=False)
    assert after["A"][1].tolist() == [[True, True], [True, True], [True, False]]
    assert after["B"][0].tolist() == [[0, 1], [2, 3], [4, 3]]
    assert after["B"][1].all()
    before = apply_layouts(arguments, layouts, is_input=True)
    assert before["B"][0][2, 1] != 3


def test_a_schedule_without_layouts_moves_nothing() -> None:
    mod, schedule = laid_out_by(COPY)
    schedule.parallel(schedule.get_loops("B")[0])
    assert parameter_layouts(mod, schedule.trace) == []


def test_steps_may_be_given_as_python() -> None:
    assert "T.parallel(5)" in apply_steps(COPY, 'sch.parallel(sch.get_loops("B")[0])').script()
    assert "no block 'X'" in str(refusal_of(COPY, "", 'sch.get_block("X")'))
    with pytest.raises(AssertionError, match="not refused"):
        refusal_of(COPY, "", 'sch.get_block("B")')
