"""Random operands and attributes for every operator: one module for each of `operators/`, with its `SAMPLES`."""

from __future__ import annotations

from hypothesis import strategies as st

from ....operators import OPERATORS
from . import (
    activations,
    convolutions,
    einsum,
    filling,
    grids,
    image,
    indexing,
    math,
    nn,
    normalization,
    padding,
    pools,
    quantization,
    reduction,
    scans,
    sorting,
    transform,
)
from .programs import program_of
from .sampling import Sample

__all__ = ["SAMPLES", "Sample", "missing", "program_of"]

_FAMILIES = (
    math,
    reduction,
    scans,
    sorting,
    transform,
    nn,
    activations,
    normalization,
    padding,
    filling,
    grids,
    convolutions,
    einsum,
    pools,
    image,
    indexing,
    quantization,
)

SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    name: samples for module in _FAMILIES for name, samples in module.SAMPLES.items()
}
"""A strategy for the operands and attributes of each operator."""


def missing() -> set[str]:
    """The operators without a strategy."""
    return set(OPERATORS) - set(SAMPLES)
