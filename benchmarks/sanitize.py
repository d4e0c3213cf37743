"""Measures the cost of `build(..., sanitize=True)`: run time and compile time of three programs, with and without it.

A matrix product, a softmax with temporaries, and a convolution that pads its input; sizes static, and as symbols.
Prints the medians of interleaved runs, in time on the processor.

    python benchmarks/sanitize.py [--runs N]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from stepwell import build, parse_tvmscript

MATMUL = """
@T.prim_func
def main({A}):
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

SOFTMAX = """
@T.prim_func
def main({A}):
    largest = T.alloc_buffer(({n},))
    powers = T.alloc_buffer(({n}, {n}))
    total = T.alloc_buffer(({n},))
    for i, k in T.grid({n}, {n}):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.float32(-3e38)
            largest[vi] = T.max(largest[vi], A[vi, vk])
    for i, j in T.grid({n}, {n}):
        with T.block("powers"):
            vi, vj = T.axis.remap("SS", [i, j])
            powers[vi, vj] = T.exp(A[vi, vj] - largest[vi])
    for i, k in T.grid({n}, {n}):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + powers[vi, vk]
    for i, j in T.grid({n}, {n}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = powers[vi, vj] / total[vi] + B[vi, vj]
"""

CONVOLUTION = """
@T.prim_func
def main({A}):
    padded = T.alloc_buffer(({n} + 2, {n} + 2))
    for i, j in T.grid({n} + 2, {n} + 2):
        with T.block("padded"):
            vi, vj = T.axis.remap("SS", [i, j])
            padded[vi, vj] = T.if_then_else(
                1 <= vi and vi < {n} + 1 and 1 <= vj and vj < {n} + 1, A[vi - 1, vj - 1], T.float32(0)
            )
    for i, j, y, x in T.grid({n}, {n}, 3, 3):
        with T.block("C"):
            vi, vj, vy, vx = T.axis.remap("SSRR", [i, j, y, x])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + padded[vi + vy, vj + vx] * B[vy, vx]
"""

PROGRAMS = {"matmul": (MATMUL, 256), "softmax": (SOFTMAX, 512), "convolution": (CONVOLUTION, 512)}


def _text(program: str, size: int, symbolic: bool) -> str:
    """The program for square matrices of a size, or of the symbol n."""
    names = ("A", "B", "C")
    if not symbolic:
        params = ", ".join(f'{name}: T.Buffer(({size}, {size}), "float32")' for name in names)
        return program.format(A=params, n=size)
    matches = "".join(f'    {name} = T.match_buffer({name.lower()}, (n, n), "float32")\n' for name in names)
    text = program.format(A=", ".join(f"{name.lower()}: T.handle" for name in names), n="n")
    head, body = text.split("):\n", 1)
    return f"{head}):\n    n = T.int32()\n{matches}{body}"


def _seconds(function: Callable[[], Any]) -> float:
    """The time of a call on the processor, which other processes do not change."""
    start = time.process_time()
    function()
    return time.process_time() - start


def _measure(text: str, size: int, runs: int) -> tuple[list[float], list[float]]:
    """Medians of compile times and of run times, without and with checks, in ms."""
    module = parse_tvmscript(text)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((size, size), dtype=np.float32) for _ in range(3)]
    options = (False, True)
    compiles = [[_seconds(lambda o=o: build(module, sanitize=o)) for o in options] for _ in range(max(runs // 4, 3))]
    programs = [build(module, sanitize=o) for o in options]
    times = [[_seconds(lambda p=p: p(*arrays)) for p in programs] for _ in range(runs)]
    return _medians(compiles), _medians(times)


def _medians(rows: list[list[float]]) -> list[float]:
    return [1e3 * statistics.median(column) for column in zip(*rows, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="how often to run each program")
    options = parser.parse_args()
    print(f"# {platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    print(f"# stepwell {version('stepwell')}; {' '.join(sys.argv)}")
    print(f"{'program':28}{'run ms':>9}{'checked':>9}{'ratio':>7}{'build ms':>10}{'checked':>9}{'ratio':>7}")
    for name, (program, size) in PROGRAMS.items():
        for symbolic in (False, True):
            (plain, checked), (run, slow) = _measure(_text(program, size, symbolic), size, options.runs)
            title = f"{name} {'n = ' if symbolic else ''}{size}"
            print(f"{title:28}{run:9.2f}{slow:9.2f}{slow / run:7.1f}{plain:10.0f}{checked:9.0f}{checked / plain:7.1f}")


if __name__ == "__main__":
    main()
