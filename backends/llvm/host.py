"""The checks of native code that was saved: this machine can run it, and it has the signatures of its callers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path

from ...core.errors import LoadError
from ..runtime.code import NativeCode, signature_table, table_of
from ..saving.native import image_name
from .engine import ObjectCode, Processor, host_triple

_V2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
_V4 = f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl"
_HASWELL = f"{_V3} crc32 pclmul"
_SKYLAKE_X = f"{_V4} aes crc32 pclmul"
_CASCADELAKE = f"{_SKYLAKE_X} avx512vnni"
_ICELAKE = f"{_CASCADELAKE} avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vpopcntdq gfni sha vaes vpclmulqdq"
_ZEN = f"{_HASWELL} aes sha sse4a"
_FEATURES = {
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
}
"""The features of processors by name, as defined by the psABI of x86-64, and by LLVM without those whose instructions
it selects for intrinsics only."""


def check_host(code: NativeCode, path: Path) -> None:
    """Raises LoadError unless this machine has all features that native code was compiled for."""
    if code.triple != host_triple():
        raise LoadError(f"{path}: made for {code.triple}, this machine is {host_triple()}")
    host = Processor.host()
    needed, has = _enabled_features(code.features), _enabled_features(host.features)
    if code.cpu != host.cpu and not _names(code.features) >= _names(host.features):
        if code.cpu not in _FEATURES:
            raise LoadError(f"{path}: made for {code.cpu}, whose features it does not say, this machine is {host.cpu}")
        needed |= set(_FEATURES[code.cpu].split()) - _names(code.features)
    missing = sorted(needed - has)
    if missing:
        raise LoadError(
            f"{path}: made for {code.cpu} with {', '.join(missing)}, which this machine ({host.cpu}) does not have"
        )


def check_image(code: NativeCode, path: Path, device: Iterable[object] = ()) -> None:
    """Raises LoadError unless the object files of native code are for this machine, and the first contains the
    signatures of `code` and the facts about a device.
    """
    header = _host_header()
    for n, image in enumerate(code.images):
        if not image.startswith(header):
            got = image[: len(header)].hex(" ", 4)
            raise LoadError(
                f"{path}: {image_name(n)} begins with {got}, code of this machine with {header.hex(' ', 4)}"
            )
    table = table_of(code.images[0]) if code.images else None
    if table is None:
        raise LoadError(f"{path}: code.o contains no signatures")
    facts = signature_table(code.functions, code.failures, code.packed, code.externals, device)
    lines = (each.decode(errors="replace").split("\n") for each in (facts, table))
    for got, wanted in zip_longest(*lines, fillvalue="nothing"):
        if got != wanted:
            raise LoadError(f"{path}: stepwell.json describes {got}, code.o expects {wanted}")


_HEADERS = {b"\x7fELF": 20, b"\xcf\xfa\xed\xfe": 12}
"""The length of the part of an object file's header that depends on the machine alone (ELF, Mach-O), in bytes."""


@cache
def _host_header() -> bytes:
    (image,) = ObjectCode.of([""], Processor.host()).images
    return image[: _HEADERS.get(image[:4], 2)]


def _enabled_features(features: str) -> set[str]:
    """The enabled features; the last occurrence of each feature counts."""
    signs = {name[1:]: name[0] for name in features.split(",") if name}
    return {name for name, sign in signs.items() if sign == "+"}


def _names(features: str) -> set[str]:
    return {name[1:] for name in features.split(",") if name}
