"""Measures the cost of polls for signals in long loops: programs with and without polls take turns, in one process.

The table shows the median times, and the median of the ratios of paired runs (above 1, polls cost time).

    python benchmarks/polls.py [--runs N] [--only NAME,...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from measuring import describe_package, machine, median_ratio, times_in_turn

import stepwell
from stepwell.backends.llvm import control

RELU = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    T.func_attr({"tir.noalias": True})
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        B[i, j] = T.max(A[i, j], T.float32(0))
"""
NORM = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    T.func_attr({"tir.noalias": True})
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i in range(n):
        S = T.alloc_buffer((1,), "float32")
        S[0] = T.float32(0)
        for j in range(m):
            B[i, j] = A[i, j] * A[i, j]
            S[0] = S[0] + B[i, j]
        for j in range(m):
            B[i, j] = B[i, j] / S[0]
"""
MATMUL = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({"tir.noalias": True})
    n = T.int64()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n, n), "float32")
    C = T.match_buffer(c, (n, n), "float32")
    for i, j, k in T.grid(n, n, n):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
BATCH = 1e-3  # seconds


def _static(text: str, *extents: tuple[str, int]) -> str:
    """A program with sizes in place of variables."""
    for name, extent in extents:
        text = text.replace(f"    {name} = T.int64()\n", f"    {name} = {extent}\n")
    return text


def _tiled(text: str) -> stepwell.Module:
    """The matrix product with a schedule."""
    sch = stepwell.Schedule(stepwell.parse_tvmscript(text))
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, 64])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.vectorize(j_1)
    sch.unroll(i_1)
    return sch.mod


def cases() -> Iterator[tuple[str, stepwell.Module, list[Any]]]:
    """The name, the program and the arguments of each case."""

    def arrays(count: int, *shape: int) -> list[Any]:
        return [np.random.default_rng(n).random(shape, "float32") for n in range(count)]

    static = _static(RELU, ("n", 1), ("m", 1 << 24))
    yield "relu of 16M, static", stepwell.parse_tvmscript(static), arrays(2, 1, 1 << 24)
    for name, text, rows in (("relu", RELU, 8), ("norm", NORM, 32)):
        for shape in ((1, 8), (1, 1024), (1000, 1), (1000, rows), (1000, 64), (4000, 1000)):
            yield f"{name} of {shape[0]}x{shape[1]}", stepwell.parse_tvmscript(text), arrays(2, *shape)
    for n in (4, 16, 256):
        yield f"matmul of {n}", stepwell.parse_tvmscript(MATMUL), arrays(3, n, n)
    yield "matmul of 1024, static, tiled", _tiled(_static(MATMUL, ("n", 1024))), arrays(3, 1024, 1024)


@contextmanager
def no_polls() -> Iterator[None]:
    """Emits loops without polls."""
    with mock.patch.object(control, "POLL_WORK", float(1 << 80)), mock.patch.object(control, "spend"):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=41, help="the number of runs of each case")
    parser.add_argument("--only", default="", help="parts of the names of cases")
    options = parser.parse_args()
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, ('stepwell', 'numpy')))}; {' '.join(sys.argv)}")
    print(f"{'case':30} {'with':>12} {'without':>12} {'ratio':>6}")
    for name, module, arguments in cases():
        if not any(part in name for part in options.only.split(",")):
            continue
        main_with = stepwell.build(module)["main"]
        with no_polls():
            main_without = stepwell.build(module)["main"]
        calls = [function.bind(*arguments) for function in (main_with, main_without)]
        number = max(1, round(BATCH / max(1e-8, min(times_in_turn(calls, 3)[0]))))
        batches = [lambda call=call: [call() for _ in range(number)] for call in calls]
        times = times_in_turn(batches, options.runs)
        with_polls, without = (statistics.median(each) / number * 1e6 for each in times)
        ratio = median_ratio(times[1], times[0])
        print(f"{name:30} {with_polls:9.2f} us {without:9.2f} us {ratio:6.3f}", flush=True)


if __name__ == "__main__":
    main()
