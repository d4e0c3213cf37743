"""Memory of intermediate results, which calls use one after the other."""

from __future__ import annotations

import numpy as np

from ..devices.device import Device
from ..devices.nd import HostArray, NDArray
from ..graph.executable import allocate_array
from ..graph.workspace import part_of
from .values import Value

POISON = 255
"""The value of the bytes of poisoned memory: NaN as floats."""


def argument_of(array: NDArray) -> Value:
    """An array as an argument of native code."""
    return array.layout if isinstance(array, HostArray) else array


class Memory:
    """Memory of intermediate results of graphs or of a function. array: its bytes."""

    def __init__(self, size: int, device: Device):
        self.array = allocate_array([size], "uint8", device, "workspace")
        self._parts: dict[int, Value] = {}

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: str) -> Value:
        """The tensor at an offset in bytes, as an argument of native code."""
        return argument_of(part_of(self.array, offset, shape, dtype))

    def poison(self, offset: int, size: int) -> None:
        """Overwrites some bytes."""
        array = part_of(self.array, offset, (size,), "uint8")
        if isinstance(array, HostArray):
            array.layout[...] = POISON
        else:
            array.copyfrom(np.full(size, POISON, np.uint8))

    def part(self, size: int) -> Value:
        """The first bytes, as an argument of native code."""
        if size not in self._parts:
            self._parts[size] = self.tensor(0, (size,), "uint8")
        return self._parts[size]


class Workspaces:
    """The memory of the calls of graphs, or of a function, at a time: a call in a call, or in another thread, has
    memory of its own."""

    def __init__(self, size: int, device: Device, poisons: bool = False):
        """size: the bytes that a call needs.  poisons: whether memory is overwritten before each call."""
        self.size = size
        self.device = device
        self.poisons = poisons
        self._free: list[Memory] = []

    def acquire(self) -> Memory:
        """Memory that no other call uses. Raises DeviceError if there is not enough."""
        try:
            memory = self._free.pop()
        except IndexError:
            memory = Memory(self.size, self.device)
        if self.poisons:
            memory.poison(0, self.size)
        return memory

    def release(self, memory: Memory) -> None:
        """Hands back the memory of a call."""
        self._free.append(memory)
