"""Comparison of the results of two programs with equal parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.dtypes import dtype_of_numpy
from .inputs import strided_copy

TOLERANCES = {"float16": (2e-2, 2e-2), "bfloat16": (4e-2, 4e-2), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-12)}
"""rtol and atol between two programs: sums may have another order, and functions of C libraries round differently.
Integers are exact."""

RESULT = "the result"
"""The name of the returned value among the results of a call."""


@dataclass(frozen=True)
class Difference:
    """Different values of a parameter after a call, or of the returned value.

    name: of the parameter.  index: of the first different element, empty for a number.  count, size: the numbers of
    different elements and of all elements.
    """

    name: str
    index: tuple[int, ...]
    expected: Any
    actual: Any
    count: int
    size: int

    def __str__(self) -> str:
        values = f"expected {self.expected}, got {self.actual}"
        if not self.index:
            return f"{self.name}: {values}"
        return f"{self.name}: {self.count} of {self.size} elements differ, first at {list(self.index)}: {values}"


def copies(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of the arguments; arrays keep their strides."""

    def copy(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return strided_copy(value, [s // value.itemsize for s in value.strides])

    return {name: copy(value) for name, value in arguments.items()}


def differences(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[Difference]:
    """The difference of each value from the expected value of the same name."""
    for name, want in expected.items():
        got = actual[name]
        if want is None and got is None:
            continue
        a, b = np.asarray(want), np.asarray(got)
        if a.shape != b.shape or a.dtype != b.dtype:
            yield Difference(name, (), f"{a.dtype}{list(a.shape)}", f"{b.dtype}{list(b.shape)}", b.size, b.size)
            continue
        dtype = dtype_of_numpy(a.dtype)
        wide = np.float64 if dtype.is_float else a.dtype
        rtol, atol = TOLERANCES.get(dtype.name, (0, 0))
        close = np.isclose(b.astype(wide), a.astype(wide), rtol=rtol, atol=atol, equal_nan=dtype.is_float)
        if not close.all():
            index = tuple(int(i) for i in np.argwhere(~close)[0])
            yield Difference(name, index, a[index], b[index], int((~close).sum()), close.size)
