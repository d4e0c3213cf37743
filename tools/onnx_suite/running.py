"""Isolated execution of cases, each in its own process, so that no case can hang, crash or change other cases."""

from __future__ import annotations

import ctypes
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeAlias

from ...core.errors import UnsupportedError
from ...frontends.onnx import OnnxError
from .cases import OnnxCase
from .comparison import result_difference
from .exactness import are_more_exact

Run: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]
"""The function from inputs, in the order of the model, to outputs: arrays, lists of arrays, None."""

Prepare: TypeAlias = Callable[[bytes], Run]
"""The function from the bytes of a model to its runner."""

OUTCOMES = (
    "pass",
    "inexact",
    "wrong",
    "unsupported",
    "import_error",
    "compile_error",
    "run_error",
    "crash",
    "timeout",
)

_M_PERTURB = -6  # glibc's malloc.h; set by MALLOC_PERTURB_
_PERTURBATION = 165


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of a case, one of `OUTCOMES`, and its reason. `inexact`: the expected values are less exact than the
    results."""

    result: str
    detail: str = ""


@dataclass(frozen=True)
class _Child:
    case: OnnxCase
    process: ForkProcess
    deadline: float


def run_cases(
    cases: Iterable[OnnxCase], prepare: Prepare, *, workers: int = 1, limit: float = 20.0
) -> Iterator[tuple[OnnxCase, CaseOutcome]]:
    """Each case with its outcome, in order of completion. limit: the time limit of a case in seconds."""
    todo = iter(cases)
    running: dict[Connection, _Child] = {}
    while True:
        for case in islice(todo, workers - len(running)):
            reader, child = _start(case, prepare, limit)
            running[reader] = child
        if not running:
            return
        soonest = min(child.deadline for child in running.values())
        ended = wait(list(running), max(0.0, soonest - time.monotonic()))
        for reader, child in list(running.items()):
            if reader in ended or child.deadline <= time.monotonic():
                del running[reader]
                yield child.case, _end(child, reader, limit)


def _start(case: OnnxCase, prepare: Prepare, limit: float) -> tuple[Connection, _Child]:
    fork = get_context("fork")
    reader, writer = fork.Pipe(duplex=False)
    process = fork.Process(target=_run_in_child, args=(case, prepare, writer), daemon=True)
    process.start()
    writer.close()  # leaves only the writer of the child, so that its exit closes the pipe
    return reader, _Child(case, process, time.monotonic() + limit)


def _end(child: _Child, reader: Connection, limit: float) -> CaseOutcome:
    try:
        outcome = reader.recv() if reader.poll() else CaseOutcome("timeout", f"more than {limit:g} s")
    except EOFError:
        child.process.join(1)
        outcome = CaseOutcome("crash", _death(child.process.exitcode))
    reader.close()
    child.process.kill()
    child.process.join()
    return outcome


def _death(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"


# In the child process


def _run_in_child(case: OnnxCase, prepare: Prepare, writer: Connection) -> None:
    _perturb_memory()
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    writer.send(run_attempt(case, prepare))


def _perturb_memory() -> None:
    """Fills newly allocated memory with nonzero bytes."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, _PERTURBATION)


def run_attempt(case: OnnxCase, prepare: Prepare) -> CaseOutcome:
    """The outcome of a case in this process."""
    try:
        run = prepare(case.model.SerializeToString())
    except Exception as error:
        return _failure(error, "compile_error")
    try:
        got = run(case.inputs)
    except Exception as error:
        return _failure(error, "run_error")
    difference = result_difference(list(got), list(case.outputs))
    if not difference:
        return CaseOutcome("pass")
    return CaseOutcome("inexact" if are_more_exact(case, got) else "wrong", difference)


def _failure(error: Exception, stage: str) -> CaseOutcome:
    reason = error.reason if isinstance(error, OnnxError) else str(error).strip().partition("\n")[0]
    if isinstance(error, UnsupportedError | NotImplementedError):
        return CaseOutcome("unsupported", reason)
    if isinstance(error, OnnxError):
        return CaseOutcome("import_error", reason)
    return CaseOutcome(stage, f"{type(error).__name__}: {reason}")
