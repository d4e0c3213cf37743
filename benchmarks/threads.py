"""Measures the worker pool: the time of an empty parallel loop beside libgomp, and the gain of two threads.

    python benchmarks/threads.py [--parts forkjoin,scaling] [--runs N] [--torch]

`--torch` imports torch and runs one of its operators before, so that its threads exist.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import describe_package, machine, median_ratio, times_in_turn

import stepwell
from stepwell.backends.llvm.engine import NativeModule, ObjectCode, Processor
from stepwell.backends.llvm.linking import RUN_PARALLEL
from stepwell.backends.llvm.worker_pool import shared_address

IDLE = (0.0, 0.001, 0.01, 0.1, 0.5)
"""Seconds before a loop; 0 is the mean of consecutive loops."""

_REPEAT = """
define i32 @task(i64 %first, i64 %last, ptr %context) { ret i32 0 }
define void @region(ptr %data) { ret void }
define void @pool(ptr %run, i64 %count) {
  br label %loop
loop:
  %n = phi i64 [ 0, %0 ], [ %next, %loop ]
  %status = call i32 %run(ptr @task, ptr null, i64 0, i64 2, i64 1)
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
Repeat = Callable[[int], object]
"""Executes a number of empty parallel loops."""


def _repeats() -> tuple[dict[str, Repeat], NativeModule]:
    code = NativeModule(ObjectCode.of([_REPEAT], Processor.host()).images, ["pool", "gomp"], [], {})
    runs = {"pool": shared_address(RUN_PARALLEL)}
    path = ctypes.util.find_library("gomp")
    if path is not None:
        runs["gomp"] = ctypes.cast(ctypes.CDLL(path).GOMP_parallel, ctypes.c_void_p).value or 0
    type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)

    def repeat(name: str) -> Repeat:
        function = type(code.address(name))
        return lambda count: function(runs[name], count)

    return {name: repeat(name) for name in runs}, code


def forkjoin(options: argparse.Namespace) -> None:
    """Prints the microseconds of an empty parallel loop of two threads."""
    repeats, _alive = _repeats()
    print(f"{'idle ms':>8}" + "".join(f"{name + ' min':>12}{'median':>10}{'max':>10}" for name in repeats))
    with stepwell.threads(2):
        for idle in IDLE:
            times: dict[str, list[float]] = {name: [] for name in repeats}
            for _ in range(options.runs):
                for name, repeat in repeats.items():
                    times[name].append(_time(repeat, idle))
            columns = (f"{min(t):12.2f}{statistics.median(t):10.2f}{max(t):10.2f}" for t in times.values())
            print(f"{idle * 1e3:8.0f}" + "".join(columns), flush=True)


def _time(repeat: Repeat, idle: float) -> float:
    """The microseconds of one parallel loop."""
    count = 1 if idle else 10_000
    if idle:
        time.sleep(idle)
    else:
        repeat(100)
    start = time.perf_counter()
    repeat(count)
    return (time.perf_counter() - start) / count * 1e6


_RELU = """
@T.prim_func
def main(A: T.Buffer((16777216,), "float32"), B: T.Buffer((16777216,), "float32"),
         C: T.Buffer((16777216,), "float32"), D: T.Buffer((16777216,), "float32")):
    for i in T.parallel(4096):
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


def _product() -> stepwell.Module:
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


def scaling(options: argparse.Namespace) -> None:
    """Prints the milliseconds of programs by one and by two threads, and the median of their ratios."""
    rng = np.random.default_rng(0)
    print(f"{'program':16}{'1 thread ms':>14}{'2 threads ms':>14}{'ratio':>8}")
    for name, mod, shape, count in (
        ("relu(a*b+c) 16M", stepwell.parse_tvmscript(_RELU), (1 << 24,), 4),
        ("matmul 1024", _product(), (1024, 1024), 3),
    ):
        arrays: list[Any] = [rng.random(shape, np.float32) for _ in range(count)]
        run = stepwell.build(mod, target="llvm -fast-math-contract=1")["main"].bind(*arrays)

        def by(threads: int, run: Callable[[], object] = run) -> Callable[[], None]:
            def call() -> None:
                with stepwell.threads(threads):
                    run()

            return call

        one, two = times_in_turn([by(1), by(2)], options.runs)
        medians = "".join(f"{statistics.median(times) * 1e3:14.2f}" for times in (one, two))
        print(f"{name:16}{medians}{median_ratio(two, one):8.2f}", flush=True)


PARTS = {"forkjoin": forkjoin, "scaling": scaling}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--parts", default=",".join(PARTS), help="the measurements, separated by commas")
    arguments.add_argument("--runs", type=int, default=50, help="how often to run each")
    arguments.add_argument("--torch", action="store_true", help="with threads of torch in the process")
    options = arguments.parse_args()
    packages = ["stepwell", "numpy"]
    if options.torch:
        import torch

        packages.append("torch")
        print(f"# torch has {torch.get_num_threads()} threads: {float(torch.ones(1 << 22).sum())}")
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, packages))}; {' '.join(sys.argv)}")
    for name in options.parts.split(","):
        PARTS[name](options)


if __name__ == "__main__":
    main()
