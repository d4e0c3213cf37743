"""Programs for a device as Python calls them: functions of the host, native code that launches kernels, and these."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...core.errors import ArgumentError
from ..devices.calls import begin_calls, end_calls
from ..devices.device import Device, cuda_emulated
from ..devices.driver import DeviceCode, LoadedCode
from ..devices.nd import DeviceArray, HostArray, NDArray, empty_on, from_dlpack
from ..devices.timing import Clock, device_clock
from ..llvm.compile import link_code
from ..runtime.arguments import describe
from ..runtime.code import NativeCode
from ..runtime.launches import COPY_FAILED, LAUNCH_FAILED, OUT_OF_DEVICE_MEMORY, TABLE, LaunchTable, kernel_symbol
from ..runtime.library import CompiledFunction, Library
from ..runtime.signature import BufferParameter
from .nvrtc import KernelUsage


class Launcher:
    """The table and the handles that the native code of one library finds, and the kernels on each device.

    Calls take turns, each of which sets them for its device and stream. A turn is short: kernels are launched, and
    waited for only where a function branches on what they compute.
    """

    def __init__(self, kind: str, code: Sequence[DeviceCode]):
        """kind: of devices."""
        self.kind = kind
        self.code = tuple(code)
        self.turn = threading.Lock()
        self.table = LaunchTable()
        self._names = [kernel.name for each in code for kernel in each.kernels]
        self._handles = (ctypes.c_void_p * max(1, len(self._names)))()
        self._loaded: dict[Device, LoadedCode] = {}
        self._prepared: Device | None = None

    def symbols(self) -> dict[str, int]:
        """Addresses for native code. They are valid as long as this lives."""
        places = ctypes.addressof(self._handles)
        found = {kernel_symbol(name): places + 8 * n for n, name in enumerate(self._names)}
        return {TABLE: ctypes.addressof(self.table), **found}

    def load(self, device: Device) -> LoadedCode:
        """The kernels on a device. DeviceError if there is no such device, or it cannot run them."""
        if device not in self._loaded:
            self._loaded[device] = device.driver.load(device.index, self.code)
        return self._loaded[device]

    def prepare(self, device: Device) -> None:
        """Let native code launch on a device and its current stream. The turn must be held."""
        if self._prepared != device:
            handles = self.load(device).handles
            for n, name in enumerate(self._names):
                self._handles[n] = handles[name]
            functions = device.driver.functions()
            ctypes.memmove(ctypes.byref(self.table), ctypes.byref(functions), ctypes.sizeof(functions))
            self._prepared = device
        self.table.stream = device.current_stream.handle


class DeviceFunction(CompiledFunction):
    """A function of the host that launches kernels on the device where its arrays are. It returns when they are
    launched, not when they are done; in between it waits where it branches on what they compute."""

    def __call__(self, *arguments: Any) -> Any:
        """Launch the kernels of the function; returns what the function of the host returns.

        Raises ArgumentError if an argument is not what the function takes (nothing has run then), DeviceError if there
        is no such device or it cannot run the kernels. What kernels do wrong is a DeviceError of what is asked of the
        device later, `device.sync()` at the latest.
        """
        device, views = self._views(arguments)
        slots, _arrays = self._packer.pack(views)
        return self._launch(device, self._slots(*slots), views)

    def bind(self, *arguments: Any) -> Callable[[], Any]:
        device, views = self._views(arguments)
        slots, arrays = self._packer.pack(views)
        packed = self._slots(*slots)

        def run(_alive: object = (arguments, arrays)) -> Any:
            return self._launch(device, packed, views)

        return run

    def clock(self, *arguments: Any) -> Clock:
        return device_clock(self._views(arguments)[0])

    @property
    def _launcher(self) -> Launcher:
        _, launcher = cast("tuple[object, Launcher]", self._keep_alive)
        return launcher

    def _launch(self, device: Device, slots: Any, views: Sequence[Any]) -> Any:
        launcher = self._launcher
        with launcher.turn, device.driver.current(device.index):
            launcher.prepare(device)
            begin_calls(device)
            status = self._entry(ctypes.addressof(slots))
            end_calls()
            if status:
                self._fail_on(device, status, views)
        return self._result(slots) if self._result is not None else None

    def _fail_on(self, device: Device, status: int, views: Sequence[Any]) -> None:
        message = self._failures[status - 1].message if status > 0 else ""
        table = self._launcher.table
        if message.startswith(LAUNCH_FAILED):
            raise device.driver.launch_error(f"{self.name}: {message.removeprefix(LAUNCH_FAILED)}", table)
        if message == OUT_OF_DEVICE_MEMORY:
            raise device.driver.memory_error(device.index, f"{self.name}: memory between kernels", table)
        if message.startswith(COPY_FAILED):
            raise device.driver.copy_error(f"{self.name}: {message.removeprefix(COPY_FAILED)}", table)
        self._fail(status, views)

    def _views(self, arguments: Sequence[Any]) -> tuple[Device, list[Any]]:
        """The device of a call, and its arguments with arrays of numpy's for those on the device, which say where they
        are and of what shape, and are not looked into."""
        views = list(arguments)
        found: Device | None = None
        for n, parameter in enumerate(self.signature.parameters[: len(views)]):
            if not isinstance(parameter, BufferParameter):
                continue
            given = self._on_device(parameter.name, views[n])
            if given is None:
                continue
            if found is not None and found is not given.device and found != given.device:
                raise ArgumentError(
                    f"{self.name}: argument {parameter.name}: expected an array on {found}, as others, got one on "
                    f"{given.device}"
                )
            found, views[n] = given.device, given.layout
        return found or Device(self._launcher.kind), views

    def _on_device(self, parameter: str, value: Any) -> DeviceArray | None:
        """An argument as an array on a device; None for what is no array at all."""
        kind = self._launcher.kind
        if type(value) is DeviceArray and value.device.kind == kind:
            return value
        if isinstance(value, np.ndarray):
            given, place = value, "an array of numpy's"
        elif isinstance(value, NDArray) or hasattr(value, "__dlpack_device__"):
            given = from_dlpack(value)
            if isinstance(given, DeviceArray) and given.device.kind == kind:
                return given
            place = f"one on {given.device}"
        else:
            return None
        raise ArgumentError(
            f"{self.name}: argument {parameter}: expected an array on {kind}, got {place}, {describe(value)}: "
            f"stepwell.nd.array(x, stepwell.{kind}(0)) is a copy on the device"
        )


class EmulatedFunction(DeviceFunction):
    """A function whose kernels run emulated. Arrays of numpy's are copied to the device and back, so that a program can
    be tried as it is; on a GPU that would hide what takes the most time."""

    def __call__(self, *arguments: Any) -> Any:
        given = list(arguments)
        copied: dict[int, tuple[np.ndarray[Any, Any], DeviceArray]] = {}
        for n, parameter in enumerate(self.signature.parameters[: len(given)]):
            array = _of_host(given[n])
            if array is None or not isinstance(parameter, BufferParameter):
                continue
            if not array.flags.c_contiguous:
                raise ArgumentError(f"{self.name}: {parameter.name}: expected a contiguous array for the device")
            if id(given[n]) not in copied:
                copied[id(given[n])] = array, _copy(array, parameter.name)
            given[n] = copied[id(given[n])][1]
        result = super().__call__(*given)
        for array, on_device in copied.values():
            if array.flags.writeable:
                array[...] = on_device.numpy()
        return result


def _of_host(value: Any) -> np.ndarray[Any, Any] | None:
    """An array in this machine's memory; None for all else."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic) or not hasattr(value, "__dlpack_device__"):
        return None
    given = from_dlpack(value)
    return given.layout if isinstance(given, HostArray) else None


def _copy(array: np.ndarray[Any, Any], name: str) -> DeviceArray:
    made = empty_on(cuda_emulated(), array.shape, array.dtype, name)
    made.copyfrom(array)
    made.layout.flags.writeable = array.flags.writeable
    return made


class DeviceLibrary(Library):
    """The functions of a program for devices."""

    def __init__(
        self,
        native: NativeCode,
        launcher: Launcher,
        sources: Mapping[str, Callable[[], str]],
        usage: Mapping[str, KernelUsage],
        symbols: Mapping[str, int] | None = None,
    ):
        """native: of the host, linked here.  launcher: what it finds.  sources, usage: as of `Library`.  symbols:
        addresses of other C functions that it calls."""
        function = EmulatedFunction if launcher.kind == "cuda_emulated" else DeviceFunction
        addresses = {**(symbols or {}), **launcher.symbols()}
        linked = link_code(native, symbols=addresses, function=function, keep_alive=launcher)
        super().__init__(linked.functions, sources, native)
        self.launcher = launcher
        self.device_kind = launcher.kind
        self.usage = dict(usage)

    def export(self, path: str | os.PathLike[str]) -> None:
        from .saving import save_device_library

        save_device_library(self, Path(path))
