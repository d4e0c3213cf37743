"""Measures the gain of `tir-vectorize-loops` over serial loops vectorized by LLVM, and of masks for odd widths.

Each kernel is compiled by the lowering with the pass and without it; both run in turn, and the table shows medians; for
scale, numpy on one thread for the operations it has. With `--widths`, kernels on rows of a number of elements are
compiled with masks and without (`split-vectors`); the table shows medians of the ratios of paired runs, above 1 where
masks are faster. With `--symbolic`, kernels are compiled for symbolic and for constant sizes, with `T.vectorized` loops
and with serial ones: medians of the times, and of the ratios of paired runs.

    python benchmarks/vectorize.py [--runs N] [--widths | --symbolic]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("STEPWELL", "OMP", "OPENBLAS")}

import numpy as np
from measuring import machine, median_ratio, times_in_turn

from stepwell import Module, parse_tvmscript, te
from stepwell.backends.llvm.compile import compile_module
from stepwell.core.cpu import host_cpu
from stepwell.transforms.pipelines import lower, run_pipeline
from stepwell.transforms.pipelines.landings import BLOCKS, LEGAL, LOOPS, UPSTREAM, Options
from stepwell.transforms.pipelines.lowering import passes_of
from stepwell.transforms.tir.vectorize_loops import TirVectorizeLoopsPass

Kernel = tuple[Module, list[Any], Callable[..., Any] | None]


def _vectorize(out: Any, args: list[Any], axis: int, lanes: int) -> Module:
    s = te.create_schedule(out.op)
    _, inner = s[out].split(out.op.axis[axis], lanes)
    s[out].vectorize(inner)
    return te.apply_schedule(s, args).mod


def _random(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, "float32")


def multiply_add(n: int = 1 << 16) -> Kernel:
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] * B[i] + 1.0, name="C")
    return _vectorize(C, [A, B, C], 0, 16), [_random(n), _random(n), _random(n)], lambda a, b, c: a * b + 1


def stencil(n: int = 512) -> Kernel:
    A = te.placeholder((n + 2, n + 2), name="A")
    C = te.compute((n, n), lambda i, j: A[i, j] + A[i + 1, j] + A[i + 2, j] + A[i + 1, j + 2], name="C")
    return _vectorize(C, [A, C], 1, 16), [_random(n + 2, n + 2), _random(n, n)], None


def padding(n: int = 1000) -> Kernel:
    A = te.placeholder((n, n), name="A")
    inside = te.compute((n, n), lambda i, j: te.if_then_else(te.all(j > 0, j < n - 1), A[i, j], 0.0), name="C")
    return _vectorize(inside, [A, inside], 1, 16), [_random(n, n), _random(n, n)], None


def exponential(n: int = 1 << 14) -> Kernel:
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: te.exp(A[i]) * 2.0, name="C")
    return _vectorize(C, [A, C], 0, 8), [_random(n), _random(n)], lambda a, c: np.exp(a) * 2


def transpose(n: int = 512) -> Kernel:
    A = te.placeholder((n, n), name="A")
    C = te.compute((n, n), lambda i, j: A[j, i] + 1.0, name="C")
    return _vectorize(C, [A, C], 1, 8), [_random(n, n), _random(n, n)], lambda a, c: a.T + 1


def matmul(n: int = 256) -> Kernel:
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    packed = te.compute((n // 16, n, 16), lambda tile, k, lane: B[k, tile * 16 + lane], name="packed")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * packed[j // 16, k, j % 16], axis=k), name="C")
    s = te.create_schedule(C.op)
    tile = s.cache_write(C, "local")
    _, j_outer, _, j_inner = s[C].tile(C.op.axis[0], C.op.axis[1], 8, 16)
    s[tile].compute_at(s[C], j_outer)
    i, j = s[tile].op.axis
    k_outer, k_inner = s[tile].split(s[tile].op.reduce_axis[0], factor=4)
    s[tile].reorder(k_outer, k_inner, i, j)
    s[tile].vectorize(j)
    s[tile].unroll(i)
    s[C].vectorize(j_inner)
    return te.apply_schedule(s, [A, B, C]).mod, [_random(n, n) for _ in range(3)], lambda a, b, c: a @ b


KERNELS = (multiply_add, stencil, padding, exponential, transpose, matmul)


def _compile(mod: Module, vectors: bool) -> Callable[..., Any]:
    passes = passes_of((BLOCKS, LOOPS, UPSTREAM, LEGAL), Options(cpu=host_cpu()))
    kept = [each for each in passes if vectors or not isinstance(each, TirVectorizeLoopsPass)]
    return compile_module(run_pipeline(mod, kept).op)["main"]


WIDTHS = (3, 5, 6, 7, *range(9, 16), 30, 31)
DTYPES = ("float32", "float64", "float16", "int32", "int8")
ROWS, REPETITIONS = 64, 400


def rows(width: int, dtype: str) -> Kernel:
    """A product and a sum on rows that are in the cache."""
    buffer = f'T.Buffer(({ROWS}, {width}), "{dtype}")'
    mod = parse_tvmscript(f"""
