"""Builds of kernels that are measured: `tvm.meta_schedule.builder`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..absent import report_absent

__getattr__ = report_absent("tvm.meta_schedule.builder")


@dataclass(frozen=True)
class LocalBuilder:
    """Builds kernels in this process, as `tvm.build`. The numbers are ignored, and so are functions of users."""

    max_workers: int | None = None
    timeout_sec: float = 30.0
    f_build: Any = None
    f_export: Any = None
    initializer: Any = None


__all__ = ["LocalBuilder"]
