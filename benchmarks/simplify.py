"""Measures the cost and the effect of `tir-simplify`.

For every program of the corpus: the median time of a few runs, per block and per operation, and the number of
operations before and after. `--resolved` runs the pass after `tir-resolve-blocks`, with unit loops removed, as in the
lowering.

    python benchmarks/simplify.py [--resolved] [--runs N]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from importlib.metadata import version

from xdsl.context import Context

from stepwell import Module, parse_tvmscript
from stepwell.tools.testing.corpus import CorpusProgram, programs_of_schedules, script_programs
from stepwell.transforms.tir.resolve_blocks import TirResolveBlocksPass
from stepwell.transforms.tir.simplify import TirSimplifyPass


def _count(module: Module, name: str | None = None) -> int:
    return sum(name is None or op.name == name for op in module.op.walk())


def _measure(program: CorpusProgram, runs: int, resolved: bool) -> tuple[float, int, int, int]:
    """Measures a program: (median seconds, blocks, ops before, ops after)."""
    module = parse_tvmscript(program.text, filename=program.name)
    blocks = _count(module, "tir.block")
    if resolved:
        TirResolveBlocksPass().apply(Context(), module.op)
    before, times = _count(module), []
    for _ in range(runs):
        copy = module.clone()
        start = time.perf_counter()
        TirSimplifyPass(unit_loops=resolved).apply(Context(), copy.op)
        times.append(time.perf_counter() - start)
        after = _count(copy)
    return statistics.median(times), blocks, before, after


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--resolved", action="store_true", help="run it behind tir-resolve-blocks")
    arguments.add_argument("--runs", type=int, default=5, help="how often to run each program")
    options = arguments.parse_args()
    print(f"# {platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    print(f"# stepwell {version('stepwell')}, xdsl {version('xdsl')}; {' '.join(sys.argv)}")
    groups = {
        "tvmscript": script_programs(),
        "schedules, before": programs_of_schedules("in"),
        "schedules, after": programs_of_schedules("out"),
    }
    print(f"{'programs':20}{'blocks':>8}{'ms/block median':>17}{'worst':>8}{'us/op':>8}{'ops before':>12}{'after':>8}")
    for name, programs in groups.items():
        if not programs:
            print(f"{name:20} the corpus is not there")
            continue
        results = [_measure(p, options.runs, options.resolved) for p in programs]
        per_block = [1e3 * seconds / max(blocks, 1) for seconds, blocks, _, _ in results]
        seconds, blocks, before, after = (sum(column) for column in zip(*results, strict=True))
        print(
            f"{name:20}{blocks:8}{statistics.median(per_block):17.2f}{max(per_block):8.2f}"
            f"{1e6 * seconds / before:8.1f}{before:12}{after:8}"
        )


if __name__ == "__main__":
    main()
