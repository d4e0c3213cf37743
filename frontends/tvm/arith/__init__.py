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
from .iter_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    subspace_divide,
)
from .linear import deduce_bound, detect_clip_bound, detect_linear_equation

__getattr__ = report_absent("tvm.arith")

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "Extension",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "ProofStrength",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "int_set",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "subspace_divide",
]
