"""Functions that programs call by the names of TVM's C++ API: `tvm.auto_scheduler._ffi_api`."""

from __future__ import annotations

import json
from typing import Any

from ..absent import report_absent
from .measure_record import RecordedTask, save_records, task_fields

SaveRecords = save_records

__getattr__ = report_absent("tvm.auto_scheduler._ffi_api")


def SerializeSearchTask(task: Any) -> str:
    """A task as JSON, as it is part of records."""
    return json.dumps(task_fields(task))


def DeserializeSearchTask(text: str) -> RecordedTask:
    """The task of `SerializeSearchTask`, here or in TVM."""
    return RecordedTask.of_fields(json.loads(text))


__all__ = ["DeserializeSearchTask", "SaveRecords", "SerializeSearchTask"]
