"""Measures the time from the expression of an operator to a callable function.

For some operators, and for every expression of the corpus (`tools/testing/te`), in a warm process: the time of each
stage, the median of a few runs. "native" is the sum of all stages except LLVM itself (its parser, optimizer and code
generator).

    python benchmarks/te_compile.py [--runs N]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from stepwell import te
from stepwell.backends.llvm.compile import compile_module
from stepwell.backends.llvm.emitter import emit_module
from stepwell.tools.testing.te import CASES
from stepwell.transforms.pipelines import lower, run_pipeline
from stepwell.transforms.te.to_tir import ConvertTeToTirPass

STAGES = ("expression", "te", "tir", "upstream", "LLVM text", "LLVM")


def add() -> list[Any]:
    a, b = te.placeholder((1024, 1024), name="A"), te.placeholder((1024, 1024), name="B")
    return [a, b, te.compute((1024, 1024), lambda i, j: a[i, j] + b[i, j], name="C")]


def matmul() -> list[Any]:
    a, b = te.placeholder((512, 512), name="A"), te.placeholder((512, 512), name="B")
    k = te.reduce_axis((0, 512), "k")
    return [a, b, te.compute((512, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def conv2d() -> list[Any]:
    data, weight = te.placeholder((1, 64, 56, 56), name="X"), te.placeholder((64, 64, 3, 3), name="W")
    pad = te.compute(
        (1, 64, 58, 58),
        lambda n, c, h, w: te.if_then_else(te.all(h >= 1, h < 57, w >= 1, w < 57), data[n, c, h - 1, w - 1], 0.0),
        name="pad",
    )
    rc, ry, rx = (te.reduce_axis((0, extent), name) for extent, name in ((64, "rc"), (3, "ry"), (3, "rx")))
    conv = te.compute(
        (1, 64, 56, 56),
        lambda n, f, y, x: te.sum(pad[n, rc, y + ry, x + rx] * weight[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    return [data, weight, te.compute((1, 64, 56, 56), lambda *i: te.max(conv(*i), 0.0), name="relu")]


def softmax() -> list[Any]:
    m, n = te.var("m"), te.var("n")
    a = te.placeholder((m, n), name="A")
    k, r = te.reduce_axis((0, n), "k"), te.reduce_axis((0, n), "r")
    largest = te.compute((m,), lambda i: te.max(a[i, k], axis=k), name="largest")
    power = te.compute((m, n), lambda i, j: te.exp(a[i, j] - largest[i]), name="power")
    total = te.compute((m,), lambda i: te.sum(power[i, r], axis=r), name="total")
    return [a, te.compute((m, n), lambda i, j: power[i, j] / total[i], name="B")]


def chain() -> list[Any]:
    first = tensor = te.placeholder((64, 64), name="A")
    for n in range(20):
        tensor = _step(tensor, n)
    return [first, tensor]


def _step(tensor: Any, n: int) -> Any:
    return te.compute((64, 64), lambda i, j: tensor[i, j] * 2.0 + 1.0, name=f"T{n}")


OPERATORS: dict[str, Callable[[], list[Any]]] = {
    "add": add,
    "matmul": matmul,
    "conv2d + pad + relu": conv2d,
    "softmax, symbolic": softmax,
    "chain of 20": chain,
}


def stages(build: Callable[[], Sequence[Any]], index_dtype: str | None = None) -> list[float]:
    """The seconds of each stage."""
    times = [time.perf_counter()]
    args = build()
    times.append(time.perf_counter())
    tensors = te.create_te_func(args, index_dtype)
    times.append(time.perf_counter())
    loops = run_pipeline(tensors, [ConvertTeToTirPass()])
    times.append(time.perf_counter())
    upstream = lower(loops)
    times.append(time.perf_counter())
    emit_module(upstream.op)
    times.append(time.perf_counter())
    compile_module(upstream.op)["main"]
    times.append(time.perf_counter())
    seconds = [b - a for a, b in pairwise(times)]
    return [*seconds[:-1], max(0.0, seconds[-1] - seconds[-2])]  # compile_module emits again


def medians(rows: Sequence[Sequence[float]]) -> list[float]:
    """The median of each column, in milliseconds."""
    return [statistics.median(column) * 1e3 for column in zip(*rows, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="how often to compile each operator")
    runs: int = parser.parse_args().runs
    print(f"# {platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    print(f"# stepwell {version('stepwell')}, xdsl {version('xdsl')}, llvmlite {version('llvmlite')}; {runs} runs, ms")
    print(f"{'operator':22}" + "".join(f"{name:>11}" for name in (*STAGES, "native")))
    for build in OPERATORS.values():  # warm
        stages(build)
    for name, build in OPERATORS.items():
        row = medians([stages(build) for _ in range(runs)])
        print(f"{name:22}" + "".join(f"{x:11.2f}" for x in (*row, sum(row[:-1]))))
    rows = [
        medians([stages(lambda case=case: case.build(te), case.index_dtype) for _ in range(3)])
        for case in CASES
        if not case.tvm_refuses
    ]
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    natives = sorted(sum(row[:-1]) for row in rows)
    print(f"{f'median of {len(rows)}':22}" + "".join(f"{x:11.2f}" for x in (*middle, statistics.median(natives))))
    most = natives[len(natives) * 9 // 10]
    print(f"\nof these, without LLVM: 90 % take less than {most:.1f} ms, all take at most {natives[-1]:.1f}")


if __name__ == "__main__":
    main()
