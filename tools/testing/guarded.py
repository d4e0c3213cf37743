"""Arrays at the end of accessible memory."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_MAPS: list[mmap.mmap] = []
"""The memory of the arrays, which lives as long as the process."""


def array_before_guard(shape: Sequence[int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of zeros that ends where a page without access begins: native code that reads or writes past its end
    is stopped by the operating system. The array has at most the size of a page."""
    kind = np.dtype(dtype)
    page, size = mmap.PAGESIZE, int(np.prod(shape)) * kind.itemsize
    memory = mmap.mmap(-1, 2 * page)
    _MAPS.append(memory)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 0) == 0
    return np.frombuffer(memory, kind, offset=page - size, count=size // kind.itemsize).reshape(shape)
