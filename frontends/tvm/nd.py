"""Arrays and devices, as `tvm.nd` has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.dtypes import dtype_of_numpy, numpy_dtype, parse_dtype
from ...core.errors import ArgumentError, OptionError, UnsupportedError

_CPU, _CUDA = 1, 2


@dataclass(frozen=True)
class Device:
    """Where an array is: `device_type` by DLPack's numbers, and which one of them."""

    device_type: int
    device_id: int = 0

    def __str__(self) -> str:
        return f"{'cpu' if self.device_type == _CPU else 'cuda'}({self.device_id})"

    __repr__ = __str__


def cpu(dev_id: int = 0) -> Device:
    """This machine's memory."""
    return Device(_CPU, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """A GPU. Arrays on it are not supported yet."""
    return Device(_CUDA, dev_id)


gpu = cuda


_KINDS = {"llvm": _CPU, "cpu": _CPU, "c": _CPU, "cuda": _CUDA, "gpu": _CUDA}


def device(dev: str, dev_id: int = 0) -> Device:
    """A device by the name of its kind, or by the string of a target: `llvm -libs=cblas`. OptionError for others."""
    words = str(dev).split()
    if not words or words[0] not in _KINDS:
        raise OptionError(f"device {dev!r}, expected one of {', '.join(_KINDS)}")
    return Device(_KINDS[words[0]], dev_id)


context = device


class NDArray:
    """An array on a device, which compiled functions take beside numpy's. `numpy()` is a copy of it."""

    def __init__(self, data: npt.NDArray[Any], device: Device):
        self._data = data
        self.device = device

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def dtype(self) -> str:
        return dtype_of_numpy(self._data.dtype).name

    @property
    def ctx(self) -> Device:
        """The device, as it was called until v0.8."""
        return self.device

    def numpy(self) -> npt.NDArray[Any]:
        """A copy of what it holds."""
        return self._data.copy()

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Take over what an array of the same shape holds. ArgumentError if the shapes differ."""
        values = np.asarray(source._data if isinstance(source, NDArray) else source)
        if values.shape != self.shape:
            raise ArgumentError(f"an array of shape {values.shape}, expected {self.shape}")
        self._data[...] = values
        return self

    def copyto(self, target: Any) -> Any:
        """A copy in another array, or on a device."""
        if isinstance(target, NDArray):
            return target.copyfrom(self)
        return array(self, target)

    def __getitem__(self, index: Any) -> Any:
        return self._data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._data[index] = value._data if isinstance(value, NDArray) else value

    def __len__(self) -> int:
        return len(self._data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._data, dtype=dtype, copy=True if copy is None else copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.device_type, self.device.device_id

    def __str__(self) -> str:
        return str(self._data)

    def __repr__(self) -> str:
        return f"<NDArray shape={self.shape}, {self.device}>\n{self._data!r}"


def array(arr: Any, device: Device | None = None) -> NDArray:
    """A copy of an array or of numbers on a device, this machine's memory if none is given."""
    values = np.array(arr.numpy() if isinstance(arr, NDArray) else arr, order="C")
    try:
        dtype_of_numpy(values.dtype)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    return NDArray(values, _host(device))


def empty(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """An array whose numbers are not said."""
    try:
        kind = numpy_dtype(parse_dtype(dtype))
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    return NDArray(np.empty(shape, kind), _host(device))


def _host(device: Device | None) -> Device:
    """The device, if arrays can be on it."""
    if device is None:
        return cpu()
    if device.device_type != _CPU:
        raise UnsupportedError(f"arrays on {device} are not supported yet")
    return device
