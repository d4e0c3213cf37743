"""Random scheduled reductions across the threads of a thread block, with arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...schedule import Schedule

Draw = Callable[[st.SearchStrategy[Any]], Any]

PROGRAM = """
@T.prim_func
def main(A: T.Buffer(({i}, {j}, {k}), "{dtype}"), N: T.Buffer(({i}, {j}), "int32"), B: T.Buffer(({i}, {j}, {k}), "{dtype}")):
    T.func_attr({{"tir.noalias": True}})
    S = T.alloc_buffer(({i}, {j}), "{dtype}", scope="shared")
    for i, j, k in T.grid({i}, {j}, {k}):
        with T.block("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                {init}
            {update}
    for i, j, k in T.grid({i}, {j}, {k}):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = T.max(A[vi, vj, vk], S[vi, vj])
"""  # noqa: E501

INTEGERS = ("int8", "int32", "int64", "uint8", "uint16")
FLOATS = ("float16", "float32", "float64")


@dataclass(frozen=True)
class ReductionKind:
    """A reduction: its data types, its init and update, and the minimum and maximum of its inputs, for which it is
    exact.

    in_order: whether schedules do not recognize it as a reduction, so that its loops keep their order until they are
    bound.
    """

    dtypes: tuple[str, ...]
    init: str
    update: str
    least: int = 0
    greatest: int = 9
    in_order: bool = False


KINDS = {
    "add": ReductionKind((*INTEGERS, *FLOATS), "S[vi, vj] = {zero} + 3", "S[vi, vj] = S[vi, vj] + A[vi, vj, vk]"),
    "mul": ReductionKind((*INTEGERS, *FLOATS), "S[vi, vj] = {zero} + 1", "S[vi, vj] = S[vi, vj] * A[vi, vj, vk]", 1, 1),
    "min": ReductionKind((*INTEGERS, *FLOATS), "S[vi, vj] = {zero} + 7", "S[vi, vj] = T.min(S[vi, vj], A[vi, vj, vk])"),
    "max": ReductionKind((*INTEGERS, *FLOATS), "S[vi, vj] = {zero}", "S[vi, vj] = T.max(A[vi, vj, vk], S[vi, vj])"),
    "xor": ReductionKind(INTEGERS, "S[vi, vj] = {zero}", "S[vi, vj] = S[vi, vj] ^ A[vi, vj, vk]"),
    "some": ReductionKind(
        (*INTEGERS, *FLOATS),
        "S[vi, vj] = {zero}",
        "S[vi, vj] = T.Select(A[vi, vj, vk] > {zero} + 4, S[vi, vj] + A[vi, vj, vk], S[vi, vj])",
        in_order=True,
    ),
    "argmax": ReductionKind(
        (*INTEGERS, *FLOATS),
        "N[vi, vj] = -1\n                S[vi, vj] = T.min_value('{dtype}')",
        "n: T.int32 = T.Select(S[vi, vj] > A[vi, vj, vk] or S[vi, vj] == A[vi, vj, vk] and N[vi, vj] < vk, "
        "N[vi, vj], vk)\n"
        "            s: T.{dtype} = T.Select(S[vi, vj] > A[vi, vj, vk], S[vi, vj], A[vi, vj, vk])\n"
        "            N[vi, vj] = n\n"
        "            S[vi, vj] = s",
        1,
        in_order=True,
    ),
}
THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


@st.composite
def thread_reductions(draw: Draw) -> tuple[Module, dict[str, Any]]:
    """Scheduled modules whose function `main` reduces across threads, and arguments by name.

    Modules also have rows of threads, several results for a thread, loops in any order, thread counts that do not
    divide the extent, and a consumer in the same kernel. Sums of floats are exact.
    """
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    dtype = draw(st.sampled_from(kind.dtypes))
    i, j, k = (draw(st.integers(1, most)) for most in (3, 3, 40))
    values = {"dtype": dtype, "zero": f"T.Cast('{dtype}', 0)"}
    init, update = (text.format(**values) for text in (kind.init, kind.update))
    schedule = Schedule(parse_tvmscript(PROGRAM.format(i=i, j=j, k=k, dtype=dtype, init=init, update=update)))
    _schedule(draw, schedule, kind)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    a = rng.integers(kind.least, kind.greatest + 1, (i, j, k)).astype(dtype)
    return schedule.mod, {"A": a, "N": np.zeros((i, j), np.int32), "B": np.zeros((i, j, k), dtype)}


def _schedule(draw: Draw, schedule: Schedule, kind: ReductionKind) -> None:
    reduction, consumer = schedule.get_block("S"), schedule.get_block("B")
    outer, row, last = schedule.get_loops(consumer)
    is_row_thread = draw(st.booleans())
    schedule.bind(outer, "blockIdx.x")
    location = row if is_row_thread and draw(st.booleans()) else outer
    schedule.compute_at(reduction, location, preserve_unit_loops=True)
    loops = schedule.get_loops(reduction)
    axes = draw(st.permutations(THREADS))
    threads = draw(st.sampled_from([1, 2, 3, 5, 8, 32, 33, 40]))
    parts = [None, threads] if draw(st.booleans()) else [None, 2, threads]
    reduced = list(schedule.split(loops[-1], parts))
    bound = [(reduced[-1], axes[0])]
    if len(parts) == 3 and draw(st.booleans()):
        bound.append((reduced[1], axes[1]))
    rows = [loops[-2]]
    if not kind.in_order:
        schedule.reorder(*draw(st.permutations([*rows, *reduced])))
    if location is outer and is_row_thread:
        bound.append((rows[0], axes[2]))
    if is_row_thread:
        schedule.bind(row, axes[2])
    for loop, axis in bound:
        schedule.bind(loop, axis)
    _, inner = schedule.split(last, [None, threads])
    if draw(st.booleans()):
        schedule.bind(inner, axes[0])
