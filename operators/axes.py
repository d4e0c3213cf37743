"""Axes of tensors as attributes say them: negative ones counted from the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..expressions.errors import TeError

Axes: TypeAlias = int | Sequence[int] | None


def axis_of(axis: int, rank: int, name: str) -> int:
    """An axis of a tensor as a number from 0 on. TeError if there is none of it."""
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TeError(f"{name}: axis {axis!r} of {rank} dimensions, expected one from {-rank} to {rank - 1}")
    return axis % rank


def axes_of(axis: Axes, rank: int, name: str) -> tuple[int, ...]:
    """Several axes, in the order given; None for all. TeError for one that is given twice too."""
    if axis is None:
        return tuple(range(rank))
    given = [axis] if isinstance(axis, int) else list(axis)
    found = tuple(axis_of(each, rank, name) for each in given)
    if len(set(found)) < len(found):
        raise TeError(f"{name}: axes {given}, one of them twice")
    return found
