"""Import of models from other frameworks: `tvm.relax.frontend`."""

from __future__ import annotations

from ...absent import report_absent
from . import nn, onnx, torch
from .graphs import detach_params

__getattr__ = report_absent("tvm.relax.frontend")

__all__ = ["detach_params", "nn", "onnx", "torch"]
