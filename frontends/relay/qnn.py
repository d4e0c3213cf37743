"""Operators on quantized integers: `relay.qnn.quantize`, and `relay.qnn.op.quantize` as in Relay."""

from __future__ import annotations

from . import qnn as op
from .operators import operator_function

__all__ = ["dequantize", "op", "quantize"]

dequantize = operator_function("qnn.dequantize")
quantize = operator_function("qnn.quantize")
