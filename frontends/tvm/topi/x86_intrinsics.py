"""Tensor intrinsics of x86-64 for schedules of tensors: `tvm.topi.x86.tensor_intrin`. Sums of products of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....expressions.buffers import Buffer
from ....expressions.expr import const
from ....expressions.extern import decl_buffer
from ....expressions.functions import reinterpret
from ....expressions.tensor import ComputeOp, compute, placeholder
from ...te import decl_tensor_intrin, reduce_axis, var
from ...te import sum as sum_of
from ...te.tensor_intrin import TensorIntrin
from ..target.codegen import target_has_features
from ..tir.functions import call_llvm_pure_intrin
from ..tir.ir_builder import create

_LANES = 16
"""The integers of 32 bits in a vector of 512 bits."""

Vector = Any
"""An expression with lanes."""


def dot_16x1x16_uint8_int8_int32() -> TensorIntrin:
    """The sums of the products of four numbers of uint8 and 16 rows of four of int8: by the instruction of AVX-512 VNNI
    where the target has it, else as `dot_16x1x16_uint8_int8_int32_skylake`."""
    has_instruction = target_has_features(["avx512vnni"])
    return dot_16x1x16_uint8_int8_int32_cascadelake() if has_instruction else dot_16x1x16_uint8_int8_int32_skylake()


def dot_16x1x16_uint8_int8_int32_cascadelake() -> TensorIntrin:
    """The sums of the products of four numbers of uint8 and 16 rows of four of int8, by AVX-512 VNNI (VPDPBUSD)."""

    def add(total: Vector, bytes: Vector, rows: Vector) -> Vector:
        return call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", total, bytes, rows)

    return _sums_of_products(4, _LANES, "int32", add)


def dot_16x1x16_uint8_int8_int32_skylake() -> TensorIntrin:
    """The sums of the products of four numbers of uint8 and 16 rows of four of int8, by AVX-512 BW. Sums of two
    products saturate to 16 bits."""

    def add(total: Vector, bytes: Vector, rows: Vector) -> Vector:
        pairs = call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", bytes, rows)
        return total + call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.pmaddw.d.512", pairs, const(1, "int16x32"))

    return _sums_of_products(4, _LANES, "int32", add)


def dot_16x1x16_uint8_int8_int16() -> TensorIntrin:
    """The sums of the products of two numbers of uint8 and 128 rows of two of int8, by AVX-512 BW. Sums of two products
    saturate to 16 bits; sums of more wrap."""

    def add(total: Vector, bytes: Vector, rows: Vector) -> Vector:
        return total + call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", bytes, rows)

    return _sums_of_products(2, 8 * _LANES, "int16", add)


def _sums_of_products(
    count: int, rows: int, dtype: str, add: Callable[[Vector, Vector, Vector], Vector]
) -> TensorIntrin:
    """The intrinsic that multiplies `count` bytes by the bytes of each row.

    add: adds to a vector of sums the products of the bytes of two vectors: the bytes repeated, and rows.
    """
    data, kernel = placeholder((count,), "uint8", name="data"), placeholder((rows, count), "int8", name="kernel")
    k = reduce_axis((0, count), name="k")
    sums = compute((rows,), lambda i: sum_of(data[k].astype(dtype) * kernel[i, k].astype(dtype), axis=k), name="C")
    lanes = 4 * _LANES // count

    def calls(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Any, Any, Any]:
        (a, b), c = ins, outs[0]
        kind = f"{dtype}x{lanes}"
        bytes = reinterpret(f"int{8 * count}", a.vload([0], f"uint8x{count}")).astype(f"int{8 * count}x{lanes}")
        places = range(0, rows, lanes)

        def store(value: Callable[[int], Vector]) -> Any:
            builder = create()
            for place in places:
                builder.emit(c.vstore([place], value(place)))
            return builder.get()

        def added(place: int, total: Vector) -> Vector:
            return add(total, reinterpret("uint8x64", bytes), b.vload([place, 0], "int8x64"))

        return (
            store(lambda place: added(place, const(0, kind))),
            store(lambda _: const(0, kind)),
            store(lambda place: added(place, c.vload([place], kind))),
        )

    buffers = {
        data: decl_buffer(data.shape, data.dtype, "a_buffer", offset_factor=1, strides=[1]),
        kernel: decl_buffer(kernel.shape, kernel.dtype, "b_buffer", offset_factor=1, strides=[var("ldw"), 1]),
    }
    assert isinstance(sums.op, ComputeOp)
    return decl_tensor_intrin(sums.op, calls, binds=buffers)


__all__ = [
    "dot_16x1x16_uint8_int8_int16", "dot_16x1x16_uint8_int8_int32", "dot_16x1x16_uint8_int8_int32_cascadelake",
    "dot_16x1x16_uint8_int8_int32_skylake",
]  # fmt: skip
