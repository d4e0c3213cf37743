"""The emulation of CUDA C++ on the CPU, for machines without a GPU: slow, and strict about CUDA's undefined behaviour.

The text of kernels is compiled by g++ unchanged, with a header that declares CUDA's built-ins (`emulation.h`), and runs
block by block on fibres (`runtime.cpp`). Data races, barriers in divergent flow, accesses out of bounds or misaligned
and reads of uninitialized shared memory are errors that name the lines.
"""

from .compile import InvalidCudaError, compiler
from .driver import DeviceMemory, EmulationError, driver_addresses, last_error
from .module import EmulatedKernel, EmulatedModule, EmulatedParameter, compile_emulated

__all__ = [
    "DeviceMemory",
    "EmulatedKernel",
    "EmulatedModule",
    "EmulatedParameter",
    "EmulationError",
    "InvalidCudaError",
    "compile_emulated",
    "compiler",
    "driver_addresses",
    "last_error",
]
