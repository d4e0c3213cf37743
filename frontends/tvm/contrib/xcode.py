"""The tools of Xcode: `tvm.contrib.xcode`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from ....core.errors import PluginError
from ..absent import report_absent
from . import cc

__getattr__ = report_absent("tvm.contrib.xcode")

_IOS = ("iphoneos", "iphonesimulator")


def xcrun(cmd: Sequence[str]) -> str:
    """The output of a tool of Xcode. PluginError without Xcode, LinkError with the output if the tool fails."""
    tool = shutil.which("xcrun")
    if tool is None:
        raise PluginError(f"{' '.join(cmd)}: no Xcode, the program xcrun is missing")
    return cc.run_command([tool, *cmd], None).strip()


def create_dylib(
    output: str | os.PathLike[str],
    objects: str | Sequence[str],
    arch: str,
    sdk: str = "macosx",
    min_os_version: str | None = None,
) -> None:
    """Links object files to a dynamic library of Apple's systems. arch: the processor.  sdk: macosx, iphoneos or
    iphonesimulator.  min_os_version: of iOS, 13.0 by default. Errors as of `xcrun`."""
    clang, root = (xcrun(["-sdk", sdk, *query]) for query in (["-find", "clang"], ["--show-sdk-path"]))
    files = [objects] if isinstance(objects, str) else list(objects)
    version = [f"-mios-version-min={min_os_version or '13.0'}"] if sdk in _IOS or min_os_version else []
    command = [clang, "-dynamiclib", "-arch", arch, "-isysroot", root, *version, "-o", str(output), *files]
    cc.run_command(command, None)


create_dylib.output_format = "dylib"  # pyright: ignore[reportFunctionMemberAccess]

__all__ = ["create_dylib", "xcrun"]
