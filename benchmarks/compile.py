"""Measures the time of compilation: against the size of a program, of models, and beside TVM.

    python benchmarks/compile.py [--parts growth,models,corpus] [--runs N] [--sizes 500,5000,50000]
                                 [--models FOLDER] [--peer PYTHON]

growth: microseconds for each operation of the program as read, by stage, for a function of many loops, a loop of many
statements, and a module of many functions. LLVM is measured up to 10,000 operations.  models: from an ONNX file
to an executor, in new processes, without and with a cache, for the files `FOLDER/*/model.onnx` that
`benchmarks/models.py --keep FOLDER` writes.  corpus: the stages for each program of the corpus, with TVM's parsing and
compilation in turn, in a process of `--peer PYTHON`, a Python that can import `tvm` (`make peer-test` installs one at
.venv-peer/bin/python). Figures are medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import caches, describe_package, machine, medians_in_turn, numbers_of_process

from stepwell import parse_tvmscript
from stepwell.backends.llvm.emitter import emit_module
from stepwell.backends.llvm.engine import ObjectCode, Processor
from stepwell.tools.testing.corpus import script_programs
from stepwell.transforms.pipelines import lower

PARTS = ("growth", "models", "corpus")
STAGES = ("parse", "verify", "lower", "emit", "LLVM")
LARGEST_FOR_LLVM = 10_000
"""The number of operations of the largest program that LLVM compiles here."""


# Programs of a size

_HEAD = "@T.prim_func\ndef {name}(A: T.Buffer((64,), 'float32'), B: T.Buffer((64,), 'float32')):\n"
_BLOCK = """\
    for i in range(64):
        with T.block('b{n}'):
            v = T.axis.spatial(64, i)
            {to}[v] = {of}[v] * T.float32(1.5) + T.float32({n})
