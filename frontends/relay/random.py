"""Random numbers: `relay.random`. A function returns a new key and its numbers; equal keys yield equal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import OptionError
from .expr import Constant, Expr, const
from .operators import call_operator, relay_function


def threefry_key(seed: int) -> Constant:
    """A key. seed: a number from 0 to 2**256 - 1. OptionError for another number."""
    if not 0 <= seed < 2**256:
        raise OptionError(f"threefry_key: seed {seed}, expected a number from 0 to 2**256 - 1")
    words = np.frombuffer(seed.to_bytes(32, "little"), "<u8").astype("uint64")
    return Constant(np.concatenate([words, np.array([0, 0, 0, 0, 2**63, 0], "uint64")]))


@relay_function("random.threefry_generate")
def threefry_generate(key: Expr, shape: Sequence[int]) -> Any:
    """A new key, and random numbers of uint64."""
    return call_operator("random.threefry_generate", key, out_shape=list(shape))


@relay_function("random.threefry_split")
def threefry_split(key: Expr) -> Any:
    """Two keys whose numbers differ."""
    return call_operator("random.threefry_split", key)


def _as_number(value: Any, dtype: str) -> Expr:
    return value if isinstance(value, Expr) else const(value, dtype)


@relay_function("random.uniform", "low", "high")
def uniform(key: Expr, shape: Sequence[int], dtype: str = "float32", low: Any = 0.0, high: Any = 1.0) -> Any:
    """A new key, and random floats from `low` to `high`, numbers or tensors without dimensions."""
    ends = (_as_number(each, dtype) for each in (low, high))
    return call_operator("random.uniform", key, *ends, out_shape=list(shape), out_dtype=dtype)


@relay_function("random.normal", "mean", "scale")
def normal(key: Expr, shape: Sequence[int], dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0) -> Any:
    """A new key, and random floats of a normal distribution. mean, scale: numbers, or tensors without dimensions."""
    numbers = (_as_number(each, dtype) for each in (mean, scale))
    return call_operator("random.normal", key, *numbers, out_shape=list(shape), out_dtype=dtype)


@relay_function("random.multinomial")
def multinomial(key: Expr, probs: Expr, num_samples: int = 1) -> Any:
    """A new key, and random positions in the rows of `probs`, each as often as its share of the row says."""
    return call_operator("random.multinomial", key, probs, num_samples=num_samples)
