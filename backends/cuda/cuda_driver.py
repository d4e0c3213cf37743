"""The driver of NVIDIA GPUs, through `cuda-bindings`.

A device is used in its primary context, which PyTorch, CuPy and all users of CUDA's runtime share, so addresses and
streams are interchangeable with theirs; in a thread whose current context is another context of the device, such as one
made by PyCUDA, in that context.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ...core.errors import ArgumentError, DeviceError, ExecutionError, PluginError
from ..devices.driver import Context, DeviceCode, DeviceProperties, Driver, LoadedCode, format_bytes
from ..runtime.launch_table import LaunchTable
from .pycuda_module import SHARED_BY_DEFAULT

try:
    cu: Any = import_module("cuda.bindings.driver")
except ImportError as error:
    raise PluginError(f"GPUs need cuda-bindings, which is not there: pip install 'stepwell[cuda]' ({error})") from None

_CALLED_BY_NATIVE_CODE = ("cuLaunchKernel", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemcpyAsync", "cuStreamSynchronize")
"""The functions of a `LaunchTable`, in its order."""


class CudaDriver(Driver):
    """The GPUs of this machine."""

    kind = "cuda"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._primary: dict[int, Context] = {}

    # devices

    def count(self) -> int:
        return _count()

    def properties(self, index: int) -> DeviceProperties:
        device = _try("cuDeviceGet", index)
        attribute = cu.CUdevice_attribute

        def ask(name: str) -> int:
            return _try("cuDeviceGetAttribute", getattr(attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), device)

        major, minor = ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR")
        version = _try("cuDriverGetVersion")
        return DeviceProperties(
            _try("cuDeviceGetName", 256, device).partition(b"\0")[0].decode(),
            f"sm_{major}{minor}",
            _try("cuDeviceTotalMem", device),
            ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            ask("MULTIPROCESSOR_COUNT"),
            ask("CLOCK_RATE"),
            ask("MEMORY_CLOCK_RATE"),
            ask("GLOBAL_MEMORY_BUS_WIDTH"),
            f"{version // 1000}.{version % 1000 // 10}",
        )

    def current_index(self) -> int:
        return int(_try("cuCtxGetDevice")) if int(_try("cuCtxGetCurrent")) else 0

    def context(self, index: int) -> Context:
        return self._context_of_calls(index, int(_try("cuCtxGetCurrent")))

    def _context_of_calls(self, index: int, current: int) -> Context:
        """The result of `context`, in a thread with a current context; 0 for none."""
        primary = self._primary.get(index)
        if current and (primary is None or current != primary.handle):
            if int(_try("cuCtxGetDevice")) == int(_try("cuDeviceGet", index)):
                return _context(current)
        return primary or self.primary_context(index)

    def primary_context(self, index: int) -> Context:
        if index not in self._primary:
            with self._lock:
                if index not in self._primary:
                    self._primary[index] = self._retain(index)
        return self._primary[index]

    @contextmanager
    def make_current(self, index: int, context: Context | None = None) -> Generator[None]:
        current = int(_try("cuCtxGetCurrent"))
        context = context or self._context_of_calls(index, current)
        if current == context.handle:
            yield
        elif not current and context == self._primary.get(index):
            # No other context is current in this thread: this one stays current for the next call.
            _try("cuCtxSetCurrent", context.handle)
            yield
        else:
            _try("cuCtxPushCurrent", context.handle)
            try:
                yield
            finally:
                _try("cuCtxPopCurrent")

    def _retain(self, index: int) -> Context:
        if index >= (count := _count()):
            raise DeviceError(f"there is no device cuda({index}): cuda has {count}")
        return _context(int(_try("cuDevicePrimaryCtxRetain", _try("cuDeviceGet", index))))

    def launch_table(self) -> LaunchTable:
        return LaunchTable(*map(_address, _CALLED_BY_NATIVE_CODE))

    def load(self, index: int, code: Sequence[DeviceCode]) -> LoadedCode:
        handles: dict[str, int] = {}
        owner: list[Any] = []
        _keep_freed_memory(index)
        with self.make_current(index):
            for each in code:
                owner.append(module := self._load_image(index, each))
                for kernel in each.kernels:
                    function = _try("cuModuleGetFunction", module, kernel.symbol.encode())
                    if kernel.dynamic_shared_bytes > SHARED_BY_DEFAULT:
                        attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                        _try("cuFuncSetAttribute", function, attribute, kernel.dynamic_shared_bytes)
                    handles[kernel.name] = int(function)
        return LoadedCode(handles, owner)

    def _load_image(self, index: int, code: DeviceCode) -> Any:
        try:
            return _try("cuModuleLoadData", code.image)
        except DeviceError as error:
            gpu = self.properties(index)
            kernels = ", ".join(kernel.name for kernel in code.kernels)
            raise DeviceError(
                f"cuda({index}), {gpu.name} of {gpu.architecture}, does not load {kernels}, which is made for "
                f"{code.architecture}: {error}",
                error.status,
            ) from None

    # memory

    def memory_owner(self, address: int) -> tuple[int, Context | None] | None:
        kind, context, index = _try("cuPointerGetAttributes", len(_OWNER), list(_OWNER), address)
        if not int(kind):
            return None
        return int(index), _context(int(context)) if int(context) else None

    def allocate(self, index: int, size: int, name: str) -> int:
        with self.make_current(index):
            try:
                return int(_try("cuMemAlloc", size))
            except DeviceError as error:
                if error.status != "CUDA_ERROR_OUT_OF_MEMORY":
                    raise
                raise DeviceError(self._no_memory(index, name, size), error.status) from None

    def _no_memory(self, index: int, where: str, size: int) -> str:
        free, whole = map(format_bytes, self.memory(index))
        return f"{where}: out of memory of cuda({index}): {format_bytes(size)} asked for, {free} of {whole} are free"

    def free(self, index: int, address: int, context: Context) -> None:
        # An error cannot be reported here: the owner is gone, and a failed context reports its error later.
        if context != self._primary.get(index):
            try:
                owner = self.memory_owner(address)
            except DeviceError:
                return
            if owner is None or owner[1] != context:  # freed with its context
                return
        with self.make_current(index, context):
            cu.cuMemFree(address)

    def memory(self, index: int) -> tuple[int, int]:
        with self.make_current(index):
            free, whole = _try("cuMemGetInfo")
            return free, whole

    def copy_in(self, index: int, address: int, array: np.ndarray[Any, Any], stream: int) -> None:
        with self.make_current(index):
            _try("cuMemcpyHtoDAsync", address, array.ctypes.data, array.nbytes, stream)
            _try("cuStreamSynchronize", stream)

    def copy_out(self, index: int, array: np.ndarray[Any, Any], address: int, stream: int) -> None:
        with self.make_current(index):
            _try("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, stream)
            _try("cuStreamSynchronize", stream)

    def copy(self, index: int, target: int, source: int, size: int, stream: int) -> None:
        with self.make_current(index):
            _try("cuMemcpyDtoDAsync", target, source, size, stream)

    # streams and events

    def create_stream(self, index: int) -> int:
        with self.make_current(index):
            return int(_try("cuStreamCreate", cu.CUstream_flags.CU_STREAM_DEFAULT.value))

    def destroy_stream(self, index: int, stream: int, context: Context) -> None:
        if self._can_destroy(index, context):
            with self.make_current(index, context):
                cu.cuStreamDestroy(stream)

    def _can_destroy(self, index: int, context: Context) -> bool:
        """Whether streams and events of a context can be destroyed: its handle is invalid once the context is
        destroyed, and they with it.
        """
        if context == self._primary.get(index):
            return True
        current = int(_try("cuCtxGetCurrent"))
        return current == context.handle and _context(current) == context

    def stream_context(self, index: int, stream: int) -> Context:
        context = _context(int(_try("cuStreamGetCtx", stream)))
        with self.make_current(index, context):
            if (found := int(_try("cuCtxGetDevice"))) != int(_try("cuDeviceGet", index)):
                raise ArgumentError(f"expected a stream of cuda({index}), got a stream of cuda({found})")
        return context

    def wait_for_stream(self, index: int, stream: int) -> None:
        with self.make_current(index):
            _try("cuStreamSynchronize", stream)

    def wait_for_device(self, index: int) -> None:
        with self.make_current(index):
            _try("cuCtxSynchronize")

    def create_event(self, index: int) -> int:
        with self.make_current(index):
            return int(_try("cuEventCreate", cu.CUevent_flags.CU_EVENT_DEFAULT.value))

    def destroy_event(self, index: int, event: int, context: Context) -> None:
        if self._can_destroy(index, context):
            with self.make_current(index, context):
                cu.cuEventDestroy(event)

    def record(self, index: int, event: int, stream: int) -> None:
        with self.make_current(index):
            _try("cuEventRecord", event, stream)

    def stream_wait_event(self, index: int, stream: int, event: int) -> None:
        with self.make_current(index):
            _try("cuStreamWaitEvent", stream, event, 0)

    def wait_for_event(self, index: int, event: int) -> None:
        with self.make_current(index):
            _try("cuEventSynchronize", event)

    def seconds_between(self, index: int, start: int, end: int) -> float:
        with self.make_current(index):
            return _try("cuEventElapsedTime", start, end) / 1000

    # errors

    def launch_error(self, where: str, table: LaunchTable) -> ExecutionError:
        *sizes, shared = table.sizes
        grid, block = tuple(sizes[:3]), tuple(sizes[3:])
        return _error(
            f"{where}: the launch of {grid} blocks of {block} threads with {shared} bytes of dynamic shared memory",
            table.status,
        )

    def memory_error(self, index: int, where: str, table: LaunchTable) -> ExecutionError:
        if table.status != cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY.value:
            return _error(f"{where}: asking for {format_bytes(table.asked)} of memory", table.status)
        return DeviceError(self._no_memory(index, where, table.asked), "CUDA_ERROR_OUT_OF_MEMORY")

    def copy_error(self, where: str, table: LaunchTable) -> ExecutionError:
        return _error(f"{where}: the copy of {table.asked} bytes to the host", table.status)


def _keep_freed_memory(index: int) -> None:
    """Sets the memory pool to keep freed memory: each call allocates its memory between kernels."""
    device = _try("cuDeviceGet", index)
    if _try("cuDeviceGetAttribute", cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device):
        pool = _try("cuDeviceGetDefaultMemPool", device)
        most = cu.cuuint64_t(2**64 - 1)
        _try("cuMemPoolSetAttribute", pool, cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, most)


# Calls

_OWNER = (
    cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_CONTEXT,
    cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
)
_FAILED_BEFORE = {
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
}
"""The errors of a kernel that every later call of the driver returns."""


def _try(name: str, *arguments: Any) -> Any:
    """Calls a function of the driver; returns its result, or a tuple of several. Raises DeviceError on failure."""
    status, *results = getattr(cu, name)(*arguments)
    if status != cu.CUresult.CUDA_SUCCESS:
        raise _error(name, status)
    return results[0] if len(results) == 1 else tuple(results)


def _context(handle: int) -> Context:
    return Context(handle, int(_try("cuCtxGetId", handle)))


def _error(what: str, status: Any) -> DeviceError:
    """The error for a status, with the driver's name and description."""
    try:
        status = cu.CUresult(status)
        name = status.name
        _, text = cu.cuGetErrorString(status)
    except ValueError:  # a status of a driver newer than the bindings
        name, text = f"error {int(status)}", b""
    words = f" ({text.decode()})" if text else ""
    message = f"{what} failed: {name}{words}"
    if name in _FAILED_BEFORE:
        message += (
            ". A kernel that was launched before has done this; the process cannot use the device any more. "
            "CUDA_LAUNCH_BLOCKING=1 shows which one, target cuda-emulated where"
        )
    return DeviceError(message, name)


@cache
def _count() -> int:
    """The number of GPUs. Raises DeviceError if the machine has none."""
    try:
        _try("cuInit", 0)
        count = _try("cuDeviceGetCount")
    except DeviceError as error:
        raise DeviceError(f"there is no GPU that CUDA can use: {error}", error.status) from None
    except RuntimeError as error:  # the bindings do not find libcuda
        raise DeviceError(f"there is no GPU that CUDA can use, libcuda.so.1 is not installed: {error}") from None
    if not count:
        raise DeviceError("there is no GPU that CUDA can use: the driver sees none")
    return count


def _address(name: str) -> int:
    """The address of a function of the driver."""
    _count()
    return ctypes.cast(getattr(ctypes.CDLL("libcuda.so.1"), name), ctypes.c_void_p).value or 0
