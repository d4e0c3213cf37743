"""Hybrid functions on arrays of numpy, which run in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np


class _Thread:
    """An axis of threads, which runs as a loop."""

    def __init__(self, tag: str, extent: int):
        self.extent = extent

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.extent))


def _allocate(shape: Sequence[int], dtype: str = "float32", scope: str = "global") -> Any:
    return np.zeros(tuple(int(extent) for extent in shape), dtype)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


_FUNCTIONS = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf exp floor fmod hypot isfinite isinf isnan log "
    "log10 log1p log2 sin sinh sqrt tan tanh trunc"
).split()
"""The functions of numbers that Python has under their names."""
NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("serial", "unroll", "vectorize", "parallel", "const_range"), range),
    "bind": _Thread,
    "allocate": _allocate,
    "output_tensor": _allocate,
    "sigmoid": _sigmoid,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "power": math.pow,
    "popcount": lambda x: int(x).bit_count(),
    "ceil_div": lambda a, b: (a + b - 1) // b,
    "likely": lambda condition: condition,
    "float32": np.float32,
    "float16": np.float16,
    "float64": np.float64,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "round": round,
    **{name: getattr(math, name) for name in _FUNCTIONS},
}
"""The names of hybrid functions in Python."""
HYBRID_GLOBALS = NUMBERS
"""These names, as TVM calls them."""


def run_with_numbers(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of a hybrid function for arrays and numbers."""
    assert isinstance(function, FunctionType)
    names = {**function.__globals__, **{name: each for name, each in NUMBERS.items()}}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    return copy(*(each if isinstance(each, np.ndarray | int | float) else np.asarray(each) for each in args))
