"""Workloads of tests: `tvm.meta_schedule.testing`."""

from __future__ import annotations

from ...absent import report_absent
from . import te_workload

__getattr__ = report_absent("tvm.meta_schedule.testing")

__all__ = ["te_workload"]
