"""The driver of the emulated GPU: device memory is host memory, and all work is done when a call returns."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...core.errors import DeviceError, ExecutionError
from ..devices.driver import Context, DeviceCode, DeviceProperties, Driver, LoadedCode, format_bytes
from ..runtime.launch_table import LaunchTable
from ..runtime.memory import array_at
from .emulation import EmulatedModule, EmulationError, compile_emulated, compiler, driver_addresses, last_error
from .emulation.driver import runtime_functions as runtime

_CONTEXT = Context(0, 0)
"""The only context."""
_MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h."""


class EmulatedDriver(Driver):
    """The driver of the single emulated device."""

    kind = "cuda_emulated"

    def __init__(self) -> None:
        self._numbers = itertools.count(3)  # lower handles of streams are default streams
        self._events: dict[int, float] = {}

    def count(self) -> int:
        if compiler() is None:
            raise DeviceError("there is no device cuda_emulated(0): it needs g++ and binutils")
        return 1

    def properties(self, index: int) -> DeviceProperties:
        memory = self.memory(index)[1]
        return DeviceProperties("emulated by g++", "", memory, 227 * 1024, 1, 0, 0, 0, "")

    def current_index(self) -> int:
        return 0

    def context(self, index: int) -> Context:
        return _CONTEXT

    def primary_context(self, index: int) -> Context:
        return _CONTEXT

    def make_current(self, index: int, context: Context | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def launch_table(self) -> LaunchTable:
        addresses = driver_addresses()
        return LaunchTable(*(addresses[name] for name in ("launch", "alloc_async", "free_async", "copy_async", "wait")))

    def load(self, index: int, code: Sequence[DeviceCode]) -> LoadedCode:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            modules = list(pool.map(_compile, code))
        handles: dict[str, int] = {}
        for module, each in zip(modules, code, strict=True):
            for kernel in each.kernels:
                handles[kernel.name] = module.kernels[kernel.symbol].address
                if kernel.dynamic_shared_bytes:
                    limit = kernel.dynamic_shared_bytes
                    runtime()["set_attribute"](handles[kernel.name], _MAX_DYNAMIC_SHARED, limit)
        return LoadedCode(handles, modules)

    def memory_owner(self, address: int) -> tuple[int, Context | None] | None:
        return 0, None  # its memory is not distinguished from that of the process

    def allocate(self, index: int, size: int, name: str) -> int:
        address = runtime()["alloc"](size, name.encode())
        if address is None:
            raise DeviceError(self._no_memory(name, size), "CUDA_ERROR_OUT_OF_MEMORY")
        return address

    def _no_memory(self, where: str, size: int) -> str:
        free, whole = map(format_bytes, self.memory(0))
        return f"{where}: out of memory of cuda_emulated(0): {format_bytes(size)} asked for, {free} of {whole} are free"

    def free(self, index: int, address: int, context: Context) -> None:
        runtime()["free"](address)

    def memory(self, index: int) -> tuple[int, int]:
        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")

    def copy_in(self, index: int, address: int, array: np.ndarray[Any, Any], stream: int) -> None:
        _bytes(address, array.nbytes)[...] = array.reshape(-1).view(np.uint8)

    def copy_out(self, index: int, array: np.ndarray[Any, Any], address: int, stream: int) -> None:
        array.reshape(-1).view(np.uint8)[...] = _bytes(address, array.nbytes)

    def copy(self, index: int, target: int, source: int, size: int, stream: int) -> None:
        _bytes(target, size)[...] = _bytes(source, size)

    def create_stream(self, index: int) -> int:
        return next(self._numbers)

    def destroy_stream(self, index: int, stream: int, context: Context) -> None:
        pass

    def stream_context(self, index: int, stream: int) -> Context:
        return _CONTEXT

    def wait_for_stream(self, index: int, stream: int) -> None:
        pass

    def wait_for_device(self, index: int) -> None:
        pass

    def create_event(self, index: int) -> int:
        return next(self._numbers)

    def destroy_event(self, index: int, event: int, context: Context) -> None:
        self._events.pop(event, None)

    def record(self, index: int, event: int, stream: int) -> None:
        self._events[event] = time.perf_counter()

    def stream_wait_event(self, index: int, stream: int, event: int) -> None:
        pass

    def wait_for_event(self, index: int, event: int) -> None:
        pass

    def seconds_between(self, index: int, start: int, end: int) -> float:
        return self._events[end] - self._events[start]

    def launch_error(self, where: str, table: LaunchTable) -> ExecutionError:
        return last_error()

    def memory_error(self, index: int, where: str, table: LaunchTable) -> ExecutionError:
        return DeviceError(self._no_memory(where, table.asked), "CUDA_ERROR_OUT_OF_MEMORY")

    def copy_error(self, where: str, table: LaunchTable) -> ExecutionError:
        error = last_error()
        return EmulationError(f"{where}: {error}", error.reason, error.lines)


def _compile(code: DeviceCode) -> EmulatedModule:
    return compile_emulated(code.source, [kernel.symbol for kernel in code.kernels], code.checks)


def _bytes(address: int, size: int) -> np.ndarray[Any, Any]:
    return array_at(address, (size,), None, np.dtype(np.uint8))
