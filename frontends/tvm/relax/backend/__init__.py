"""Operators that other code generators compute: `tvm.relax.backend`."""

from __future__ import annotations

from ...absent import report_absent
from . import contrib, cuda, pattern_registry, patterns
from .pattern_registry import FusionPattern, get_pattern, get_patterns_with_prefix, register_patterns

__getattr__ = report_absent("tvm.relax.backend")

__all__ = [
    "FusionPattern", "contrib", "cuda", "get_pattern", "get_patterns_with_prefix", "pattern_registry", "patterns",
    "register_patterns",
]  # fmt: skip
