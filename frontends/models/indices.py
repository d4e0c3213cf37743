"""Positions of elements."""

from __future__ import annotations

from collections.abc import Sequence

from ...operators.relay import Size
from .call import OperatorCall
from .errors import ModelError
from .values import ModelTensor


def check_indices(call: OperatorCall, indices: ModelTensor, extents: Sequence[Size]) -> None:
    """Raises ModelError for a constant index out of the range of an axis. extents: of the axis, or of the axis for each
    position along the last axis of the indices; unknown extents are not checked."""
    if indices.array is None or not indices.array.size:
        return
    columns = [indices.array] if len(extents) == 1 else [indices.array[..., n] for n in range(len(extents))]
    for column, extent in zip(columns, extents, strict=True):
        low, high = int(column.min()), int(column.max())
        if isinstance(extent, int) and not -extent <= low <= high < extent:
            wrong = low if low < -extent else high
            raise ModelError(f"{call.op_type}: index {wrong}, expected {-extent} to {extent - 1}")
