"""The map by which `perf` names the functions of native code: `/tmp/perf-PID.map`, if the environment requests it.

A program is then compiled as one object file, and not taken from the cache: the addresses of its local functions follow
from that of an exported function.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "STEPWELL_PERF_MAP"
"""The environment variable that, if it is 1, requests the map."""

_SYMBOL_TABLE, _FUNCTION = 2, 2  # SHT_SYMTAB, STT_FUNC
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class FunctionSymbol:
    """A function of an object file. section: its number.  offset: in the section, in bytes."""

    name: str
    section: int
    offset: int
    size: int


def is_requested() -> bool:
    """Whether the environment requests the map."""
    return os.environ.get(VARIABLE) == "1"


def add_to_perf_map(images: Iterable[bytes], exports: Mapping[str, int]) -> None:
    """Adds the functions of linked object files to the map of this process. exports: the addresses of exported
    functions, of which each object file has one."""
    with Path(f"/tmp/perf-{os.getpid()}.map").open("a", encoding="utf-8") as file:
        for image in images:
            symbols = list(functions_of(image))
            starts = {each.section: exports[each.name] - each.offset for each in symbols if each.name in exports}
            for each in symbols:
                if each.section in starts:
                    file.write(f"{starts[each.section] + each.offset:x} {each.size:x} {each.name}\n")


def functions_of(image: bytes) -> Iterator[FunctionSymbol]:
    """The functions of an object file in the format ELF of 64 bits."""
    (table,), (count,) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<H", image, 60)
    sections = [_SECTION.unpack_from(image, table + n * _SECTION.size) for n in range(count)]
    for _, kind, _, _, start, size, names, *_ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        texts = sections[names][4]
        for place in range(start, start + size, _SYMBOL.size):
            name, info, _, section, offset, length = _SYMBOL.unpack_from(image, place)
            if info & 15 == _FUNCTION and 0 < section < count:
                end = image.index(b"\0", texts + name)
                yield FunctionSymbol(image[texts + name : end].decode(errors="replace"), section, offset, length)
