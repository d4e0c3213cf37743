"""Programs for a GPU on the CPU: the functions of the host are native code, their kernels run emulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import ArgumentError, ExecutionError
from ...module import Module
from ...transforms.pipelines import lower_launches
from ..llvm import compile_module
from ..llvm.launches import ALLOCATE, FREE, LAUNCH, LAUNCH_FAILED, kernel_symbol
from ..runtime.library import CompiledFunction, Library
from ..runtime.signature import BufferParameter
from .emitter import emit_cuda
from .emulation import DeviceMemory, compile_emulated, driver_addresses, last_error


class EmulatedFunction(CompiledFunction):
    """A function of the host that launches kernels. Arrays are copied to memory of the device and back."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the function; returns what it returns.

        Raises what native functions raise, and `EmulationError` for what kernels must not do.
        """
        given = list(arguments)
        copied: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], DeviceMemory]] = {}
        for n, parameter in enumerate(self.signature.parameters):
            if n < len(given) and isinstance(parameter, BufferParameter) and isinstance(given[n], np.ndarray):
                array = given[n]
                if not array.flags.c_contiguous:
                    raise ArgumentError(f"{self.name}: {parameter.name}: expected a contiguous array for the device")
                if id(array) not in copied:
                    memory = DeviceMemory.of(array, parameter.name)
                    copied[id(array)] = array, memory.view(array.shape, array.dtype), memory
                given[n] = copied[id(array)][1]
                given[n].flags.writeable = array.flags.writeable
        try:
            result = super().__call__(*given)
        except ExecutionError as error:
            if LAUNCH_FAILED in str(error):
                raise last_error() from None
            raise
        for array, device, _ in copied.values():
            if array.flags.writeable:
                array[...] = device
        return result


def build_emulated(module: Module) -> Library:
    """The functions of a module, with kernels that run emulated. UnsupportedError for what cannot be compiled."""
    lowered = lower_launches(module)
    cuda = emit_cuda(lowered.op)
    emulated = compile_emulated(cuda.source, [kernel.symbol for kernel in cuda.kernels])
    driver = driver_addresses()
    symbols: Mapping[str, int] = {
        LAUNCH: driver["launch"],
        ALLOCATE: driver["alloc"],
        FREE: driver["free"],
        **{kernel_symbol(kernel.name): emulated.kernels[kernel.symbol].address for kernel in cuda.kernels},
    }
    return compile_module(
        lowered.op,
        symbols=symbols,
        function=EmulatedFunction,
        more_sources={"cuda": lambda: cuda.source},
        keep_alive=emulated,
    )
