"""The parts `cache` and `start` of runtime.py: what new processes wait for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

from measuring import caches, medians_in_turn, numbers_of_process, words_of_process

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
COLUMNS = ("cache", "off")


def _print_table(title: str, rows: Mapping[str, Sequence[float]]) -> None:
    print(f"{title:44}" + "".join(f"{f'{name} ms':>12}" for name in COLUMNS))
    for row, values in rows.items():
        print(f"{row:44}" + "".join(f"{value:12.1f}" for value in values), flush=True)


# Builds

_BUILDS = """
import statistics, sys, time
import stepwell

def parse_and_build(text):
    times = [time.perf_counter()]
    module = stepwell.parse_tvmscript(text)
    times.append(time.perf_counter())
    stepwell.build(module)
    times.append(time.perf_counter())
    return [(times[1] - times[0]) * 1e3, (times[2] - times[1]) * 1e3]

text = sys.argv[1]
_, first = parse_and_build(text.replace("64", "32"))
_, known = parse_and_build(text)
for _ in range(2):  # the first imports the passes
    _, unknown = parse_and_build(text.replace("main", f"main_{time.time_ns()}"))
parse, again = map(statistics.median, zip(*(parse_and_build(text) for _ in range(20))))
print(first, known, again, unknown, parse)
"""
_BUILD_ROWS = (
    "first of a process",
    "of a program of an earlier process",
    "again in the process",
    "of an unknown program, after others",
    "parsing of its text, again in the process",
)
_MODEL = """
import sys, time
sys.setrecursionlimit(20_000)
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends.onnx import from_onnx
start = time.perf_counter()
module = from_onnx(sys.argv[1])
parsed = time.perf_counter()
GraphExecutor(build_graph(module))
print((parsed - start) * 1e3, (time.perf_counter() - parsed) * 1e3)
"""
_MODEL_ROWS = ("reading of the file", "executor of its graph")


def cache(options: argparse.Namespace) -> None:
    """Prints the milliseconds of builds, with a cache that knows the program, and without a cache."""
    _print_table("build of a matrix product", _rows(_BUILDS, PRODUCT, _BUILD_ROWS, options.runs))
    if options.model is None:
        print("# no model: no --model FILE.onnx")
    else:
        _print_table(options.model.name, _rows(_MODEL, str(options.model), _MODEL_ROWS, options.runs))


def _rows(program: str, argument: str, names: tuple[str, ...], runs: int) -> dict[str, list[float]]:
    """The median of each number that a program prints, with a cache and without."""
    with caches() as values:
        processes = {name: partial(numbers_of_process, program, argument, cache=values[name]) for name in COLUMNS}
        medians = medians_in_turn(processes, runs)
    return {name: [medians[column][n] for column in COLUMNS] for n, name in enumerate(names)}


# The first result

_FIRST_RESULT = """
import sys, time
start = time.perf_counter()
import stepwell
imported = time.perf_counter()
import numpy as np
lib = stepwell.build(stepwell.parse_tvmscript(sys.argv[1]))
a, b, c = (np.ones((64, 64), np.float32) for _ in range(3))
lib(a, b, c)
end = time.perf_counter()
assert c[0, 0] == 64
if sys.argv[2:]:
    ours = {"stepwell", "__main__"} | sys.stdlib_module_names
    for name, module in sys.modules.items():
        if name.partition(".")[0] not in ours and getattr(module, "__spec__", None) is not None:
            print(name)
else:
    print((imported - start) * 1e3, (end - start) * 1e3)
"""
_IMPORTS = """
import sys, time
from importlib import import_module
start = time.perf_counter()
for name in sys.argv[1:]:
    import_module(name)
print((time.perf_counter() - start) * 1e3)
"""


def start(options: argparse.Namespace) -> None:
    """Prints the milliseconds of a new process from its first line to the first result of a matrix product, and to the
    end of the imports of the same modules of other packages alone."""
    with caches() as values:
        measurements = {}
        for name, value in values.items():
            measurements[f"{name} result"] = partial(numbers_of_process, _FIRST_RESULT, PRODUCT, cache=value)
            words_of_process(_FIRST_RESULT, PRODUCT, cache=value)  # fills the cache
            modules = words_of_process(_FIRST_RESULT, PRODUCT, "modules", cache=value)
            measurements[f"{name} imports"] = partial(numbers_of_process, _IMPORTS, *modules, cache=value)
        medians = medians_in_turn(measurements, options.runs)
    imports, results = zip(*(medians[f"{name} result"] for name in COLUMNS), strict=True)
    libraries = [medians[f"{name} imports"][0] for name in COLUMNS]
    rows = {"import stepwell": imports, "first result": results, "imports of its libraries alone": libraries}
    _print_table("new process, until", rows)
    ratios = "".join(f"{result / alone:12.2f}" for result, alone in zip(results, libraries, strict=True))
    print(f"{'first result, in times of these imports':44}{ratios}")
