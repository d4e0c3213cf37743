"""A stress test of the cache and the runtime: processes with several threads build and run programs with one cache.

`python -m stepwell.tools.stress --minutes 10 --seed 7` starts the processes, kills random ones and starts others in
their place, and damages and removes entries of the cache. Each result is compared with numpy. The test fails on a wrong
result, an error, a crash, a process that does not progress, and temporary files that the cache does not remove.

With `--folder` the cache and the core dump of a process that crashes are kept there (for `gdb python core.123`), where
the kernel writes core dumps to the working directory (`/proc/sys/kernel/core_pattern`).
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..backends.build import build
from ..backends.graph import GraphExecutor, build_graph
from ..core.cache import VARIABLE, Cache
from ..core.processors import set_num_threads
from ..frontends import relay
from ..frontends.tvmscript import parse_tvmscript

Array = npt.NDArray[Any]

PROCESSES, THREADS = 4, 2
_VARIANTS = 8
"""The number of different programs of a kind that the processes share."""
_SILENCE = 120.0
"""The seconds without a result after which a process hangs."""
_BETWEEN_KILLS, _BETWEEN_DAMAGES = 2.0, 0.7
"""The mean seconds between two kills of a process and two damages of an entry."""
_ABANDONED = ".partial-*"
_MODULE = f"{(__package__ or '').partition('.')[0]}.tools.stress"


# Programs

_ELEMENTWISE = """
@T.prim_func
def main(A: T.Buffer(({size},), "float32"), B: T.Buffer(({size},), "float32")):
    for i in range({size}):
        B[i] = A[{size} - 1 - i] * T.float32(2) + T.float32({n})
"""
_REDUCTION = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = T.float32({n})
        for j in range(m):
            B[i] = B[i] + A[i, j]
"""
_PARALLEL = """
@T.prim_func
def main(A: T.Buffer((64, {size}), "float32"), B: T.Buffer((64, {size}), "float32")):
    C = T.alloc_buffer((64, {size}), "float32")
    for i in T.parallel(64):
        for j in range({size}):
            C[i, j] = A[i, j] + T.float32({n})
    for i in T.parallel(64):
        for j in range({size}):
            B[i, j] = C[63 - i, j]
"""


