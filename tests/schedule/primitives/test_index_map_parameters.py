"""Index maps with parameters in transform_layout and transform_block_layout: sampled numbers, sizes of the program."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.errors import ParseError, ScheduleError
from stepwell.dialects.tir import BlockOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule, Trace
from stepwell.schedule.handles import ParameterRV
from stepwell.schedule.trace import traces_in_module
from stepwell.tools.testing.scheduling import body_text, check_computes_the_same, refusal_of
from stepwell.tools.testing.steps import PARAMETERIZED_MAPS

STAGES = """
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32"), n: T.int32):
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vi, 0]
"""
REDUCTION = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 3), "float32")
    B = T.match_buffer(b, (5, 3), "float32")
    C = T.match_buffer(c, (5, n), "float32")
    for i, j, k in T.grid(5, n, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vj, vk] * B[vi, vk]
"""
REDUCTION_64 = REDUCTION.replace("T.grid(5, n, 3)", "T.grid(T.int64(5), n, T.int64(3))")
SAMPLE = "_, a, b = sch.sample_perfect_tile(sch.get_loops('B')[1], 3, decision=[4, 2, 4])\n"
SIZE = "n = sch.get_size('n')\n"


def schedule_of(text: str, steps: str) -> Schedule:
    """The schedule after some steps, which computes the same results for several sizes, and whose trace computes the
    same program as text."""
    before = parse_tvmscript(text)
    schedule = Schedule(before)
    exec(steps, {"sch": schedule})
    for size in (0, 3):
        check_computes_the_same(before, schedule.mod, trace=schedule.trace, size=size)
    again = Schedule(before)
    again.replay(str(schedule.trace))
    assert str(again.mod) == str(schedule.mod)
    assert str(again.trace) == str(schedule.trace)
    (trace,) = traces_in_module(parse_mlir(schedule.trace.as_ir()).op)
    assert Trace(trace).as_ir() == schedule.trace.as_ir()
    return schedule


def result_of(text: str, steps: str) -> str:
    return body_text(schedule_of(text, steps).mod)


# Sampled numbers


def test_a_layout_may_have_sampled_factors() -> None:
    text = result_of(STAGES, SAMPLE + "sch.transform_layout('B', 'B', lambda i, j: (i, j // (a * b), j % (a * b)))")
    assert "B = T.alloc_buffer((16, 4, 8))" in text
    assert "B[vi, vj // 8, vj % 8] = A[vi, vj] * T.float32(2.0)" in text


def test_a_trace_holds_the_sampled_numbers_and_not_their_values() -> None:
    schedule = schedule_of(
        STAGES, SAMPLE + "sch.transform_layout('B', 'B', lambda i, j: (j // (a * b), i, j % (a * b)))"
    )
    assert "lambda i0, i1: (i1 // (v4 * v5), i0, i1 % (v4 * v5),)" in str(schedule.trace)
    assert (
        "(d0, d1)[s0, s1] -> ((d1 floordiv (s0 * s1)), d0, (d1 mod (s0 * s1)))>[%v_1, %v_2]" in schedule.trace.as_ir()
    )


def test_a_replay_with_another_decision_has_the_layout_of_that_decision() -> None:
    schedule = schedule_of(
        STAGES, SAMPLE + "sch.transform_layout('B', 'B', lambda i, j: (i, j // (a * b), j % (a * b)))"
    )
    for replayed in (str(schedule.trace), schedule.trace):
        again = Schedule(parse_tvmscript(STAGES))
        if isinstance(replayed, str):
            again.replay(replayed.replace("decision=[4, 2, 4]", "decision=[2, 4, 4]"))
        else:
            text = replayed.as_ir().replace("4, 2, 4", "2, 4, 4")
            again.replay(traces_in_module(parse_mlir(text).op)[0])
        assert "B = T.alloc_buffer((16, 2, 16))" in again.mod.script()
        check_computes_the_same(parse_tvmscript(STAGES), again.mod)


def test_parameters_may_be_computed_outside_of_the_map() -> None:
    text = result_of(
        STAGES, SAMPLE + "t = 2 * a * b - 8\nsch.transform_block_layout('B', lambda i, j: (i // t, j, i % t))"
    )
    assert "for ax0, ax1, ax2 in T.grid(2, 32, 8):" in text


def test_a_pad_value_may_have_parameters() -> None:
    steps = "sch.transform_layout('C', 'C', lambda i, j: (i, j + a), pad_value=lambda i, j: i * a + b)"
    assert 'T.Cast("float32", v_i * 2 + 4)' in result_of(STAGES, SAMPLE + steps)


