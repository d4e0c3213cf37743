"""The module `tvm.relay.quantize`: graphs of floats as graphs of integers."""

from __future__ import annotations

from ...absent import report_absent
from .config import QConfig, current_qconfig, qconfig
from .quantization import annotate, calibrate, partition, prerequisite_optimize, quantize, realize

__getattr__ = report_absent("tvm.relay.quantize")

__all__ = [
    "QConfig", "annotate", "calibrate", "current_qconfig", "partition", "prerequisite_optimize", "qconfig", "quantize",
    "realize",
]  # fmt: skip
