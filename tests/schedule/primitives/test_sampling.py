"""Sampling primitives: distributions, decisions and refusals."""

from collections import Counter
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.schedule import Schedule
from stepwell.schedule.primitives.sampling import draw_partitioned_tiles, draw_tiles
from stepwell.schedule.state import INLINE, ROOT

CHAIN = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((12, 30), "float32"), C: T.Buffer((12, 30), "float32")):
        B = T.alloc_buffer((12, 30), "float32")
        for i, j in T.grid(12, 30):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(12, 30):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)
"""


def schedule(seed: int | None = 0) -> Schedule:
    return Schedule(stepwell.parse_tvmscript(CHAIN), seed=seed)


@given(st.integers(1, 5000), st.integers(1, 5), st.integers(1, 64), st.randoms(use_true_random=False))
def test_drawn_tiles_are_factors(extent: int, n: int, most: int, random: Random) -> None:
    if n == 1 and extent > most:
        with pytest.raises(stepwell.ScheduleError):
            draw_tiles(random, extent, n, most)
        return
    factors = draw_tiles(random, extent, n, most)
    assert len(factors) == n
    assert prod(factors) == extent
    assert factors[-1] <= most
    assert min(factors) >= 1


def test_all_tiles_are_equally_probable() -> None:
    random = Random(0)
    drawn = Counter(tuple(draw_tiles(random, 12, 2, 4)) for _ in range(4000))
    assert sorted(drawn) == [(3, 4), (4, 3), (6, 2), (12, 1)]
    assert max(drawn.values()) < 1.2 * min(drawn.values())


@given(st.integers(1, 200), st.integers(1, 6), st.integers(1, 4), st.data())
def test_the_last_drawn_factors_are_multiples(count: int, factor: int, n: int, data: st.DataObject) -> None:
    position, random = data.draw(st.integers(0, n - 1)), data.draw(st.randoms(use_true_random=False))
    factors = draw_partitioned_tiles(random, count * factor, n, position, factor)
    assert len(factors) == n
    assert prod(factors) == count * factor
    assert prod(factors[position:]) % factor == 0


def test_all_partitioned_tiles_are_equally_probable() -> None:
    random = Random(0)
    drawn = Counter(tuple(draw_partitioned_tiles(random, 12, 3, 1, 4)) for _ in range(9000))
    assert sorted(drawn) == [(1, *pair) for pair in ((1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1))] + [
        (3, 1, 4),
        (3, 2, 2),
        (3, 4, 1),
    ]
    assert max(drawn.values()) < 1.2 * min(drawn.values())


def test_the_same_seed_draws_the_same() -> None:
    a, b = schedule(3), schedule(3)
    for sch in (a, b):
        sch.sample_perfect_tile(sch.get_loops("B")[1], 3)
        sch.sample_categorical([1, 2, 3], [0.2, 0.3, 0.5])
        sch.sample_compute_location("B")
    assert str(a.trace) == str(b.trace)


def test_a_decision_is_taken_and_remembered() -> None:
    sch = schedule()
    assert sch.get(sch.sample_categorical([16, 64], [0.5, 0.5], decision=1)) == 64
    assert [sch.get(v) for v in sch.sample_perfect_tile(sch.get_loops("B")[0], 2, decision=[6, 2])] == [6, 2]
    assert "decision=[6, 2]" in str(sch.trace)
    loop = sch.get_loops("B")[0]
    assert [sch.get(v) for v in sch.sample_perfect_tile(loop, 2, max_innermost_factor=4, decision=[2, 6])] == [2, 6]
    factors = sch.sample_partitioned_tile(sch.get_loops("B")[0], 3, 1, 2, decision=[3, 2, 2])
    assert [sch.get(v) for v in factors] == [3, 2, 2]
    assert "n=3, partition_pos=1, innerpart_factor=2, decision=[3, 2, 2]" in str(sch.trace)


def test_numbers_are_factors_and_annotations() -> None:
    sch = schedule()
    loop = sch.get_loops("B")[0]
    outer, inner = sch.split(loop, sch.sample_perfect_tile(loop, 2, decision=[4, 3]))
    sch.annotate(outer, "steps", sch.sample_categorical([16, 64], [0.5, 0.5], decision=0))
    assert sch.get(inner).mixed_bounds[1] == 3  # pyright: ignore[reportAttributeAccessIssue]
    assert '"steps": 16' in sch.mod.script()


def test_a_place_is_a_loop_around_all_consumers_or_none() -> None:
    sch = schedule()
    i, _ = sch.get_loops("C")
    assert sch.get(sch.sample_compute_location("B", decision=0)) is sch.get(i)
    assert sch.get(sch.sample_compute_location("B", decision=-1)) is ROOT
    assert sch.get(sch.sample_compute_location("B", decision=-2)) is INLINE


def test_a_reduction_is_not_inlined_where_it_is_used() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vk]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            C[vi] = B[vi]
"""
    sch = Schedule(stepwell.parse_tvmscript(text), seed=1)
    drawn = [sch.get(sch.sample_compute_location("B")) for _ in range(40)]
    assert ROOT in drawn
    assert sch.get(sch.get_loops("C")[0]) in drawn
    assert INLINE not in drawn


