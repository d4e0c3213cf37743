"""Random operands and attributes for every operator: one module for each of `operators/`, with its `SAMPLES`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from hypothesis import strategies as st

from ....operators import OPERATORS
from .programs import program_of
from .sampling import Sample

__all__ = ["SAMPLES", "Sample", "operators_without_samples", "program_of"]

_MODULES = [import_module(f".{each.name}", __name__) for each in iter_modules(__path__)]

SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    name: samples for module in _MODULES for name, samples in getattr(module, "SAMPLES", {}).items()
}
"""A strategy for the operands and attributes of each operator."""


def operators_without_samples() -> set[str]:
    """The operators without a strategy."""
    return set(OPERATORS) - set(SAMPLES)
