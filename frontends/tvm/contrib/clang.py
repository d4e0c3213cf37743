"""C code for programs: `tvm.contrib.clang`."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ....core.errors import LinkError, PluginError
from ..absent import report_absent
from .cc import create_shared

__getattr__ = report_absent("tvm.contrib.clang")


def find_clang(required: bool = True) -> list[str]:
    """The paths of clang, the newest first. PluginError if there is none and one is required."""
    names = ("clang", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14")
    found = [path for path in map(shutil.which, names) if path]
    if required and not found:
        raise PluginError("clang is not installed")
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | os.PathLike[str] | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """C or C++ code for the pragma `import_llvm`; its functions can be called by `call_extern` in this process from
    now on, without the pragma too: they are compiled to a shared library, which the process loads.

    inputs: code, or the paths of files.  output: a file to write the result to.  options: of the compiler.  cc: the
    compiler, by default that of the machine. Returns LLVM IR compiled by clang, for reading; without clang a comment
    that names the library.  PluginError without a compiler, LinkError with its output if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = [_source(each, n, folder) for n, each in enumerate([inputs] if isinstance(inputs, str) else inputs)]
        text = _load(sources, list(options or ()), cc)
        clang = find_clang(required=False)
        if clang:
            text = "\n".join(_emit(clang[0], source, list(options or ())) for source in sources)
    if output is not None:
        Path(output).write_text(text)
    return text


def _source(code: str, index: int, folder: str) -> str:
    """The path of a file with the code."""
    if "\n" not in code and Path(code).is_file():
        return code
    path = Path(folder) / f"source{index}.cc"
    path.write_text(code)
    return str(path)


def _load(sources: Sequence[str], options: list[str], cc: str | None) -> str:
    """Loads the functions of source files into the process; returns a comment."""
    with tempfile.TemporaryDirectory(prefix="stepwell-clang-") as folder:
        library = Path(folder) / "functions.so"
        create_shared(library, sources, ["-O2", *options], cc)
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    return f"; functions of {', '.join(sources)}, loaded into the process\n"


def _emit(clang: str, source: str, options: list[str]) -> str:
    command = [clang, "-O3", "-emit-llvm", "-S", *options, "-o", "-", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LinkError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


__all__ = ["create_llvm", "find_clang"]
