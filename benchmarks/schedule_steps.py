"""Measures the matrix product of docs/schedules.md after each step of its schedule, at 512 x 512, on one thread.

Runs the code of the page with other sizes. The first row is the program as it is written; the last ones are the program
with its default schedule, and numpy. Prints medians of runs in turn.

    OPENBLAS_NUM_THREADS=1 python benchmarks/schedule_steps.py [--runs N] [--size N]
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Call, describe_package, machine, times_in_turn

from stepwell import Module, Schedule, build, threads

PAGE = Path(__file__).parents[1] / "docs/schedules.md"
_BLOCKS = re.compile(r"^### (?P<title>[^\n]*)$|^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


def steps(size: int) -> Iterator[tuple[str, Module]]:
    """The program of the page as written, after each step with the title of its section, and by a default schedule."""
    section = PAGE.read_text().split("\n## A matrix product")[1].split("\n### The result")[0]
    scope: dict[str, Any] = {}
    title = "as written"
    for block in _BLOCKS.finditer(section.replace("128", str(size))):
        title = block["title"] or title
        if block["code"] is None or "def show" in block["code"]:
            continue
        exec(block["code"].replace("show(sch)\n", ""), scope)
        yield title, scope["sch"].mod if title != "as written" else _as_written(scope["mod"])
    yield "default schedule", scope["mod"]


def _as_written(mod: Module) -> Module:
    """The program without a default schedule."""
    sch = Schedule(mod)
    (loop, *_) = sch.get_loops("C")
    sch.annotate(loop, "written", 1)
    sch.unannotate(loop, "written")
    return sch.mod


def calls(size: int) -> dict[str, Call]:
    """The calls by the name of the step."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype("float32") for _ in range(2))
    expected = a @ b

    def call(mod: Module) -> Call:
        c = np.empty_like(a)
        main = build(mod)["main"]
        main(a, b, c)
        np.testing.assert_allclose(c, expected, rtol=1e-3, atol=1e-3)
        return lambda: main(a, b, c)

    product = np.empty_like(a)
    return {name: call(mod) for name, mod in steps(size)} | {"numpy": lambda: np.matmul(a, b, out=product)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--size", type=int, default=512)
    options = parser.parse_args()
    print(f"# {machine()}\n# {describe_package('stepwell')}, {describe_package('numpy')}; {' '.join(sys.argv)}")
    print(f"{'step':24}{'ms':>10}{'GFLOP/s':>10}")
    with threads(1):
        named = calls(options.size)
        for name, taken in zip(named, times_in_turn(list(named.values()), options.runs), strict=True):
            seconds = statistics.median(taken)
            print(f"{name:24}{seconds * 1e3:10.2f}{2 * options.size**3 / seconds / 1e9:10.1f}")


if __name__ == "__main__":
    main()
