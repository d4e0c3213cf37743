"""Kernels as modules of PyCUDA."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...core.errors import DeviceError, PluginError
from ..devices.driver import DeviceCode

SHARED_BY_DEFAULT = 48 * 1024
"""The bytes of dynamic shared memory that a kernel may use without an attribute."""


def load_pycuda_module(code: DeviceCode) -> Any:
    """The `pycuda.driver.Module` of kernels, loaded in the current context.

    Raises PluginError if PyCUDA is not installed, DeviceError if no context is current or the GPU cannot run the
    kernels.
    """
    try:
        driver: Any = import_module("pycuda.driver")
    except ImportError as error:
        raise PluginError(f"PyCUDA is not there: pip install 'stepwell[pycuda]' ({error})") from None
    kernels = ", ".join(kernel.name for kernel in code.kernels)
    try:
        if driver.Context.get_current() is None:
            raise DeviceError(
                f"{kernels}: expected a current context of PyCUDA, got none: import pycuda.autoprimaryctx, or make one"
            )
        module = driver.module_from_buffer(code.image)
        for kernel in code.kernels:
            if kernel.dynamic_shared_bytes > SHARED_BY_DEFAULT:
                attribute = driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                module.get_function(kernel.symbol).set_attribute(attribute, kernel.dynamic_shared_bytes)
    except driver.Error as error:
        raise DeviceError(f"PyCUDA does not load {kernels}, which is made for {code.architecture}: {error}") from error
    return module
