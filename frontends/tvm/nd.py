"""Arrays and devices: `tvm.nd`."""

from __future__ import annotations

from ...backends.devices import Device, cpu, cuda, device
from ...backends.devices.nd import HostArray, NDArray, array, empty, from_dlpack

gpu = cuda
context = device

__all__ = ["Device", "HostArray", "NDArray", "array", "context", "cpu", "cuda", "device", "empty", "from_dlpack", "gpu"]
