"""What native code that launches kernels finds: functions of a driver in a table, handles of kernels in places."""

from __future__ import annotations

import ctypes

TABLE = "stepwell_gpu"
"""The symbol of the table."""
LAUNCH_FAILED = "a kernel failed: "
"""What the message of a failed launch starts with; the name of the kernel follows."""
OUT_OF_DEVICE_MEMORY = "out of memory of the device"
COPY_FAILED = "a copy failed: "
"""What the message of a failed copy starts with; what is copied follows."""


class LaunchTable(ctypes.Structure):
    """What native code calls, where it launches, and what it says of the last call.

    launch: with the signature of cuLaunchKernel.  allocate, free: with those of cuMemAllocAsync and cuMemFreeAsync.
    copy, wait: with those of cuMemcpyAsync and cuStreamSynchronize.
    stream: the handle of the stream that all of it is for.  status: what the last of these functions gave, 0 for
    success.  sizes: grid, block and dynamic shared memory of the last launch.  asked: the bytes of the last allocation
    or copy.
    """

    _fields_ = (
        ("launch", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("copy", ctypes.c_void_p),
        ("wait", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("status", ctypes.c_int32),
        ("sizes", ctypes.c_uint32 * 7),
        ("asked", ctypes.c_uint64),
    )


def kernel_symbol(name: str) -> str:
    """The symbol of the place where the handle of a kernel stands."""
    return f"stepwell_gpu_kernel.{name}"
