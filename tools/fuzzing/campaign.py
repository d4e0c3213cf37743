"""Campaigns: processes that search families in turn until a budget of time is over."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from .case import Finding
from .random_tests import FAMILY, RandomTests
from .search import REDUCING_SECONDS, SHRINKING_SECONDS, Batch

BATCH_SECONDS = 20.0
ISOLATED_SECONDS = 60.0
"""The time to find a crash again with a process for each case."""
HANG_SECONDS = 120.0 + 2 * (SHRINKING_SECONDS + REDUCING_SECONDS)
"""The time after which a process that should have ended is killed; its last case counts as a hang."""


@dataclass
class Total:
    """The cases and seconds of a family so far."""

    cases: int = 0
    seconds: float = 0.0


@dataclass
class Campaign:
    """A search. corpus: the folder of findings.  known: the classes that have been found, in this search or before.
    tests: random tests of a checkout, which take turns with the families."""

    families: Sequence[str]
    corpus: Path
    seed: int
    seconds: float
    jobs: int
    report: Callable[[str], None]
    tests: RandomTests | None = None
    known: set[str] = field(default_factory=set[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    totals: dict[str, Total] = field(default_factory=dict[str, Total])
    _lock: Lock = field(default_factory=Lock)

    def run(self) -> None:
        """Searches until the budget is over; saves each finding of a new class to the corpus."""
        end = time.monotonic() + self.seconds
        tasks = self._tasks(end)
        with ThreadPoolExecutor(self.jobs) as pool, TemporaryDirectory() as folder:
            for worker in [pool.submit(self._work, tasks, Path(folder), end) for _ in range(self.jobs)]:
                worker.result()

    def _work(self, tasks: Iterator[tuple[str, int]], folder: Path, end: float) -> None:
        """Executes tasks until there are no more."""
        while True:
            with self._lock:
                task = next(tasks, None)
            if task is None:
                return
            self._execute(*task, folder, end)

    def _tasks(self, end: float) -> Iterator[tuple[str, int]]:
        """The families, and the files of tests, in random order in each round, each with a seed."""
        files = self.tests.files() if self.tests is not None else []
        rounds = 0
        while time.monotonic() < end:
            rng = random.Random(self.seed + rounds)
            tasks = [*self.families, *files]
            rng.shuffle(tasks)
            yield from ((task, rng.randrange(2**32)) for task in tasks)
            rounds += 1

    def _execute(self, task: str, seed: int, folder: Path, end: float) -> None:
        start = time.monotonic()
        seconds = min(BATCH_SECONDS, end - start)
        if seconds <= 0:
            return
        if task in self.families:
            batch = self._search(task, seed, seconds, folder)
        else:
            assert self.tests is not None
            batch = self.tests.run(task, seed, end - start)
        with self._lock:
            self._count(task if task in self.families else FAMILY, batch, time.monotonic() - start)

    def _count(self, name: str, batch: Batch, seconds: float) -> None:
        total = self.totals.setdefault(name, Total())
        total.cases += batch.cases
        total.seconds += seconds
        new = [finding for finding in batch.findings if finding.kind not in self.known]
        for finding in new:
            self.known.add(finding.kind)
            self.findings.append(finding)
            self.report(f"{finding.kind}\n    {finding.save(self.corpus)}")
        self.report(f"{name}: {batch.cases} cases in {seconds:.0f} s, {total.cases} in all")

    def _search(self, family: str, seed: int, seconds: float, folder: Path, is_isolated: bool = False) -> Batch:
        """The batch of a process of its own; a crash or a hang of the process is a finding. A crash is searched again
        with a process for each case, which shrinks it."""
        current, result = folder / f"{family}-{seed}.txt", folder / f"{family}-{seed}.json"
        request = {
            "is_isolated": is_isolated,
            "family": family,
            "seed": seed,
            "seconds": seconds,
            "known": sorted(self.known),
            "current": str(current),
            "result": str(result),
        }
        command = [sys.executable, "-m", f"{__package__}.worker", json.dumps(request)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, errors = process.communicate(timeout=seconds + HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Batch(0, [self._lost(family, seed, current, "hang", f"no end after {HANG_SECONDS:.0f} s")])
        except BaseException:
            process.kill()
            raise
        if process.returncode == 0:
            return _load_batch(result)
        lost = self._lost(family, seed, current, _death_of(process.returncode), errors[-4000:])
        if is_isolated or lost.kind in self.known:
            return Batch(0, [lost])
        again = self._search(family, seed, ISOLATED_SECONDS, folder, is_isolated=True)
        return Batch(0, again.findings or [lost])

    def _lost(self, family: str, seed: int, current: Path, death: str, errors: str) -> Finding:
        """The finding of a process without a result: the input under check when the process ended."""
        shown = current.read_text(encoding="utf-8") if current.exists() else "\n"
        label, _, text = shown.partition("\n")
        return Finding(family, f"{family} {label}".strip() + f": {death}", text, errors, seed)

    def summary(self) -> str:
        """The cases of each family and the findings, as a table."""
        width = max(map(len, ("family", *self.totals))) + 1
        lines = [f"{'family':{width}}{'cases':>9}{'seconds':>9}  findings"]
        for name, total in sorted(self.totals.items()):
            found = sum(finding.family == name for finding in self.findings)
            lines.append(f"{name:{width}}{total.cases:>9}{total.seconds:>9.0f}  {found or ''}".rstrip())
        cases = sum(total.cases for total in self.totals.values())
        return "\n".join([*lines, f"{cases} cases, {len(self.findings)} new classes of failures, seed {self.seed}"])


def _load_batch(path: Path) -> Batch:
    batch = json.loads(path.read_text(encoding="utf-8"))
    return Batch(batch["cases"], [Finding(**each) for each in batch["findings"]])


def _death_of(code: int) -> str:
    """The end of a process by its exit code."""
    return f"crash, {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