"""
_STATEMENT = "        {to}[i] = {of}[i] * T.float32(1.5) + T.float32({n})\n"


def _numbered(template: str, count: int) -> Iterator[str]:
    for n in range(count):
        of, to = ("A", "B") if n % 2 == 0 else ("B", "A")
        yield template.format(n=n, of=of, to=to)


def many_loops(size: int) -> str:
    """A function with a loop for each 10 operations."""
    return _HEAD.format(name="main") + "".join(_numbered(_BLOCK, size // 10))


def many_statements(size: int) -> str:
    """A loop with a statement for each 6 operations."""
    return _HEAD.format(name="main") + "    for i in range(64):\n" + "".join(_numbered(_STATEMENT, size // 6))


def many_functions(size: int) -> str:
    """A module with a function for each 11 operations."""
    return "".join(_HEAD.format(name=f"f{n}") + text for n, text in enumerate(_numbered(_BLOCK, size // 11)))


KINDS = {"loops": many_loops, "statements": many_statements, "functions": many_functions}


# Stages


def stages(text: str, with_llvm: bool = True) -> tuple[int, list[float], dict[str, float]]:
    """The number of operations of a program, the seconds of each stage, and of each pass of the lowering."""
    passes: dict[str, float] = {}
    times = [time.perf_counter()]

    def end_stage() -> None:
        times.append(time.perf_counter())

    module = parse_tvmscript(text)
    end_stage()
    module.verify()
    end_stage()
    last = time.perf_counter()

    def end_pass(name: str, _module: Any) -> None:
        nonlocal last
        passes[name] = passes.get(name, 0.0) + time.perf_counter() - last
        last = time.perf_counter()

    upstream = lower(module, end_pass)
    end_stage()
    emitted = emit_module(upstream.op)
    end_stage()
    if with_llvm:
        ObjectCode.of(emitted.parts.units(), Processor.host())
    end_stage()
    return sum(1 for _ in module.op.walk()), [b - a for a, b in pairwise(times)], passes


def _median_stages(text: str, runs: int) -> list[float]:
    """The median of each stage in milliseconds."""
    rows = [stages(text)[1] for _ in range(runs)]
    return [statistics.median(column) * 1e3 for column in zip(*rows, strict=True)]


# Parts


def growth(options: argparse.Namespace) -> None:
    """Prints microseconds for each operation."""
    print(f"{'program':12}{'ops':>8}" + "".join(f"{stage:>9}" for stage in STAGES) + "  slowest passes")
    for kind, program in KINDS.items():
        for size in map(int, options.sizes.split(",")):
            text, runs = program(size), 1 if size > 2000 else options.runs
            measured = [stages(text, size <= LARGEST_FOR_LLVM) for _ in range(runs)]
            count = measured[0][0]
            columns = zip(*(times for _, times, _ in measured), strict=True)
            each = [statistics.median(column) / count * 1e6 for column in columns]
            slowest = sorted(measured[-1][2].items(), key=lambda item: -item[1])[:4]
            passes = ", ".join(f"{name} {seconds / count * 1e6:.0f}" for name, seconds in slowest)
            row = "".join(f"{x:9.1f}" for x in each[:-1])
            last = f"{each[-1]:9.1f}" if size <= LARGEST_FOR_LLVM else f"{'':>9}"
            print(f"{kind:12}{count:8}{row}{last}  {passes}", flush=True)


_MODEL = """
import sys, time
start = time.perf_counter()
sys.setrecursionlimit(20_000)
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends.onnx import from_onnx
imported = time.perf_counter()
GraphExecutor(build_graph(from_onnx(sys.argv[1])))
print(imported - start, time.perf_counter() - imported)
"""


def models(options: argparse.Namespace) -> None:
    """Prints the seconds from an ONNX file to an executor."""
    files = sorted(options.models.glob("*/model.onnx")) if options.models else []
    if not files:
        print("# models are omitted: no --models FOLDER with FOLDER/*/model.onnx")
        return
    print(f"{'model':12}{'cache':8}{'imports s':>10}{'executor s':>12}")
    for file in files:
        with caches() as values:
            measurements = {
                name: partial(numbers_of_process, _MODEL, str(file), cache=value) for name, value in values.items()
            }
            for name, (imports, executor) in medians_in_turn(measurements, options.runs).items():
                print(f"{file.parent.name:12}{name:8}{imports:10.2f}{executor:12.2f}", flush=True)


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

    def compile(self, text: str) -> float:
        """The seconds of parsing and compilation."""
        assert self.process.stdin is not None
        print(json.dumps(text), file=self.process.stdin, flush=True)
        return sum(self._read())


def corpus(options: argparse.Namespace) -> None:
    """Prints the milliseconds of each stage, of all, and of the peer, for each program."""
    peer = Peer(options.peer) if options.peer else None
    print(f"# {f'tvm {peer.version}' if peer else 'no peer'}; milliseconds; ratio: above 1 Stepwell is faster")
    print(f"{'program':24}" + "".join(f"{s:>9}" for s in (*STAGES, "all", "TVM", "ratio")))
    totals: list[list[float]] = []
    for program in script_programs():
        today = parse_tvmscript(program.text).script("0.27")
        line = _median_stages(today, options.runs)
        line.append(sum(line))
        if peer:
            other = statistics.median(peer.compile(today) for _ in range(options.runs)) * 1e3
            line += [other, other / line[-1]]
        totals.append(line)
        print(f"{program.name:24}" + "".join(f"{x:9.2f}" for x in line), flush=True)
    print(f"{'median of programs':24}" + "".join(f"{statistics.median(c):9.2f}" for c in zip(*totals, strict=True)))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--parts", default=",".join(PARTS), help="which parts, with commas between them")
    arguments.add_argument("--runs", type=int, default=5, help="how often to measure each")
    arguments.add_argument("--sizes", default="500,5000,50000", help="the numbers of operations of programs")
    arguments.add_argument("--models", type=Path, help="a folder with models")
    arguments.add_argument("--peer", metavar="PYTHON", help="a Python that can import tvm")
    options = arguments.parse_args()
    parts: dict[str, Callable[[argparse.Namespace], None]] = {
        "growth": growth,
        "models": models,
        "corpus": corpus,
    }
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, ('stepwell', 'xdsl', 'llvmlite')))}; {options.runs} runs, medians")
    for part in options.parts.split(","):
        print(f"\n## {part}", flush=True)
        parts[part](options)


if __name__ == "__main__":
    main()
