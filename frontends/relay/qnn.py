"""Operators on quantized integers: `relay.qnn.quantize`, and `relay.qnn.op.quantize` as in Relay."""

from __future__ import annotations

from . import qnn as op
from .operators import function_of

__all__ = ["dequantize", "op", "quantize"]

dequantize = function_of("qnn.dequantize")
quantize = function_of("qnn.quantize")
