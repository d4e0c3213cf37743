"""Reductions across threads: results, lowered forms and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from xdsl.context import Context

from stepwell import Schedule
from stepwell.core.errors import ScheduleError, UnsupportedError
from stepwell.dialects.tir import StoreOp
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.execution import oracle_results
from stepwell.tools.testing.thread_reductions import thread_reductions
from stepwell.transforms.pipelines import Options
from stepwell.transforms.pipelines.landings import LAUNCHES
from stepwell.transforms.tir.lower_thread_reductions import TirLowerThreadReductionsPass
from stepwell.transforms.tir.resolve_blocks import TirResolveBlocksPass


def lowered(module: Module) -> Module:
    module = module.clone()
    TirLowerThreadReductionsPass().apply(Context(), module.op)
    module.verify()
    return module


@given(program=thread_reductions())
def test_the_way_to_launches_leaves_what_is_computed(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    expected = oracle_results(module, arguments)
    module = lowered(module)
    assert_same(oracle_results(module, arguments), expected)
    for step in (TirResolveBlocksPass(), *LAUNCHES.passes(Options())[:-1]):
        step.apply(Context(), module.op)
        module.verify()
    assert_same(oracle_results(module, arguments), expected)


# Shapes of programs

SUM = """
@T.prim_func
def main(A: T.Buffer((4, 6, 8), "int32"), B: T.Buffer((4, 6), "int32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(4, 6, 8):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = vi
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
"""


def check(module: Module) -> Module:
    """The result of the pass on a scheduled SUM, checked to preserve results."""
    after = lowered(module)
    a = np.random.default_rng(0).integers(0, 9, (4, 6, 8)).astype(np.int32)
    expected = a.sum(2, dtype=np.int32) + np.arange(4, dtype=np.int32)[:, None]
    for each in (module, after):
        np.testing.assert_array_equal(oracle_results(each, {"A": a, "B": np.zeros((4, 6), np.int32)})["B"], expected)
    return after


def sums(*order: str, **bound: str) -> Schedule:
    sch = Schedule(parse_tvmscript(SUM))
    loops = dict(zip("ijk", sch.get_loops(sch.get_block("B")), strict=True))
    sch.reorder(*(loops[name] for name in order))
    for name, axis in bound.items():
        sch.bind(loops[name], axis)
    return sch


def test_a_thread_has_a_part_of_each_result_inside_of_its_loop() -> None:
    sch = sums("k", "j", "i", k="threadIdx.x", i="threadIdx.y")
    text = check(sch.mod).script()
    assert 'B_part = T.alloc_buffer((6,), "int32", scope="local")' in text
    assert 'B_parts = T.alloc_buffer((6, 1, 4), "int32", scope="shared")' in text


def test_a_reduction_that_no_kernel_is_around_gets_one() -> None:
    text = check(sums("i", "j", "k", k="threadIdx.x").mod).script()
    assert 'for bx in T.thread_binding(1, thread="blockIdx.x"):' in text


def test_the_result_is_what_the_init_says_and_the_parts() -> None:
    text = check(sums("i", "j", "k", i="blockIdx.x", k="threadIdx.x").mod).script()
    assert "B[vi, vj] = vi + B_parts[0]" in text
    assert [line.strip() for line in text.splitlines() if "shuffle" in line] == [
        f"B_other[0] = T.tvm_warp_shuffle_down(T.uint32(4294967295), B_part[0], {distance}, 32, 32)"
        for distance in (4, 2, 1)
    ]


def test_a_number_of_threads_that_is_no_power_of_two() -> None:
    sch = Schedule(parse_tvmscript(SUM))
    i, _, k = sch.get_loops(sch.get_block("B"))
    _, threads = sch.split(k, [None, 5])
    sch.bind(i, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    text = check(sch.mod).script()
    assert [line.strip() for line in text.splitlines() if "if k_1" in line] == [
        "if k_1 < 2:",
        "if k_1 < 1:",
        "if k_1 == 0:",
    ]


def test_one_thread_needs_nobody() -> None:
    sch = Schedule(parse_tvmscript(SUM))
    _, one = sch.split(sch.get_loops(sch.get_block("B"))[2], [None, 1])
    sch.bind(one, "threadIdx.x")
    assert lowered(sch.mod).script() == sch.mod.script()


def test_each_thread_for_itself_stays_so() -> None:
    sch = sums("i", "j", "k")
    *_, k = sch.get_loops(sch.get_block("B"))
    _, threads = sch.split(k, [None, 4])
    first = sch.rfactor(threads, 0)
    sch.bind(sch.get_loops(first)[-1], "threadIdx.x")
    assert lowered(sch.mod).script() == sch.mod.script()


COOPERATIVE = """
@T.prim_func
def main(A: T.Buffer((4, 6, 8), "int32"), B: T.Buffer((4, 6), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((4,), "int32", scope="shared")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("S"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        S[vi] = 0
                    S[vi] = S[vi] + A[vi, 0, vk]
            if j < 6:
                B[i, j] = S[i]
"""


def test_threads_that_are_there_already_reduce_together() -> None:
    module = parse_tvmscript(COOPERATIVE)
    a = np.random.default_rng(0).integers(0, 9, (4, 6, 8)).astype(np.int32)
    for each in (module, lowered(module)):
        got = oracle_results(each, {"A": a, "B": np.zeros((4, 6), np.int32)})["B"]
        np.testing.assert_array_equal(got, np.tile(a[:, 0].sum(1)[:, None], (1, 6)))


@pytest.mark.parametrize("size", [0, 5])
def test_nothing_is_stored_where_nothing_is_reduced(size: int) -> None:
    program = SUM.replace('A: T.Buffer((4, 6, 8), "int32")', "a: T.handle").replace(
        "    for i, j, k in T.grid(4, 6, 8)",
        '    n = T.int32()\n    A = T.match_buffer(a, (4, 6, n), "int32")\n    for i, j, k in T.grid(4, 6, n)',
    )
    sch = Schedule(parse_tvmscript(program))
    i, _, k = sch.get_loops(sch.get_block("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(k, [None, 4])[1], "threadIdx.x")
    a, b = np.ones((4, 6, size), np.int32), np.full((4, 6), -1, np.int32)
    for module in (sch.mod, lowered(sch.mod)):
        got = oracle_results(module, {"A": a, "B": b})["B"]
        assert got[0, 0] == (size or -1)


# Refusals


def refused(program: str) -> str:
    with pytest.raises(UnsupportedError) as error:
        lowered(parse_tvmscript(program))
    return str(error.value)


BOUND = """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.thread_binding(8, thread="{outer}"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, {spatial})
                vk = T.axis.reduce(8, {reduced})
                T.where({where})
                with T.init():
                    {init}
                {update}
"""
PARTS = {
    "outer": "blockIdx.x",
    "spatial": "i",
    "reduced": "k",
    "where": "k < 7",
    "init": "B[vi] = 0",
    "update": "B[vi] = B[vi] + A[vi, vk]",
}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"update": "B[vi] = B[vi] * 2 + A[vi, vk]"}, "the body of block B is not a reduction that is known: B mixes"),
        ({"spatial": "k"}, "loop k chooses what is written, too"),
        ({"spatial": "i", "reduced": "k // 2"}, "an instance may run more than once"),
        ({"where": "k > 2"}, "its predicate may keep the init from running, but not other iterations"),
        ({"where": "A[i, k] > 2"}, "its predicate is not affine"),
        ({"reduced": "7 - k"}, "its predicate may keep the init from running, but not other iterations"),
    ],
)
def test_what_threads_cannot_reduce_together_is_refused(changed: dict[str, str], reason: str) -> None:
    lowered(parse_tvmscript(BOUND.format(**PARTS)))
    message = refused(BOUND.format(**{**PARTS, **changed}))
    assert f"error: threads cannot reduce block B together, use rfactor: {reason}" in message


def test_an_init_that_does_more_is_refused() -> None:
    message = refused(BOUND.format(**{**PARTS, "init": "for n in range(1):\n                        B[vi] = 0"}))
    assert "threads cannot reduce block B together, use rfactor: its init does more than to store to B" in message


def test_blocks_inside_of_the_threads_are_refused() -> None:
    message = refused(BOUND.format(**{**PARTS, "outer": "threadIdx.x", "spatial": "k", "reduced": "i"}).replace(
        'k in T.thread_binding(8, thread="threadIdx.x")', 'k in T.thread_binding(8, thread="blockIdx.x")'
    ).replace("k < 7", "i < 7"))  # fmt: skip
    assert "loop k, over blocks, is inside of loop i" in message


def test_a_reduction_over_blocks_needs_rfactor() -> None:
    with pytest.raises(ScheduleError, match=r"loop k cannot run as blockIdx\.x: .*; blocks reduce together by rfactor"):
        sums("i", "j", "k", k="blockIdx.x")


# Memory of each thread


@pytest.mark.parametrize("scope", ["", ', scope="local"'])
def test_a_result_of_all_threads_is_not_kept_in_memory_of_each(scope: str) -> None:
    program = SUM.replace('B: T.Buffer((4, 6), "int32")', 'C: T.Buffer((4, 6, 8), "int32")').replace(
        '"tir.noalias": True})', f'"tir.noalias": True}})\n    B = T.alloc_buffer((4, 6), "int32"{scope})'
    )
    program += """
        for k in range(8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vi, vj]
""".replace("        for k", "    for i, j in T.grid(4, 6):\n        for k")
    sch = Schedule(parse_tvmscript(program))
    i = sch.get_loops(sch.get_block("C"))[0]
    sch.bind(i, "threadIdx.y")
    sch.compute_at(sch.get_block("B"), i)
    sch.bind(sch.get_loops(sch.get_block("B"))[-1], "threadIdx.x")
    with pytest.raises(ScheduleError, match=r"B\[0, \d\] is read by block C .* before block B initializes it"):
        sch.bind(sch.get_loops(sch.get_block("C"))[-1], "threadIdx.x")


def test_argmax_is_bound_and_its_values_stay_together() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), N: T.Buffer((1,), "int32"), V: T.Buffer((1,), "float32")):
    for i in range(1):
        for k in range(32):
            with T.block("V"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    N[vi] = -1
                    V[vi] = T.min_value("float32")
                n: T.int32 = T.Select(V[vi] >= A[vk], N[vi], vk)
                v: T.float32 = T.Select(V[vi] >= A[vk], V[vi], A[vk])
                N[vi] = n
                V[vi] = v
"""
    sch = Schedule(parse_tvmscript(program))
    sch.bind(sch.get_loops(sch.get_block("V"))[1], "threadIdx.x")
    after = lowered(sch.mod)
    assert len([op for op in after.op.walk() if isinstance(op, StoreOp)]) == 2 * (1 + 1 + 5 * 2 + 1 + 1)
    a = np.random.default_rng(0).permutation(32).astype(np.float32)
    got = oracle_results(after, {"A": a, "N": np.zeros(1, np.int32), "V": np.zeros(1, np.float32)})
    assert (got["N"][0], got["V"][0]) == (a.argmax(), a.max())
