"""Reproducers: files with the program, the pass and the versions of a failure, which `stepwell-opt FILE` replays."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir

from xdsl.passes import ModulePass

from ..core.cache import digest
from ..core.errors import FaultyPassError, StepwellError
from ..core.versions import versions
from ..module import Module
from .observers import PassObserver, observe_nothing, observe_passes, pass_observers

VARIABLE = "STEPWELL_REPRODUCERS"
"""The environment variable with the folder of reproducers, by default that of temporary files; `off` for none."""
_OFF = "off"
_HEADER = "// reproducer: replay with stepwell-opt FILE"
_FIELD = re.compile(r"// (passes|options|versions): (.*)")


@dataclass
class ReproducerWriter(PassObserver):
    """Writes a reproducer when a pass fails, and a note with its path to the error.

    path: the file; by default a file in the folder of reproducers, for faults of passes and not for programs that a
    pass refuses.  options: the options of `stepwell-opt` besides the pipeline that the failure requires.  written: the
    file that was written.
    """

    path: Path | None = None
    options: tuple[str, ...] = ()
    written: Path | None = None
    _before: Module | None = field(default=None, repr=False)

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        del module_pass
        self._before = module.clone()

    def after_failure(self, module_pass: ModulePass, error: Exception) -> None:
        folder = os.environ.get(VARIABLE) or gettempdir()
        if self._before is None or (self.path is None and (folder == _OFF or not isinstance(error, FaultyPassError))):
            return
        text = _text(self._before, str(module_pass), self.options, str(error))
        self.written = self.path or Path(folder, f"stepwell-{digest(text)[:12]}.mlir")
        self.written.write_text(text, encoding="utf-8")
        error.add_note(_note(self.written))


def _note(path: Path) -> str:
    return f"reproducer: stepwell-opt {path}"


@contextmanager
def leave_reproducers(repeat: Callable[[], object], options: tuple[str, ...] = ()) -> Generator[None]:
    """Writes a reproducer when a pass of the body fails by a fault of its own, and a note with its path to the error.

    repeat: runs the passes of the body on the same program again, then with a copy of it before each pass; so passes
    that do not fail cost nothing.  options: as of `ReproducerWriter`. A writer that observes the body already, that of
    `stepwell-opt`, replaces this one.
    """
    try:
        yield
    except FaultyPassError as error:
        if not any(isinstance(each, ReproducerWriter) for each in pass_observers()):
            writer = ReproducerWriter(options=options)
            with suppress(StepwellError), observe_nothing(), observe_passes(writer):
                repeat()
            if writer.written is not None:
                error.add_note(_note(writer.written))
        raise


def _text(module: Module, passes: str, options: tuple[str, ...], error: str) -> str:
    lines = [_HEADER, f"// passes: {passes}"]
    lines += [f"// options: {' '.join(options)}"] if options else []
    lines += [f"// versions: {versions()}", *(f"// {line}".rstrip() for line in error.splitlines())]
    lines += ["// the arrays of the constants are not in this file"] if module.constants else []
    return "\n".join([*lines, str(module), ""])


@dataclass(frozen=True)
class Reproducer:
    """The header of a reproducer. passes: the pipeline.  options: further options of `stepwell-opt`.  versions: those
    of the failure."""

    passes: str
    options: tuple[str, ...]
    versions: str


def read_reproducer(path: Path) -> Reproducer | None:
    """The header of a reproducer; None for any other file. OSError for a file that cannot be read."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or lines[0] != _HEADER:
        return None
    matches = filter(None, map(_FIELD.fullmatch, lines[1:4]))
    fields = {match[1]: match[2] for match in matches}
    return Reproducer(fields.get("passes", ""), tuple(fields.get("options", "").split()), fields.get("versions", ""))
