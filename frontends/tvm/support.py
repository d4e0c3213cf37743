"""The place of the tools of `tvm.contrib` since v0.25: `tvm.support`."""

from __future__ import annotations

import platform
import sys

import llvmlite
import llvmlite.binding as llvm
import xdsl

from .absent import report_absent
from .contrib import cc, clang, ndk, nvcc, tar, utils, xcode
from .version import __version__

__getattr__ = report_absent("tvm.support")


def libinfo() -> dict[str, str]:
    """The versions of the packages that compile programs."""
    return {
        "TVM_VERSION": __version__,
        "LLVM_VERSION": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
        "xdsl": str(xdsl.__version__),
    }


def describe() -> None:
    """Prints the versions of Python, of the packages that compile programs, and of the system."""
    print(f"Python: {sys.version}")
    for name, version in libinfo().items():
        print(f"{name}: {version}")
    print(f"System: {platform.platform()}")


__all__ = ["cc", "clang", "describe", "libinfo", "ndk", "nvcc", "tar", "utils", "xcode"]
