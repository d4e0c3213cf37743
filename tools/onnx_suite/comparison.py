"""Comparison of actual and expected results of a case."""

from __future__ import annotations

from typing import Any

import numpy as np

# The tolerances of ONNX's runner for all node tests, and two units in the last place for bfloat16.
RTOL, ATOL = 1e-3, 1e-7
_BFLOAT16_RTOL = 2**-6


def result_difference(got: Any, want: Any, where: str = "") -> str:
    """The difference between actual and expected results, "" if equal. Data types and shapes must be equal."""
    if isinstance(want, list):
        if not isinstance(got, list | tuple) or len(got) != len(want):
            return f"{where or 'results'}: expected {len(want)} values, got {_count(got)}"
        differences = (
            result_difference(*pair, f"{where}[{index}]") for index, pair in enumerate(zip(got, want, strict=True))
        )
        return next(filter(None, differences), "")
    if want is None or got is None:
        return "" if got is want else f"{where}: expected {type(want).__name__}, got {type(got).__name__}"
    got = np.asarray(got)
    if got.dtype.kind == "U":  # strings of fixed width
        got = got.astype(object)
    for what in ("dtype", "shape"):
        if getattr(got, what) != getattr(want, what):
            return f"{where}: expected {what} {getattr(want, what)}, got {getattr(got, what)}"
    return _different_values(got, want, where)


def _count(got: Any) -> str:
    return str(len(got)) if isinstance(got, list | tuple) else type(got).__name__


def _different_values(got: Any, want: Any, where: str) -> str:
    bad = ~are_close(got, want)
    if not bad.any():
        return ""
    first = tuple(int(index) for index in np.argwhere(bad)[0])
    position = f" at {first}" if first else ""
    return f"{where}: {bad.sum()} of {bad.size} values, the first{position}: expected {want[first]}, got {got[first]}"


def are_close(got: Any, want: Any) -> Any:
    """Whether each element of an array is that of another one, within the tolerances of ONNX's runner."""
    if want.dtype.kind in "bOSU":
        return np.asarray(got == want)
    rtol = RTOL
    if want.dtype.kind not in "iufc":  # types of ml_dtypes
        rtol = _BFLOAT16_RTOL if want.dtype.name == "bfloat16" else RTOL
        got, want = got.astype(np.float32), want.astype(np.float32)
    with np.errstate(all="ignore"):
        return np.asarray(np.isclose(got, want, rtol, ATOL, equal_nan=True))
