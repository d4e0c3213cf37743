"""The C compiler of the machine: `tvm.contrib.cc`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from ....core.errors import LinkError, PluginError
from ..absent import report_absent

__getattr__ = report_absent("tvm.contrib.cc")


def get_cc() -> str | None:
    """The path of the C++ compiler: `$CXX`, `$CC`, g++, clang++, gcc or clang; None if there is none."""
    names = [os.environ.get("CXX"), os.environ.get("CC"), "g++", "clang++", "gcc", "clang"]
    return next(filter(None, (shutil.which(name) for name in names if name)), None)


def create_shared(
    output: str | os.PathLike[str],
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: object = None,
) -> None:
    """Links object and source files to a shared library. options: of the compiler.  cc: the compiler.  ccache_env:
    ignored. PluginError without a compiler, LinkError with its output if it fails.
    """
    _compile(output, objects, ["-shared", "-fPIC", *(options or ())], cc, cwd)


def create_executable(
    output: str | os.PathLike[str],
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: object = None,
) -> None:
    """Links object and source files to a program. Arguments and errors as of `create_shared`."""
    _compile(output, objects, list(options or ()), cc, cwd)


def create_staticlib(output: str | os.PathLike[str], inputs: Sequence[str], ar: str | None = None) -> None:
    """Collects object files in a static library. ar: the archiver. LinkError with its output if it fails."""
    Path(output).unlink(missing_ok=True)
    run_command([ar or "ar", "qcs", str(output), *inputs], None)


def cross_compiler(
    compile_func: str | Callable[..., None], options: Sequence[str] | None = None, output_format: str | None = None
) -> Callable[..., None]:
    """A function like `create_shared`, with another compiler or function and further options. output_format: the ending
    of the names of its files.
    """
    base = list(options or ())

    def compile(outputs: str | os.PathLike[str], objects: str | Sequence[str], options: Sequence[str] = ()) -> None:
        if isinstance(compile_func, str):
            create_shared(outputs, objects, [*base, *options], compile_func)
        else:
            compile_func(outputs, objects, options=[*base, *options])

    compile.output_format = output_format or "so"  # pyright: ignore[reportFunctionMemberAccess]
    return compile


def _compile(
    output: str | os.PathLike[str], objects: str | Sequence[str], options: list[str], cc: str | None, cwd: str | None
) -> None:
    compiler = cc or get_cc()
    if compiler is None:
        raise PluginError("no C++ compiler: $CXX, $CC, g++, clang++, gcc and clang are missing")
    files = [objects] if isinstance(objects, str) else list(objects)
    run_command([compiler, *options, "-o", str(output), *files], cwd)


def run_command(command: list[str], cwd: str | None) -> str:
    """The output of a program. LinkError with its errors if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LinkError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


__all__ = ["create_executable", "create_shared", "create_staticlib", "cross_compiler", "get_cc"]
