"""The module `tvm.topi.random`, as of v0.16: random numbers of a state of ten words of uint64."""

from __future__ import annotations

from typing import Any

from ....operators.random import multinomial, normal, threefry_generate, threefry_split, uniform
from ..absent import report_absent

__getattr__ = report_absent("tvm.topi.random")

__all__ = ["multinomial", "normal", "threefry_generate", "threefry_split", "threefry_test_wrapping", "uniform"]


def threefry_test_wrapping(target: Any, device: Any) -> bool:
    """Whether sums of uint64 wrap: True for all targets (docs/semantics.md). target, device: ignored."""
    return True
