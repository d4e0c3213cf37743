"""Compares native code for operators of many shapes, alone and with fused neighbours, with torch, on one thread.

    python benchmarks/sweep.py [--filter REGEX] [--runs N] [--limit SECONDS] [--list]

The cases are in `sweep_cases.py`. Stepwell and torch run each case in a fresh process of their own, in turn, in batches
of some milliseconds; the table shows the medians of their times, and the median of the ratios of paired batches (above
1, Stepwell is ahead). Graphs have no schedule of a user, and all operands are inputs. STEPWELL_TORCH is a Python with
torch and numpy, by default the running Python. The error is the largest difference from torch's output, divided by the
largest output. The exit status is 1 if a result is wrong or a case fails.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Call, Worker, describe_package, machine, median_ratio, relative_error, serve, time_of_batch
from sweep_cases import Case, all_cases

TARGET = "llvm -fast-math-contract=1"
TOLERANCE = 1e-4
"""The largest error of a correct result: sums of some thousand elements differ by their order."""
BATCH = 0.005
"""The seconds of a batch of calls, if a call takes less."""
LONGEST = 10.0
"""The seconds after which no more batches of a case begin, after the first three pairs."""
REUSED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""The environment in which the allocator of the C library keeps the memory of arrays for further arrays, so that the
operating system maps no pages during a measurement."""
THRESHOLDS = (0.3, 0.5, 1.0)


@dataclass(frozen=True)
class Measurement:
    """The result of a case: times of a call in seconds, and the seconds of the build. problem: the reason why the
    result does not count, empty if it does; ratio is 0 for a case without times."""

    case: Case
    ratio: float = 0.0
    ours: float = 0.0
    peer: float = 0.0
    build: float = 0.0
    error: float = 0.0
    problem: str = ""

    def line(self) -> str:
        """The row of the table."""
        if not self.ours:
            return f"{'':>8}{'':36}  {self.case.name}: {self.problem}"
        times = f"{self.ours * 1e6:12.1f}{self.peer * 1e6:12.1f}{self.build:8.2f}{self.error:9.1e}"
        return f"{self.ratio:8.2f}{times}  {self.case.name}{': ' + self.problem if self.problem else ''}"


# Child processes


def _arrays(case: Case) -> list[Any]:
    """The operands of a case, the same in each process."""
    generator = np.random.default_rng(0)
    return [generator.uniform(-1, 1, shape).astype(np.float32) for shape in case.shapes]


class Ours:
    """Answers requests with code compiled from a graph."""

    call: Call

    def prepare(self, name: str, path: str) -> dict[str, Any]:
        """Compiles a case, and writes its output."""
        from stepwell.backends.graph import GraphExecutor, build_graph
        from stepwell.frontends import relay

        case = all_cases()[name]
        inputs = [relay.var(f"x{n}", shape=shape) for n, shape in enumerate(case.shapes)]
        start = time.perf_counter()
        mod = relay.module(relay.Function(inputs, case.ours(relay, *inputs)))
        executor = GraphExecutor(build_graph(mod, target=TARGET))
        build = time.perf_counter() - start
        executor.run(**{f"x{n}": array for n, array in enumerate(_arrays(case))})
        np.save(path, executor.get_output(0))
        self.call = executor.run
        return {"build": build}

    def measure(self) -> float:
        return time_of_batch(self.call, BATCH)


class Torch(Ours):
    """Answers requests with functions of torch."""

    def prepare(self, name: str, path: str) -> dict[str, Any]:
        """Compares an output with that of torch."""
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        case = all_cases()[name]
        self.call = partial(case.peer, torch, *map(torch.from_numpy, _arrays(case)))
        return {"error": relative_error(np.load(path), self.call().numpy())}


CHILDREN = {"ours": Ours, "torch": Torch}


def _serve(kind: str) -> None:
    child = CHILDREN[kind]()
    serve(lambda request, **arguments: getattr(child, request)(**arguments))


# The parent process


