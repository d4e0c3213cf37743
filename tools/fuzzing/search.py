"""The search within one process: batches of random cases of a family, and replays of findings."""

from __future__ import annotations

import math
import re
import time
import traceback
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, reject, reproduce_failure, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.errors import Flaky, Unsatisfiable
from hypothesis.errors import HypothesisException as HypothesisError
from hypothesis.internal.conjecture import engine

from ...core.errors import StepwellError
from .case import Case, CheckedProgram, CrashError, Family, Finding, cause_of, class_of
from .reduction import reduce_program

SHRINKING_SECONDS = 30
REDUCING_SECONDS = 30
CHUNK = 50
"""The number of cases between two looks at the clock."""
_BLOB = re.compile(r"@reproduce_failure\('([^']*)', b'([^']*)'\)")
_UNLIMITED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)
_PHASES = (Phase.generate, Phase.target, Phase.shrink)


@dataclass
class Batch:
    """The result of a batch: the number of cases that were checked, and the findings."""

    cases: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


def search(
    family: Family,
    seed: int,
    seconds: float = math.inf,
    *,
    cases: float = math.inf,
    known: Collection[str] = (),
    current: Path | None = None,
    is_isolated: bool = False,
) -> Batch:
    """Checks random cases of a family, for some seconds or at most a number of cases.

    seed: determines the cases, but for their number.  known: classes of failures that are not reported again.
    current: a file that always holds the text of the case under check.  is_isolated: search crashes only, with a
    process for each case.
    """
    batch, end = Batch(), time.monotonic() + seconds
    classes = set(known)
    while cases > 0 and time.monotonic() < end:
        finding = _Chunk(family, Case(current, is_isolated=is_isolated), batch, classes, end).run(
            seed, int(min(cases, CHUNK))
        )
        if finding is not None:
            batch.findings.append(finding)
            classes.add(finding.kind)
        seed, cases = seed + 1, cases - CHUNK
    return batch


class _TimeOverError(KeyboardInterrupt):
    """Ends a chunk. Hypothesis takes any other exception for a failure, or for inconsistent data."""


@dataclass
class _Chunk:
    """A search of consecutive cases that ends with the first failure of a class that is not known.

    end: the time after which no case is checked, except to shrink a failure.  failed: the last such failure.  program,
    cause: the program of its case, and the cause of the failure.
    """

    family: Family
    case: Case
    batch: Batch
    known: Collection[str]
    end: float
    failed: Finding | None = None
    program: CheckedProgram | None = None
    cause: str = ""

    def run(self, seed: int, cases: int) -> Finding | None:
        """Checks some cases of a seed; returns the shrunk finding of the first failure of a class that is not known."""
        phases = _PHASES if self.family.shrinks else _PHASES[:2]
        options = settings(
            max_examples=cases,
            phases=phases,
            database=None,
            deadline=None,
            print_blob=True,
            report_multiple_bugs=False,
            suppress_health_check=_UNLIMITED,
        )
        try:
            with patch.object(engine, "MAX_SHRINKING_SECONDS", SHRINKING_SECONDS):
                with_seed(seed)(options(given(st.data())(self._check)))()
        except (Unsatisfiable, _TimeOverError):  # all failures are of known classes, or no time is left
            return None
        except Exception as error:
            return self._finding(seed, error)
        return None

    def _check(self, data: st.DataObject) -> None:
        if self.failed is None and time.monotonic() > self.end:
            raise _TimeOverError
        try:
            self.case.run(self.family.check, data)
        except HypothesisError:
            raise
        except Exception as error:
            kind = class_of(self.family.name, self.case.label, error)
            if kind in self.known:
                reject()
            is_crash = isinstance(error, CrashError)
            self.program, self.cause = self.case.program, cause_of(error)
            self.failed = Finding(self.family.name, kind, self.case.text, _text_of(error), 0, is_crash=is_crash)
            raise
        self.batch.cases += 1

    def _finding(self, seed: int, error: Exception) -> Finding:
        failed = self.failed
        if failed is None:
            return Finding(
                self.family.name, class_of(self.family.name, "", error), self.case.text, _text_of(error), seed
            )
        if isinstance(error, Flaky):
            kind = f"{failed.kind} (not in each run)"
            return replace(failed, kind=kind, seed=seed)
        version, blob = _blob_of(error)
        return self._reduce(replace(failed, seed=seed, version=version, blob=blob))

    def _reduce(self, finding: Finding) -> Finding:
        """The finding with its program, reduced if the case consists of a program."""
        if self.program is None:
            return finding
        try:
            reduced = reduce_program(self.program, self.cause, REDUCING_SECONDS)
        except StepwellError as error:
            return replace(finding, error=f"{finding.error}\n\n{error}")
        return replace(finding, suffix=self.program.suffix, reduced=reduced)


def _text_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-8)).strip()


def _blob_of(error: BaseException) -> tuple[str, str]:
    """The version and the record in hypothesis' notes on an error; empty if there are none."""
    match = _BLOB.search("\n".join(getattr(error, "__notes__", ())))
    return (match[1], match[2]) if match else ("", "")


def replay(family: Family, finding: Finding) -> str | None:
    """Checks the input of a finding again; returns the error, or None if the check passes.

    Raises hypothesis' error if the record is of another version of hypothesis or of the generators.
    """
    case = Case(is_isolated=finding.is_crash)

    def check(data: st.DataObject) -> None:
        case.run(family.check, data)

    test = settings(database=None, deadline=None, print_blob=False)(given(st.data())(check))
    try:
        reproduce_failure(finding.version, finding.blob.encode())(test)()
    except HypothesisError as error:
        if "DidNotReproduce" in type(error).__name__:
            return None
        raise
    except Exception as error:
        return f"{case.text}\n\n{_text_of(error)}"
    return None