def _run_elementwise(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    size = 10 + n % _VARIANTS
    a, b = _integers(rng, size), np.empty(size, "float32")
    build(parse_tvmscript(_ELEMENTWISE.format(size=size, n=n)))["main"](a, b)
    return b, 2 * a[::-1] + np.float32(n)


def _run_reduction(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    a = _integers(rng, *rng.integers(0, 40, 2))
    b = np.empty(len(a), "float32")
    build(parse_tvmscript(_REDUCTION.format(n=n)))["main"](a, b)
    return b, a.sum(1) + np.float32(n)


def _run_parallel(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    size = 10 + n % _VARIANTS
    a, b = _integers(rng, 64, size), np.empty((64, size), "float32")
    build(parse_tvmscript(_PARALLEL.format(size=size, n=n)))["main"](a, b)
    return b, a[::-1] + np.float32(n)


def _run_graph(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    weight = np.full((5, 4), n, "float32")
    data = relay.var("data", shape=("batch", 4))
    net = relay.nn.relu(relay.nn.dense(data, relay.const(weight), units=5))
    executor = GraphExecutor(build_graph(relay.module(relay.Function([data], net))))
    x = _integers(rng, 3, 4)
    executor.run(data=x)
    return executor.get_output(0).copy(), np.maximum(x @ weight.T, 0)


RUNS: dict[str, Callable[[int, np.random.Generator], tuple[Array, Array]]] = {
    "elementwise": _run_elementwise,
    "reduction": _run_reduction,
    "parallel": _run_parallel,
    "graph": _run_graph,
}
"""The kinds of programs: each builds the program `n`, runs it, and returns its result and the expected one."""


def _integers(rng: np.random.Generator, *shape: int) -> Array:
    """Integers as float32, with which sums are exact."""
    return rng.integers(-9, 9, shape).astype("float32")


# A process


def work(seed: int) -> None:
    """Builds and runs programs in several threads until the process is killed. Prints a line for each."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    warnings.simplefilter("ignore", RuntimeWarning)  # of damaged entries
    set_num_threads(1 + seed % 3)
    threads = [threading.Thread(target=_work, args=(seed, number)) for number in range(THREADS)]
    for thread in threads:
        thread.start()


def _work(seed: int, number: int) -> None:
    choices, rng = random.Random(f"{seed}.{number}"), np.random.default_rng([seed, number])
    try:
        while True:
            kind = choices.choice(list(RUNS))
            n = choices.randrange(_VARIANTS) if choices.random() < 0.9 else choices.randrange(_VARIANTS, 2**20)
            actual, expected = RUNS[kind](n, rng)
            if not np.array_equal(actual, expected):
                raise AssertionError(f"{kind} {n}: expected {expected}, got {actual}")
            os.write(1, f"{kind}\n".encode())  # one call of the system: lines of threads do not mix
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


# The test


@dataclass
class _Process:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    last: float
    """The time of the last result."""
    runs: int = 0

    def end(self) -> None:
        """Kills the process, and closes its files."""
        self.process.kill()
        self.process.wait()
        self.errors.close()
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass
class Stress:
    """A stress test. folder: of the cache.  report: receives messages for the user."""

    folder: Path
    seed: int
    seconds: float
    report: Callable[[str], None] = print
    counts: Counter[str] = field(default_factory=Counter)
    """The numbers of results of each kind, of kills, and of damages."""
    failures: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        """Runs the test. Returns the failures, none for a test that passes."""
        choices = random.Random(self.seed)
        processes = [self._start(choices) for _ in range(PROCESSES)]
        end = time.monotonic() + self.seconds
        kill = damage = message = time.monotonic()
        try:
            while time.monotonic() < end and not self.failures:
                self._read(processes)
                now = time.monotonic()
                if now > kill:
                    kill = now + choices.expovariate(1 / _BETWEEN_KILLS)
                    self._kill(processes, choices)
                if now > damage:
                    damage = now + choices.expovariate(1 / _BETWEEN_DAMAGES)
                    self._damage(choices)
                if now > message + 60:
                    message = now
                    self.report(self.summary())
        finally:
            for each in processes:
                each.end()
        self._check_abandoned()
        return self.failures

    def summary(self) -> str:
        """The numbers of results of each kind, of kills, and of damages."""
        return ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))

    def _start(self, choices: random.Random) -> _Process:
        errors = tempfile.TemporaryFile()
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, "--worker", str(choices.randrange(2**32))],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=self.folder,
            env={**os.environ, VARIABLE: str(self.folder)},
        )
        return _Process(process, errors, time.monotonic())

    def _read(self, processes: Sequence[_Process]) -> None:
        """Counts the results that arrive within 50 ms, and looks for processes that have ended or hang."""
        with selectors.DefaultSelector() as selector:
            for each in processes:
                assert each.process.stdout is not None
                selector.register(each.process.stdout, selectors.EVENT_READ, each)
            for key, _ in selector.select(0.05):
                each: _Process = key.data
                lines = os.read(key.fd, 65536).decode().split()
                self.counts.update(lines)
                if lines:
                    each.last = time.monotonic()
                    each.runs += len(lines)
        for each in processes:
            if each.process.poll() is not None:
                end = f"{each.process.returncode}{self._core_dumps()}"
                self.failures.append(f"a process ended with {end}:\n{self._errors_of(each)}")
            elif time.monotonic() - each.last > _SILENCE:
                each.process.send_signal(signal.SIGUSR1)  # prints the stacks of its threads
                time.sleep(1)
                self.failures.append(f"a process has no result for {_SILENCE:g} s:\n{self._errors_of(each)}")

    def _core_dumps(self) -> str:
        names = ", ".join(path.name for path in sorted(self.folder.glob("core*")))
        return names and f", core dump {names} in {self.folder}"

    def _errors_of(self, process: _Process) -> str:
        process.errors.seek(0)
        return process.errors.read().decode(errors="replace")

    def _kill(self, processes: list[_Process], choices: random.Random) -> None:
        """Kills a process that has results, and starts another."""
        number = choices.randrange(len(processes))
        victim = processes[number]
        if not victim.runs:
            return
        victim.end()
        self.counts["kills"] += 1
        processes[number] = self._start(choices)

    def _damage(self, choices: random.Random) -> None:
        """Removes an entry, or replaces it by a damaged one, as a reader of a broken disk finds it."""
        entries = [entry.path for entry in Cache(self.folder).entries()]
        if not entries:
            return
        path = choices.choice(entries)
        self.counts["damages"] += 1
        try:
            content = bytearray(path.read_bytes())
            match choices.randrange(4):
                case 0:
                    path.unlink()
                    return
                case 1:
                    del content[choices.randrange(len(content) + 1) :]
                case 2:
                    for _ in range(choices.randrange(1, 9)):
                        content[choices.randrange(len(content))] ^= choices.randrange(1, 256)
                case _:
                    start = choices.randrange(len(content))
                    content[start : start + 4096] = bytes(len(content[start : start + 4096]))
            damaged = self.folder / "damaged"
            damaged.write_bytes(content)
            damaged.replace(path)
        except (FileNotFoundError, ValueError):  # removed by a process meanwhile, or empty
            return

    def _check_abandoned(self) -> None:
        """Checks that the cache removes the temporary files of killed processes after their time."""
        abandoned = list(self.folder.glob(f"*/{_ABANDONED}"))
        self.counts["abandoned"] = len(abandoned)
        if len(abandoned) > self.counts["kills"] * THREADS + PROCESSES * THREADS:
            self.failures.append(f"{len(abandoned)} temporary files after {self.counts['kills']} kills")
        for path in abandoned:
            os.utime(path, (0, 0))
        Cache(self.folder).entries()
        left = list(self.folder.glob(f"*/{_ABANDONED}"))
        if left:
            self.failures.append(f"temporary files stay in the cache: {left}")


def _private_folder(path: Path) -> Path:
    """The absolute path of a folder, which is created if necessary, as a cache requires it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path.resolve()


def main(args: Sequence[str] | None = None) -> int:
    """Runs the stress test of the command line; returns 1 if it fails."""
    parser = argparse.ArgumentParser(prog="stress", description="processes build and run programs with one cache")
    parser.add_argument("--minutes", type=float, default=10.0, help="the time (default 10)")
    parser.add_argument("--seed", type=int, help="of programs, kills and damages (default: random)")
    parser.add_argument("--folder", type=Path, help="keeps the cache and core dumps (default: a temporary folder)")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    if options.worker is not None:
        work(options.worker)
        return 0
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() if options.folder is None else nullcontext(options.folder) as folder:
        stress = Stress(_private_folder(Path(folder)), seed, 60 * options.minutes, lambda text: print(text, flush=True))
        failures = stress.run()
    print(stress.summary())
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
