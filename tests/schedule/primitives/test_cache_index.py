"""The primitive `cache_index`."""

import numpy as np
import pytest

from stepwell import Schedule, ScheduleError, build, parse_tvmscript
from stepwell.tools.testing.scheduling import apply_steps, body_text

RESIZE = """
@T.prim_func
def main(A: T.Buffer((2, 8, 8), "float32"), B: T.Buffer((2, 8, 16), "float32")):
    for n, i, j in T.grid(2, 8, 16):
        with T.block("B"):
            vn, vi, vj = T.axis.remap("SSS", [n, i, j])
            B[vn, vi, vj] = A[vn, vi // 4 + vj // 4, vj // 2] + A[vn, vi, vj // 2]
"""

FLOATS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[T.Cast("int32", T.floor(T.Cast("float32", vi) * T.float32(0.5)))] * (
                T.floor(T.Cast("float32", vi) * T.float32(0.5)) + T.Cast("float32", vi // 3)
            )
"""

PARTS = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi // 3 * 2] + A[vi // 3 * 2 + 1] + A[vi // 3]
"""

IN_BLOCK = """
@T.prim_func
def main(n: T.int32, d: T.int32, A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for o in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, o)
            for i in range(2, 10):
                with T.block("C"):
                    vi = T.axis.spatial((2, 10), i)
                    C[vi] = A[(vi + n) // 4 + vo] + A[vi // d]
"""


def results(script: str, steps: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The results of a program before and after steps."""
    before, after = parse_tvmscript(script), apply_steps(script, steps)
    found: list[list[np.ndarray]] = []
    for mod in (before, after):
        shapes = [(8,), (16,)] if script is FLOATS else [(2, 8, 8), (2, 8, 16)]
        arrays = [np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in shapes]
        build(mod)(*arrays)
        found.append(arrays)
    return found[0], found[1]


def test_each_index_of_a_load_is_computed_once() -> None:
    text = body_text(apply_steps(RESIZE, "sch.cache_index('B', 'global')"))
    assert text.startswith(
        'index_var_0 = T.alloc_buffer((8, 16), "int32")\n'
        'index_var_1 = T.alloc_buffer((16,), "int32")\n'
        "for ax0, ax1 in T.grid(8, 16):\n"
        '    with T.block("index_0"):\n'
        '        v0, v1 = T.axis.remap("SS", [ax0, ax1])\n'
        "        T.reads()\n"
        "        T.writes(index_var_0[v0, v1])\n"
        "        index_var_0[v0, v1] = v0 // 4 + v1 // 4\n"
    )
    assert text.endswith("B[vn, vi, vj] = A[vn, index_var_0[vi, vj], index_var_1[vj]] + A[vn, vi, index_var_1[vj]]")


@pytest.mark.parametrize("script", [RESIZE, FLOATS])
@pytest.mark.parametrize("threshold", [0, 1, 2])
def test_results_stay(script: str, threshold: int) -> None:
    before, after = results(script, f"sch.cache_index('B', 'local', {threshold})")
    for expected, got in zip(before, after, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_the_largest_frequent_expressions_are_chosen() -> None:
    text = body_text(apply_steps(FLOATS, "sch.cache_index('B', 'global', 2)"))
    assert "index_var_0 = T.alloc_buffer((16,))" in text
    assert 'index_var_0[v0] = T.floor(T.Cast("float32", v0) * T.float32(0.5))' in text
    assert 'B[vi] = A[T.Cast("int32", index_var_0[vi])] * (index_var_0[vi] + T.Cast("float32", vi // 3))' in text
    assert "index_var_1" not in text


def test_values_of_the_scope_stay_and_axes_count_from_the_start_of_their_domains() -> None:
    text = body_text(apply_steps(IN_BLOCK, "assert len(sch.cache_index('C', 'global')) == 1"))
    assert "index_var_0 = T.alloc_buffer((8,)" in text
    assert "v0 = T.axis.spatial((2, 10), ax0 + 2)" in text
    assert "index_var_0[v0 - 2] = (v0 + n) // 4 + vo" in text
    assert "C[vi] = A[index_var_0[vi - 2]] + A[vi // d]" in text  # d may be 0 where the block does not run


def test_the_trace_replays() -> None:
    sch = Schedule(parse_tvmscript(RESIZE))
    first, second = sch.cache_index("B", "global", 0)
    sch.vectorize(sch.get_loops(second)[0])
    assert len(sch.get_loops(first)) == 2
    again = Schedule(parse_tvmscript(RESIZE))
    again.replay(str(sch.trace))
    assert str(again.mod) == str(sch.mod)


def test_nothing_to_compute_and_errors() -> None:
    sch = Schedule(parse_tvmscript(IN_BLOCK))
    before = sch.mod.script()
    assert sch.cache_index("C", "global", 9) == []
    for attempt, reason in (
        (lambda: sch.cache_index("C", "global", -1), "cse_thresh -1, expected a number from 0 on"),
        (lambda: sch.cache_index("outer", "global"), "block outer contains blocks"),
        (lambda: sch.cache_index("C", "nowhere"), "nowhere"),
    ):
        with pytest.raises(ScheduleError, match=reason):
            attempt()
    assert sch.mod.script() == before


def test_an_expression_inside_of_a_cached_one_does_not_count() -> None:
    text = body_text(apply_steps(PARTS, "assert len(sch.cache_index('B', 'global', 2)) == 1"))
    assert "index_var_0[v0] = v0 // 3 * 2" in text
    assert "B[vi] = A[index_var_0[vi]] + A[index_var_0[vi] + 1] + A[vi // 3]" in text
