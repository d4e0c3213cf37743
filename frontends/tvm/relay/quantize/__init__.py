"""The module `tvm.relay.quantize`: graphs of floats as graphs of integers."""

from __future__ import annotations

from ...absent import report_absent
from .config import QConfig, current_qconfig, qconfig
from .quantization import calibrate, prerequisite_optimize, quantize, realize

__getattr__ = report_absent("tvm.relay.quantize")

__all__ = ["QConfig", "calibrate", "current_qconfig", "prerequisite_optimize", "qconfig", "quantize", "realize"]
