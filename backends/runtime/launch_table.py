"""The interface between kernel launches in native code and the runtime: a table of driver functions, and kernel
handles.
"""

from __future__ import annotations

import ctypes

from ...core.identifiers import symbol_of

TABLE = "stepwell_gpu"
"""The symbol of the table."""
LAUNCH_FAILED = "a kernel failed: "
"""The prefix of the message of a failed launch; the name of the kernel follows."""
OUT_OF_DEVICE_MEMORY = "out of memory of the device"
COPY_FAILED = "a copy failed: "
"""The prefix of the message of a failed copy; a description of the copy follows."""


class LaunchTable(ctypes.Structure):
    """The driver functions that native code calls, their stream, and the status of the last call.

    launch: with the signature of cuLaunchKernel.  allocate, free: with the signatures of cuMemAllocAsync and
    cuMemFreeAsync. copy, wait: with the signatures of cuMemcpyAsync and cuStreamSynchronize. stream: the handle of the
    stream of all operations.  status: the result of the last call, 0 for success.  sizes: grid, block and dynamic
    shared memory of the last launch.  asked: the bytes of the last allocation or copy.
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
    """The symbol of the variable that holds the handle of a kernel."""
    return symbol_of("stepwell_gpu_kernel", name)
