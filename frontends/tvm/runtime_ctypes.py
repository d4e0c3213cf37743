"""Devices and data types under the names of `tvm._ffi.runtime_ctypes`, until v0.19."""

from __future__ import annotations

from .absent import report_absent
from .nd import Device
from .runtime.data_type import DataType, DataTypeCode

TVMContext = Device
TVMType = DataType
TypeCode = DataTypeCode
__getattr__ = report_absent("tvm._ffi.runtime_ctypes")

__all__ = ["DataType", "DataTypeCode", "Device", "TVMContext", "TVMType", "TypeCode"]
