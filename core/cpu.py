"""Processors as schedules and passes see them: registers, instructions and caches."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from .cpu_features import enabled_features
from .diagnostics import did_you_mean
from .errors import OptionError
from .processors import available_processors
from .target import Target

_FAST = 128
"""The bytes of sums that a fast core updates in a cycle."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class CpuModel:
    """The facts about a processor that determine its code, apart from the selection of instructions.

    vector_bytes, vector_registers: the size of a vector register, and the number of the registers.  fma: whether an
    instruction multiplies and adds with one rounding.  masks: whether instructions load and store the lanes of a mask,
    for all elements and widths of vectors, at the speed of one access.  byte_products: whether an instruction adds the
    products of four bytes, of uint8 and int8, to each lane of a vector of int32.  streaming: whether stores that bypass
    the caches are faster for results larger than the caches.  updates_per_cycle: the number of vectors of sums that a
    core updates in a cycle.  l1_bytes, l2_bytes: the caches of a core for data.
    l3_bytes: the cache of all cores.  cores: the number of cores.  memory_cycles: the cycles from the request of a
    cache line that is in no cache of the core to its arrival.

    OptionError for a number below 1.
    """

    vector_bytes: int = 16
    vector_registers: int = 16
    fma: bool = False
    masks: bool = False
    byte_products: bool = False
    streaming: bool = False
    updates_per_cycle: int = 2
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 512 * 1024
    l3_bytes: int = 16 * 1024**2
    cores: int = 1
    memory_cycles: int = 250

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            if getattr(self, name) < 1:
                raise OptionError(f"{name} {getattr(self, name)} of a processor, expected a positive number")
        if self.vector_bytes.bit_count() != 1:
            raise OptionError(f"vector_bytes {self.vector_bytes} of a processor, expected a power of two")

    @property
    def scales(self) -> bool:
        """Whether an instruction multiplies a vector of float32 by powers of two: VSCALEFPS of AVX-512."""
        return self.vector_bytes == 64 and self.masks

    @property
    def is_fast(self) -> bool:
        """Whether a core updates sums of two cache lines in a cycle, so that it waits for operands in any cache, and
        for rows that are far from each other."""
        return self.updates_per_cycle * self.vector_bytes >= _FAST

    def lanes(self, element_bytes: int) -> int:
        """The number of elements of a size in a vector register; 1 for elements of its size or larger."""
        return max(self.vector_bytes // element_bytes, 1)

    @staticmethod
    def from_text(text: str) -> CpuModel:
        """The processor denoted by a name of `CPU_MODELS` or `host`, and by facts: `avx2,l2_bytes=1048576,cores=2`.

        OptionError for an unknown name or fact.
        """
        name, *facts = text.split(",")
        known = {"host", *CPU_MODELS}
        if name not in known:
            raise OptionError(
                f"unknown processor {name!r}{did_you_mean(name, known)} (there are {', '.join(sorted(known))})"
            )
        model = host_cpu() if name == "host" else CPU_MODELS[name]
        return replace(model, **dict(map(_fact, facts)))

    def __str__(self) -> str:
        return ",".join(["sse", *(f"{each.name}={int(getattr(self, each.name))}" for each in fields(self))])


_NUMBERS = (
    "vector_bytes",
    "vector_registers",
    "updates_per_cycle",
    "l1_bytes",
    "l2_bytes",
    "l3_bytes",
    "cores",
    "memory_cycles",
)

_HALVES = {"znver4", "cannonlake", "icelake-client", "rocketlake", "tigerlake"}
"""The processors of LLVM that multiply vectors of 512 bits by units of 256 bits, or by one unit."""

CPU_MODELS = {
    "sse": CpuModel(streaming=True),
    "avx": CpuModel(vector_bytes=32, streaming=True),
    "avx2": CpuModel(vector_bytes=32, fma=True, streaming=True),
    "avx512": CpuModel(64, 32, fma=True, masks=True, streaming=True, l2_bytes=1024**2),
    "neon": CpuModel(vector_registers=32, fma=True),
}
"""Processors by the name of their vector instructions, with the least caches of common ones: x86-64 with SSE2 to
AVX-512, and 64-bit Arm. Processors of Arm detect stores of whole lines by themselves, without streaming stores."""


def _fact(word: str) -> tuple[str, int | bool]:
    name, _, value = word.partition("=")
    known = [each.name for each in fields(CpuModel)]
    if name not in known or not value.isdecimal():
        raise OptionError(f"fact {word!r} of a processor, expected a number of {', '.join(known)}")
    return name, int(value) if name in _NUMBERS else value != "0"


@cache
def host_cpu() -> CpuModel:
    """The processor of this machine."""
    return cpu_of(Target())


@cache
def cpu_of(target: Target) -> CpuModel:
    """The processor of a target, with the caches and cores of this machine.

    Its instructions are those of the features of `mattr` and of the name `mcpu`, without which they are those of this
    machine. LLVM knows more names than `FEATURES_OF_NAMES`: they count for the vector registers and for `fma` alone.
    """
    # lazy: LLVM is needed for native code only
    import llvmlite.binding as llvm

    if target.mcpu:
        model = _compiled_for(target.mcpu, ",".join(features_of_named(target)))
        features = enabled_features(target.mcpu, target.mattr)
    else:
        features = enabled_features("", [*llvm.get_host_cpu_features().flatten().split(","), *target.mattr])
        model = _with_features(features)
    name = target.mcpu or llvm.get_host_cpu_name()
    facts = {
        "updates_per_cycle": 1 if model.vector_bytes == 64 and name in _HALVES else 2,
        "masks": {"avx512bw", "avx512vl"} <= features,
        "byte_products": {"avx512vnni", "avx512vl"} <= features,
    }
    return replace(model, **facts, cores=available_processors(), **_cache_sizes())


def features_of_named(target: Target) -> tuple[str, ...]:
    """The features of a target that names its processor. With that of 64 bits, LLVM reports a name that it does not
    know and ignores it; without, it ends the process.
    """
    return target.mattr if platform.machine() in ("aarch64", "arm64") else ("+64bit", *target.mattr)


def _with_features(features: AbstractSet[str]) -> CpuModel:
    """The processor with some features of LLVM."""
    if platform.machine() in ("aarch64", "arm64"):
        return CPU_MODELS["neon"]
    name = "avx512" if "avx512f" in features else "avx" if "avx" in features else "sse"
    return replace(CPU_MODELS[name], fma="fma" in features)


_PROBE = """
define <16 x float> @f(<16 x float> %a, <16 x float> %b) {
  %c = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %a)
  ret <16 x float> %c
}
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
"""


def _compiled_for(cpu: str, features: str) -> CpuModel:
    """The processor with the instructions by which LLVM multiplies and adds 16 floats for a named processor."""
    # lazy: LLVM is needed for native code only
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=1)
    code = machine.emit_assembly(llvm.parse_assembly(_PROBE))
    if platform.machine() in ("aarch64", "arm64"):
        return CPU_MODELS["neon"]
    name = next((name for name, register in (("avx512", "zmm"), ("avx", "ymm")) if f"%{register}" in code), "sse")
    return replace(CPU_MODELS[name], fma="vfmadd" in code)


def _cache_sizes() -> dict[str, int]:
    """The sizes of the caches for data of this machine, as far as Linux states them."""
    sizes: dict[str, int] = {}
    for folder in sorted(_CACHES.glob("index*")) if os.name == "posix" else ():
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        match = re.fullmatch(r"(\d+)([KMG]?)", size)
        if match is not None and kind in ("Data", "Unified") and level in ("1", "2", "3"):
            sizes[f"l{level}_bytes"] = int(match[1]) * _UNITS[match[2]]
    return {name: size for name, size in sizes.items() if size}
