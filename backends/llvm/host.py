"""The checks of native code that was saved: this machine can run it, and it has the signatures of its callers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path

from ...core.cpu_features import FEATURES_OF_NAMES, enabled_features
from ...core.errors import LoadError
from ..runtime.code import NativeCode, signature_table, table_of
from ..saving.native import image_name
from .engine import ObjectCode, Processor, host_triple


def check_host(code: NativeCode, path: Path) -> None:
    """Raises LoadError unless this machine has all features that native code was compiled for."""
    if code.triple != host_triple():
        raise LoadError(f"{path}: made for {code.triple}, this machine is {host_triple()}")
    if not _names_all_features(code) and code.cpu not in FEATURES_OF_NAMES:
        host = Processor.host().cpu
        raise LoadError(f"{path}: made for {code.cpu}, whose features it does not say, this machine is {host}")
    missing = missing_features(code)
    if missing:
        raise LoadError(f"{path}: {missing_text(code, missing)}")


def missing_features(code: NativeCode) -> list[str]:
    """The features that native code was compiled for and that this machine does not have, without those of a processor
    whose features are unknown."""
    host = Processor.host()
    if (code.cpu, code.features) == (host.cpu, host.features):
        return []
    changes = code.features.split(",")
    needed, has = enabled_features("", changes), enabled_features("", host.features.split(","))
    if not _names_all_features(code):
        needed = enabled_features(code.cpu, changes)
    return sorted(needed - has)


def missing_text(code: NativeCode, missing: Sequence[str]) -> str:
    """The statement that this machine lacks features of native code."""
    host = Processor.host().cpu
    return f"made for {code.cpu} with {', '.join(missing)}, which this machine ({host}) does not have"


def _names_all_features(code: NativeCode) -> bool:
    """Whether the features of native code are all that it may use: those of this machine by name."""
    host = Processor.host()
    return code.cpu == host.cpu or _names(code.features) >= _names(host.features)


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


def _names(features: str) -> set[str]:
    return {name[1:] for name in features.split(",") if name}
