"""Cases: the inputs of random checks, and their failures."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st

from ...core.errors import OptionError
from ...module import Module

PACKAGE = Path(__file__).parents[2]

P = TypeVar("P", Module, str)


class CrashError(Exception):
    """The process of a check was ended by a signal."""


class CheckedElsewhere(Exception):
    """Ends a check whose rest a process of its own has passed."""


@dataclass(frozen=True)
class CheckedProgram:
    """A program, as a module or as the text of TVMScript, and its check, which raises an exception if the compiler
    treats the program wrongly, and runs again for smaller programs."""

    value: Module | str
    check: Callable[[Any], None]

    @property
    def suffix(self) -> str:
        """The suffix of a file with the program."""
        return ".py" if isinstance(self.value, str) else ".mlir"


@dataclass
class Case:
    """The input of a check. text: the input as text, for people.  label: the part of the family, such as a pass.
    file: receives the text before the check runs, which a crash of the process does not lose.  is_isolated: whether
    the check continues in a process of its own as soon as it shows its input, so that a crash is an error.  program:
    the program that the case consists of; None if its check has other parts that are drawn."""

    file: Path | None = None
    label: str = ""
    text: str = ""
    is_isolated: bool = False
    program: CheckedProgram | None = None

    def check_program(self, program: P, check: Callable[[P], None], label: str = "") -> None:
        """Shows a program, and runs its check, by which a failing program is reduced."""
        checked = CheckedProgram(program, check)
        self.program = checked
        self.show(program, label)
        check(program)

    def show(self, text: object, label: str = "") -> None:
        """Sets the text and the label. A check calls it before it runs the code under test."""
        self.text, self.label = str(text), label
        if self.file is not None:
            self.file.write_text(f"{label}\n{self.text}", encoding="utf-8", errors="backslashreplace")
        if self.is_isolated:
            self._continue_elsewhere()

    def run(self, check: Callable[[st.DataObject, Case], None], data: st.DataObject) -> None:
        """Runs a check. Raises its error, or CrashError if the check is isolated and its process crashes."""
        parent = os.getpid()
        self.text = self.label = ""
        self.program = None
        try:
            check(data, self)
        except CheckedElsewhere:
            pass
        finally:
            if os.getpid() != parent:
                os._exit(0)  # errors are found without isolation

    def _continue_elsewhere(self) -> None:
        child = os.fork()
        if child == 0:
            self.is_isolated = False
            return
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            raise CrashError(f"crash, {signal.Signals(os.WTERMSIG(status)).name}")
        raise CheckedElsewhere


@dataclass(frozen=True)
class Family:
    """A family of cases. check: draws a case, shows it, and raises an exception if the compiler treats it wrongly.
    shrinks: whether failures are shrunk; false if a case takes seconds."""

    name: str
    summary: str
    check: Callable[[st.DataObject, Case], None]
    shrinks: bool = True


@dataclass(frozen=True)
class Finding:
    """A failure. kind: its class; two findings of one class have probably the same cause.  text: the shrunk input.
    error: the traceback.  version, blob: hypothesis' version and its record of the choices; empty if unknown.
    is_crash: whether the input ends the process.  suffix, reduced: of files with the program that the input is, and the
    program as `stepwell reduce` makes it small; empty if the input is no program, or its failure is not repeated."""

    family: str
    kind: str
    text: str
    error: str
    seed: int
    version: str = ""
    blob: str = ""
    is_crash: bool = False
    suffix: str = ""
    reduced: str = ""

    @property
    def name(self) -> str:
        """A name for files, unique to the class."""
        return f"{self.family}-{hashlib.sha256(self.kind.encode()).hexdigest()[:8]}"

    def save(self, folder: Path) -> Path:
        """Writes the finding to a folder, as JSON for `--replay` and as text for people, and its program before and
        after the reduction; returns the JSON file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        path.with_suffix(".txt").write_text(f"{self.kind}\n\n{self.text}\n\n{self.error}\n", encoding="utf-8")
        if self.reduced:
            _write_program(path.with_suffix(self.suffix), self.text)
            _write_program(path.with_suffix(f".reduced{self.suffix}"), self.reduced)
        return path

    def delete(self, folder: Path) -> None:
        """Deletes the files that `save` has written to a folder."""
        for path in folder.glob(f"{self.name}.*"):
            path.unlink()


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"{text.removesuffix(chr(10))}\n", encoding="utf-8", errors="backslashreplace")


def load_finding(path: Path) -> Finding:
    """The finding in a JSON file. OptionError if the file holds no finding."""
    try:
        return Finding(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise OptionError(f"{path}: expected a finding of stepwell fuzz, got {error}") from error


def class_of(family: str, label: str, error: BaseException) -> str:
    """The class of a failure: the family, the label, the type of the error, the function under test that raised it."""
    cause = cause_of(error)
    detail = f": {_shape_of(str(_root_of(error)))}" if cause.endswith(_IN_CHECK) else ""
    return f"{family} {label}".strip() + f": {cause}{detail}"


def cause_of(error: BaseException) -> str:
    """The type of an error and the function under test that raised it; of a crash, its signal."""
    if isinstance(error, CrashError):
        return str(error)
    root = _root_of(error)
    frames = [frame for frame in traceback.extract_tb(root.__traceback__) if _is_under_test(Path(frame.filename))]
    if not frames:
        return f"{type(root).__name__}{_IN_CHECK}"
    place = f"{Path(frames[-1].filename).relative_to(PACKAGE).with_suffix('')}:{frames[-1].name}"
    return f"{type(root).__name__} in {place}"


_IN_CHECK = " in check"
"""The place of an error that no function under test raised."""


def _root_of(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _is_under_test(path: Path) -> bool:
    return path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[0] not in ("tools", "tests", ".venv")


def _shape_of(message: str) -> str:
    """The first line of a message without its numbers."""
    return re.sub(r"\d+", "N", message.partition("\n")[0])[:80]
