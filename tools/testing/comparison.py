"""Comparison of results: exact, or up to the rounding differences of C libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import dtype_of_numpy


def same(got: Any, expected: Any) -> bool:
    """Whether two arrays or numbers are equal, element by element: -0 is not 0, NaN is NaN."""
    a, b = np.asarray(got), np.asarray(expected)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not dtype_of_numpy(a.dtype).is_float:
        return bool((a == b).all())
    a, b = a.astype(np.float64), b.astype(np.float64)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())


UNITS = 8
"""The maximum distance, in units in the last place, between two results of one function of a C library. The measured
distance is 4 in float32 and float64; the rest allows for subsequent operations."""


def near(got: Any, expected: Any, units: int = UNITS) -> bool:
    """Whether two arrays or numbers of one type are equal, floats up to `units` units in the last place."""
    a, b = np.asarray(got), np.asarray(expected)
    if not dtype_of_numpy(a.dtype).is_float:
        return same(a, b)
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.maximum(np.abs(a), np.abs(b))).astype(np.float64)
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= units * spacing
    return bool((close | (a == b) | (np.isnan(a) & np.isnan(b))).all())
