"""Axes of tensors as attributes denote them; negative axes count from the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..expressions.errors import TeError

Axes: TypeAlias = int | Sequence[int] | None


def nonnegative_axis(axis: int, rank: int, name: str) -> int:
    """The axis as an index from 0 to `rank - 1`. TeError for an axis out of range."""
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TeError(f"{name}: axis {axis!r} of {rank} dimensions, expected one from {-rank} to {rank - 1}")
    return axis % rank


def nonnegative_axes(axis: Axes, rank: int, name: str) -> tuple[int, ...]:
    """The indices of several axes, in the given order; None denotes all axes. TeError for an axis out of range or
    repeated."""
    if axis is None:
        return tuple(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    indices = tuple(nonnegative_axis(each, rank, name) for each in axes)
    if len(set(indices)) < len(indices):
        raise TeError(f"{name}: axes {axes}, one of them twice")
    return indices
