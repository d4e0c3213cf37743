"""Programs for a device as Python callables: host functions, native code that launches kernels, and the kernels."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ...core.arrays import is_masked_array
from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, UnsupportedError
from ..devices.calls import begin_calls, end_calls
from ..devices.device import Device, cuda_emulated
from ..devices.driver import Context, DeviceCode, LoadedCode
from ..devices.nd import DeviceArray, HostArray, NDArray, empty_device_array, import_array
from ..devices.timing import Clock, DeviceClock
from ..llvm.linking import link_code
from ..runtime.arguments import describe_argument
from ..runtime.code import NativeCode
from ..runtime.launch_table import COPY_FAILED, LAUNCH_FAILED, OUT_OF_DEVICE_MEMORY, TABLE, LaunchTable, kernel_symbol
from ..runtime.program import CompiledFunction, Program
from ..runtime.signature import BufferParameter
from ..saving.device import DeviceParts, device_contents
from .nvrtc import KernelUsage
from .pycuda_module import load_pycuda_module


class Launcher:
    """The launch table and the kernel handles that the native code of a library uses, and the kernels on each device.

    Calls hold the lock `turn` in sequence; each sets the table and the handles for its device and stream. A turn is
    short: kernels are launched, and waited for only where a function branches on their results.
    """

    def __init__(self, kind: str, code: Sequence[DeviceCode]):
        """kind: of the devices."""
        self.kind = kind
        self.code = tuple(code)
        self.turn = threading.Lock()
        self.table = LaunchTable()
        self._names = [kernel.name for each in code for kernel in each.kernels]
        self._handles = (ctypes.c_void_p * max(1, len(self._names)))()
        self._loaded: dict[tuple[Device, Context], LoadedCode] = {}
        self._prepared: tuple[Device, Context] | None = None
        _launchers.add(self)

    def symbols(self) -> dict[str, int]:
        """The addresses of the symbols for native code, valid during the lifetime of this object."""
        base = ctypes.addressof(self._handles)
        handles = {kernel_symbol(name): base + 8 * n for n, name in enumerate(self._names)}
        return {TABLE: ctypes.addressof(self.table), **handles}

    def renew(self) -> None:
        """Forgets the calls in progress."""
        self.turn = threading.Lock()
        self._prepared = None

    def load(self, device: Device) -> LoadedCode:
        """The kernels in the context of the calling thread. Raises DeviceError if the device does not exist or cannot
        run them.
        """
        return self._load(device, device.driver.context(device.index))

    def _load(self, device: Device, context: Context) -> LoadedCode:
        if (device, context) not in self._loaded:
            self._loaded[device, context] = device.driver.load(device.index, self.code)
        return self._loaded[device, context]

    def prepare(self, device: Device, context: Context) -> None:
        """Sets table and handles for launches on the current stream of a device. The context is current, and the caller
        holds `turn`.
        """
        if self._prepared != (device, context):
            handles = self._load(device, context).handles
            for n, name in enumerate(self._names):
                self._handles[n] = handles[name]
            functions = device.driver.launch_table()
            ctypes.memmove(ctypes.byref(self.table), ctypes.byref(functions), ctypes.sizeof(functions))
            self._prepared = device, context
        self.table.stream = device.current_stream.handle_in(context)


_launchers: weakref.WeakSet[Launcher] = weakref.WeakSet()


def _renew_launchers() -> None:
    """Frees the launchers of a child process from the calls of threads that only the parent has."""
    for launcher in _launchers:
        launcher.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_launchers)


class DeviceFunction(CompiledFunction):
    """A host function that launches kernels on the device of its arrays. It returns when they are launched, not when
    they are done; it waits only where it branches on their results.
    """

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Launches the kernels of the function; returns the result of the host function.

        Raises ArgumentError for an argument that does not match its parameter (before any code runs), DeviceError if
        the device does not exist or cannot run the kernels. An error in a kernel is a DeviceError of a later operation
        on the device, `device.sync()` at the latest.
        """
        self._native.reject_names(named)
        device, context, views = self._views(arguments)
        values, _arrays = self._native.pack(views)
        return self._launch(device, context, self._native.create_slots(values), views)

    def bind(self, *arguments: Any, **named: Any) -> Callable[[], Any]:
        self._native.reject_names(named)
        device, context, views = self._views(arguments)
        values, arrays = self._native.pack(views)
        slots = self._native.create_slots(values)

        def run(_alive: object = (arguments, arrays)) -> Any:
            return self._launch(device, context, slots, views)

        return run

    def clock(self, *arguments: Any) -> Clock:
        device, context, _ = self._views(arguments)
        return DeviceClock(device, context)

    @property
    def _launcher(self) -> Launcher:
        _, launcher = cast("tuple[object, Launcher]", self._native.keep_alive)
        return launcher

    def _launch(self, device: Device, context: Context | None, slots: Any, views: Sequence[Any]) -> Any:
        launcher, driver = self._launcher, device.driver
        with launcher.turn, driver.make_current(device.index, context):
            launcher.prepare(device, context or driver.context(device.index))
            begin_calls(device)
            status = self._native.enter(slots)
            end_calls()
            if status:
                self._fail_on(device, status, views)
        return self._native.result(slots)

    def _fail_on(self, device: Device, status: int, views: Sequence[Any]) -> None:
        message = self._native.failures[status].message if status > 0 else ""
        table = self._launcher.table
        if message.startswith(LAUNCH_FAILED):
            raise device.driver.launch_error(f"{self.name}: {message.removeprefix(LAUNCH_FAILED)}", table)
        if message == OUT_OF_DEVICE_MEMORY:
            raise device.driver.memory_error(device.index, f"{self.name}: memory between kernels", table)
        if message.startswith(COPY_FAILED):
            raise device.driver.copy_error(f"{self.name}: {message.removeprefix(COPY_FAILED)}", table)
        self._native.fail(status, *views)

    def _views(self, arguments: Sequence[Any]) -> tuple[Device, Context | None, list[Any]]:
        """The device of a call, its context, None for that of the thread, and its arguments, with each device array
        replaced by its `layout`: a numpy array with its address and shape, which is not dereferenced.
        """
        views = list(arguments)
        device: Device | None = None
        context: Context | None = None
        for n, parameter in enumerate(self.signature.parameters[: len(views)]):
            if not isinstance(parameter, BufferParameter):
                continue
            array = self._device_array(parameter.name, views[n])
            if array is None:
                continue
            if device is not None and device is not array.device and device != array.device:
                raise ArgumentError(
                    f"{self.name}: argument {parameter.name}: expected an array on {device}, as others, got one on "
                    f"{array.device}"
                )
            known = context is not None and array.context is not None
            if known and context is not array.context and context != array.context:
                raise ArgumentError(
                    f"{self.name}: argument {parameter.name}: expected an array in the same context of {device} as "
                    f"others, got one in another context: stepwell.nd.array(x, stepwell.{device}) is a copy in the "
                    "current context"
                )
            device, context, views[n] = array.device, context or array.context, array.layout
        return device or Device(self._launcher.kind), context, views

    def _device_array(self, parameter: str, value: Any) -> DeviceArray | None:
        """An argument as an array on a device, None if it is not an array. Raises ArgumentError for an array
        elsewhere.
        """
        kind = self._launcher.kind
        if type(value) is DeviceArray and value.device.kind == kind:
            return value
        if isinstance(value, np.ndarray):
            location = "an array of numpy's"
        else:
            array = self._import(parameter, value)
            if array is None or (isinstance(array, DeviceArray) and array.device.kind == kind):
                return array
            location = f"one on {array.device}"
        raise ArgumentError(
            f"{self.name}: argument {parameter}: expected an array on {kind}, got {location}, "
            f"{describe_argument(value)}: stepwell.nd.array(x, stepwell.{kind}(0)) is a copy on the device"
        )

    def _import(self, parameter: str, value: Any) -> NDArray | None:
        try:
            return import_array(value)
        except ArgumentError as error:
            raise ArgumentError(f"{self.name}: argument {parameter}: {error}") from error.__cause__


