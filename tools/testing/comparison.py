"""Comparison of results: exact, or up to the rounding differences of C libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def assert_same(got: Mapping[str, Any], expected: Mapping[str, Any], context: object = "") -> None:
    """Raises AssertionError unless arrays and numbers of equal names are `same`. context: a text for the message."""
    for name, a, b in zip(expected, got.values(), expected.values(), strict=True):
        assert same(a, b), f"{name}: {a!r}, expected {b!r}\n{context}"


def assert_near(
    got: Sequence[Any], expected: Sequence[Any], tolerances: Sequence[float] | float, rtol: float = 0
) -> None:
    """Raises AssertionError unless arrays have equal types and shapes, and elements within the tolerances. tolerances:
    the absolute tolerance of each array, or of all."""
    limits = [tolerances] * len(expected) if isinstance(tolerances, int | float) else tolerances
    for a, b, limit in zip(got, expected, limits, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=rtol, atol=limit)


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
