"""Compares the time from TVMScript text to a callable function with TVM's.

For every program of the corpus: the medians of a few runs of the stages of Stepwell, and of parsing and compilation by
the peer, in turn. The peer runs in its own process, in `--peer PYTHON`, a Python that can import `tvm` (`make
peer-test` installs one at .venv-peer/bin/python); without it the table shows only Stepwell's stages.

    python benchmarks/compile_time.py [--peer PYTHON] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from stepwell import parse_tvmscript
from stepwell.backends.llvm import compile_module, emit_module
from stepwell.tools.testing.corpus import script_programs
from stepwell.transforms.pipelines import lower

STAGES = ("parse", "lower", "emit", "LLVM")

_PEER = """
import json, os, sys, time
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # what tvm prints is no answer
import tvm
from tvm.script import from_source
print(json.dumps({"version": tvm.__version__}), file=answers)
for line in sys.stdin:
    text = json.loads(line)
    start = time.perf_counter()
    module = from_source(text)
    parsed = time.perf_counter()
    tvm.compile(module, target="llvm")["main"]
    print(json.dumps([parsed - start, time.perf_counter() - parsed]), file=answers)
"""


class Peer:
    """A process that compiles programs with TVM and reports the time."""

    def __init__(self, python: str):
        self.process = subprocess.Popen(
            [python, "-c", _PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.version: str = self._read()["version"]

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the peer's Python cannot compile with tvm")
        return json.loads(line)

    def compile(self, text: str) -> list[float]:
        """The seconds of parsing and of compilation."""
        assert self.process.stdin is not None
        print(json.dumps(text), file=self.process.stdin, flush=True)
        return self._read()


def ours(text: str) -> list[float]:
    """The seconds of each stage."""
    times = [time.perf_counter()]
    module = parse_tvmscript(text)
    times.append(time.perf_counter())
    upstream = lower(module)
    times.append(time.perf_counter())
    emit_module(upstream.op)
    times.append(time.perf_counter())
    compile_module(upstream.op)["main"]
    times.append(time.perf_counter())
    parse, lowered, emitted, compiled = (b - a for a, b in pairwise(times))
    return [parse, lowered, emitted, max(0.0, compiled - emitted)]  # compile_module emits again


def medians(rows: list[list[float]]) -> list[float]:
    """The median of each column, in milliseconds."""
    return [statistics.median(column) * 1e3 for column in zip(*rows, strict=True)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peer", metavar="PYTHON", help="a Python that can import tvm")
    arguments.add_argument("--runs", type=int, default=5, help="how often to compile each program")
    options = arguments.parse_args()
    peer = Peer(options.peer) if options.peer else None
    print(f"# {platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    versions = f"stepwell {version('stepwell')}, xdsl {version('xdsl')}, llvmlite {version('llvmlite')}"
    print(f"# {versions}, {f'tvm {peer.version}' if peer else 'no peer'}; {options.runs} runs, medians in ms")
    print(f"{'program':24}" + "".join(f"{s:>9}" for s in (*STAGES, "all", "TVM", "ratio")))
    totals: list[list[float]] = []
    for program in script_programs():
        rows, others = [], []
        today = parse_tvmscript(program.text).script("0.27")
        for _ in range(options.runs):
            rows.append(ours(today))
            if peer:
                others.append(peer.compile(today))
        stages = medians(rows)
        line = [*stages, sum(stages)]
        if peer:
            line += [sum(medians(others)), sum(medians(others)) / sum(stages)]
        totals.append(line)
        print(f"{program.name:24}" + "".join(f"{x:9.2f}" for x in line))
    print(f"{'median of programs':24}" + "".join(f"{statistics.median(c):9.2f}" for c in zip(*totals, strict=True)))


if __name__ == "__main__":
    main()