@T.prim_func
def main(A: {buffer}, B: {buffer}, C: {buffer}):
    for repetition, i in T.grid({REPETITIONS}, {ROWS}):
        for j in T.vectorized({width}):
            C[i, j] = A[i, j] * B[i, j] + A[i, j]
""")
    return mod, [(_random(ROWS, width) * 4).astype(dtype) for _ in range(3)], None


def product(width: int, dtype: str) -> Kernel:
    """The product of a matrix and a matrix of a number of columns, by tiles of 4 rows."""
    mod = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer(({ROWS}, {REPETITIONS}), "{dtype}"), B: T.Buffer(({REPETITIONS}, {width}), "{dtype}"),
         C: T.Buffer(({ROWS}, {width}), "{dtype}")):
    for i in range({ROWS // 4}):
        tile = T.alloc_buffer((4, {width}), "{dtype}", scope="local")
        for row in T.unroll(4):
            for j in T.vectorized({width}):
                tile[row, j] = T.Cast("{dtype}", 0)
        for k in range({REPETITIONS}):
            for row in T.unroll(4):
                for j in T.vectorized({width}):
                    tile[row, j] = tile[row, j] + A[i * 4 + row, k] * B[k, j]
        for row in T.unroll(4):
            for j in T.vectorized({width}):
                C[i * 4 + row, j] = tile[row, j]
""")
    shapes = (ROWS, REPETITIONS), (REPETITIONS, width), (ROWS, width)
    return mod, [(_random(*shape) * 4).astype(dtype) for shape in shapes], None


def _gain_of_masks(kernel: Kernel, runs: int) -> float:
    mod, arrays, _ = kernel
    models = [replace(host_cpu(), masks=masks) for masks in (True, False)]
    calls = [partial(compile_module(lower(mod, cpu=cpu).op)["main"], *arrays) for cpu in models]
    return median_ratio(*times_in_turn(calls, runs))


def _print_widths(runs: int) -> None:
    print(f"{'gain of masks':18}" + "".join(f"{width:6}" for width in WIDTHS))
    for make in (rows, product):
        for dtype in DTYPES:
            gains = (_gain_of_masks(make(width, dtype), runs) for width in WIDTHS)
            print(f"{make.__name__ + ' ' + dtype:18}" + "".join(f"{gain:6.2f}" for gain in gains), flush=True)


