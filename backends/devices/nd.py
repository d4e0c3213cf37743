"""Arrays in the memory of a device."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.arrays import plain_array, with_elements_of
from ...core.dtypes import dtype_of_numpy, numpy_dtype, parse_dtype
from ...core.errors import ArgumentError
from ...core.sizes import byte_count, check_shape
from ..runtime.dlpack import (
    CPU_DEVICES,
    ForeignTensor,
    dlpack_device,
    export_with_stream,
    read_capsule,
    read_dlpack,
    to_dlpack,
)
from ..runtime.dlpack import from_dlpack as host_array
from ..runtime.memory import array_at, empty_array
from .cuda_array import CudaArray, read_cuda_array, write_cuda_array
from .device import LEGACY_STREAM, Device, Stream, cpu, stream_handle
from .driver import Context

Array = npt.NDArray[Any]


class NDArray(ABC):
    """An array in the memory of a device, an argument of compiled functions. `numpy()` copies it to the host."""

    device: Device

    @property
    @abstractmethod
    def layout(self) -> Array:
        """The array as a numpy array. Its elements are accessible only in host memory; for other devices it provides
        shape, strides, data type and address.
        """

    @abstractmethod
    def numpy(self) -> Array:
        """A copy of the elements in host memory."""

    @abstractmethod
    def copyfrom(self, source: Any) -> NDArray:
        """Copies the elements of an array of the same shape, on any device; to bfloat16, uint16 are bits. Raises
        ArgumentError if the shapes differ.
        """

    @abstractmethod
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for other libraries. stream: the consumer's stream, which waits for the current one; -1 for no
        wait.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def dtype(self) -> str:
        return dtype_of_numpy(self.layout.dtype).name

    @property
    def nbytes(self) -> int:
        return self.layout.nbytes

    @property
    def ctx(self) -> Device:
        """The device, as TVM called it until v0.8."""
        return self.device

    def asnumpy(self) -> Array:
        """`numpy()`, as TVM called it until v0.8."""
        return self.numpy()

    def copyto(self, target: Any) -> NDArray:
        """Copies the elements to another array, or to a new array on a device; returns it."""
        return target.copyfrom(self) if isinstance(target, NDArray) else array(self, target)

    def __getitem__(self, index: Any) -> Any:
        return self.numpy()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis and index != slice(None):
            raise ArgumentError(f"elements of an array on {self.device} are set all at once: array[:] = values")
        self.copyfrom(value)

    def __len__(self) -> int:
        return len(self.layout)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.numpy(), dtype=dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.device_type, self.device.device_id

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        return f"<NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"


class HostArray(NDArray):
    """An array in this machine's memory."""

    def __init__(self, data: Array, device: Device | None = None):
        self._data = data
        self.device = device or cpu()

    @property
    def layout(self) -> Array:
        return self._data

    def numpy(self) -> Array:
        return self._data.copy()

    def copyfrom(self, source: Any) -> NDArray:
        values = with_elements_of(_values(source), self._data.dtype)
        _check_shape(values.shape, self.shape)
        self._data[...] = values
        return self

    def __getitem__(self, index: Any) -> Any:
        return self._data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[index] = value.numpy() if isinstance(value, NDArray) else value

    def __dlpack__(self, **options: Any) -> Any:
        data = self._data
        if data.dtype.isbuiltin == 1:  # 2 for the types of ml_dtypes
            return data.__dlpack__(**options)  # numpy checks the options
        if options.get("copy"):
            data = data.copy()
        strides = tuple(stride // data.itemsize for stride in data.strides)
        device, is_read_only = self.__dlpack_device__(), not data.flags.writeable
        tensor = ForeignTensor(data.ctypes.data, data.shape, strides, data.dtype, device, is_read_only, data)
        return to_dlpack(tensor, (options.get("max_version") or (0, 0)) >= (1, 0))


class DeviceArray(NDArray):
    """An array in device memory. `layout` must not be dereferenced."""

    def __init__(self, device: Device, layout: Array, owner: object, context: Context | None = None):
        """owner: keeps the memory alive.  context: of the memory, None if all contexts of the device share it."""
        self.device = device
        self.context = context
        self._layout = layout
        self._owner = owner

    @property
    def layout(self) -> Array:
        return self._layout

    @property
    def address(self) -> int:
        """The address of the first element, on the device."""
        return self._layout.ctypes.data

    def numpy(self) -> Array:
        if not self._layout.size:
            return np.empty(self.shape, self._layout.dtype)
        whole, begin = self._bytes()
        with self._make_current():
            self.device.driver.copy_out(self.device.index, whole, begin, self._stream)
        if self._layout.flags.c_contiguous:
            return whole.view(self._layout.dtype).reshape(self.shape)
        first = whole[self.address - begin :]
        strides = tuple(stride // self._layout.itemsize for stride in self._layout.strides)
        return array_at(first.ctypes.data, self.shape, strides, self._layout.dtype, owner=whole).copy()

    def _bytes(self) -> tuple[Array, int]:
        """An uninitialized host buffer for the byte range of the array, and the device address of the range."""
        first, end = np.lib.array_utils.byte_bounds(self._layout)
        return np.empty(end - first, np.uint8), first

    def copyfrom(self, source: Any) -> NDArray:
        imported = import_array(source)
        source = source if imported is None else imported
        _check_shape(np.shape(source.layout if isinstance(source, NDArray) else source), self.shape)
        if not self._layout.flags.c_contiguous:
            raise ArgumentError(f"strides {self._layout.strides} (bytes), expected a C-contiguous array to write to")
        if isinstance(source, DeviceArray) and self._can_take(source):
            with self._make_current():
                driver = self.device.driver
                driver.copy(self.device.index, self.address, source.address, self.nbytes, self._stream)
        elif self._layout.size:
            values = np.ascontiguousarray(with_elements_of(_values(source), self._layout.dtype), self._layout.dtype)
            with self._make_current():
                self.device.driver.copy_in(self.device.index, self.address, values, self._stream)
        return self

    def _can_take(self, source: DeviceArray) -> bool:
        """Whether the elements of another array can be copied bytewise on the device."""
        layout = source.layout
        alike = (source.device, source.context, layout.dtype) == (self.device, self.context, self._layout.dtype)
        return alike and layout.flags.c_contiguous and layout.size > 0

    @property
    def _stream(self) -> int:
        return self.device.current_stream.handle_in(self.context)

    def _make_current(self) -> AbstractContextManager[None]:
        return self.device.driver.make_current(self.device.index, self.context)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array for other CUDA libraries (PyCUDA, CuPy, numba), which wait for the current stream. Raises
        AttributeError if the array is not on a GPU, or its data type has no name there.
        """
        if self.device.kind != "cuda":
            raise AttributeError(f"an array on {self.device} has no __cuda_array_interface__, expected one on a GPU")
        layout = self._layout
        strides = None if layout.flags.c_contiguous else tuple(stride // layout.itemsize for stride in layout.strides)
        stream = self._stream or LEGACY_STREAM
        address = self.address if layout.size else 0
        return write_cuda_array(
            CudaArray(address, self.shape, strides, layout.dtype, not layout.flags.writeable, stream)
        )

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"an array on {self.device}, not on DLPack's device {dl_device}")
        if copy:
            return self.copyto(self.device).__dlpack__(stream=stream, max_version=max_version)
        if stream is not None and stream != -1:
            current, handle = self.device.current_stream, stream_handle(stream)
            if handle != current.handle:
                with self._make_current():
                    self.device.driver.stream_wait_event(self.device.index, handle, current.record().handle)
        strides = tuple(stride // self._layout.itemsize for stride in self._layout.strides)
        tensor = ForeignTensor(
            self.address,
            self.shape,
            strides,
            self._layout.dtype,
            self.__dlpack_device__(),
            not self._layout.flags.writeable,
            (self, self._owner),
        )
        return to_dlpack(tensor, max_version is not None and max_version >= (1, 0))


def _check_shape(got: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if got != expected:
        raise ArgumentError(f"an array of shape {got}, expected {expected}")


def _values(source: Any) -> Array:
    """The elements of an array, or of a number or nested lists of numbers, in host memory."""
    if isinstance(source, HostArray):
        return source.layout
    if isinstance(source, NDArray):
        return source.numpy()
    imported = import_array(source)
    return plain_array(source) if imported is None else _values(imported)


# Creating arrays


def array(arr: Any, device: Device | None = None) -> NDArray:
    """A copy of an array or of numbers on a device, by default in host memory.

    Raises ArgumentError for an unsupported data type, DeviceError if the device does not exist or has no memory left.
    """
    device = device or cpu()
    if isinstance(arr, DeviceArray) and arr.device == device:
        result = empty(arr.shape, arr.dtype, device)
        return result.copyfrom(arr)
    values = _values(arr)
    try:
        dtype = dtype_of_numpy(values.dtype)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    if device.kind == "cpu":
        copy = empty_array(values.shape, values.dtype, f"{dtype.name}{list(values.shape)}")
        copy[...] = values
        return HostArray(copy, device)
    return empty_device_array(device, values.shape, values.dtype).copyfrom(values)


def empty(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """An uninitialized array. Raises the errors of `array`, and SizeError for a shape that no array has."""
    try:
        kind = numpy_dtype(parse_dtype(dtype))
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    device = device or cpu()
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if device.kind == "cpu":
        return HostArray(empty_array(extents, kind, f"{dtype}{list(extents)}"), device)
    return empty_device_array(device, extents, kind)


def empty_device_array(device: Device, shape: tuple[int, ...], dtype: np.dtype[Any], name: str = "") -> DeviceArray:
    """An uninitialized array on a device with a driver. name: its name in error messages."""
    driver = device.driver
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"an array of shape {shape}, expected sizes that are not negative")
    check_shape(shape, dtype.itemsize, name or "array")
    size = byte_count(shape, dtype.itemsize)
    memory, context = _Memory(), driver.context(device.index)
    if size:
        address = driver.allocate(device.index, size, name or f"{dtype_of_numpy(dtype).name}{list(shape)}")
        weakref.finalize(memory, driver.free, device.index, address, context).atexit = False
    else:
        address = 0
    return DeviceArray(device, array_at(address, shape, None, dtype, owner=memory), memory, context)


class _Memory:
    """The owner of an allocation on a device, freed with the owner."""


def import_array(value: Any) -> NDArray | None:
    """An array of another library than numpy, on its own device, without a copy; None for any other value.

    Raises the errors of `from_dlpack` and `from_cuda_array`.
    """
    if isinstance(value, NDArray):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return None
    if hasattr(value, "__dlpack_device__"):
        return from_dlpack(value)
    # A property of the type is evaluated once, where its errors are those of the argument.
    name = "__cuda_array_interface__"
    return from_cuda_array(value) if hasattr(type(value), name) or hasattr(value, name) else None


def from_cuda_array(value: Any) -> NDArray:
    """An array of a CUDA library without DLPack (PyCUDA, numba), on its own GPU, without a copy. The current stream
    waits for the stream of the array, if it has one.

    Raises ArgumentError for memory that is not a GPU's and for an unsupported data type, DeviceError if there is no
    GPU.
    """
    array, driver = read_cuda_array(value), Device("cuda").driver
    owner = driver.memory_owner(array.address) if array.address else (driver.current_index(), None)
    if owner is None:
        raise ArgumentError(f"expected memory of a GPU, got address {array.address:#x}, which CUDA has not allocated")
    index, context = owner
    device = Device("cuda", index)
    if array.stream is not None:
        producer, current = Stream(device, stream_handle(array.stream), context), device.current_stream
        if producer.handle != current.handle:
            with driver.make_current(index, context):
                current.wait(producer.record())
    layout = array_at(array.address, array.shape, array.strides, array.dtype, read_only=array.read_only, owner=value)
    return DeviceArray(device, layout, value, context)


def from_dlpack(value: Any) -> NDArray:
    """An array of another library (`torch`, `cupy`), on its own device, without a copy.

    value: has `__dlpack__`, or is a capsule that it returned, whose elements on a device have been computed. Raises
    ArgumentError for another value, an unsupported device or data type.
    """
    if isinstance(value, NDArray):
        return value
    is_capsule = type(value).__name__ == "PyCapsule"
    if not is_capsule and not hasattr(value, "__dlpack_device__"):
        raise ArgumentError(f"expected an array with __dlpack__, or a DLPack capsule, got {type(value).__name__}")
    tensor = read_capsule(value) if is_capsule else _export_in_order(value)
    if tensor is not None and tensor.device[0] in CPU_DEVICES:
        return HostArray(tensor.array())
    if tensor is None:
        kind, number = dlpack_device(value)
        if kind in CPU_DEVICES:
            return HostArray(host_array(value))
        tensor = read_dlpack(value, Device.of_dlpack(kind, number).current_stream.handle or LEGACY_STREAM)
    device = Device.of_dlpack(*tensor.device)
    return DeviceArray(device, tensor.array(), tensor.owner, device.driver.primary_context(device.index))


def _export_in_order(value: Any) -> ForeignTensor | None:
    """The tensor on a device that another library exports without waiting, as its work goes to the current stream; None
    if `__dlpack__` has to be called: for other streams, for types without C functions, for memory of the CPU."""
    exported = export_with_stream(value)
    if exported is None or exported[0].device[0] in CPU_DEVICES:
        return None
    tensor, stream = exported
    return tensor if stream_handle(stream) == Device.of_dlpack(*tensor.device).current_stream.handle else None
