"""The compiler of Android's NDK, `$TVM_NDK_CC`: `tvm.contrib.ndk`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ....core.errors import PluginError
from ..absent import report_absent
from . import cc

__getattr__ = report_absent("tvm.contrib.ndk")


def _compiler() -> str:
    if "TVM_NDK_CC" not in os.environ:
        raise PluginError("no compiler of the NDK: $TVM_NDK_CC is not set")
    return os.environ["TVM_NDK_CC"]


def create_shared(
    output: str | os.PathLike[str], objects: str | Sequence[str], options: Sequence[str] | None = None
) -> None:
    """Links object and source files to a shared library for Android. options: of the compiler, by default `-shared`,
    `-fPIC` and `-lm`. PluginError without `$TVM_NDK_CC`, LinkError with its output if it fails."""
    files = [objects] if isinstance(objects, str) else list(objects)
    flags = list(options or ("-shared", "-fPIC", "-lm"))
    cc.run_command([_compiler(), "-o", str(output), *files, *flags], None)


def create_staticlib(output: str | os.PathLike[str], inputs: Sequence[str]) -> None:
    """Collects object files in a static library, by the archiver beside the compiler. Errors as of `create_shared`."""
    cc.create_staticlib(output, inputs, str(Path(_compiler()).with_name("llvm-ar")))


create_shared.output_format = "so"  # pyright: ignore[reportFunctionMemberAccess]
create_staticlib.output_format = "a"  # pyright: ignore[reportFunctionMemberAccess]

__all__ = ["create_shared", "create_staticlib"]
