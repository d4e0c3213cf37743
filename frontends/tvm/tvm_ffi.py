"""The package `tvm_ffi` of v0.22 and later: functions by name, equality of programs, containers."""

from __future__ import annotations

from .absent import report_absent
from .ir.comparison import structural_equal, structural_hash
from .nd import NDArray as Tensor
from .nd import from_dlpack
from .registry import get_global_func, register_func, register_global_func

__getattr__ = report_absent("tvm_ffi")

Array = list
Map = dict
Shape = tuple
String = str

__all__ = [
    "Array",
    "Map",
    "Shape",
    "String",
    "Tensor",
    "from_dlpack",
    "get_global_func",
    "register_func",
    "register_global_func",
    "structural_equal",
    "structural_hash",
]
