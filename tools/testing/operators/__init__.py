"""Random operands and attributes for every operator: one module for each of `operators/`, with its `SAMPLES`."""

from __future__ import annotations

from hypothesis import strategies as st

from ....operators import OPERATORS
from . import activations, filling, math, nn, normalization, padding, reduction, transform, windows
from .sampling import Sample

__all__ = ["SAMPLES", "Sample", "missing"]

SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    name: samples
    for module in (math, reduction, transform, nn, activations, normalization, padding, filling, windows)
    for name, samples in module.SAMPLES.items()
}
"""What to try each operator with."""


def missing() -> set[str]:
    """Operators that are not tried."""
    return set(OPERATORS) - set(SAMPLES)
