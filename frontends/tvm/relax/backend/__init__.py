"""Operators that other code generators compute: `tvm.relax.backend`."""

from __future__ import annotations

from ...absent import report_absent
from ...transform import FunctionalPass, no_change
from . import contrib, cpu_generic, cuda, gpu_generic, pattern_registry, patterns
from .pattern_registry import FusionPattern, get_pattern, get_patterns_with_prefix, register_patterns

__getattr__ = report_absent("tvm.relax.backend")


def DispatchSampling() -> FunctionalPass:
    """Leaves a module as it is: operators that sample are kernels or packed functions already."""
    return no_change("DispatchSampling")


def DispatchSortScan() -> FunctionalPass:
    """Leaves a module as it is: operators that sort, and cumulative sums, are kernels already."""
    return no_change("DispatchSortScan")


__all__ = [
    "DispatchSampling", "DispatchSortScan", "FusionPattern", "contrib", "cpu_generic", "cuda", "get_pattern",
    "get_patterns_with_prefix", "gpu_generic", "pattern_registry", "patterns", "register_patterns",
]  # fmt: skip
