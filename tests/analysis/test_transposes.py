"""Transposition by shuffles, on arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stepwell.analysis.transposes import can_transpose, transpose


def shuffle(vectors: Sequence[Any], lanes: Sequence[int]) -> Any:
    assert len(vectors) <= 2
    return np.concatenate(vectors)[list(lanes)]


@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8, 16, 32])
@pytest.mark.parametrize("rows", [2, 4, 6, 8, 16])
def test_columns_of_a_matrix(rows: int, columns: int, element_bytes: int) -> None:
    group = 16 // element_bytes
    is_square = rows == columns >= group
    assert can_transpose(rows, columns, element_bytes) == (
        group > 1 and rows != 6 and columns != 3 and (is_square or min(rows, columns) == group)
    )
    if can_transpose(rows, columns, element_bytes):
        matrix = np.arange(rows * columns).reshape(rows, columns)
        np.testing.assert_array_equal(transpose(list(matrix), columns, element_bytes, shuffle), matrix.T)
