"""The module `tvm.script.ir_builder`: programs written by Python, with frames entered by `with`.

with IRBuilder() as builder:
    with T.prim_func():
        a = T.arg("a", T.Buffer((8,), "float32"))
        with T.serial(8) as i:
            T.buffer_store(a, 1.0, [i])
func = builder.get()
"""

from __future__ import annotations

from ..absent import report_absent
from . import ir, tir
from .base import Frame, IRBuilder

IRBuilderFrame = Frame

__getattr__ = report_absent("tvm.script.ir_builder")

__all__ = ["IRBuilder", "IRBuilderFrame", "ir", "tir"]