def _torch_python() -> str:
    """The Python with torch."""
    python = os.environ.get("STEPWELL_TORCH") or (sys.executable if find_spec("torch") else None)
    return python or sys.exit("STEPWELL_TORCH is not set: a Python with torch and numpy")


def _start(kind: str, python: str, seconds: float) -> Worker:
    return Worker([python, "-W", "ignore", __file__, "--child", kind], seconds, REUSED_MEMORY)


def _measure(case: Case, torch: str, options: argparse.Namespace) -> Measurement:
    """The measurement of a case, or the reason why there is none."""
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder, _start("ours", sys.executable, options.limit) as ours:
            path = str(Path(folder) / "output.npy")
            build = ours.ask(request="prepare", name=case.name, path=path)["build"]
            with _start("torch", torch, options.limit - (time.monotonic() - start)) as peer:
                error = peer.ask(request="prepare", name=case.name, path=path)["error"]
                pairs = _pairs(ours, peer, options.runs)
    except TimeoutError:
        return Measurement(case, problem="timeout")
    except ChildProcessError as failure:
        return Measurement(case, problem=f"failed: {str(failure)[:150]}")
    taken, others = zip(*pairs, strict=True)
    problem = "" if error <= TOLERANCE else "WRONG"
    medians = median_ratio(taken, others), statistics.median(taken), statistics.median(others)
    return Measurement(case, *medians, build, error, problem)


def _pairs(ours: Worker, peer: Worker, runs: int) -> list[tuple[float, float]]:
    """The seconds of a call in each batch of two processes that take turns, after a batch each that does not count."""
    pairs: list[tuple[float, float]] = []
    since = time.monotonic()
    while len(pairs) <= runs and (len(pairs) < 4 or time.monotonic() - since < LONGEST):
        pairs.append((ours.ask(request="measure"), peer.ask(request="measure")))
    return pairs[1:]


def _summary(measurements: list[Measurement]) -> str:
    ratios = [each.ratio for each in measurements if each.ours]
    without = f"{sum(each.problem == 'timeout' for each in measurements)} timeouts"
    others = sum(each.problem not in ("", "timeout") for each in measurements)
    text = f"# {len(measurements)} cases, {without}, {others} wrong or failed"
    if not ratios:
        return text
    below = ", ".join(f"{sum(ratio < limit for ratio in ratios)} below {limit}" for limit in THRESHOLDS)
    return f"{text}; ratios: least {min(ratios):.2f}, median {statistics.median(ratios):.2f}; {below}"


def _version_of_torch(python: str) -> str:
    command = [python, "-c", "import importlib.metadata as m; print(m.version('torch'), m.version('numpy'))"]
    torch, numpy = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return f"torch {torch} with numpy {numpy}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--filter", default="", help="a regular expression that the names of cases contain")
    arguments.add_argument("--runs", type=int, default=15, help="pairs of batches of each case")
    arguments.add_argument("--limit", type=float, default=120.0, help="the seconds of a case, build included")
    arguments.add_argument("--list", action="store_true", help="print the names of cases only")
    arguments.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        _serve(options.child)
        return
    cases = [case for name, case in all_cases().items() if re.search(options.filter, name)]
    if options.list:
        print("\n".join(case.name for case in cases))
        return
    torch = _torch_python()
    measurements: list[Measurement] = []
    for case in cases:
        measurements.append(_measure(case, torch, options))
        print(measurements[-1].line(), file=sys.stderr, flush=True)
    print(f"# {machine()}")
    tools = f"{describe_package('stepwell')} (numpy {version('numpy')}), {_version_of_torch(torch)}"
    print(f"# {tools}; one thread; {' '.join(sys.argv)}")
    print(f"# ratio: torch's time / ours, medians of up to {options.runs} pairs; error: at most {TOLERANCE:g}")
    print(f"{'ratio':>8}{'ours us':>12}{'torch us':>12}{'build s':>8}{'error':>9}  case")
    print("\n".join(each.line() for each in sorted(measurements, key=lambda each: each.ratio)))
    print(_summary(measurements))
    if any(each.problem not in ("", "timeout") for each in measurements):
        sys.exit(1)


if __name__ == "__main__":
    main()
