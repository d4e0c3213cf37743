"""The runtime as a process has it: memory, launches and what went wrong, as of a driver of CUDA."""

from __future__ import annotations

import ctypes
import re
import weakref
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import ArgumentError, ExecutionError
from ...runtime.memory import array_at
from .compile import runtime_library, source_line


class EmulationError(ExecutionError):
    """The emulation found what CUDA leaves undefined, or a launch that the driver would refuse.

    reason: what was found.  lines: the numbers of the lines of the text that it is about.
    """

    def __init__(self, text: str, reason: str, lines: tuple[int, ...]):
        super().__init__(text)
        self.reason = reason
        self.lines = lines


_POINTER, _UNSIGNED, _SIZE, _TEXT, _INT = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "launch": (_INT, [_POINTER, *[_UNSIGNED] * 7, _POINTER, _POINTER, _POINTER]),
    "set_attribute": (_INT, [_POINTER, _INT, _INT]),
    "error": (_TEXT, []),
    "alloc": (_POINTER, [_SIZE, _TEXT]),
    "free": (_INT, [_POINTER]),
    "alloc_async": (_INT, [_POINTER, _SIZE, _POINTER]),
    "free_async": (_INT, [_POINTER, _POINTER]),
    "copy_async": (_INT, [_POINTER, _POINTER, _SIZE, _POINTER]),
    "wait": (_INT, [_POINTER]),
    "module": (_POINTER, [_TEXT, _TEXT, _POINTER]),
    "variable": (None, [_POINTER, _TEXT, _POINTER, _SIZE, _INT]),
    "kernel": (None, [_POINTER, _POINTER, _UNSIGNED]),
    "forget": (None, [_POINTER]),
}


@cache
def driver() -> dict[str, Any]:
    """The functions `stepwell_emulated_*` of the runtime, by what follows that."""
    library = ctypes.CDLL(str(runtime_library()))
    functions: dict[str, Any] = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        functions[name] = getattr(library, f"stepwell_emulated_{name}")
        functions[name].restype = result
        functions[name].argtypes = arguments
    return functions


def driver_addresses() -> dict[str, int]:
    """Addresses of what host code calls: `launch`, `set_attribute`, `alloc_async`, `free_async`, `copy_async` and
    `wait` (signatures of cuLaunchKernel, cuFuncSetAttribute, cuMemAllocAsync, cuMemFreeAsync, cuMemcpyAsync and
    cuStreamSynchronize), `alloc(size, name)`, `free(address)` and `error()`. Memory is the host's, so memcpy copies it.
    """
    names = ("launch", "set_attribute", "alloc", "free", "alloc_async", "free_async", "copy_async", "wait", "error")
    return {name: ctypes.cast(driver()[name], ctypes.c_void_p).value or 0 for name in names}


# Errors

_sources: dict[str, list[str]] = {}
"""The lines of the text of each module that lives, by the path of its library."""


def remember_source(library: Path, source: str) -> None:
    """The text that a library is made of, for errors."""
    _sources[str(library)] = source.splitlines()


def forget_source(library: Path) -> None:
    _sources.pop(str(library), None)


_CODE = re.compile(r" in <([^<>]*)\+0x([0-9a-f]+)>")


def last_error(library: Path | None = None) -> EmulationError:
    """What the last launch of this process failed with.

    library: of the kernel, to show lines of its text. Without it they are shown if the error itself says where it is.
    """
    said = driver()["error"]().decode()
    place = _CODE.search(said)
    path = library or (Path(place[1]) if place else None)
    reason = _CODE.sub(_line_of, said)
    lines = tuple(dict.fromkeys(int(number) for number in re.findall(r" in line (\d+)", reason)))
    text = _sources.get(str(path), [])
    shown = [f"{number:5} | {text[number - 1]}" for number in sorted(lines) if number <= len(text)]
    return EmulationError("\n".join([reason, *shown]), reason, lines)


def _line_of(place: re.Match[str]) -> str:
    line = source_line(Path(place[1]), int(place[2], 16))
    return "" if line is None else f" in line {line}"


# Memory


class DeviceMemory:
    """Memory that kernels may touch, with nothing near it that they may. It is freed with this object.

    address: of its first byte, a multiple of 256.  size: in bytes.  name: what errors call it.
    """

    def __init__(self, size: int, name: str = "a buffer"):
        """Memory that holds undefined bits (NaN as floats)."""
        address = driver()["alloc"](size, name.encode())
        if address is None:
            raise ArgumentError(f"{name}: there is no memory for {size} bytes")
        self.address: int = address
        self.size = size
        self.name = name
        weakref.finalize(self, driver()["free"], address).atexit = False

    @staticmethod
    def of(array: np.ndarray[Any, Any], name: str = "a buffer") -> DeviceMemory:
        """A copy of an array, C-contiguous."""
        memory = DeviceMemory(array.nbytes, name)
        memory.view(array.shape, array.dtype)[...] = array
        return memory

    def view(self, shape: tuple[int, ...], dtype: np.dtype[Any] | type) -> np.ndarray[Any, Any]:
        """The memory itself as an array of the host, C-contiguous from its begin."""
        dtype = np.dtype(dtype)
        if (needed := dtype.itemsize * int(np.prod(shape, dtype=np.int64))) > self.size:
            raise ArgumentError(f"{self.name}: an array of {needed} bytes is asked for, it has {self.size}")
        # As bytes, because numpy knows small floats of other packages by no text.
        whole = array_at(self.address, (needed,), None, np.dtype(np.uint8), owner=self)
        return whole.view(dtype).reshape(shape)
