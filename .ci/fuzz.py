"""Random search: run the property tests with random examples until a budget of minutes is over.

`python .ci/fuzz.py --minutes 20 --seed 7 tests/properties` runs the tests of a folder. A round takes each file of
tests once, in random order, in a process of its own; it has another seed and twice the examples of the round before.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

MARKED = "hypothesis or fuzz"
"""Hypothesis marks each test that uses `@given`; `fuzz` marks the others with random inputs."""
PYTEST = (sys.executable, "-m", "pytest", "-m", MARKED)
FIRST_EXAMPLES = 50
ROUNDS = 20
GRACE = 30
"""Seconds that a process has to end after the budget."""
_OK, _FAILED, _NO_TESTS = 0, 1, 5


@dataclass(frozen=True)
class Run:
    """A file of tests, the seed of its examples, and their number."""

    file: str
    seed: int
    examples: int

    def command(self, test: str) -> tuple[str, ...]:
        return (*PYTEST, "--hypothesis-profile=fuzz", f"--hypothesis-seed={self.seed}", test)

    def shown(self, test: str) -> str:
        """The command that runs a test alone, for a shell."""
        return f"FUZZ_EXAMPLES={self.examples} {shlex.join(self.command(test))}"


@dataclass(frozen=True)
class Result:
    """A finished run: the number of tests, and the tests that failed (or the file, if its process crashed)."""

    run: Run
    tests: int
    failures: tuple[str, ...]
    output: str


def files_of_tests(paths: Sequence[str]) -> list[str]:
    """The files with random tests. RuntimeError with the output of pytest if it cannot collect them."""
    done = subprocess.run([*PYTEST, "--collect-only", "-q", *paths], capture_output=True, text=True)
    if done.returncode != _OK:
        raise RuntimeError(done.stdout + done.stderr)
    return sorted({line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line})


def runs(files: Sequence[str], seed: int) -> Iterator[Run]:
    """All rounds; the examples of the last ones take years."""
    for number in range(ROUNDS):
        for file in random.Random(seed + number).sample(files, len(files)):
            yield Run(file, seed + number, FIRST_EXAMPLES * 2**number)


def execute(run: Run, end: float) -> Result | None:
    """Run a file, interrupted at the time `end`; None after that time."""
    if time.monotonic() >= end:
        return None
    environment = {**os.environ, "FUZZ_EXAMPLES": str(run.examples)}
    command = (*run.command(run.file), "-q", "-rfE", "-p", "no:cacheprovider")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        output, _ = process.communicate(timeout=max(0.0, end - time.monotonic()))
        crashed = process.returncode not in (_OK, _FAILED, _NO_TESTS)
    except subprocess.TimeoutExpired:
        output = _interrupt(process)
        crashed = process.returncode in (-signal.SIGSEGV, -signal.SIGABRT)
    return result_of(run, output, crashed)


def _interrupt(process: subprocess.Popen[str]) -> str:
    """The output of a process that is told to end."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def result_of(run: Run, output: str, crashed: bool) -> Result:
    """What the output of pytest says; its last line counts the tests."""
    failures = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    counts = re.findall(r"\b(\d+) (?:passed|failed|errors?)\b", output.rstrip().rpartition("\n")[2])
    return Result(run, sum(map(int, counts)), (*failures, *([run.file] if crashed and not failures else [])), output)


def search(options: argparse.Namespace) -> list[Result]:
    """The results of all runs within the budget; prints the output of each that fails."""
    end = time.monotonic() + 60 * options.minutes
    results: list[Result] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        rounds = runs(files_of_tests(options.paths), options.seed)
        for result in filter(None, pool.map(partial(execute, end=end), rounds)):
            results.append(result)
            if result.failures:
                print(result.output, flush=True)
    return results


def summary(results: Sequence[Result]) -> str:
    """The number of tests, and the command for each failure."""
    failures = [(result.run, test) for result in results for test in result.failures]
    seeds = sorted({result.run.seed for result in results})
    lines = [f"reproduce: {run.shown(test)}" for run, test in failures]
    said = f"{sum(result.tests for result in results)} tests, {len(failures)} failures"
    return "\n".join([*lines, f"{said}, {len(results)} runs of files, {len(seeds)} rounds"])


def main() -> int:
    """The command line; the exit code is 1 if there was a failure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="files or folders of tests (default: all)")
    parser.add_argument("--minutes", type=float, default=10, help="the budget (default: 10)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32), help="of the first round")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes (default: 2)")
    options = parser.parse_args()
    # A shell starts what runs beside it with this signal ignored, and so would all tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"seed {options.seed}", flush=True)
    results = search(options)
    print(summary(results))
    return 1 if any(result.failures for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
