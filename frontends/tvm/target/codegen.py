"""The compilers of targets: `tvm.target.codegen`."""

from __future__ import annotations

import llvmlite.binding as llvm

from ..absent import report_absent

__getattr__ = report_absent("tvm.target.codegen")


def llvm_version_major(allow_none: bool = False) -> int:
    """The major version of LLVM. allow_none: ignored; there is always one."""
    return llvm.llvm_version_info[0]


__all__ = ["llvm_version_major"]
