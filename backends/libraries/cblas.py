"""`cblas`: matrix products by OpenBLAS, from the wheel `scipy-openblas32`."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...core.errors import PluginError
from ...core.target import Target
from ...expressions import functions as scalar
from ...expressions.buffers import Buffer, BufferPointer, ExternCall
from ...expressions.expr import IntImm, PrimExpr, cast, const
from ...expressions.extern import call_extern, extern
from ...expressions.statements import for_each
from ...expressions.tensor import Tensor
from ...operators.relay import OperatorOp, dtype_of_tensor, shape_of
from ...transforms.relay.libraries import Library, LibraryPattern, is_op, kernel_of, wildcard
from .products import batch_count, dense_sizes, is_one, matmul_sizes

# Values of the enumerations of cblas.h.
_ROW_MAJOR = 101
_NO_TRANSPOSE, _TRANSPOSE = 111, 112

_LETTERS = {"float32": "s", "float64": "d"}
_WHEEL = "scipy_openblas32"


# Patterns


def _is_product(ops: Sequence[OperatorOp]) -> bool:
    """Whether all values have the same data type, supported by BLAS, and all sizes fit 32-bit integers."""
    (op,) = ops
    values = (*op.args, *op.outputs)
    kinds = {dtype_of_tensor(value) for value in values}
    sizes = [size for value in values for size in shape_of(value) if isinstance(size, int)]
    rows = [size for size in shape_of(op.outputs[0])[:-1] if isinstance(size, int)]
    return len(kinds) == 1 and kinds <= _LETTERS.keys() and max([*sizes, math.prod(rows)], default=0) < 2**31


# Calls


def _dense(data: Tensor, weight: Tensor, units: int | None = None, out_dtype: str = "") -> Tensor:
    m, n, k = dense_sizes(data, weight)

    def call(ins: list[Buffer], outs: list[Buffer]) -> ExternCall:
        return _gemm(data.dtype, (m, n, k), (False, True), ins[0].access_ptr("r"), ins[1].access_ptr("r"), outs[0].data)

    return extern([*data.shape[:-1], n], [data, weight], call, "cblas_dense", data.dtype)


def _matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False, out_dtype: str = "") -> Tensor:
    m, n, k = matmul_sizes(a, b, transpose_a, transpose_b)

    def call(ins: list[Buffer], outs: list[Buffer]) -> ExternCall:
        return _gemm(
            a.dtype, (m, n, k), (transpose_a, transpose_b), ins[0].access_ptr("r"), ins[1].access_ptr("r"), outs[0].data
        )

    return extern([m, n], [a, b], call, "cblas_matmul", a.dtype)


def _batch_matmul(
    a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = True, out_dtype: str = ""
) -> Tensor:
    m, n, k = matmul_sizes(a, b, transpose_a, transpose_b)
    batch = batch_count(a, b)

    def product(ins: list[Buffer], outs: list[Buffer]) -> Any:
        def call(number: PrimExpr) -> ExternCall:
            factors = factor(ins[0], number), factor(ins[1], number)
            return _gemm(a.dtype, (m, n, k), (transpose_a, transpose_b), *factors, outs[0].address_of(number, 0, 0))

        def factor(matrices: Buffer, number: PrimExpr) -> BufferPointer:
            _, rows, columns = matrices.shape
            return matrices.access_ptr("r", offset=0 if is_one(matrices.shape[0]) else number * rows * columns)

        return for_each(batch, call, "b")

    return extern([batch, m, n], [a, b], product, "cblas_batch_matmul", a.dtype)


def _gemm(
    dtype: str,
    sizes: tuple[PrimExpr, PrimExpr, PrimExpr],
    transposed: tuple[bool, bool],
    a: BufferPointer,
    b: BufferPointer,
    c: BufferPointer,
) -> ExternCall:
    """The call that computes `c = a @ b`, matrices of m times k, k times n, m times n elements."""
    m, n, k = (cast("int32", size) for size in sizes)
    if isinstance(k, IntImm) and k.value > 0 and (is_one(m) or is_one(n)):
        return _gemv(dtype, (m, n, k), transposed, a, b, c)
    strides = [_stride(size) for size in (m if transposed[0] else k, k if transposed[1] else n, n)]
    flags = [_TRANSPOSE if each else _NO_TRANSPOSE for each in transposed]
    one, zero = const(1.0, dtype), const(0.0, dtype)
    return call_extern(
        "void", f"cblas_{_LETTERS[dtype]}gemm", _ROW_MAJOR, *flags, m, n, k,
        one, a, strides[0], b, strides[1], zero, c, strides[2],
    )  # fmt: skip


def _gemv(
    dtype: str,
    sizes: tuple[PrimExpr, PrimExpr, PrimExpr],
    transposed: tuple[bool, bool],
    a: BufferPointer,
    b: BufferPointer,
    c: BufferPointer,
) -> ExternCall:
    """The call for a product where one of the matrices is a vector: `gemm` first copies the other matrix, which is
    slower.
    """
    m, n, k = sizes
    matrix, vector = (b, a) if is_one(m) else (a, b)
    rows, columns = (n, k) if is_one(m) else (m, k)
    # Untransposed, b is stored as k rows, and a as m rows.
    is_row_major = transposed[1] if is_one(m) else not transposed[0]
    stored = (rows, columns) if is_row_major else (columns, rows)
    one, zero = const(1.0, dtype), const(0.0, dtype)
    return call_extern(
        "void", f"cblas_{_LETTERS[dtype]}gemv", _ROW_MAJOR, _NO_TRANSPOSE if is_row_major else _TRANSPOSE, *stored,
        one, matrix, _stride(stored[1]), vector, 1, zero, c, 1,
    )  # fmt: skip


def _stride(row: PrimExpr) -> PrimExpr:
    """The stride between rows. BLAS requires at least one element, even for empty rows."""
    return const(max(row.value, 1)) if isinstance(row, IntImm) else scalar.max(row, const(1))


# The shared library


def _symbols(target: Target) -> Mapping[str, int]:
    blas = _openblas()
    # The setting is global to the process and to this copy of OpenBLAS; numpy has another copy.
    blas.scipy_openblas_set_num_threads(target.num_cores)
    names = [f"cblas_{letter}{product}" for letter in _LETTERS.values() for product in ("gemm", "gemv")]
    return {name: _address(getattr(blas, f"scipy_{name}")) for name in names}


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def _openblas() -> ctypes.CDLL:
    """The shared library in the wheel. Raises PluginError if the wheel is not installed."""
    spec = find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        raise PluginError(f"library cblas: {_WHEEL} is not installed: pip install 'stepwell[blas]'")
    files = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*.*"))
    if not files:
        raise PluginError(f"library cblas: no shared library in {Path(spec.origin).parent / 'lib'}")
    return ctypes.CDLL(str(files[0]))


_FORMULAS: dict[str, Callable[..., Tensor]] = {
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _batch_matmul,
}

CBLAS = Library(
    "cblas",
    tuple(LibraryPattern(is_op(name)(wildcard(), wildcard()), _is_product) for name in _FORMULAS),
    lambda func: kernel_of(func, _FORMULAS),
    _symbols,
)
