"""The package `tvm_ffi` of v0.22 and later: functions by name, equality of programs, containers."""

from __future__ import annotations

import sys
from enum import IntEnum

from .absent import report_absent
from .containers import register_object
from .ir.comparison import structural_equal, structural_hash
from .nd import NDArray as Tensor
from .nd import from_dlpack
from .registry import get_global_func, list_global_func_names, register_func, register_global_func
from .runtime import DataType as dtype
from .runtime import Device, Module, Object, convert, device, load_module
from .runtime import PackedFunc as Function

__getattr__ = report_absent("tvm_ffi")

Array = list
Map = dict
Shape = tuple
String = str


class DLDeviceType(IntEnum):
    """The kinds of devices as DLPack numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def init_ffi_api(namespace: str, target_module_name: str | None = None) -> None:
    """Gives a module the registered functions whose names start with `namespace` and a dot, by the rest of the name.
    target_module_name: the name of the module, by default `namespace`."""
    module = sys.modules[target_module_name or namespace]
    prefix = f"{namespace}."
    for name in list_global_func_names():
        if name.startswith(prefix):
            setattr(module, name.removeprefix(prefix).replace(".", "_"), get_global_func(name))


__all__ = [
    "Array",
    "DLDeviceType",
    "Device",
    "Function",
    "Map",
    "Module",
    "Object",
    "Shape",
    "String",
    "Tensor",
    "convert",
    "device",
    "dtype",
    "from_dlpack",
    "get_global_func",
    "init_ffi_api",
    "list_global_func_names",
    "load_module",
    "register_func",
    "register_global_func",
    "register_object",
    "structural_equal",
    "structural_hash",
]