def test_a_copy_of_a_schedule_shares_its_parameters() -> None:
    schedule = Schedule(parse_tvmscript(SYMBOLIC))
    n = schedule.get_size("n")
    copy = schedule.copy()
    copy.transform_block_layout("C", lambda i, j: (j * n + i,))
    assert "lambda i0, i1: (i1 * v0 + i0,)" in str(copy.trace)


# Sizes of the program


def test_a_layout_may_have_symbolic_factors() -> None:
    text = result_of(REDUCTION, SIZE + "sch.transform_layout('C', 'C', lambda i, j: (i * n + j,))")
    assert "C = T.match_buffer(c, (n * T.int64(5),))" in text
    assert "] = T.float32(0.0)" in text


def test_a_layout_may_divide_by_a_size_that_is_positive_at_each_element() -> None:
    text = result_of(
        SYMBOLIC, SIZE + "sch.transform_layout('C', 'B', lambda i, j: ((i + j * n) // 2, (i + j * n) % 2, i // n))"
    )
    assert "B = T.match_buffer(b, (n * T.int64(4), 2, 1))" in text


def test_axes_are_fused_by_a_symbolic_factor() -> None:
    text = result_of(REDUCTION_64, SIZE + "sch.transform_block_layout('C', lambda i, j, k: (i * n + j, k))")
    assert "for ax0, ax1 in T.grid(n * T.int64(5), T.int64(3)):" in text
    assert "C[v0 // n, v0 % n] = T.float32(0.0)" in text


def test_the_type_of_new_loops_holds_a_product_with_a_size() -> None:
    text = result_of(REDUCTION, SIZE + "sch.transform_block_layout('C', lambda i, j, k: (k, i * n + j))")
    assert "for ax0, ax1 in T.grid(T.int64(3), n * T.int64(5)):" in text


def test_axes_change_places_in_a_fused_axis() -> None:
    text = result_of(SYMBOLIC, SIZE + "sch.transform_block_layout('C', lambda i, j: (j * n + i,))")
    assert "for ax0 in range(n * m):" in text or "for ax0 in range(m * n):" in text
    assert "C[v0 % n, v0 // n] = A[v0 % n, v0 // n] + B[v0 % n, 0]" in text


def test_fused_indices_are_combined() -> None:
    steps = "sch.transform_layout('C', 'C', lambda i, j: (i * n + j,))\n"
    steps += "sch.transform_block_layout('C', lambda i, j, k: (i * n + j, k))"
    assert "C[v0] = T.float32(0.0)" in result_of(REDUCTION_64, SIZE + steps)


def test_a_layout_with_gaps_has_no_negative_extent_without_elements() -> None:
    text = result_of(SYMBOLIC, SIZE + "sch.transform_layout('C', 'B', lambda i, j: (i * 4, j), pad_value=0)")
    assert "B = T.match_buffer(b, (T.max(" in text


def test_a_size_may_be_declared_after_the_buffer() -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4,), "float32")
    n = T.int64()
    B = T.match_buffer(b, (n,), "float32")
    for i, j in T.grid(T.int64(4), n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i == 0)
            B[vj] = A[vi]
