"""Devices by name, their streams and events. Nothing is asked of a driver before it is needed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Self

from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, DeviceError, OptionError, PluginError
from .driver import DeviceProperties, Driver

_KINDS = {"cpu": 1, "cuda": 2, "cuda_emulated": 12}
"""DLPack's numbers of kinds. The emulated one is an extension's: what is in its memory is of this process alone."""
_NAMES = {"llvm": "cpu", "c": "cpu", "gpu": "cuda", "cuda-emulated": "cuda_emulated"}
"""What else they are called: by targets."""


@dataclass(frozen=True)
class Device:
    """Where an array is. kind: `cpu`, `cuda` or `cuda_emulated`.  index: which one of them. OptionError for others."""

    kind: str
    index: int = 0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise OptionError(f"device {self.kind!r}{did_you_mean(self.kind, _KINDS)}, expected {', '.join(_KINDS)}")
        if self.index < 0 or (self.kind == "cpu" and self.index):
            raise OptionError(f"there is no device {self}")

    @staticmethod
    def of_dlpack(device_type: int, device_id: int) -> Device:
        """The device that DLPack has these numbers for. ArgumentError if it is none of ours."""
        for kind, number in _KINDS.items():
            if number == device_type:
                return Device(kind, 0 if kind == "cpu" else device_id)
        raise ArgumentError(f"expected an array on {', '.join(_KINDS)}, got one on DLPack's device type {device_type}")

    @property
    def device_type(self) -> int:
        """DLPack's number of the kind."""
        return _KINDS[self.kind]

    @property
    def device_id(self) -> int:
        """DLPack's name of `index`."""
        return self.index

    @property
    def driver(self) -> Driver:
        """What does something with the device. OptionError for the CPU, DeviceError if there is no such device."""
        if self.kind == "cpu":
            raise OptionError("cpu(0) has no driver: its memory is that of this process")
        driver = driver_of(self.kind)
        if self.index >= (count := driver.count()):
            raise DeviceError(f"there is no device {self}: {self.kind} has {count}")
        return driver

    @property
    def exist(self) -> bool:
        """Whether there is such a device, and what it needs."""
        try:
            return self.kind == "cpu" or bool(self.driver)
        except (DeviceError, PluginError):
            return False

    @property
    def properties(self) -> DeviceProperties:
        """What kind of device it is, and how large. Errors as of `driver`."""
        return self.driver.properties(self.index)

    def memory(self) -> tuple[int, int]:
        """Bytes of its memory that are free, and of all. Errors as of `driver`."""
        return self.driver.memory(self.index)

    def sync(self) -> None:
        """Wait for all that it was told to do. DeviceError if a kernel has failed since the last wait."""
        if self.kind != "cpu":
            self.driver.wait_for_device(self.index)

    def stream(self) -> Stream:
        """A new stream: what it is told happens in order. Errors as of `driver`."""
        driver = self.driver
        handle = driver.create_stream(self.index)
        return Stream(self, handle, driver.destroy_stream)

    @property
    def current_stream(self) -> Stream:
        """The stream of the innermost `with`, else the one that is always there, which waits for all others."""
        entered = _entered(self)
        return entered[-1] if entered else Stream(self, 0)

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"

    __repr__ = __str__


def cpu(index: int = 0) -> Device:
    """The memory of this process."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """A GPU of NVIDIA. Whether there is one shows when it is used."""
    return Device("cuda", index)


def cuda_emulated(index: int = 0) -> Device:
    """A GPU that is emulated on the CPU, slowly, and finds what kernels must not do."""
    return Device("cuda_emulated", index)


def device(name: str, index: int = 0) -> Device:
    """A device by the name of its kind, or by the text of a target: `cuda -arch=sm_90`. OptionError for others."""
    kind = (str(name).split() or [""])[0]
    return Device(_NAMES.get(kind, kind), index)


@cache
def driver_of(kind: str) -> Driver:
    """The driver of a kind of device. PluginError if what it needs is not installed."""
    if kind == "cuda":
        from ..cuda.cuda_driver import CudaDriver

        return CudaDriver()
    from ..cuda.emulated_driver import EmulatedDriver

    return EmulatedDriver()


class _Entered(threading.local):
    """The streams that this thread is in."""

    def __init__(self) -> None:
        self.of: dict[Device, list[Stream]] = {}


_threads = _Entered()


def _entered(device: Device) -> list[Stream]:
    return _threads.of.setdefault(device, [])


class Stream:
    """Work for a device that is done in order. `with stream:` puts calls, copies and events there, in this thread.

    handle: the driver's; 0 is the stream that is always there. Work of that one waits for that of all others, and
    theirs for it, so programs that use no stream need not know of them.
    """

    def __init__(self, device: Device, handle: int, destroy: Callable[[int, int], None] | None = None):
        self.device = device
        self.handle = handle
        if destroy is not None:
            weakref.finalize(self, destroy, device.index, handle).atexit = False

    def sync(self) -> None:
        """Wait for all that it was told to do. DeviceError if a kernel has failed."""
        self.device.driver.wait_for_stream(self.device.index, self.handle)

    def record(self) -> Event:
        """An event that is over when all that the stream was told until now is done."""
        return Event(self)

    def wait(self, event: Event) -> None:
        """Have all that the stream is told from now on begin when an event is over. This returns at once."""
        if event.device != self.device:
            raise ArgumentError(f"a stream of {self.device} cannot wait for an event of {event.device}")
        self.device.driver.let_wait(self.device.index, self.handle, event.handle)

    def __enter__(self) -> Self:
        _entered(self.device).append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _entered(self.device).pop()

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of {self.device}>"


class Event:
    """A place in what a stream does. `Stream.record` makes it."""

    def __init__(self, stream: Stream):
        self.device = stream.device
        driver, index = self.device.driver, self.device.index
        self.handle = driver.create_event(index)
        weakref.finalize(self, driver.destroy_event, index, self.handle).atexit = False
        driver.record(index, self.handle, stream.handle)

    def sync(self) -> None:
        """Wait until it is over. DeviceError if a kernel has failed."""
        self.device.driver.wait_for_event(self.device.index, self.handle)

    def seconds_since(self, start: Event) -> float:
        """The time between two events, both of which are waited for."""
        start.sync()
        self.sync()
        return self.device.driver.seconds_between(self.device.index, start.handle, self.handle)
