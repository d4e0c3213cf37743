"""Tensor intrinsics of GPUs for schedules of tensors: `tvm.topi.cuda.tensor_intrin`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import OptionError
from ....expressions.buffers import Buffer
from ....expressions.extern import decl_buffer
from ....expressions.tensor import ComputeOp, Tensor, compute, placeholder
from ...te import decl_tensor_intrin, reduce_axis
from ...te import sum as sum_of
from ...te.tensor_intrin import TensorIntrin
from ..tir.functions import call_intrin, call_pure_extern
from ..tir.ir_builder import create

_ALIGNMENT = 32
"""The alignment of tiles in bytes."""
_OFFSET_FACTOR = 8
_PRODUCTS = {("int8", "int8"): "int32", ("uint8", "uint8"): "uint32"}
"""The data type of a sum of products of bytes, by those of the bytes."""

Shape = tuple[int, int, int]
"""The rows, columns and steps of a product of matrices that a warp computes."""


def dp4a(
    x_scope: str = "local", y_scope: str = "local", z_scope: str = "local", dtypes: tuple[str, str] = ("int8", "int8")
) -> TensorIntrin:
    """The sum of the products of four bytes, by `__dp4a`. x_scope, y_scope, z_scope: the memory of the operands and of
    the result.  dtypes: of the operands, both int8 or both uint8; OptionError for others."""
    if tuple(dtypes) not in _PRODUCTS:
        raise OptionError(f"dp4a: dtypes {dtypes!r}, expected {' or '.join(map(repr, _PRODUCTS))}")
    total = _PRODUCTS[tuple(dtypes)]  # pyright: ignore[reportArgumentType]
    x, y = (placeholder((4,), dtype, name=name) for dtype, name in zip(dtypes, "xy", strict=True))
    k = reduce_axis((0, 4), name="rc")
    z = compute((1,), lambda _: sum_of(x[k].astype(total) * y[k].astype(total), axis=[k]), name="z")

    def calls(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Any, Any, Any]:
        (a, b), c = ins, outs[0]

        def add(start: Any) -> Any:
            operands = [each.vload(0, dtype=f"{each.dtype}x4") for each in (a, b)]
            return c.vstore(0, call_pure_extern(total, "__dp4a", *operands, start))

        return add(0), c.vstore(0, 0), add(c.vload(0))

    scopes = zip((x, y, z), (x_scope, y_scope, z_scope), strict=True)
    buffers = {
        tensor: decl_buffer(tensor.shape, tensor.dtype, tensor.name, scope=scope, data_alignment=4, offset_factor=1)
        for tensor, scope in scopes
    }
    return _intrinsic(z, calls, buffers)


def intrin_wmma_load_matrix_A(
    strides_dst: Any, strides_from: Any, shape: Shape, layout: str, A_shape: Any, C_shape: Any, in_dtype: str
) -> TensorIntrin:
    """The load of a tile of the first factor from shared memory to a fragment.

    strides_dst, strides_from: of the fragment and of the shared memory.  shape: of the product.  layout: "row_major" or
    "col_major".  A_shape, C_shape: the shapes of the tile and of the fragment.  in_dtype: the data type.
    """
    rows, _, steps = shape
    return _load("wmma.matrix_a", rows, steps, strides_dst, strides_from, shape, layout, A_shape, C_shape, in_dtype)


def intrin_wmma_load_matrix_W(
    strides_dst: Any, strides_from: Any, shape: Shape, layout: str, A_shape: Any, C_shape: Any, in_dtype: str
) -> TensorIntrin:
    """The load of a tile of the second factor from shared memory to a fragment. The arguments: as of
    `intrin_wmma_load_matrix_A`."""
    _, columns, steps = shape
    return _load("wmma.matrix_b", steps, columns, strides_dst, strides_from, shape, layout, A_shape, C_shape, in_dtype)


def _load(
    scope: str, rows: int, columns: int, strides_dst: Any, strides_from: Any, shape: Shape, layout: str, tile: Any,
    fragment: Any, dtype: str,
) -> TensorIntrin:  # fmt: skip
    source = placeholder(tile, dtype, name="A")
    copy = compute(fragment, lambda *indices: source(*indices), name="C")

    def calls(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Any:
        number = _number(outs[0], rows, columns)
        pointer = ins[0].access_ptr("r")
        return _call("tvm_load_matrix_sync", outs[0].data, *shape, number, pointer, strides_from[0], layout)

    return _intrinsic(
        copy, calls, {source: _tile(source, "shared", strides_from), copy: _tile(copy, scope, strides_dst)}
    )


def intrin_wmma_store_matrix(
    strides_dst: Any, strides_from: Any, shape: Shape, out_dtype: str, A_shape: Any, C_shape: Any
) -> TensorIntrin:
    """The store of a fragment of sums to shared memory. The arguments: as of `intrin_wmma_load_matrix_A`."""
    rows, columns, _ = shape
    source = placeholder(A_shape, out_dtype, name="A")
    copy = compute(C_shape, lambda *indices: source(*indices), name="C")

    def calls(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Any:
        number = _number(ins[0], rows, columns)
        pointer = outs[0].access_ptr("w")
        return _call("tvm_store_matrix_sync", ins[0].data, *shape, number, pointer, strides_dst[0], "row_major")

    buffers = {source: _tile(source, "wmma.accumulator", strides_from), copy: _tile(copy, "shared", strides_dst)}
    return _intrinsic(copy, calls, buffers)


def intrin_wmma_gemm(
    AL_gemm: Tensor, WL_gemm: Tensor, CL_compute: Tensor, strides_A: Any, strides_W: Any, strides_Conv: Any,
    shape: Shape,
) -> TensorIntrin:  # fmt: skip
    """The product of two fragments, added to a third one.

    AL_gemm, WL_gemm: the factors.  CL_compute: their product.  strides_A, strides_W, strides_Conv: of the fragments.
    shape: of the product.
    """
    rows, columns, steps = shape

    def calls(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Any, Any, Any]:
        (a, b), c = ins, outs[0]
        total = (c.data, _number(c, rows, columns))
        factors = (a.data, _number(a, rows, steps), b.data, _number(b, steps, columns))
        update = _call("tvm_mma_sync", *total, *factors, *total)
        return update, _call("tvm_fill_fragment", c.data, *shape, total[1], 0.0), update

    buffers = {
        AL_gemm: _tile(AL_gemm, "wmma.matrix_a", strides_A),
        WL_gemm: _tile(WL_gemm, "wmma.matrix_b", strides_W),
        CL_compute: _tile(CL_compute, "wmma.accumulator", strides_Conv),
    }
    return _intrinsic(CL_compute, calls, buffers)


def _tile(tensor: Tensor, scope: str, strides: Any) -> Buffer:
    """The buffer of a tile in memory of a scope."""
    return decl_buffer(
        tensor.shape, tensor.dtype, tensor.name, scope=scope, strides=strides, data_alignment=_ALIGNMENT,
        offset_factor=_OFFSET_FACTOR,
    )  # fmt: skip


def _number(fragment: Buffer, rows: int, columns: int) -> Any:
    """The number of a fragment among those of its buffer, from the offset of its first element."""
    offset, size = fragment.elem_offset, rows * columns
    return offset // size + offset % size // columns


def _call(name: str, *args: Any) -> Any:
    """A statement that calls an intrinsic."""
    builder = create()
    builder.emit(call_intrin("handle", f"tir.{name}", *args))
    return builder.get()


def _intrinsic(tensor: Tensor, calls: Callable[..., Any], buffers: dict[Tensor, Buffer]) -> TensorIntrin:
    op = tensor.op
    assert isinstance(op, ComputeOp)
    return decl_tensor_intrin(op, calls, binds=buffers)


__all__ = [
    "dp4a", "intrin_wmma_gemm", "intrin_wmma_load_matrix_A", "intrin_wmma_load_matrix_W", "intrin_wmma_store_matrix",
]  # fmt: skip
