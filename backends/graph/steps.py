"""The tensors of a compiled graph, and its kernel calls in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError
from ...expressions.sizes import evaluate_size
from ...operators.relay import Size

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a graph: an input, a constant, an intermediate or an output. Dynamic sizes are expressions of size
    names.
    """

    name: str
    shape: tuple[Size, ...]
    dtype: str

    def concrete(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with size names replaced. sizes: the value of each size name."""
        return tuple(size if isinstance(size, int) else evaluate_size(size, sizes) for size in self.shape)

    def bind(self, array: Array, sizes: dict[str, int]) -> None:
        """Checks an array against this tensor, and binds the size names in its shape. Raises ArgumentError for a
        mismatch.
        """
        if array.dtype != numpy_dtype(self.dtype) or array.ndim != len(self.shape):
            raise ArgumentError(f"{self.name}: {array.dtype} of shape {array.shape}, expected {self}")
        for size, extent in zip(self.shape, array.shape, strict=True):
            if isinstance(size, str) and size.isidentifier():
                sizes.setdefault(size, extent)
        known = [size if isinstance(size, int) else _try_evaluate(size, sizes) for size in self.shape]
        if any(size not in (None, extent) for size, extent in zip(known, array.shape, strict=True)):
            where = ", ".join(f"{name} = {number}" for name, number in sizes.items())
            suffix = f" where {where}" if sizes else ""
            raise ArgumentError(f"{self.name}: shape {array.shape}, expected {self}{suffix}")

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def _try_evaluate(size: str, sizes: Mapping[str, int]) -> int | None:
    try:
        return evaluate_size(size, sizes)
    except KeyError:
        return None


@dataclass(frozen=True)
class Step:
    """A call of one kernel of a graph: its function, the indices of the tensors it reads and writes, and its size
    arguments.
    """

    kernel: str
    sizes: tuple[str, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """Two alternative sequences of steps. condition: the index of the bool tensor that selects `then` or `orelse`."""

    condition: int
    then: Steps
    orelse: Steps


Steps: TypeAlias = "tuple[Step | Branch, ...]"


def calls(steps: Steps) -> Iterator[Step]:
    """The kernel calls of all branches."""
    for each in steps:
        if isinstance(each, Branch):
            yield from calls(each.then)
            yield from calls(each.orelse)
        else:
            yield each