TILED = """
@T.prim_func
def main(A: T.Buffer((4, 8, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 8, 6), "float32")
    for n in range(4):
        for k, j in T.grid(8, 6):
            with T.block("B"):
                vn, vk, vj = T.axis.remap("SSS", [n, k, j])
                B[vn, vk, vj] = A[vn, vk, vj] * T.float32(2)
        for one, j_0, k_0, unit, j_1, k_1 in T.grid(1, 3, 4, 1, 2, 2):
            with T.block("C"):
                vn = T.axis.spatial(4, n + one)
                vj = T.axis.spatial(6, j_0 * 2 + j_1 + unit)
                vk = T.axis.reduce(8, k_0 * 2 + k_1)
                with T.init():
                    C[vn, vj] = T.float32(0)
                C[vn, vj] += B[vn, vk, vj]
"""


def test_loops_worth_computing_in_are_drawn() -> None:
    sch = Schedule(stepwell.parse_tvmscript(TILED), seed=1)
    loops = [sch.get(loop) for loop in sch.get_loops("C")]
    drawn = {sch.get(sch.sample_compute_location("B")) for _ in range(60)}
    assert drawn == {ROOT, INLINE, loops[2], loops[3]}


def test_loops_are_counted_from_the_outermost_one_and_not_around_the_block() -> None:
    sch = Schedule(stepwell.parse_tvmscript(TILED))
    assert sch.get(sch.sample_compute_location("B", decision=2)) is sch.get(sch.get_loops("C")[2])
    with pytest.raises(stepwell.ScheduleError, match="decision 0: expected -2, -1 or the number of one of the 6"):
        sch.sample_compute_location("B", decision=0)


def test_a_block_that_nobody_reads_stays_where_it_is() -> None:
    sch = schedule()
    assert sch.get(sch.sample_compute_location("C")) is ROOT


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.sample_categorical([1, 2], [1.0]), "2 candidates and 1 probabilities"),
        (lambda s: s.sample_categorical([1, 2], [0.0, 0.0]), r"probabilities \[0.0, 0.0\]"),
        (lambda s: s.sample_categorical([1, 2], [0.5, 0.5], decision=2), "decision 2: expected a position from 0 to 1"),
        (lambda s: s.sample_perfect_tile(s.get_loops("B")[0], 2, decision=[5, 2]), "expected 2 factors of 12"),
        (lambda s: s.sample_perfect_tile(s.get_loops("B")[0], 0), "n = 0"),
        (lambda s: s.sample_partitioned_tile(s.get_loops("B")[0], 2, 1, 4, decision=[6, 2]), "is a multiple of 4"),
        (lambda s: s.sample_partitioned_tile(s.get_loops("B")[0], 2, 1, 5, decision=[6, 2]), "is no multiple of 5"),
        (lambda s: s.sample_partitioned_tile(s.get_loops("B")[0], 2, 2), "n = 2, partition_pos = 2"),
        (lambda s: s.sample_compute_location("C", decision=0), "decision 0: expected -2, -1 or"),
        (lambda s: s.sample_compute_location("B", decision=7), "decision 7"),
    ],
)
def test_wrong_choices_are_refused(wrong, message: str) -> None:  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    sch = schedule()
    with pytest.raises(stepwell.ScheduleError, match=message):
        wrong(sch)
    assert not any(op.name.startswith("schedule.sample") for op in sch.trace.instructions)


def test_a_loop_with_a_symbolic_extent_has_one_tile() -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        with T.block("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] + 1
"""
    schedule = Schedule(stepwell.parse_tvmscript(text))
    (loop,) = schedule.get_loops("B")
    factors = schedule.sample_perfect_tile(loop, 3)
    assert [schedule.get(factor) for factor in factors] == [-1, 1, 1]
    assert [schedule.get(factor) for factor in schedule.sample_partitioned_tile(loop, 2, 1, 4)] == [-1, 1]
    assert len(schedule.split(loop, factors)) == 3
    with pytest.raises(stepwell.ScheduleError, match=r"expected \[-1, 1\], as the extent of loop i_0 is not"):
        schedule.sample_perfect_tile(schedule.get_loops("B")[0], 2, decision=[2, 2])
