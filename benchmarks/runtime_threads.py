"""The parts `fork-join` and `scaling` of runtime.py: parallel loops. What is measured runs in processes of its own,
`python benchmarks/runtime_threads.py serve`."""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Worker, environment_of, median_ratio, serve, times_in_turn

import stepwell
from stepwell.backends.llvm.engine import NativeModule, ObjectCode, Processor
from stepwell.backends.llvm.linking import RUN_PARALLEL
from stepwell.backends.llvm.worker_pool import shared_address

LIMIT = 3600.0  # seconds


def _worker() -> Worker:
    """A process with two threads."""
    return Worker([sys.executable, __file__, "serve"], LIMIT, environment_of(2))


# An empty parallel loop

RUNTIMES = ("stepwell", "libgomp")
IDLE = (0.0, 0.001, 0.01, 0.1, 0.5)
"""Seconds before a loop; 0 is the mean of consecutive loops."""

_REPEAT = """
define i32 @task(i64 %first, i64 %last, ptr %context) { ret i32 0 }
define void @region(ptr %data) { ret void }
define void @pool(ptr %run, i64 %count) {
  br label %loop
loop:
  %n = phi i64 [ 0, %0 ], [ %next, %loop ]
  %status = call i32 %run(ptr @task, ptr null, i64 0, i64 2, i64 1, i64 0)
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}
define void @gomp(ptr %run, i64 %count) {
  br label %loop
loop:
  %n = phi i64 [ 0, %0 ], [ %next, %loop ]
  call void %run(ptr @region, ptr null, i32 2, i32 0)
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@cache
def _repeat(runtime: str) -> Callable[[int], object]:
    """The function that executes a number of empty parallel loops of two threads."""
    function, run = "pool", shared_address(RUN_PARALLEL)
    if runtime == "libgomp":
        library = ctypes.CDLL(ctypes.util.find_library("gomp"))
        function, run = "gomp", ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
    code = NativeModule(ObjectCode.of([_REPEAT], Processor.host()).images, [function], [], {})
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address(function))

    def repeat(count: int, _owner: object = code) -> None:
        call(run, count)

    return repeat


def _time_of_loop(runtime: str, idle: float) -> float:
    """The microseconds of a parallel loop."""
    repeat = _repeat(runtime)
    repeat(1 if idle else 100)  # the workers exist, and are awake
    count = 1 if idle else 10_000
    if idle:
        time.sleep(idle)
    start = time.perf_counter()
    repeat(count)
    return (time.perf_counter() - start) / count * 1e6


def fork_join(options: argparse.Namespace) -> None:
    """Prints the microseconds of an empty parallel loop of two threads."""
    runtimes = [name for name in RUNTIMES if name != "libgomp" or ctypes.util.find_library("gomp")]
    print("loop after idle ms" + "".join(f"{name + ' median us':>22}{'worst':>10}" for name in runtimes))
    with ExitStack() as stack:
        workers = {name: stack.enter_context(_worker()) for name in runtimes}
        for idle in IDLE:
            times: dict[str, list[float]] = {name: [] for name in runtimes}
            for _ in range(options.runs):
                for name, worker in workers.items():
                    times[name].append(worker.ask(runtime=name, idle=idle))
            columns = "".join(f"{statistics.median(each):22.2f}{max(each):10.2f}" for each in times.values())
            print(f"{f'{idle * 1e3:.0f}' if idle else '0, consecutive':18}{columns}", flush=True)


# Programs with parallel loops

_RELU = """
@T.prim_func
def main(A: T.Buffer(({size},), "float32"), B: T.Buffer(({size},), "float32"),
         C: T.Buffer(({size},), "float32"), D: T.Buffer(({size},), "float32")):
    for i in T.parallel({size} // 4096):
        for j in range(256):
            for v in T.vectorized(16):
                D[i * 4096 + j * 16 + v] = T.max(
                    A[i * 4096 + j * 16 + v] * B[i * 4096 + j * 16 + v] + C[i * 4096 + j * 16 + v], T.float32(0))
"""
_PRODUCT = """
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"),
         C: T.Buffer((1024, 1024), "float32")):
    for i, j, k in T.grid(1024, 1024, 1024):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def _product() -> Any:
    """The product in tiles of 6 x 64; each iteration of the parallel loop has a panel of columns of B."""
    sch = stepwell.Schedule(stepwell.parse_tvmscript(_PRODUCT))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_outer, i_inner = sch.split(i, [None, 6])
    j_outer, j_inner = sch.split(j, [None, 64])
    sch.reorder(j_outer, i_outer, k, i_inner, j_inner)
    tile = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(tile, i_outer)
    panel = sch.cache_read(block, 1, "global")
    sch.compute_at(panel, j_outer)
    init = sch.decompose_reduction(block, k)
    for each in (init, block, tile):
        *_, row, column = sch.get_loops(each)
        parts, lanes = sch.split(column, [None, 16])
        sch.unroll(row)
        sch.unroll(parts)
        sch.vectorize(lanes)
    sch.vectorize(sch.split(sch.get_loops(panel)[-1], [None, 16])[1])
    sch.parallel(j_outer)
    return sch.mod


def _relu(size: int) -> Any:
    return stepwell.parse_tvmscript(_RELU.format(size=size))


PROGRAMS: dict[str, tuple[Callable[[], Any], tuple[int, ...], int, int]] = {
    "relu(a*b+c) 256K, in caches": (lambda: _relu(1 << 18), (1 << 18,), 4, 100),
    "relu(a*b+c) 16M, in memory": (lambda: _relu(1 << 24), (1 << 24,), 4, 1),
    "matmul 1024": (_product, (1024, 1024), 3, 1),
}
"""The module of each program, the shape and the number of its arrays, and the number of calls of a measurement."""


def _times_of_threads(program: str, runs: int, torch: bool) -> list[list[float]]:
    """The seconds of a call on one thread and on two. torch: whether its threads exist in the process."""
    if torch:
        # lazy: the other process has no torch
        import torch as other

        assert float(other.ones(1 << 22).sum()) == 1 << 22
        assert other.get_num_threads() == 2
    module, shape, count, calls = PROGRAMS[program]
    rng = np.random.default_rng(0)
    arrays: list[Any] = [rng.random(shape, np.float32) for _ in range(count)]
    run = stepwell.build(module(), target="llvm -fast-math-contract=1")["main"].bind(*arrays)

    def by(threads: int) -> Callable[[], None]:
        def call() -> None:
            with stepwell.threads(threads):
                for _ in range(calls):
                    run()

        return call

    return [[seconds / calls for seconds in times] for times in times_in_turn([by(1), by(2)], runs)]


def scaling(options: argparse.Namespace) -> None:
    """Prints the milliseconds of programs by one and by two threads, and the median of their ratios."""
    print(f"{'program':28}{'process':14}{'1 thread ms':>14}{'2 threads ms':>14}{'ratio':>8}")
    for program in PROGRAMS:
        for torch in (False, True)[: 1 + (find_spec("torch") is not None)]:
            with _worker() as worker:
                one, two = worker.ask(program=program, runs=options.runs, torch=torch)
            medians = "".join(f"{statistics.median(times) * 1e3:14.3f}" for times in (one, two))
            process = "with torch" if torch else "without torch"
            print(f"{program:28}{process:14}{medians}{median_ratio(two, one):8.2f}", flush=True)


def _answer(**request: Any) -> Any:
    return _time_of_loop(**request) if "idle" in request else _times_of_threads(**request)


if __name__ == "__main__" and sys.argv[1:] == ["serve"]:
    serve(_answer)
