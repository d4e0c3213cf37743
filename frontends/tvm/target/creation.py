"""Functions that create targets, as in TVM since v0.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .target import Target


def create(target: str | Mapping[str, Any] | Target) -> Target:
    """The target denoted by text, a dictionary or a tag, as TVM called its constructor until v0.7."""
    return Target(target)


def cuda(model: str = "unknown", arch: str | None = None, options: str | Sequence[str] | None = None) -> Target:
    """A GPU. model: its name, which selects nothing.  arch: its architecture, `sm_80`.  options: further words."""
    words = [f"-model={model}", *([f"-arch={arch}"] if arch else [])]
    return Target(" ".join(["cuda", *words, *_words(options)]))


def llvm(options: str | Sequence[str] | None = None) -> Target:
    """This machine. options: `-mcpu=skylake-avx512`, ..."""
    return Target(" ".join(["llvm", *_words(options)]))


def arm_cpu(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A processor of ARM, for which code is generated on such a machine alone. model: its name, for TVM only."""
    return Target(" ".join(["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}", *_words(options)]))


def micro(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A microcontroller, for which C is generated. model: its name, for TVM only."""
    return Target(" ".join(["c", f"-model={model}", *_words(options)]))


def rasp(options: str | Sequence[str] | None = None) -> Target:
    """A Raspberry Pi 3, as `arm_cpu`."""
    return arm_cpu("rasp3b", options)


def mali(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A GPU of ARM, for which no code is generated. model: its name."""
    return Target(" ".join(["opencl", "-device=mali", f"-model={model}", *_words(options)]))


def rocm(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A GPU of AMD, for which no code is generated. model: its name."""
    return Target(" ".join(["rocm", f"-model={model}", *_words(options)]))


def intel_graphics(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A GPU of Intel, for which no code is generated. model: its name."""
    return Target(" ".join(["opencl", "-device=intel_graphics", f"-model={model}", *_words(options)]))


def bifrost(model: str = "unknown", options: str | Sequence[str] | None = None) -> Target:
    """A GPU of ARM of the family Bifrost, for which no code is generated. model: its name."""
    return Target(" ".join(["opencl", "-device=bifrost", f"-model={model}", *_words(options)]))


def riscv_cpu(model: str = "sifive-u54", options: str | Sequence[str] | None = None) -> Target:
    """A processor of RISC-V, for which no code is generated here. model: its name."""
    return Target(
        " ".join(["llvm", "-keys=cpu", "-mtriple=riscv64-unknown-linux-gnu", f"-model={model}", *_words(options)])
    )


def _words(options: str | Sequence[str] | None) -> list[str]:
    return options.split() if isinstance(options, str) else list(options or ())
