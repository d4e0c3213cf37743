"""The module `tvm.arith`: facts about integer expressions."""

from __future__ import annotations

from ..absent import report_absent
from . import int_set
from .analyzer import Analyzer, ConstIntBound, Extension, ModularSet, ProofStrength
from .int_set import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from .linear import deduce_bound, detect_clip_bound, detect_linear_equation

__getattr__ = report_absent("tvm.arith")

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "Extension",
    "IntSet",
    "IntervalSet",
    "ModularSet",
    "ProofStrength",
    "deduce_bound",
    "detect_clip_bound",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "int_set",
]
