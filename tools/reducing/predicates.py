"""Predicates of the reduction: whether a smaller program still fails as before."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ...backends.llvm.build import build_llvm
from ...backends.validation import validate_passes
from ...core.errors import FaultyPassError, StepwellError
from ...core.isolation import Outcome, run_isolated
from ...core.target import Target
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...transforms.pipelines import parse_passes, run_pipeline

Predicate: TypeAlias = Callable[[Module, str], bool]
"""Whether a program fails under a pipeline, which is "" for the lowering to native code."""

SECONDS = 60.0
"""The time after which a program is taken to hang."""


def failure(module: Module, passes: str, validate: bool = False) -> str:
    """The class and message of the failure of a pipeline, or of the compilation without one; "" without a failure.

    validate: whether changed results are failures. The passes run in a process of their own.
    """

    def work() -> str:
        try:
            with validate_passes(validate):
                if passes:
                    run_pipeline(module, parse_passes(passes), verify=True)
                else:
                    build_llvm(module, Target())
        except StepwellError as error:
            return f"{type(error).__name__}: {error}"
        return ""

    outcome: Outcome[str] = run_isolated(work, SECONDS)
    return outcome.value or "" if outcome.kind == "value" else outcome.message


@dataclass(frozen=True)
class FailsLike:
    """Whether the failure is of the class of another failure, and of the same pass. validate: as of `failure`."""

    kind: str
    validate: bool = False

    def __call__(self, module: Module, passes: str) -> bool:
        return kind_of(failure(module, passes, self.validate)) == self.kind


def kind_of(message: str) -> str:
    """The class of a failure: its exception, and the pass that it is a fault of with the fault; "" for no fault."""
    fault = re.match(rf"{FaultyPassError.__name__}: pass (\S+) (failed: \w+|leaves|changes|makes|removes)", message)
    if fault is not None:
        return fault[0]
    is_of_compiler = bool(message) and not message.startswith(tuple(_user_errors()))
    return message.partition(":")[0].partition("\n")[0] if is_of_compiler else ""


def _user_errors() -> list[str]:
    """The beginnings of the messages of errors that programs cause, and not the compiler."""
    pending: list[type[Exception]] = [StepwellError]
    names: list[str] = []
    while pending:
        cls = pending.pop()
        names.append(f"{cls.__name__}: ")
        pending.extend(cls.__subclasses__())
    return names


@dataclass(frozen=True)
class HasMessage:
    """Whether the message of the failure contains a text."""

    text: str

    def __call__(self, module: Module, passes: str) -> bool:
        return self.text in failure(module, passes)


@dataclass(frozen=True)
class AsTvmscript:
    """A predicate on the program that the TVMScript of a program denotes, which has no unused expressions."""

    predicate: Predicate

    def __call__(self, module: Module, passes: str) -> bool:
        again = parse_tvmscript(module.script())
        again.constants.update(module.constants)
        return self.predicate(again, passes)


@dataclass(frozen=True)
class CommandSucceeds:
    """Whether a command exits with 0 for the file with the program, its last argument or `{}`, and for the pipeline in
    place of `{passes}`."""

    command: str
    suffix: str

    def __call__(self, module: Module, passes: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"program{self.suffix}")
            path.write_text(text_of(module, self.suffix), encoding="utf-8")
            words = shlex.split(self.command)
            command = [word.replace("{passes}", passes).replace("{}", str(path)) for word in words]
            arguments = command if any("{}" in word for word in words) else [*command, str(path)]
            try:
                done = subprocess.run(arguments, capture_output=True, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return False
            return done.returncode == 0


def text_of(module: Module, suffix: str) -> str:
    """The text of a program for a file: TVMScript for `.py`, else MLIR. UnsupportedError for a program without
    TVMScript."""
    return f"{module.script()}\n" if suffix == ".py" else f"{module}\n"
