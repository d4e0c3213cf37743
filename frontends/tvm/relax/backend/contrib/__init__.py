"""Patterns of other code generators."""

from __future__ import annotations

from ....absent import report_absent
from . import example_npu

__getattr__ = report_absent("tvm.relax.backend.contrib")

__all__ = ["example_npu"]
