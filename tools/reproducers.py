"""Reproducers: files with the program, the pass and the versions of a failure, which `stepwell-opt FILE` replays."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import gettempdir

from xdsl.passes import ModulePass

from ..core.cache import digest
from ..core.errors import FaultyPassError
from ..module import Module
from ..transforms.observers import PassObserver

_HEADER = "// reproducer: replay with stepwell-opt FILE"
_PACKAGES = ("stepwell", "xdsl", "llvmlite", "numpy")
_FIELD = re.compile(r"// (passes|options|versions): (.*)")


@dataclass
class ReproducerWriter(PassObserver):
    """Writes a reproducer when a pass fails, and a note with its path to the error.

    path: the file; by default a file in the folder for temporary files, for faults of passes and not for programs that
    a pass refuses.  options: the options of `stepwell-opt` besides the pipeline that the failure requires.
    """

    path: Path | None = None
    options: tuple[str, ...] = ()
    _before: Module | None = field(default=None, repr=False)

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        del module_pass
        self._before = module.clone()

    def after_failure(self, module_pass: ModulePass, error: Exception) -> None:
        if self._before is None or (self.path is None and not isinstance(error, FaultyPassError)):
            return
        text = _text(self._before, str(module_pass), self.options, str(error))
        path = self.path or Path(gettempdir(), f"stepwell-{digest(text)[:12]}.mlir")
        path.write_text(text, encoding="utf-8")
        error.add_note(f"reproducer: stepwell-opt {path}")


def _text(module: Module, passes: str, options: tuple[str, ...], error: str) -> str:
    lines = [_HEADER, f"// passes: {passes}"]
    lines += [f"// options: {' '.join(options)}"] if options else []
    lines += [f"// versions: {versions()}", *(f"// {line}".rstrip() for line in error.splitlines())]
    lines += ["// the arrays of the constants are not in this file"] if module.constants else []
    return "\n".join([*lines, str(module), ""])


def versions() -> str:
    """The versions of Stepwell and of the packages that determine its results, of Python and of the system."""
    return ", ".join(
        [*_package_versions(), f"Python {platform.python_version()}", f"{sys.platform} {platform.machine()}"]
    )


def _package_versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:  # a checkout that is not installed
            yield f"{name} (not installed)"


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
