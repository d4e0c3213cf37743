"""The random tests of a checkout: tests with hypothesis, and tests marked `fuzz`, run by pytest."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ...core.errors import OptionError
from .case import Finding
from .search import Batch

MARKED = "hypothesis or fuzz"
"""Hypothesis marks each test that uses `@given`; `fuzz` marks the others with random inputs."""
PYTEST = (sys.executable, "-m", "pytest", "-m", MARKED)
EXAMPLES = 50
GRACE = 30
"""Seconds that a process has to end after the budget."""
_OK, _FAILED, _USAGE_ERROR, _NO_TESTS = 0, 1, 4, 5
FAMILY = "tests"
"""The family of the findings."""
_KIND = f"{FAMILY}: "
"""The beginning of the class of a finding, before the name of the test."""


@dataclass(frozen=True)
class RandomTests:
    """The random tests of files and folders."""

    paths: Sequence[str]

    def files(self) -> list[str]:
        """The files with random tests. OptionError with the output of pytest if it cannot collect them."""
        done = subprocess.run([*PYTEST, "--collect-only", "-q", *self.paths], capture_output=True, text=True)
        if done.returncode != _OK:
            raise OptionError(
                f"pytest collects no random tests in {', '.join(self.paths)}:\n{done.stdout}{done.stderr}"
            )
        return sorted({line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line})

    def run(self, file: str, seed: int, seconds: float) -> Batch:
        """The result of the random tests of a file with the examples of a seed, interrupted after some seconds."""
        command = (*_command(seed, file), "-q", "-rfE", "-p", "no:cacheprovider")
        output = subprocess.PIPE
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True, env=_environment())
        try:
            text, _ = process.communicate(timeout=max(0.0, seconds))
            crashed = process.returncode not in (_OK, _FAILED, _NO_TESTS)
        except subprocess.TimeoutExpired:
            text = without_interrupted_tests(_interrupt(process))
            crashed = process.returncode in (-signal.SIGSEGV, -signal.SIGABRT)
        return batch_of(file, seed, text, crashed)


def fails_again(finding: Finding) -> bool:
    """Whether the test of a finding is still there, and fails with the examples of its seed."""
    command = _command(finding.seed, finding.kind.removeprefix(_KIND))
    done = subprocess.run(command, capture_output=True, env=_environment())
    return done.returncode not in (_OK, _USAGE_ERROR, _NO_TESTS)


def _environment() -> dict[str, str]:
    return {**os.environ, "FUZZ_EXAMPLES": str(EXAMPLES)}


def _command(seed: int, test: str) -> tuple[str, ...]:
    return (*PYTEST, "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", test)


def _interrupt(process: subprocess.Popen[str]) -> str:
    """The output of a process that is told to end."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def without_interrupted_tests(output: str) -> str:
    """The output of pytest without the lines that count a test as failed because it was interrupted: Python reports an
    interrupt during garbage collection as an error of the test."""
    _, *sections = re.split(r"^_{3,} (.+?) _{3,}$", output, flags=re.MULTILINE)
    reports = zip(sections[::2], sections[1::2], strict=True)
    names = [name for name, report in reports if re.search(r"^E +KeyboardInterrupt", report, re.MULTILINE)]
    for name in names:
        output = re.sub(rf"^FAILED [^:]*::{re.escape(name)}( - .*)?\n", "", output, flags=re.MULTILINE)
    return output


def batch_of(file: str, seed: int, output: str, crashed: bool) -> Batch:
    """The tests in the output of pytest, whose last line counts them, and the failed tests (or the file, if its process
    crashed)."""
    failures = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
    counts = re.findall(r"\b(\d+) (?:passed|failed|errors?)\b", output.rstrip().rpartition("\n")[2])
    failed = (*failures, *([file] if crashed and not failures else []))
    return Batch(sum(map(int, counts)), [_finding(test, seed, output) for test in failed])


def _finding(test: str, seed: int, output: str) -> Finding:
    command = f"FUZZ_EXAMPLES={EXAMPLES} {shlex.join(_command(seed, test))}"
    return Finding(FAMILY, f"{_KIND}{test}", command, output[-20_000:], seed)
