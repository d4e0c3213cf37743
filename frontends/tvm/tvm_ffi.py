"""The package `tvm_ffi` of v0.22 and later: functions by name, equality of programs, containers."""

from __future__ import annotations

import sys

from .absent import report_absent
from .ir.comparison import structural_equal, structural_hash
from .nd import NDArray as Tensor
from .nd import from_dlpack
from .registry import get_global_func, list_global_func_names, register_func, register_global_func

__getattr__ = report_absent("tvm_ffi")

Array = list
Map = dict
Shape = tuple
String = str


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
    "Map",
    "Shape",
    "String",
    "Tensor",
    "from_dlpack",
    "get_global_func",
    "init_ffi_api",
    "register_func",
    "register_global_func",
    "structural_equal",
    "structural_hash",
]
