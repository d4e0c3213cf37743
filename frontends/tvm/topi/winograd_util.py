"""The matrices of Winograd's algorithm as tensors: `tvm.topi.nn.winograd_util`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ....expressions.errors import TeError
from ....expressions.tensor import Tensor
from ....operators.winograd import transforms_at
from ..absent import report_absent
from .utils import const_matrix

__getattr__ = report_absent("tvm.topi.nn.winograd_util")

_POINTS = {
    3: "0 -1 1", 4: "0 -1 1 1/2", 5: "0 -1 1 1/2 -2", 6: "0 -1 1 1/2 -2 -1/2", 7: "0 -1 1 1/2 -1/2 2 -2",
    8: "0 -1 1 1/2 -1/2 2 -2 -1/4", 9: "0 -1 1 1/2 -1/2 2 -2 -1/4 4", 10: "0 -1 1 1/2 -1/2 2 -2 -1/4 3/4 -4/3",
    11: "0 -1 1 1/2 -1/2 2 -2 -1/4 4 3/4 -4/3", 12: "0 -1 1 1/2 -1/2 2 -2 -1/4 4 3/4 -4/3 1/4",
    13: "0 -1 1 1/2 -1/2 2 -2 -1/4 4 1/4 -3/4 4/3 -4",
}  # fmt: skip
"""The points of interpolation by their number, of B. Barabasz et al., Error Analysis and Improving the Accuracy of
Winograd Convolution for Deep Neural Networks, 2018."""


def winograd_transform_matrices(tile_size: int, kernel_size: int, out_dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    """The matrices A, B and G with which `A^T ((G g) * (B^T d))` is a tile of the convolution of `d` with `g`.

    tile_size: the size of a tile, 2 to 8.  kernel_size: the size of the window, 3 to 7.  out_dtype: of the tensors.
    TeError for other sizes.
    """
    for name, size, low, high in (("tile_size", tile_size, 2, 8), ("kernel_size", kernel_size, 3, 7)):
        if not low <= size <= high:
            raise TeError(f"winograd_transform_matrices: {name} {size}, expected {low} to {high}")
    points = [Fraction(each) for each in _POINTS[tile_size + kernel_size - 2].split()]
    found = transforms_at(points, tile_size, kernel_size)
    data, weight, result = (_array(each) for each in (found.data, found.weight, found.result))
    if np.prod([-float(point) for point in points[1:]]) < 0:  # the first factor is positive in TVM
        data[0], weight[0] = -data[0], -weight[0]
    a, b, g = (each.astype(out_dtype) for each in (result.T, data.T, weight))
    return const_matrix(a, "A"), const_matrix(b, "B"), const_matrix(g, "G")


def _array(matrix: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([[float(each) for each in row] for row in matrix])


__all__ = ["winograd_transform_matrices"]
