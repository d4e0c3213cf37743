"""The driver interface of a kind of device, implemented by CUDA's driver and by the emulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.errors import ExecutionError
from ..runtime.launch_table import LaunchTable

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of a device. architecture: as targets name it, `sm_90`.  memory: in bytes.  shared_memory: the
    maximum per block.  processors: their number.  clock, memory_clock: in kHz, 0 if unknown.  bus_width: in bits.
    version: of the driver, `13.0`.
    """

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
class Context:
    """A context of a device, to which memory, streams, events and loaded kernels belong. handle: the driver's.  number:
    unique in this process, as a new context may have the handle of a destroyed context.
    """

    handle: int
    number: int


@dataclass(frozen=True)
class KernelCode:
    """A kernel of a `DeviceCode`. name: its name in host code.  symbol: its name in the source."""

    name: str
    symbol: str
    dynamic_shared_bytes: int


@dataclass(frozen=True)
class DeviceCode:
    """Kernels ready to load. source: CUDA C++.  image: the compiled source, empty for the emulation.  architecture: of
    the image.  checks: whether the emulation checks each access.
    """

    source: str
    kernels: tuple[KernelCode, ...]
    architecture: str = ""
    image: bytes = b""
    checks: bool = True


@dataclass(frozen=True)
class LoadedCode:
    """Kernels on a device. handles: the handle of each kernel, by name, for launches.  owner: keeps the kernels
    loaded.
    """

    handles: Mapping[str, int]
    owner: object


class Driver(ABC):
    """The functions of a kind of device. Addresses and handles are integers; 0 is the default stream.

    `index` is the index of the device. A method works in the context of the calling thread (`context`), unless it has a
    parameter `context`. All methods may be called from any thread. Failures raise DeviceError.
    """

    kind: ClassVar[str]

    @abstractmethod
    def count(self) -> int:
        """The number of devices. Raises DeviceError with the reason if the driver is unusable."""

    @abstractmethod
    def properties(self, index: int) -> DeviceProperties: ...

    @abstractmethod
    def current_index(self) -> int:
        """The index of the device of the current context of the calling thread, 0 if no context is current."""

    @abstractmethod
    def context(self, index: int) -> Context:
        """The current context of the calling thread if it is a context of the device, else the primary context."""

    @abstractmethod
    def primary_context(self, index: int) -> Context:
        """The context that users of CUDA's runtime share."""

    @abstractmethod
    def make_current(self, index: int, context: Context | None = None) -> AbstractContextManager[None]:
        """Makes a context current in the calling thread, by default that of `context`."""

    @abstractmethod
    def launch_table(self) -> LaunchTable:
        """A table of the addresses of the functions that native code calls."""

    @abstractmethod
    def load(self, index: int, code: Sequence[DeviceCode]) -> LoadedCode: ...

    # memory

    @abstractmethod
    def memory_owner(self, address: int) -> tuple[int, Context | None] | None:
        """The index of the device and the context of the memory at an address, None for memory of no device. The
        context is None if all contexts of the device share the memory.
        """

    @abstractmethod
    def allocate(self, index: int, size: int, name: str) -> int:
        """The address of new memory, aligned to 256 bytes. name: its name in error messages."""

    @abstractmethod
    def free(self, index: int, address: int, context: Context) -> None:
        """Frees memory of a context, which may be destroyed, after all pending work on the memory."""

    @abstractmethod
    def memory(self, index: int) -> tuple[int, int]:
        """The free and the total bytes."""

    @abstractmethod
    def copy_in(self, index: int, address: int, array: Array, stream: int) -> None:
        """Copies a contiguous host array to the device; the array may change after the return."""

    @abstractmethod
    def copy_out(self, index: int, array: Array, address: int, stream: int) -> None:
        """Copies device memory to a contiguous host array; returns when the copy is complete."""

    @abstractmethod
    def copy(self, index: int, target: int, source: int, size: int, stream: int) -> None:
        """Copies memory on the device, in the order of the stream."""

    # streams and events

    @abstractmethod
    def create_stream(self, index: int) -> int: ...

    @abstractmethod
    def destroy_stream(self, index: int, stream: int, context: Context) -> None:
        """Destroys a stream of a context, which may be destroyed."""

    @abstractmethod
    def stream_context(self, index: int, stream: int) -> Context:
        """The context of a stream of any library, which is not the default stream."""

    @abstractmethod
    def wait_for_stream(self, index: int, stream: int) -> None: ...

    @abstractmethod
    def wait_for_device(self, index: int) -> None: ...

    @abstractmethod
    def create_event(self, index: int) -> int: ...

    @abstractmethod
    def destroy_event(self, index: int, event: int, context: Context) -> None:
        """Destroys an event of a context, which may be destroyed."""

    @abstractmethod
    def record(self, index: int, event: int, stream: int) -> None: ...

    @abstractmethod
    def stream_wait_event(self, index: int, stream: int, event: int) -> None:
        """Makes later work of the stream wait for the event."""

    @abstractmethod
    def wait_for_event(self, index: int, event: int) -> None: ...

    @abstractmethod
    def seconds_between(self, index: int, start: int, end: int) -> float:
        """The seconds between two completed events."""

    # errors

    @abstractmethod
    def launch_error(self, where: str, table: LaunchTable) -> ExecutionError:
        """The error of a failed launch. where: the kernel and the function."""

    @abstractmethod
    def memory_error(self, index: int, where: str, table: LaunchTable) -> ExecutionError:
        """The error of a failed allocation in native code."""

    @abstractmethod
    def copy_error(self, where: str, table: LaunchTable) -> ExecutionError:
        """The error of a failed copy to the host, or of a kernel that the copy waited for. where: the copied tensor and
        the function.
        """


def format_bytes(size: int) -> str:
    """A number of bytes as text with a binary unit."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
