"""Devices by name, their streams and events. Drivers are loaded on first use."""

from __future__ import annotations

import operator
import threading
import weakref
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, DeviceError, OptionError, PluginError
from ...core.once import once
from .driver import Context, DeviceProperties, Driver

_KINDS = {"cpu": 1, "cuda": 2, "cuda_emulated": 12}
"""DLPack's device type of each kind. The emulated kind uses the extension type: its memory is private to this
process.
"""
_NAMES = {"llvm": "cpu", "c": "cpu", "gpu": "cuda", "cuda-emulated": "cuda_emulated"}
"""Aliases of the kinds, as used in targets."""


@dataclass(frozen=True)
class Device:
    """A device. kind: `cpu`, `cuda` or `cuda_emulated`.  index: the index among the devices of the kind. Raises
    OptionError for other values.
    """

    kind: str
    index: int = 0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise OptionError(f"device {self.kind!r}{did_you_mean(self.kind, _KINDS)}, expected {', '.join(_KINDS)}")
        if self.index < 0 or (self.kind == "cpu" and self.index):
            raise OptionError(f"there is no device {self}")

    @staticmethod
    def of_dlpack(device_type: int, device_id: int) -> Device:
        """The device with DLPack's device type and index. Raises ArgumentError for an unsupported type."""
        for kind, number in _KINDS.items():
            if number == device_type:
                return Device(kind, 0 if kind == "cpu" else device_id)
        raise ArgumentError(f"expected an array on {', '.join(_KINDS)}, got one on DLPack's device type {device_type}")

    @property
    def device_type(self) -> int:
        """DLPack's device type of the kind."""
        return _KINDS[self.kind]

    @property
    def device_id(self) -> int:
        """DLPack's name of `index`."""
        return self.index

    @property
    def driver(self) -> Driver:
        """The driver of the device. Raises OptionError for the CPU, DeviceError if the device does not exist."""
        if self.kind == "cpu":
            raise OptionError("cpu(0) has no driver: its memory is that of this process")
        driver = driver_of(self.kind)
        if self.index >= (count := driver.count()):
            raise DeviceError(f"there is no device {self}: {self.kind} has {count}")
        return driver

    @property
    def exist(self) -> bool:
        """Whether the device exists and its driver is usable."""
        try:
            return self.kind == "cpu" or bool(self.driver)
        except (DeviceError, PluginError):
            return False

    @property
    def properties(self) -> DeviceProperties:
        """The properties of the device. Raises the errors of `driver`."""
        return self.driver.properties(self.index)

    @property
    def compute_version(self) -> str:
        """The compute capability, `9.0`. That of the emulated device is 6.1, the last without matrix units, which the
        emulation lacks. Raises the errors of `driver`.
        """
        number = self.properties.architecture.removeprefix("sm_").rstrip("af") or "61"
        return f"{number[:-1]}.{number[-1]}"

    def memory(self) -> tuple[int, int]:
        """The free and the total bytes of its memory. Raises the errors of `driver`."""
        return self.driver.memory(self.index)

    def sync(self) -> None:
        """Waits for all work of the device. Raises DeviceError if a kernel has failed since the last wait."""
        if self.kind != "cpu":
            self.driver.wait_for_device(self.index)

    def stream(self, existing: Any = None) -> Stream:
        """A new stream, an in-order queue of work; or a stream of another library.

        existing: the handle of the stream, or an object with `__cuda_stream__` (cuda.core, CuPy) or `handle` (PyCUDA).
        Raises ArgumentError for other objects and for a stream of another device, and the errors of `driver`.
        """
        driver = self.driver
        if existing is None:
            context = driver.context(self.index)
            handle = driver.create_stream(self.index)
            stream = Stream(self, handle, context)
            weakref.finalize(stream, driver.destroy_stream, self.index, handle, context).atexit = False
            return stream
        handle = stream_handle(existing)
        is_default = handle in _DEFAULT_STREAMS
        return Stream(self, handle, None if is_default else driver.stream_context(self.index, handle), existing)

    @property
    def current_stream(self) -> Stream:
        """The stream of the innermost `with`, else the default stream, which synchronizes with all others."""
        entered = _entered_streams(self)
        return entered[-1] if entered else Stream(self, 0)

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"

    __repr__ = __str__


