"""Inputs of a compiled graph: given arrays, checked, and generated ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.array_files import restore_dtype
from ...core.errors import ArgumentError
from ...core.fills import filled
from .steps import TensorSpec

Array: TypeAlias = npt.NDArray[Any]


class UnknownSizeError(ArgumentError):
    """A generated input has a size that neither a given array nor the caller determines. name: of the size."""

    def __init__(self, spec: TensorSpec, name: str):
        super().__init__(f"input {spec.name}, {spec}: size {name} is not known")
        self.name = name


def size_names(spec: TensorSpec) -> Iterator[str]:
    """The names in the symbolic sizes of a tensor."""
    for size in spec.shape:
        if isinstance(size, str):
            yield from (name for name in re.findall(r"[^\W\d]\w*", size) if name not in ("min", "max"))


def complete_inputs(
    specs: Sequence[TensorSpec], given: Mapping[str, Array], fill: str, sizes: dict[str, int], seed: int = 0
) -> dict[str, Array]:
    """An array for each input: the given one, or a generated one.

    fill: the contents of generated arrays, one of `FILLS`.  sizes: known sizes by name; those of given arrays are
    added.  seed: of random contents.  ArgumentError for a given array that does not fit, UnknownSizeError.
    """
    arrays = {spec.name: restore_dtype(given[spec.name], spec.dtype) for spec in specs if spec.name in given}
    for spec in specs:  # all of them first: they determine the sizes of the others
        if spec.name in arrays:
            spec.bind(arrays[spec.name], sizes)
    rng = np.random.default_rng(seed)
    return {
        spec.name: arrays[spec.name] if spec.name in arrays else _generate(spec, fill, rng, sizes) for spec in specs
    }


def _generate(spec: TensorSpec, fill: str, rng: np.random.Generator, sizes: Mapping[str, int]) -> Array:
    for name in size_names(spec):
        if name not in sizes:
            raise UnknownSizeError(spec, name)
    return filled(spec.concrete(sizes), spec.dtype, fill, rng)
