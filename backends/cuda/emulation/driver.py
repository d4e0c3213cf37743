"""The runtime of the emulation as a driver of CUDA: memory, launches and errors."""

from __future__ import annotations

import ctypes
import re
import weakref
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import ArgumentError, ExecutionError
from ....core.sizes import byte_count
from ...runtime.memory import array_at
from .compile import runtime_library, source_line


class EmulationError(ExecutionError):
    """Undefined behaviour of CUDA that the emulation detected, or a launch that the driver would reject.

    reason: the error without source text.  lines: the line numbers in the text that the error refers to.
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
    "module": (_POINTER, [_TEXT, _TEXT, _POINTER, _INT]),
    "variable": (None, [_POINTER, _TEXT, _POINTER, _SIZE, _INT]),
    "kernel": (None, [_POINTER, _POINTER, _UNSIGNED]),
    "forget": (None, [_POINTER]),
}


@cache
def runtime_functions() -> dict[str, Any]:
    """The functions `stepwell_emulated_*` of the runtime, by the rest of their names."""
    library = ctypes.CDLL(str(runtime_library()))
    functions: dict[str, Any] = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        functions[name] = getattr(library, f"stepwell_emulated_{name}")
        functions[name].restype = result
        functions[name].argtypes = arguments
    return functions


def driver_addresses() -> dict[str, int]:
    """Addresses of the functions for host code: `launch`, `set_attribute`, `alloc_async`, `free_async`, `copy_async`
    and `wait` (signatures of cuLaunchKernel, cuFuncSetAttribute, cuMemAllocAsync, cuMemFreeAsync, cuMemcpyAsync and
    cuStreamSynchronize), `alloc(size, name)`, `free(address)` and `error()`. Memory is the host's, so memcpy copies it.
    """
    names = ("launch", "set_attribute", "alloc", "free", "alloc_async", "free_async", "copy_async", "wait", "error")
    return {name: ctypes.cast(runtime_functions()[name], ctypes.c_void_p).value or 0 for name in names}


# Errors

_sources: dict[str, list[str]] = {}
"""The source lines of each live module, by the path of its library."""


def remember_source(library: Path, source: str) -> None:
    """Registers the source of a library, for errors."""
    _sources[str(library)] = source.splitlines()


def forget_source(library: Path) -> None:
    _sources.pop(str(library), None)


_CODE = re.compile(r" in <([^<>]*)\+0x([0-9a-f]+)>")


def last_error(library: Path | None = None) -> EmulationError:
    """The error of the last launch of this process.

    library: the library of the kernel, to show lines of its source. By default the library named in the error, if any.
    """
    message = runtime_functions()["error"]().decode()
    code = _CODE.search(message)
    path = library or (Path(code[1]) if code else None)
    reason = _CODE.sub(_line_of, message)
    lines = tuple(dict.fromkeys(int(number) for number in re.findall(r" in line (\d+)", reason)))
    text = _sources.get(str(path), [])
    shown = [f"{number:5} | {text[number - 1]}" for number in sorted(lines) if number <= len(text)]
    return EmulationError("\n".join([reason, *shown]), reason, lines)


def _line_of(code: re.Match[str]) -> str:
    line = source_line(Path(code[1]), int(code[2], 16))
    return "" if line is None else f" in line {line}"


# Memory


class DeviceMemory:
    """Memory that kernels may access, with no other accessible memory near it. It is freed with this object.

    address: of its first byte, a multiple of 256.  size: in bytes.  name: its name in errors.
    """

    def __init__(self, size: int, name: str = "a buffer"):
        """Allocates memory with undefined bits (NaN as floats)."""
        address = runtime_functions()["alloc"](size, name.encode())
        if address is None:
            raise ArgumentError(f"{name}: there is no memory for {size} bytes")
        self.address: int = address
        self.size = size
        self.name = name
        weakref.finalize(self, runtime_functions()["free"], address).atexit = False

    @staticmethod
    def of(array: np.ndarray[Any, Any], name: str = "a buffer") -> DeviceMemory:
        """A C-contiguous copy of an array."""
        memory = DeviceMemory(array.nbytes, name)
        memory.view(array.shape, array.dtype)[...] = array
        return memory

    def view(self, shape: tuple[int, ...], dtype: np.dtype[Any] | type) -> np.ndarray[Any, Any]:
        """The memory as a C-contiguous host array, without a copy."""
        dtype = np.dtype(dtype)
        if (required := byte_count(shape, dtype.itemsize)) > self.size:
            raise ArgumentError(f"{self.name}: an array of {required} bytes is asked for, it has {self.size}")
        # As bytes, because numpy has no type strings for the small floats of other packages.
        whole = array_at(self.address, (required,), None, np.dtype(np.uint8), owner=self)
        return whole.view(dtype).reshape(shape)