def cpu(index: int = 0) -> Device:
    """The memory of this process."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """An NVIDIA GPU. Its existence is checked on first use."""
    return Device("cuda", index)


def cuda_emulated(index: int = 0) -> Device:
    """A GPU emulated on the CPU: slow, but detects illegal behaviour of kernels."""
    return Device("cuda_emulated", index)


def device(name: str, index: int = 0) -> Device:
    """A device by the name of its kind, or by the text of a target: `cuda -arch=sm_90`. Raises OptionError for other
    names.
    """
    kind = (str(name).split() or [""])[0]
    return Device(_NAMES.get(kind, kind), index)


@once
def driver_of(kind: str) -> Driver:
    """The driver of a kind of device. Raises PluginError if a dependency is not installed."""
    if kind == "cuda":
        # lazy: the driver needs an optional dependency
        from ..cuda.cuda_driver import CudaDriver

        return CudaDriver()
    # lazy: the driver is needed for this kind only, and imports this folder
    from ..cuda.emulated_driver import EmulatedDriver

    return EmulatedDriver()


class _Entered(threading.local):
    """The stack of entered streams of each device, for this thread."""

    def __init__(self) -> None:
        self.of: dict[Device, list[Stream]] = {}


_threads = _Entered()


def _entered_streams(device: Device) -> list[Stream]:
    return _threads.of.setdefault(device, [])


LEGACY_STREAM = 1
"""The handle of CUDA's default stream where 0 is ambiguous."""
_DEFAULT_STREAMS = (0, 2)
"""The handles of CUDA's default stream, and of the default stream of each thread; every context has both."""


def stream_handle(stream: Any) -> int:
    """The handle of a stream of any library, or of a handle itself."""
    version = 0
    try:
        if hasattr(stream, "__cuda_stream__"):
            version, number = stream.__cuda_stream__()
        else:
            number = getattr(stream, "handle", stream)
        handle = operator.index(number)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"expected a stream: a handle, or an object with __cuda_stream__ or handle, got {type(stream).__name__}"
        ) from None
    if version != 0:
        raise ArgumentError(f"expected version 0 of __cuda_stream__, got {version!r}")
    if handle < 0:
        raise ArgumentError(f"expected the handle of a stream, got {handle}")
    return 0 if handle == LEGACY_STREAM else handle


class Stream:
    """A queue of work for a device, executed in order. `with stream:` makes it current: calls, copies and events of
    this thread go to it.

    handle: the driver's handle; 0 for the default stream. Work of the default stream waits for all other streams, and
    theirs waits for it, so programs that create no streams need not know of them.  context: of the stream, None for a
    default stream, which every context has.
    """

    def __init__(self, device: Device, handle: int, context: Context | None = None, owner: object = None):
        """owner: keeps the stream alive."""
        self.device = device
        self.handle = handle
        self.context = context
        self._owner = owner

    def handle_in(self, context: Context | None) -> int:
        """The handle, for work in a context; None for any. Raises ArgumentError if the stream has another context."""
        if None not in (context, self.context) and context != self.context:
            raise ArgumentError(f"{self} is a stream of another context than the arrays, expected the same context")
        return self.handle

    def make_current(self, context: Context | None = None) -> AbstractContextManager[None]:
        """Makes the context of the stream, or else `context`, current in the calling thread."""
        return self.device.driver.make_current(self.device.index, self.context or context)

    def sync(self) -> None:
        """Waits for all work of the stream. Raises DeviceError if a kernel has failed."""
        with self.make_current():
            self.device.driver.wait_for_stream(self.device.index, self.handle)

    def record(self) -> Event:
        """An event that completes when all work submitted so far is done."""
        return Event(self)

    def wait(self, event: Event) -> None:
        """Makes all later work of the stream wait for an event. Returns at once."""
        if event.device != self.device:
            raise ArgumentError(f"a stream of {self.device} cannot wait for an event of {event.device}")
        with self.make_current():
            self.device.driver.stream_wait_event(self.device.index, self.handle, event.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of this protocol of NVIDIA's, and the handle."""
        return 0, self.handle

    def __enter__(self) -> Self:
        _entered_streams(self.device).append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _entered_streams(self.device).pop()

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of {self.device}>"


class Event:
    """A position in the work of a stream, created by `Stream.record`."""

    def __init__(self, stream: Stream):
        self.device = stream.device
        driver, index = self.device.driver, self.device.index
        with stream.make_current():
            context = driver.context(index)
            self.handle = driver.create_event(index)
            weakref.finalize(self, driver.destroy_event, index, self.handle, context).atexit = False
            driver.record(index, self.handle, stream.handle)

    def sync(self) -> None:
        """Waits until the event has completed. Raises DeviceError if a kernel has failed."""
        self.device.driver.wait_for_event(self.device.index, self.handle)

    def seconds_since(self, start: Event) -> float:
        """The time between two events, in seconds; waits for both."""
        start.sync()
        self.sync()
        return self.device.driver.seconds_between(self.device.index, start.handle, self.handle)
