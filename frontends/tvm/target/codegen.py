"""The compilers of targets: `tvm.target.codegen`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from ....backends.llvm.engine import Processor, host_triple
from ....core.cpu import cpu_of
from ....core.cpu_features import FEATURES_OF_NAMES
from ..absent import report_absent
from .target import Target, target_of

__getattr__ = report_absent("tvm.target.codegen")


def build_module(mod: Any, target: Target | str) -> Any:
    """Compiles a module of functions on buffers, as `tvm.compile` does. Errors as of `tvm.compile`."""
    # lazy: a part of the package itself
    from ..driver import build

    return build(mod, target=target)


def llvm_version_major(allow_none: bool = False) -> int:
    """The major version of LLVM. allow_none: ignored; there is always one."""
    return llvm.llvm_version_info[0]


def llvm_lookup_intrinsic_id(name: str) -> str:
    """The name of an intrinsic of LLVM, by which it is called; TVM has a number for each."""
    return name


def llvm_get_intrinsic_name(intrin_id: str) -> str:
    """The name of an intrinsic, of the result of `llvm_lookup_intrinsic_id`."""
    return intrin_id


# Processors


def llvm_get_system_triple() -> str:
    """LLVM's triple of this machine and system: `x86_64-unknown-linux-gnu`."""
    return host_triple()


def llvm_get_system_cpu() -> str:
    """LLVM's name of the processor of this machine."""
    return Processor.host().cpu


def llvm_get_system_x86_vendor() -> str:
    """The vendor of the processor of this machine as its instruction `cpuid` says, `unimplemented` where it is unknown
    or no x86."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(errors="replace").splitlines() if info.exists() else []
    vendor = next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")
    return {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(vendor, "unimplemented")


def llvm_get_targets() -> list[str]:
    """LLVM's names of the architectures that native code can be compiled for: that of this machine."""
    return [llvm.Target.from_default_triple().name]


def llvm_get_cpu_archlist(target: Target | None = None) -> list[str]:
    """The names of processors whose features are known. target: of this machine. LLVM knows more names, which
    `-mcpu` accepts. UnsupportedError for a target of another machine."""
    _processor(target)
    names = FEATURES_OF_NAMES if platform.machine() in ("x86_64", "AMD64") else ("generic",)
    return sorted({*names, llvm_get_system_cpu()})


def llvm_get_cpu_features(target: Target | None = None) -> set[str]:
    """The features of the processor of a target, by LLVM's names. target: by default the current target, or this
    machine. UnsupportedError for a target of another machine."""
    return set(_processor(target).instructions)


def llvm_cpu_has_features(cpu_features: str | Sequence[str], target: Target | None = None) -> bool:
    """Whether the processor of a target has features, with LLVM's names. target, errors: as of
    `llvm_get_cpu_features`."""
    wanted = [cpu_features] if isinstance(cpu_features, str) else cpu_features
    return set(wanted) <= llvm_get_cpu_features(target)


target_has_features = llvm_cpu_has_features


def llvm_get_vector_width(target: Target | None = None) -> int:
    """The bits of a vector register of the processor of a target. target, errors: as of `llvm_get_cpu_features`."""
    return 8 * cpu_of(target_of(target).compiled).vector_bytes


def _processor(target: Target | None) -> Processor:
    return Processor.of(target_of(target).compiled)


__all__ = [
    "build_module", "llvm_cpu_has_features", "llvm_get_cpu_archlist", "llvm_get_cpu_features",
    "llvm_get_intrinsic_name", "llvm_get_system_cpu", "llvm_get_system_triple", "llvm_get_system_x86_vendor",
    "llvm_get_targets", "llvm_get_vector_width", "llvm_lookup_intrinsic_id", "llvm_version_major",
    "target_has_features",
]  # fmt: skip