"""
    assert "A = T.match_buffer(var_A, (n + T.int64(4),))" in result_of(
        text, SIZE + "sch.transform_layout('B', 'A', lambda i: (i + n,), pad_value=0)"
    )


# Random maps


@given(st.data())
def test_random_maps_are_refused_or_keep_the_results(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([STAGES, SYMBOLIC, REDUCTION, REDUCTION_64]))
    before = parse_tvmscript(text)
    schedule = Schedule(before)
    for _ in range(data.draw(st.integers(1, 3))):
        with suppress(ScheduleError):
            _apply_random_map(data, schedule)
    for size in data.draw(st.lists(st.integers(-2 if text is STAGES else 0, 5), min_size=1, max_size=2)):
        check_computes_the_same(before, schedule.mod, trace=schedule.trace, size=size)
    again = Schedule(before)
    again.replay(str(schedule.trace))
    assert str(again.mod) == str(schedule.mod)


def _apply_random_map(data: st.DataObject, schedule: Schedule) -> None:
    sampled = data.draw(st.booleans())
    parameter = (
        schedule.sample_categorical([1, 2, 3, 4, 8], [0.2] * 5, decision=data.draw(st.integers(0, 4)))
        if sampled
        else schedule.get_size(data.draw(st.sampled_from(["n", "m"])))
    )
    block = schedule.get_block("C")
    op = schedule.get(block)
    assert isinstance(op, BlockOp)
    accesses = data.draw(st.sampled_from([None, *op.accesses]))
    rank = len(op.axes) if accesses is None else len(accesses.region)
    function = data.draw(st.sampled_from(PARAMETERIZED_MAPS[min(max(rank, 1), 3)]))
    if accesses is None:
        schedule.transform_block_layout(block, _of_parameter(function, parameter, rank))
        return
    side = [access for access in op.accesses if access.is_write is accesses.is_write]
    buffer = ("write" if accesses.is_write else "read", side.index(accesses))
    pad_value = data.draw(st.sampled_from([None, 0, parameter]))
    schedule.transform_layout(block, buffer, _of_parameter(function, parameter, rank), pad_value)


def _of_parameter(function: Callable[..., Any], parameter: ParameterRV, rank: int) -> Callable[..., Any]:
    """An index map of a parameter; ScheduleError unless it takes `rank` indices."""
    if len(inspect.signature(function).parameters) != rank + 1:
        raise ScheduleError("an index map of another rank")
    return lambda *indices: function(parameter, *indices)


# Refusals


@pytest.mark.parametrize(
    ("text", "steps", "attempt", "message"),
    [
        (STAGES, SIZE, "sch.transform_layout('B', 'B', lambda i, j: (i, j // n, j % n))", "divides by n, expected"),
        (STAGES, SIZE, "sch.transform_layout('B', 'B', lambda i, j: (i, j + n))", "starts at n, expected indices"),
        (STAGES, SAMPLE, "sch.transform_layout('B', 'B', lambda i, j: (i, j // (a * 2 - b), j))", "divides by 0"),
        (STAGES, SAMPLE, "sch.transform_layout('B', 'B', lambda i, j: (i * a + j,))", "in the same place"),
        (STAGES, SAMPLE, "sch.transform_layout('B', 'B', lambda i, j: (a // j, i))", "an index behind //"),
        (SYMBOLIC, SIZE, "sch.transform_layout('C', 'C', lambda i, j: (i * n + j,))", "in which i0 takes n values"),
        (SYMBOLIC, SIZE, "sch.transform_layout('C', 'C', lambda i, j: (i, j // n, j % n))", "in which n may be 0"),
        (SYMBOLIC, SIZE, "sch.transform_block_layout('C', lambda i, j: (i * n + j,))", "in which i0 takes n values"),
        (SYMBOLIC, SIZE, "sch.transform_block_layout('C', lambda i, j: (i + j // n, j % n))", "in which n may be 0"),
        (SYMBOLIC, "", "sch.get_size('k')", "no size 'k' in function 'main' (has: n, m)"),
        (SYMBOLIC, SIZE, "sch.split(sch.get_loops('C')[0], [None, n])", "expected a list of numbers"),
    ],
)
def test_an_index_map_is_refused(text: str, steps: str, attempt: str, message: str) -> None:
    assert message in str(refusal_of(text, steps, attempt))


def test_the_rules_of_the_map_hold_for_the_decision_of_a_replay() -> None:
    trace = schedule_of(STAGES, SAMPLE + "sch.transform_layout('B', 'B', lambda i, j: (i, j * (a - 1)))").trace
    with pytest.raises(ScheduleError, match="in the same place"):
        Schedule(parse_tvmscript(STAGES)).replay(str(trace).replace("decision=[4, 2, 4]", "decision=[8, 1, 4]"))


def test_a_trace_with_an_unknown_name_is_refused() -> None:
    with pytest.raises(ParseError, match="n is neither an index nor a number or size of the trace"):
        Schedule(parse_tvmscript(STAGES)).replay('sch.transform_layout("B", "B", lambda i, j: (i * n + j,))')
    with pytest.raises(ParseError, match="b0 is neither an index"):
        Schedule(parse_tvmscript(STAGES)).replay(
            'b0 = sch.get_block("B")\nsch.transform_layout(b0, "B", lambda i, j: (i * b0 + j,))'
        )


def test_a_size_of_another_schedule_is_refused() -> None:
    n = Schedule(parse_tvmscript(SYMBOLIC)).get_size("n")
    with pytest.raises(ScheduleError, match="a handle of another schedule"):
        Schedule(parse_tvmscript(SYMBOLIC)).transform_block_layout("C", lambda i, j: (j * n + i,))


def test_a_size_of_another_function_is_refused() -> None:
    other = SYMBOLIC.replace("def main", "def other")
    functions = "".join(f"    {line}\n" for line in (SYMBOLIC + other).splitlines())
    schedule = Schedule(parse_tvmscript(f"@I.ir_module\nclass M:\n{functions}"))
    n = schedule.get_size("n", "other")
    with pytest.raises(ScheduleError, match="size n of another function, expected sizes of 'main'"):
        schedule.transform_block_layout(schedule.get_block("C", "main"), lambda i, j: (j * n + i,))