class EmulatedFunction(DeviceFunction):
    """A function whose kernels run emulated. numpy arrays are copied to the device and back, so that a program runs
    unchanged; on a GPU such copies would hide the largest cost.
    """

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        actual = list(arguments)
        copies: dict[int, tuple[np.ndarray[Any, Any], DeviceArray]] = {}
        for n, parameter in enumerate(self.signature.parameters[: len(actual)]):
            array = self._host_array(parameter.name, actual[n]) if isinstance(parameter, BufferParameter) else None
            if array is None:
                continue
            if not array.flags.c_contiguous:
                raise ArgumentError(f"{self.name}: {parameter.name}: expected a contiguous array for the device")
            if id(actual[n]) not in copies:
                copies[id(actual[n])] = array, _copy_to_device(array, parameter.name)
            actual[n] = copies[id(actual[n])][1]
        result = super().__call__(*actual, **named)
        for array, on_device in copies.values():
            if array.flags.writeable:
                array[...] = on_device.numpy()
        return result

    def _host_array(self, parameter: str, value: Any) -> np.ndarray[Any, Any] | None:
        """The host array of an argument, None for any other value."""
        if isinstance(value, np.ndarray):
            if is_masked_array(value):
                raise ArgumentError(f"{self.name}: argument {parameter}: expected an array without a mask")
            return value
        array = self._import(parameter, value)
        return array.layout if isinstance(array, HostArray) else None


