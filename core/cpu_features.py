"""The features of processors by name."""

from __future__ import annotations

from collections.abc import Iterable

_V2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
_V4 = f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl"
_HASWELL = f"{_V3} crc32 pclmul"
_SKYLAKE_X = f"{_V4} aes crc32 pclmul"
_CASCADELAKE = f"{_SKYLAKE_X} avx512vnni"
_ICELAKE = f"{_CASCADELAKE} avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vpopcntdq gfni sha vaes vpclmulqdq"
_ZEN = f"{_HASWELL} aes sha sse4a"
_OF_ZEN_4 = (
    "avx512bf16 avx512bitalg avx512bw avx512cd avx512dq avx512f avx512ifma avx512vbmi avx512vbmi2 avx512vl avx512vnni "
    "avx512vpopcntdq gfni"
)
FEATURES_OF_NAMES: dict[str, frozenset[str]] = {
    name: frozenset(features.split())
    for name, features in {
        "generic": "",
        "x86-64": "",
        "x86-64-v2": _V2,
        "x86-64-v3": _V3,
        "x86-64-v4": _V4,
        "corei7": f"{_V2} crc32",
        "nehalem": f"{_V2} crc32",
        "westmere": f"{_V2} crc32 pclmul",
        "corei7-avx": f"{_V2} avx crc32 pclmul xsave",
        "sandybridge": f"{_V2} avx crc32 pclmul xsave",
        "core-avx-i": f"{_V2} avx crc32 f16c pclmul xsave",
        "ivybridge": f"{_V2} avx crc32 f16c pclmul xsave",
        "core-avx2": _HASWELL,
        "haswell": _HASWELL,
        "broadwell": f"{_HASWELL} adx",
        "skylake": f"{_HASWELL} adx aes",
        "skylake-avx512": f"{_SKYLAKE_X} adx",
        "skx": f"{_SKYLAKE_X} adx",
        "cascadelake": f"{_CASCADELAKE} adx",
        "icelake-client": f"{_ICELAKE} adx",
        "icelake-server": f"{_ICELAKE} adx",
        "znver1": f"{_ZEN} adx",
        "znver2": f"{_ZEN} adx",
        "znver3": f"{_ZEN} adx vaes vpclmulqdq",
        "znver4": f"{_ZEN} adx vaes vpclmulqdq {_OF_ZEN_4}",
        "sapphirerapids": f"{_ICELAKE} adx avx512bf16 avx512fp16 avxvnni",
        "emeraldrapids": f"{_ICELAKE} adx avx512bf16 avx512fp16 avxvnni",
    }.items()
}
"""The features of processors by name, as defined by the psABI of x86-64, and by LLVM without those whose instructions
it selects for intrinsics only."""


def enabled_features(name: str, changes: Iterable[str]) -> frozenset[str]:
    """The features of a processor: those of its name, none for a name that is not in `FEATURES_OF_NAMES`, and changes.

    changes: features to enable and disable, `+avx2` and `-fma`; the last of each counts.
    """
    enabled = set(FEATURES_OF_NAMES.get(name, ()))
    for change in filter(None, changes):
        (enabled.add if change[0] == "+" else enabled.discard)(change[1:])
    return frozenset(enabled)
