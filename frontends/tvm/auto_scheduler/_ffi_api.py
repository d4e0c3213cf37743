"""Functions that programs call by the names of TVM's C++ API: `tvm.auto_scheduler._ffi_api`."""

from __future__ import annotations

from ..absent import report_absent
from .measure_record import save_records

SaveRecords = save_records

__getattr__ = report_absent("tvm.auto_scheduler._ffi_api")

__all__ = ["SaveRecords"]
