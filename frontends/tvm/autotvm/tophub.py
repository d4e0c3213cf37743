"""Records of TVM's authors: `tvm.autotvm.tophub`. None is loaded."""

from __future__ import annotations

from typing import Any

from ..absent import report_absent
from .task.dispatcher import ApplyHistoryBest

__getattr__ = report_absent("tvm.autotvm.tophub")


def context(target: Any, extra_files: Any = None) -> ApplyHistoryBest:
    """A context with the records of files. target: ignored, there are no records besides."""
    return ApplyHistoryBest(extra_files)


def load_reference_log(backend: str, model: str, workload_name: str) -> list[Any]:
    """The records of a template for a processor, of which there are none."""
    return []


__all__ = ["context", "load_reference_log"]
