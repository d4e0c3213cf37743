"""Measures what it costs to run compiled programs, beside the ways of other libraries.

    python benchmarks/runtime.py [--parts calls,fork-join,scaling,cache,start] [--runs N] [--model FILE.onnx]

calls: the nanoseconds of a call with three arrays of 8 elements, in all forms of calls, beside ctypes, an operator of
numpy, and an operator of torch if it is installed.  fork-join: the microseconds of an empty parallel loop of two
threads, in consecutive loops and after idle times, beside libgomp.  scaling: programs with parallel loops on one and on
two threads, without and with threads of torch in the process.  cache: a build of a known program, from the cache and
without it, and the executor of the graph of `--model`.  start: the first result of a new process, beside the time that
the imports of its libraries alone take.

Each figure is the median of `--runs` measurements. What is compared takes turns. Each part, and in all parts but
`calls` each figure, has new processes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from measuring import describe_package, machine
from runtime_calls import calls
from runtime_processes import cache, start
from runtime_threads import fork_join, scaling

PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "calls": calls,
    "fork-join": fork_join,
    "scaling": scaling,
    "cache": cache,
    "start": start,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}, separated by commas")
    arguments.add_argument("--runs", type=int, default=21, help="how often to measure each figure")
    arguments.add_argument("--model", type=Path, metavar="FILE.onnx", help="a model for the part cache")
    options = arguments.parse_args()
    parts = options.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        arguments.error(f"unknown parts {', '.join(unknown)}, expected some of {', '.join(PARTS)}")
    print(f"# {machine()}")
    packages = ("stepwell", "numpy", "xdsl", "llvmlite", "torch")
    print(f"# {', '.join(map(describe_package, packages))}; {' '.join(sys.argv)}")
    for part in parts:
        print(f"\n## {part}", flush=True)
        process = get_context("spawn").Process(target=PARTS[part], args=(options,))
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(f"part {part} ended with exit code {process.exitcode}")


if __name__ == "__main__":
    main()
