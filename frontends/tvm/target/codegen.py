"""The compilers of targets: `tvm.target.codegen`."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from ..absent import report_absent

__getattr__ = report_absent("tvm.target.codegen")


def llvm_version_major(allow_none: bool = False) -> int:
    """The major version of LLVM. allow_none: ignored; there is always one."""
    return llvm.llvm_version_info[0]


def llvm_lookup_intrinsic_id(name: str) -> str:
    """The name of an intrinsic of LLVM, by which it is called; TVM has a number for each."""
    return name


def llvm_get_intrinsic_name(intrin_id: str) -> str:
    """The name of an intrinsic, of the result of `llvm_lookup_intrinsic_id`."""
    return intrin_id


def target_has_features(cpu_features: str | Sequence[str], target: object = None) -> bool:
    """Whether this machine has features of a processor, with LLVM's names. target: ignored."""
    wanted = [cpu_features] if isinstance(cpu_features, str) else cpu_features
    features = llvm.get_host_cpu_features()
    return all(features.get(name, False) for name in wanted)


__all__ = ["llvm_get_intrinsic_name", "llvm_lookup_intrinsic_id", "llvm_version_major", "target_has_features"]