def _copy_to_device(array: np.ndarray[Any, Any], name: str) -> DeviceArray:
    copy = empty_device_array(cuda_emulated(), array.shape, array.dtype, name)
    copy.copyfrom(array)
    copy.layout.flags.writeable = array.flags.writeable
    return copy


class DeviceProgram(Program):
    """The functions of a program for devices."""

    def __init__(
        self,
        native: NativeCode,
        launcher: Launcher,
        sources: Mapping[str, Callable[[], str]],
        usage: Mapping[str, KernelUsage],
        symbols: Mapping[str, int] | None = None,
    ):
        """native: the host code, linked here.  launcher: provides its symbols.  sources, usage: as of `Program`.
        symbols: addresses of other C functions that it calls.
        """
        function = EmulatedFunction if launcher.kind == "cuda_emulated" else DeviceFunction
        addresses = {**(symbols or {}), **launcher.symbols()}
        linked = link_code(native, symbols=addresses, function=function, keep_alive=launcher)
        parts = DeviceParts(native, launcher.kind, launcher.code, usage)
        super().__init__(linked.functions, sources, partial(device_contents, parts))
        self.launcher = launcher
        self.device_kind = launcher.kind
        self.usage = dict(usage)

    def pycuda_module(self, kernel: str | None = None) -> Any:
        """The kernels as a `pycuda.driver.Module`, loaded in the current context: `get_function(name)` returns one.

        kernel: the name of one of the kernels, where the program has several functions, each with a module of its own.
        Raises ArgumentError for another name, UnsupportedError for kernels that run emulated, PluginError if PyCUDA is
        not installed, DeviceError if no context is current or its GPU cannot run the kernels.
        """
        if self.launcher.kind != "cuda":
            raise UnsupportedError(f"kernels for {self.launcher.kind} are no modules of PyCUDA: expected target cuda")
        if kernel is None and len(self.launcher.code) == 1:
            return load_pycuda_module(self.launcher.code[0])
        code = {each.name: code for code in self.launcher.code for each in code.kernels}
        if kernel not in code:
            names = ", ".join(code)
            if kernel is None:
                raise ArgumentError(f"expected the name of a kernel, as each function has a module: {names}")
            raise ArgumentError(f"no kernel called {kernel!r}, there is {names}{did_you_mean(kernel, code)}")
        return load_pycuda_module(code[kernel])
