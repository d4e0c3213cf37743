"""The module `tvm.arith`: facts about integer expressions."""

from __future__ import annotations

from ..absent import report_absent
from .analyzer import Analyzer, ConstIntBound, ModularSet

__getattr__ = report_absent("tvm.arith")

__all__ = ["Analyzer", "ConstIntBound", "ModularSet"]
