"""Comparison of results with those in float64, where they differ from the expected values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

from .cases import OnnxCase
from .comparison import are_close


def are_more_exact(case: OnnxCase, got: Sequence[Any]) -> bool:
    """Whether each element that differs from the expected one is nearer to the result of the reference evaluator on
    operands of float64. False unless the results are arrays of float32, which the evaluator computes in float64."""
    pairs = list(zip(got, case.outputs, strict=False))
    if len(got) != len(case.outputs) or not all(_are_comparable(*pair) for pair in pairs):
        return False
    try:
        exact = _results_in_float64(case)
    except Exception:  # the evaluator's own, for operators without a version in float64
        return False
    if len(exact) != len(pairs) or not all(getattr(each, "dtype", None) == np.float64 for each in exact):
        return False
    return all(_are_nearer(each, want, best) for (each, want), best in zip(pairs, exact, strict=True))


def _are_comparable(got: Any, want: Any) -> bool:
    return _is_float32(got) and _is_float32(want) and got.shape == want.shape


def _is_float32(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def _results_in_float64(case: OnnxCase) -> list[Any]:
    session: Any = ReferenceEvaluator(case.model)
    wide = [value.astype(np.float64) if _is_float32(value) else value for value in case.inputs]
    return session.run(None, dict(zip(session.input_names, wide, strict=True)))


def _are_nearer(got: Any, want: Any, exact: Any) -> bool:
    if got.shape != exact.shape:
        return False
    nearer = np.abs(got - exact) < np.abs(want - exact)
    return bool((nearer | are_close(got, want)).all())
