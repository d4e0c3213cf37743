"""The module `tvm.contrib.sparse`: matrices in CSR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.errors import ArgumentError, UnsupportedError
from ....expressions import tensor
from ..absent import report_absent
from ..nd import array as nd_array

__getattr__ = report_absent("tvm.contrib.sparse")

itype = "int32"
"""The data type of columns and positions."""


class CSRNDArray:
    """A matrix in CSR: `data`, `indices` and `indptr`.

    arg1: a matrix of numpy, or the three arrays.  shape: of the matrix, if its arrays are given.
    """

    stype = "csr"

    def __init__(self, arg1: Any, device: Any = None, shape: Sequence[int] | None = None):
        if isinstance(arg1, tuple):
            self.data, self.indices, self.indptr = arg1
            if shape is None:
                raise ArgumentError("CSRNDArray: no shape, expected that of the matrix")
            self.shape = tuple(shape)
        elif isinstance(arg1, np.ndarray) and arg1.ndim == 2:
            rows, columns = np.nonzero(arg1)
            starts = np.concatenate([[0], np.cumsum(np.count_nonzero(arg1, axis=1))])
            parts = (arg1[rows, columns], columns.astype(itype), starts.astype(itype))
            self.data, self.indices, self.indptr = (nd_array(part, device) for part in parts)
            self.shape = arg1.shape
        else:
            raise ArgumentError(f"CSRNDArray: {type(arg1).__name__}, expected a matrix of numpy or three arrays")
        self.dtype = self.data.dtype

    def numpy(self) -> Any:
        """The dense matrix."""
        dense = np.zeros(self.shape, self.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.numpy()))
        dense[rows, self.indices.numpy()] = self.data.numpy()
        return dense

    asnumpy = numpy


class SparsePlaceholderOp:
    """A sparse matrix as an argument of a function."""

    stype = "unknown"

    def __init__(self, shape: Sequence[Any], nonzeros: Any, dtype: str, name: str):
        self.shape, self.dtype, self.name = tuple(shape), dtype, name


class CSRPlaceholderOp(SparsePlaceholderOp):
    """A matrix in CSR as an argument of a function: the placeholders `data`, `indices` and `indptr`."""

    stype = "csr"

    def __init__(self, shape: Sequence[Any], nonzeros: Any, dtype: str, name: str):
        super().__init__(shape, nonzeros, dtype, name)
        self.data = tensor.placeholder((nonzeros,), dtype, f"{name}_data")
        self.indices = tensor.placeholder((nonzeros,), itype, f"{name}_indices")
        self.indptr = tensor.placeholder((self.shape[0] + 1,), itype, f"{name}_indptr")


def array(source_array: Any, device: Any = None, shape: Sequence[int] | None = None, stype: str = "csr") -> CSRNDArray:
    """A matrix in CSR of a matrix of numpy, or of its three arrays."""
    _require_csr(stype)
    return CSRNDArray(source_array, device, shape)


def placeholder(
    shape: Any, nonzeros: Any = None, dtype: str | None = None, name: str = "placeholder", stype: str | None = None
) -> CSRPlaceholderOp:
    """A matrix in CSR as an argument of a function. nonzeros: the number of its elements."""
    _require_csr(stype or "csr")
    extents: Sequence[Any] = shape if isinstance(shape, tuple | list) else (shape,)
    return CSRPlaceholderOp(extents, 0 if nonzeros is None else nonzeros, dtype or "float32", name)


def _require_csr(stype: str) -> None:
    if stype != "csr":
        raise UnsupportedError(f"stype {stype!r} of a sparse matrix, expected 'csr'")
