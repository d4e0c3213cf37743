"""CUDA C++ on the CPU, for machines without a GPU: slow, and strict about what CUDA leaves undefined.

The text of kernels is compiled by g++ as it is, with a header that says what CUDA has (`emulation.h`), and runs block
by block on fibres (`runtime.cpp`). Data races, barriers in divergent flow, accesses out of bounds or not aligned and
reads of uninitialized shared memory are errors that name the lines.
"""

from .compile import InvalidCudaError, compiler
from .driver import DeviceMemory, EmulationError, driver_addresses, last_error
from .module import EmulatedModule, Kernel, Parameter, compile_emulated

__all__ = [
    "DeviceMemory",
    "EmulatedModule",
    "EmulationError",
    "InvalidCudaError",
    "Kernel",
    "Parameter",
    "compile_emulated",
    "compiler",
    "driver_addresses",
    "last_error",
]
