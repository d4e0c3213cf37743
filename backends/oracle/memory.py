"""The memory of generated code: bytes with records of initialization and of accesses, and the pointers
and buffers that refer to it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np

from ...core.dtypes import numpy_dtype
from ..runtime.memory import strided_view
from .numerics import short_name

_GARBAGE = 0xA5


class Fault(Exception):
    """Excluded behaviour of the running program; the caller of the generated code adds the source line."""


@dataclass(eq=False)
class Memory:
    """Contiguous bytes.

    unit: bytes per entry of `written`, `writers` and `readers`.  written: 0 for uninitialized entries.  writers,
    readers: the last strand that wrote an entry, and the earliest strand that may still be reading it (0: none).
    private: loops (by their numbers in generated code) whose iterations each have a memory of their own.  constant:
    must not be written.
    """

    name: str
    raw: np.ndarray[Any, Any]
    unit: int
    written: bytearray
    constant: bool = False
    private: frozenset[int] = frozenset()
    writers: list[int] = field(default_factory=list[int])
    readers: list[int] = field(default_factory=list[int])

    @property
    def size(self) -> int:
        """The size in bytes."""
        return len(self.raw)

    def elements(self, dtype: str) -> memoryview:
        """All bytes as elements of a type; types with a short name as their bits."""
        step = numpy_dtype(dtype).itemsize
        whole = self.raw[: self.size // step * step]
        return memoryview(cast(Any, whole.view(f"u{step}" if short_name(dtype) else dtype)))

    def track(self) -> list[int]:
        """The writers, recorded from the first call on."""
        if not self.writers:
            entries = -(-self.size // self.unit)
            self.writers, self.readers = [0] * entries, [0] * entries
        return self.writers


def allocate(
    name: str, dtype: str, count: int, unit: int, private: frozenset[int] = frozenset(), written: bool = False
) -> Memory:
    """Memory for `count` elements, filled with the same garbage in every run."""
    size = max(count, 0) * numpy_dtype(dtype).itemsize
    mask = (b"\1" if written else b"\0") * (-(-size // unit))
    return Memory(name, np.full(size, _GARBAGE, np.uint8), unit, bytearray(mask), private=private)


def constant(name: str, array: np.ndarray[Any, Any], unit: int) -> Memory:
    """Constant memory with the elements of `array`."""
    raw = np.frombuffer(array.tobytes(), np.uint8)
    return Memory(name, raw, unit, bytearray(b"\1" * (-(-len(raw) // unit))), constant=True)


@dataclass(frozen=True, eq=False)
class Pointer:
    """An address: an offset in bytes into a memory (negative before it)."""

    memory: Memory
    offset: int = 0

    def element(self, dtype: str) -> int:
        """The address in elements of a type."""
        quotient, rest = divmod(self.offset, numpy_dtype(dtype).itemsize)
        if rest:
            raise Fault(f"{self.memory.name} is looked at as {dtype} at byte {self.offset}, which is not aligned")
        return quotient

    def moved(self, elements: int, dtype: str) -> Pointer:
        return Pointer(self.memory, self.offset + elements * numpy_dtype(dtype).itemsize)

    @property
    def address(self) -> int:
        return self.memory.raw.ctypes.data + self.offset


@dataclass(frozen=True, eq=False)
class View:
    """A buffer argument: strides and offset in elements, the offset of element 0 in its memory."""

    memory: Memory
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def array(self) -> np.ndarray[Any, Any]:
        """A numpy array over the same memory."""
        step = numpy_dtype(self.dtype).itemsize
        whole = self.memory.raw[: self.memory.size // step * step].view(numpy_dtype(self.dtype))
        if prod(self.shape) == 0:
            return whole[:0].reshape(self.shape)
        strides = [s * step for s in self.strides]
        return strided_view(whole[self.offset :], self.shape, strides)

    def entries(self) -> Iterator[int]:
        """The entries of the memory's record that the elements cover."""
        step = numpy_dtype(self.dtype).itemsize
        for index in np.ndindex(*self.shape):
            start = (self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))) * step
            yield from range(start // self.memory.unit, -(-(start + step) // self.memory.unit))

    def bytes(self) -> tuple[int, int]:
        """The start and end address of its bytes in the process."""
        step = numpy_dtype(self.dtype).itemsize
        if prod(self.shape) == 0:
            return 0, 0
        start = self.memory.raw.ctypes.data + self.offset * step
        return start, start + (sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + 1) * step


def compact_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def view_of_array(name: str, array: np.ndarray[Any, Any], dtype: str, unit: int, written: bool) -> View:
    """An array as a buffer over the bytes from its first element to its last; strides must not be negative."""
    step = array.itemsize
    strides = tuple(s // step for s in array.strides)
    extent = sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)) + 1 if array.size else 0
    flat = strided_view(array, (extent,), (step,), array.flags.writeable)
    raw = flat.view(np.uint8) if extent else np.zeros(0, np.uint8)
    mask = bytearray((b"\1" if written else b"\0") * (-(-len(raw) // unit)))
    memory = Memory(name, raw, unit, mask, constant=not array.flags.writeable)
    return View(memory, dtype, array.shape, strides)


# Races


class Races:
    """The accesses of the iterations of concurrent loops, checked for races.

    A *strand* is an iteration of such a loop together with its enclosing iterations; strand 0 is the code outside of
    them all. Two accesses may be concurrent if their strands diverge at two iterations of one run of one loop.
    """

    def __init__(self) -> None:
        self._paths: list[tuple[tuple[int, int, int], ...]] = [()]
        self._runs = 0

    def run(self) -> int:
        """The number of a new run of a loop."""
        self._runs += 1
        return self._runs

    def strand(self, outer: int, run: int, loop: int, iteration: int) -> int:
        """The strand of an iteration inside of strand `outer`."""
        self._paths.append((*self._paths[outer], (run, loop, iteration)))
        return len(self._paths) - 1

    def _divergence(self, earlier: int, now: int) -> tuple[int, int, int] | None:
        """The (loop, iteration, iteration) where two strands diverge at iterations of one run of a loop, else None."""
        for a, b in zip(self._paths[earlier], self._paths[now], strict=False):
            if a != b:
                return (a[1], a[2], b[2]) if a[0] == b[0] else None
        return None

    def read(self, memory: Memory, entry: int, strand: int, name: str, index: Sequence[int], count: int = 1) -> None:
        """Records a read of entries of a memory by `strand`. Raises Fault for a race."""
        writers, readers = memory.track(), memory.readers
        for k in range(entry, entry + count):
            divergence = self._divergence(writers[k], strand)
            if divergence is not None:
                raise Fault(_race(name, index, "reads", "wrote", divergence))
            if readers[k] != strand and self._divergence(readers[k], strand) is None:
                readers[k] = strand

    def write(
        self,
        memory: Memory,
        entry: int,
        strand: int,
        name: str,
        index: Sequence[int],
        count: int = 1,
        agreeing: Container[int] = (),
    ) -> None:
        """Records a write of entries of a memory by `strand`. Raises Fault for a race.

        agreeing: loops whose iterations may have written the entries too, with the same value.
        """
        writers, readers = memory.track(), memory.readers
        for k in range(entry, entry + count):
            for earlier, verb, allowed in ((writers[k], "wrote", agreeing), (readers[k], "read", ())):
                divergence = self._divergence(earlier, strand)
                if divergence is not None and divergence[0] not in memory.private and divergence[0] not in allowed:
                    raise Fault(_race(name, index, "writes", verb, divergence))
            writers[k] = strand


def _race(name: str, index: Sequence[int], does: str, did: str, divergence: tuple[int, int, int]) -> str:
    _, earlier, now = divergence
    what = f"{name}[{', '.join(map(str, index))}]" if index else name
    return f"race on {what}: iteration {now} {does} what iteration {earlier} {did}"
