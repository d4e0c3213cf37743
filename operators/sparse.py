"""Operators on sparse matrices in the forms CSR and BSR.

A matrix in CSR is three tensors: the elements of its rows one after another, the column of each, and the position of
the first element of each row, with the number of elements at the end. In BSR the elements are blocks: row n of blocks
has the rows `n * height` up to the next of the matrix, a block has a column of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, cast, const
from ..expressions.tensor import Tensor, is_same_extent
from .definition import Pattern, operator
from .elements import build_tensor, element_or_zero
from .extents import known_extent
from .indexing import clamp_index, scatter_nd
from .requirements import require_integers, require_one_of
from .sorting import argsort, searchsorted
from .windows import Window

Array = Any


class _Sparse:
    """The rows of a sparse matrix. name: of the operator, for errors.  is_checked: whether positions and columns out of
    range become the nearest in range.
    """

    def __init__(self, name: str, data: Tensor, indices: Tensor, indptr: Tensor, is_checked: bool = True):
        require_integers(indices, f"{name}: indices")
        require_integers(indptr, f"{name}: indptr")
        if data.ndim not in (1, 2, 3) or indices.ndim != 1 or indptr.ndim != 1:
            ranks = f"{data.ndim}, {indices.ndim} and {indptr.ndim}"
            raise TeError(f"{name}: data, indices, indptr of {ranks} dimensions, expected 1 (CSR) or 3 (BSR), 1 and 1")
        if not is_same_extent(data.shape[0], indices.shape[0]):
            raise TeError(f"{name}: {data.shape[0]} elements or blocks, and {indices.shape[0]} indices")
        if data.ndim > 1 and None in map(known_extent, data.shape[1:]):
            raise TeError(f"{name}: blocks of shape {list(data.shape[1:])}, expected known numbers")
        self.data, self.indices, self.indptr, self.is_checked = data, indices, indptr, is_checked
        self.height = known_extent(data.shape[1]) or 1 if data.ndim > 1 else 1
        self.width = known_extent(data.shape[2]) or 1 if data.ndim > 2 else 1
        self.block_rows = indptr.shape[0] - 1
        self.rows = self.block_rows * self.height

    def product(self, row: PrimExpr, inside: PrimExpr, columns: PrimExpr, other: Callable[[PrimExpr], PrimExpr]) -> Any:
        """The sum of the elements of a row, times the elements of another tensor at their columns.

        row, inside: the row of blocks, and the row in it.  columns: the number of columns.
        """
        low, end = self.indptr(row), self.indptr(row + 1)
        if self.is_checked:
            count = cast(self.indptr.dtype, self.data.shape[0])
            low, end = (scalar.min(scalar.max(each, const(0, low.dtype)), count) for each in (low, end))
        along = reduce_axis((0, end - low), "elem_idx")
        place = low + along.var
        column, extent = self.indices(place), columns // self.width
        if self.is_checked:
            column = clamp_index(column, extent)
        axes, at = [along], [place]
        if self.data.ndim > 1:
            at.append(inside)
        if self.data.ndim > 2:
            axes.append(reduce_axis((0, self.width), "c"))
            at.append(axes[1].var)
            column = column * self.width + cast(column.dtype, axes[1].var)

        def value() -> PrimExpr:
            return self.data(*at) * other(column)

        return scalar.sum(element_or_zero([extent], self.data.dtype, value) if self.is_checked else value(), axis=axes)


def sparse_product(
    name: str, dense: Tensor, sparse: Sequence[Tensor], dims: tuple[int, int], tag: str, is_checked: bool = True
) -> Tensor:
    """The products of the rows of a sparse matrix with the vectors of a dense tensor along an axis.

    dims: the axis of the vectors in the dense tensor, and the axis of the rows in the result, which has the other axes
    of the dense tensor.  tag: of the tensor of the result; that of the tensor of blocks ends in `_block`.
    """
    data, indices, indptr = sparse
    matrix = _Sparse(name, data, indices, indptr, is_checked)
    if matrix.data.dtype != dense.dtype or dense.data_type.is_bool:
        raise TeError(f"{name}: elements of {matrix.data.dtype} and {dense.dtype}, expected numbers of one data type")
    vector, rows = dims
    columns = dense.shape[vector]
    outer = [extent for d, extent in enumerate(dense.shape) if d != vector]

    def element(row: PrimExpr, inside: PrimExpr, others: Sequence[PrimExpr]) -> Any:
        def other(column: PrimExpr) -> PrimExpr:
            return dense(*others[:vector], column, *others[vector:])

        return matrix.product(row, inside, columns, other)

    def without(axes: Sequence[PrimExpr], count: int) -> Sequence[PrimExpr]:
        return [*axes[:rows], *axes[rows + count :]]

    if matrix.data.ndim == 1:
        shape = [*outer[:rows], matrix.rows, *outer[rows:]]
        return build_tensor(shape, lambda *i: element(i[rows], const(0), without(i, 1)), name, tag)
    blocks = [*outer[:rows], matrix.block_rows, matrix.height, *outer[rows:]]
    product = build_tensor(
        blocks, lambda *i: element(i[rows], i[rows + 1], without(i, 2)), f"{name}_block", f"{tag}_block"
    )
    height = matrix.height
    shape = [*outer[:rows], matrix.rows, *outer[rows:]]
    return build_tensor(
        shape, lambda *i: product(*i[:rows], i[rows] // height, i[rows] % height, *i[rows + 1 :]), name, tag
    )


def _dense_of(data: Array, indices: Array, indptr: Array, columns: int) -> Array:
    """The dense matrix."""
    height, width = (*data.shape[1:], 1, 1)[:2]
    blocks = data.reshape(-1, height, width)
    rows = len(indptr) - 1
    result = np.zeros((rows * height, columns), data.dtype)
    for row in range(rows):
        for place in range(indptr[row], indptr[row + 1]):
            at = int(indices[place]) * width
            result[row * height : (row + 1) * height, at : at + width] += blocks[place]
    return result


def _sparse_dense_reference(dense: Array, data: Array, indices: Array, indptr: Array, sparse_lhs: bool) -> Array:
    matrix = _dense_of(data, indices, indptr, dense.shape[1])
    return (matrix @ dense.T if sparse_lhs else dense @ matrix.T).astype(dense.dtype)


@operator("nn.sparse_dense", Pattern.OUT_FUSABLE, _sparse_dense_reference)
def sparse_dense(dense: Tensor, data: Tensor, indices: Tensor, indptr: Tensor, sparse_lhs: bool = False) -> Tensor:
    """The product of a dense matrix and the transpose of a sparse matrix.

    data, indices, indptr: the sparse matrix in CSR (data of one dimension) or BSR (of three: block, row, column).
    sparse_lhs: computes the product of the sparse matrix and the transpose of the dense matrix. Positions and columns
    out of range become the nearest in range.
    """
    return sparse_dense_of("sparse_dense", dense, [data, indices, indptr], sparse_lhs)


def sparse_dense_of(
    name: str, dense: Tensor, sparse: Sequence[Tensor], sparse_lhs: bool, is_checked: bool = True
) -> Tensor:
    """The tensor of `sparse_dense`. is_checked: whether positions and columns out of range become the nearest."""
    if dense.ndim != 2:
        raise TeError(f"{name}: a dense tensor of {dense.ndim} dimensions, expected 2")
    if sparse[0].ndim == 2:
        raise TeError(f"{name}: data of 2 dimensions, expected 1 (CSR) or 3 (BSR)")
    side, form = "lhs" if sparse_lhs else "rhs", "csrmm" if sparse[0].ndim == 1 else "bsrmm"
    tag = f"sparse_dense_sp_{side}_{form}"
    return sparse_product(name, dense, sparse, (1, 0 if sparse_lhs else 1), tag, is_checked)


def _sparse_conv2d_reference(dense: Array, data: Array, indices: Array, indptr: Array, layout: str) -> Array:
    channels = layout.index("C")
    matrix = _dense_of(data, indices, indptr, dense.shape[channels])
    return np.moveaxis(np.tensordot(dense, matrix, ([channels], [1])), -1, channels).astype(dense.dtype)


@operator("nn.sparse_conv2d", Pattern.OUT_FUSABLE, _sparse_conv2d_reference)
def sparse_conv2d(
    dense: Tensor, data: Tensor, indices: Tensor, indptr: Tensor, layout: str = "NHWC", kernel_size: Window = 1
) -> Tensor:
    """The convolution of images with a sparse matrix of weights of one pixel: output channels by input channels.

    data, indices, indptr: the matrix in BSR: blocks of rows and columns, or of rows alone.  layout: of the images, NHWC
    or NCHW.  kernel_size: 1, or one for each dimension.
    """
    return sparse_conv2d_of("sparse_conv2d", dense, [data, indices, indptr], layout, kernel_size)


def sparse_conv2d_of(
    name: str, dense: Tensor, sparse: Sequence[Tensor], layout: str, kernel_size: Any, is_checked: bool = True
) -> Tensor:
    """The tensor of `sparse_conv2d`. is_checked: whether positions and columns out of range become the nearest."""
    require_one_of(layout, ("NHWC", "NCHW"), f"{name}: layout")
    sizes = [kernel_size] if isinstance(kernel_size, int) else list(kernel_size)
    if any(size != 1 for size in sizes):
        raise TeError(f"{name}: kernel_size {kernel_size!r}, expected 1")
    if dense.ndim != 4 or sparse[0].ndim not in (2, 3):
        ranks = f"{dense.ndim} and {sparse[0].ndim}"
        raise TeError(f"{name}: images and data of {ranks} dimensions, expected 4 and 2 or 3")
    channels = layout.index("C")
    return sparse_product(name, dense, sparse, (channels, channels), "sparse_conv2d_sp_bsrmm", is_checked)


def _rows_of_elements(name: str, data: Tensor, indptr: Tensor) -> Tensor:
    """The row of each element of a matrix in CSR."""
    numbers = build_tensor(data.shape, lambda n: cast(indptr.dtype, n), f"{name}_numbers")
    after = searchsorted(indptr, numbers, right=True, dtype="int32")
    return build_tensor(data.shape, lambda n: after(n) - 1, f"{name}_rows", "injective")


def _require_csr(name: str, data: Tensor, indices: Tensor, indptr: Tensor) -> None:
    if data.ndim != 1:
        raise TeError(f"{name}: data of {data.ndim} dimensions, expected 1 (CSR)")
    _Sparse(name, data, indices, indptr)


def _sparse_add_reference(dense: Array, data: Array, indices: Array, indptr: Array) -> Array:
    return dense + _dense_of(data, indices, indptr, dense.shape[1])


@operator("nn.sparse_add", Pattern.OPAQUE, _sparse_add_reference)
def sparse_add(dense: Tensor, data: Tensor, indices: Tensor, indptr: Tensor) -> Tensor:
    """The sum of a dense matrix and a sparse matrix. data, indices, indptr: the sparse matrix in CSR."""
    name = "sparse_add"
    _require_csr(name, data, indices, indptr)
    if dense.ndim != 2 or dense.dtype != data.dtype:
        found = f"{dense.dtype} of {dense.ndim} dimensions"
        raise TeError(f"{name}: a dense tensor of {found}, expected {data.dtype} of 2 dimensions")
    rows = _rows_of_elements(name, data, indptr)
    places = build_tensor(
        [2, *data.shape],
        lambda d, n: scalar.if_then_else(d == 0, cast("int32", rows(n)), cast("int32", indices(n))),
        f"{name}_places",
    )
    return scatter_nd(dense, places, data, "add")


def _sparse_transpose_reference(data: Array, indices: Array, indptr: Array) -> list[Array]:
    rows, order = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.argsort(indices, kind="stable")
    starts = np.searchsorted(indices[order], np.arange(len(indptr)))
    return [data[order], rows[order].astype("int32"), starts.astype("int32")]


@operator("nn.sparse_transpose", Pattern.OPAQUE, _sparse_transpose_reference)
def sparse_transpose(data: Tensor, indices: Tensor, indptr: Tensor) -> list[Tensor]:
    """The transpose of a square matrix in CSR: its elements, their columns, and the positions of its rows."""
    name = "sparse_transpose"
    _require_csr(name, data, indices, indptr)
    rows, order = _rows_of_elements(name, data, indptr), argsort(indices)
    elements = build_tensor(data.shape, lambda n: data(order(n)), f"{name}_data", "injective")
    columns = build_tensor(data.shape, lambda n: cast("int32", rows(order(n))), f"{name}_indices", "injective")
    ordered = build_tensor(data.shape, lambda n: indices(order(n)), f"{name}_order", "injective")
    numbers = build_tensor(indptr.shape, lambda n: cast(indices.dtype, n), f"{name}_columns")
    return [elements, columns, searchsorted(ordered, numbers, dtype="int32")]
