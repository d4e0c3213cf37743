"""Arrays and devices: `tvm.nd`, `tvm.runtime.ndarray`."""

from __future__ import annotations

from typing import Any

from ...backends.devices import nd as arrays
from ...backends.devices.nd import HostArray, NDArray, from_dlpack
from ...core.dtypes import is_numpy_dtype, parse_dtype
from ...core.errors import UnsupportedError
from .absent import report_absent
from .devices import Device, cl, cpu, cuda, device, ext_dev, hexagon, metal, mtl, opencl, rocm, vpi, vulkan, webgpu

__getattr__ = report_absent("tvm.nd")

gpu = cuda
context = device


def array(arr: Any, device: Device | None = None, mem_scope: str | None = None, ctx: Device | None = None) -> NDArray:
    """A copy of an array or of numbers on a device, by default in host memory. ctx: the device, as TVM called it until
    v0.7. Errors as of `stepwell.nd.array`; UnsupportedError for a memory scope other than global.
    """
    return arrays.array(arr, _device(device, mem_scope, ctx))


def empty(
    shape: Any,
    dtype: Any = "float32",
    device: Device | None = None,
    mem_scope: str | None = None,
    ctx: Device | None = None,
) -> NDArray:
    """An array without values on a device. dtype: by name, or numpy's.  ctx, mem_scope: as of `array`."""
    name = parse_dtype(dtype).name if is_numpy_dtype(dtype) else str(dtype)
    return arrays.empty(shape, name, _device(device, mem_scope, ctx))


def _device(device: Device | None, mem_scope: str | None, ctx: Device | None) -> Device | None:
    if mem_scope not in (None, "", "global"):
        raise UnsupportedError(f"memory scope {mem_scope!r} of an array, expected global")
    return device if device is not None else ctx


NDArrayBase = NDArray
"""The base class of arrays of users' own."""

__all__ = [
    "Device", "HostArray", "NDArray", "NDArrayBase", "array", "cl", "context", "cpu", "cuda", "device", "empty",
    "ext_dev", "from_dlpack", "gpu", "hexagon", "metal", "mtl", "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip
