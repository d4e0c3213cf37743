"""What a kind of device can do. There are two: GPUs through CUDA's driver, and one that is emulated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.errors import ExecutionError
from ..runtime.launches import LaunchTable

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DeviceProperties:
    """What a device is. architecture: as targets name it, `sm_90`.  memory: in bytes.  shared_memory: of one block, at
    most.  processors: how many there are.  clock, memory_clock: in kHz, 0 if unknown.  bus_width: in bits.  version: of
    the driver, `13.0`."""

    name: str
    architecture: str
    memory: int
    shared_memory: int
    processors: int
    clock: int
    memory_clock: int
    bus_width: int
    version: str


@dataclass(frozen=True)
class KernelCode:
    """A kernel of a `DeviceCode`. name: what host code calls it.  symbol: in the text."""

    name: str
    symbol: str
    dynamic_shared_bytes: int


@dataclass(frozen=True)
class DeviceCode:
    """Kernels that can be loaded. source: CUDA C++.  image: what that is compiled to, empty for the emulation.
    architecture: of the image."""

    source: str
    kernels: tuple[KernelCode, ...]
    architecture: str = ""
    image: bytes = b""


@dataclass(frozen=True)
class LoadedCode:
    """Kernels on a device. handles: by name, what launches take.  owner: what they live in."""

    handles: Mapping[str, int]
    owner: object


class Driver(ABC):
    """The functions of a kind of device. Addresses and handles are numbers; stream 0 is the one that is always there.

    `index` is the number of the device. All of it may be called from any thread. What fails is a DeviceError.
    """

    kind: ClassVar[str]

    @abstractmethod
    def count(self) -> int:
        """How many devices there are. DeviceError says why there are none."""

    @abstractmethod
    def properties(self, index: int) -> DeviceProperties: ...

    @abstractmethod
    def current(self, index: int) -> AbstractContextManager[None]:
        """What native code calls is of this device, for this thread."""

    @abstractmethod
    def functions(self) -> LaunchTable:
        """A table with addresses of the functions that native code calls."""

    @abstractmethod
    def load(self, index: int, code: Sequence[DeviceCode]) -> LoadedCode: ...

    # memory

    @abstractmethod
    def allocate(self, index: int, size: int, name: str) -> int:
        """Memory at an address that 256 divides. name: what errors call it."""

    @abstractmethod
    def free(self, index: int, address: int) -> None:
        """Give memory back when all that uses it is done."""

    @abstractmethod
    def memory(self, index: int) -> tuple[int, int]:
        """Bytes that are free, and of all."""

    @abstractmethod
    def copy_in(self, index: int, address: int, array: Array, stream: int) -> None:
        """From a contiguous array of the host, which may change afterwards."""

    @abstractmethod
    def copy_out(self, index: int, array: Array, address: int, stream: int) -> None:
        """To a contiguous array of the host, in which all of it stands afterwards."""

    @abstractmethod
    def copy(self, index: int, target: int, source: int, size: int, stream: int) -> None:
        """On the device, behind all that the stream does."""

    # streams and events

    @abstractmethod
    def create_stream(self, index: int) -> int: ...

    @abstractmethod
    def destroy_stream(self, index: int, stream: int) -> None: ...

    @abstractmethod
    def wait_for_stream(self, index: int, stream: int) -> None: ...

    @abstractmethod
    def wait_for_device(self, index: int) -> None: ...

    @abstractmethod
    def create_event(self, index: int) -> int: ...

    @abstractmethod
    def destroy_event(self, index: int, event: int) -> None: ...

    @abstractmethod
    def record(self, index: int, event: int, stream: int) -> None: ...

    @abstractmethod
    def let_wait(self, index: int, stream: int, event: int) -> None:
        """What the stream does from now on begins when the event is over."""

    @abstractmethod
    def wait_for_event(self, index: int, event: int) -> None: ...

    @abstractmethod
    def seconds_between(self, index: int, start: int, end: int) -> float:
        """Between two events that are over."""

    # errors

    @abstractmethod
    def launch_error(self, where: str, table: LaunchTable) -> ExecutionError:
        """What a launch failed with. where: of which kernel and function."""

    @abstractmethod
    def memory_error(self, index: int, where: str, table: LaunchTable) -> ExecutionError:
        """That an allocation of native code failed."""

    @abstractmethod
    def copy_error(self, where: str, table: LaunchTable) -> ExecutionError:
        """What a copy to the host failed with, or a kernel that it waited for. where: of what, for which function."""


def gibibytes(size: int) -> str:
    """A number of bytes as people read it."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
