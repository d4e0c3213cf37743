"""Sizes of tensors: the limits of extents, of numbers of elements and of numbers of bytes, checked on exact integers.

Every size of a program fits an int64: an extent, and the bytes of a tensor, extents of 0 counted as 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex, TypeVar, overload

from .errors import SizeError

Size = TypeVar("Size", covariant=True)
MAX_SIZE = 2**63 - 1
"""The greatest extent, number of elements or number of bytes of a program."""


class Extents(tuple[Size, ...]):
    """The sizes of a shape, or of a part of it; lists extend them, as they do those of TVM: `x.shape[:-1] + [4]`."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex) -> Size: ...
    @overload
    def __getitem__(self, key: slice) -> Extents[Size]: ...
    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        return Extents(part) if isinstance(key, slice) else part

    def __add__(self, other: Any) -> Extents[Any]:
        return Extents((*self, *other)) if isinstance(other, list | tuple) else NotImplemented

    def __radd__(self, other: Any) -> Extents[Any]:
        return Extents((*other, *self)) if isinstance(other, list | tuple) else NotImplemented


def check_size(value: int, place: str = "") -> int:
    """Returns a size, or an intermediate result of the computation of sizes, which may be negative. place: the subject
    of the error. SizeError for an integer that int64 does not hold."""
    if not -MAX_SIZE <= value <= MAX_SIZE:
        raise SizeError(f"{_subject(place)}a size of {_text(value)}, expected at most {MAX_SIZE}")
    return value


def check_shape(shape: Sequence[int | None], element_bytes: int, place: str = "") -> int:
    """The number of bytes of a tensor, extents of 0 and unknown extents (None) counted as 1. place: the subject of the
    error. SizeError for a negative extent, and for an extent or a number of bytes of 2**63 or more."""
    for n, extent in enumerate(shape):
        if extent is not None and not 0 <= extent <= MAX_SIZE:
            expected = f"expected at least 0 and at most {MAX_SIZE}" if extent > 0 else "expected at least 0"
            raise SizeError(f"{_subject(place)}extent {_text(extent)} of dimension {n}, {expected}")
    size = element_bytes * prod(extent for extent in shape if extent)
    if size > MAX_SIZE:
        extents = ", ".join("?" if extent is None else str(extent) for extent in shape)
        element = f"{element_bytes} bytes an element"
        raise SizeError(f"{_subject(place)}[{extents}] of {element}, expected at most {MAX_SIZE} bytes")
    return size


def byte_count(shape: Sequence[int], element_bytes: int) -> int:
    """The exact number of bytes of a compact tensor."""
    return prod(shape) * element_bytes


def align_up(size: int, alignment: int) -> int:
    """The least multiple of `alignment` that is not less than a size."""
    return -(-size // alignment) * alignment


def _subject(place: str) -> str:
    return f"{place}: " if place else ""


def _text(value: int) -> str:
    """An integer as text; of an integer of more than 256 bits only its length."""
    return str(value) if value.bit_length() <= 256 else f"{value.bit_length()} bits"