SIZES = {"n": 512, "m": 1000}
SYMBOLIC = {
    "relu": """
for i in range(n):
    for j in LOOP(m):
        C[i, j] = T.max(A[i, j], T.float32(0))
""",
    "softmax": """
for i in range(n):
    most, total = T.alloc_buffer((1,)), T.alloc_buffer((1,))
    most[0] = T.float32(-1e30)
    total[0] = T.float32(0)
    for j in LOOP(m):
        most[0] = T.max(most[0], A[i, j])
    for j in LOOP(m):
        C[i, j] = T.exp(A[i, j] - most[0])
    for j in LOOP(m):
        total[0] = total[0] + C[i, j]
    for j in LOOP(m):
        C[i, j] = C[i, j] / total[0]
""",
    "layer_norm": """
for i in range(n):
    mean, variance = T.alloc_buffer((1,)), T.alloc_buffer((1,))
    mean[0] = T.float32(0)
    variance[0] = T.float32(0)
    for j in LOOP(m):
        mean[0] = mean[0] + A[i, j] / T.Cast("float32", m)
    for j in LOOP(m):
        variance[0] = variance[0] + (A[i, j] - mean[0]) * (A[i, j] - mean[0]) / T.Cast("float32", m)
    for j in LOOP(m):
        C[i, j] = (A[i, j] - mean[0]) * T.rsqrt(variance[0] + T.float32(1e-5))
""",
    "matmul": """
for i in range(n):
    for j in LOOP(m):
        C[i, j] = T.float32(0)
        for k in range(64):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
""",
    "tiled_matmul": """
for i, j in T.grid(n // 8, (m + 47) // 48):
    for r in T.unroll(8):
        for c in LOOP(48):
            if j * 48 + c < m:
                C[i * 8 + r, j * 48 + c] = T.float32(0)
    for k in range(64):
        for r in T.unroll(8):
            for c in LOOP(48):
                if j * 48 + c < m:
                    C[i * 8 + r, j * 48 + c] = C[i * 8 + r, j * 48 + c] + A[i * 8 + r, k] * B[k, j * 48 + c]
""",
}
"""Programs on matrices of n rows and m columns."""


def sized(body: str, is_symbolic: bool, loop: str) -> Kernel:
    """A program of `SYMBOLIC`. loop: the loops along rows."""
    lines = ["@T.prim_func", "def main(a: T.handle, b: T.handle, c: T.handle):"]
    lines += ['    T.func_attr({"tir.noalias": True})']
    lines += [f"    {name} = T.int64()" for name in SIZES if is_symbolic]
    lines += [f"    {name} = T.match_buffer({name.lower()}, (n, m))" for name in "ABC"]
    lines += [f"    {line}" for line in body.replace("LOOP", loop).strip().splitlines()]
    text = "\n".join(lines)
    if not is_symbolic:
        for name, size in SIZES.items():
            text = re.sub(rf"\b{name}\b", str(size), text)
    return parse_tvmscript(text), [_random(*SIZES.values()) for _ in range(3)], None


def _print_symbolic(runs: int) -> None:
    print(f"{'kernel':16}{'symbolic us':>14}{'serial us':>12}{'gain':>8}{'constant us':>14}{'ratio':>8}")
    for name, body in SYMBOLIC.items():
        calls: list[Callable[[], Any]] = []
        for is_symbolic, loop in ((True, "T.vectorized"), (True, "T.serial"), (False, "T.vectorized")):
            mod, arrays, _ = sized(body, is_symbolic, loop)
            calls.append(partial(compile_module(lower(mod, cpu=host_cpu()).op)["main"], *arrays))
        times = times_in_turn(calls, runs)
        vectors, serial, constant = (statistics.median(taken) * 1e6 for taken in times)
        gain, ratio = median_ratio(times[0], times[1]), median_ratio(times[0], times[2])
        print(f"{name:16}{vectors:14.1f}{serial:12.1f}{gain:8.2f}{constant:14.1f}{ratio:8.2f}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=60, help="how often to run each kernel")
    arguments.add_argument("--widths", action="store_true", help="measure odd widths with and without masks")
    arguments.add_argument("--symbolic", action="store_true", help="measure symbolic sizes and constant ones")
    options = arguments.parse_args()
    print(f"# {machine()}")
    print(f"# stepwell {version('stepwell')}, numpy {np.__version__}; {' '.join(sys.argv)}")
    if options.widths:
        _print_widths(options.runs)
        return
    if options.symbolic:
        _print_symbolic(options.runs)
        return
    print(f"{'kernel':16}{'vectors us':>12}{'serial us':>12}{'gain':>8}{'numpy us':>12}")
    for make in KERNELS:
        mod, arrays, reference = make()
        runs = [_compile(mod, True), _compile(mod, False), *([reference] if reference is not None else [])]
        times = times_in_turn([partial(run, *arrays) for run in runs], options.runs)
        vectors, serial, *others = (statistics.median(taken) * 1e6 for taken in times)
        peer = f"{others[0]:12.1f}" if others else f"{'-':>12}"
        print(f"{make.__name__:16}{vectors:12.1f}{serial:12.1f}{serial / vectors:8.2f}{peer}")


if __name__ == "__main__":
    main()
