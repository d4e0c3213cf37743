"""Tensor intrinsics of sums of products of bytes on x86: `tvm.tir.tensor_intrin.x86`."""

from . import TensorIntrin

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"
dot_product_16x4_u8i8i32_desc = TensorIntrin.get(VNNI_DOT_16x4_INTRIN).desc  # pyright: ignore[reportOptionalMemberAccess]
"""The description of these intrinsics: `C[i] += A[k] * B[i, k]` for 16 sums of 4 products."""

__all__ = ["AVX512_DOT_16x4_INTRIN", "VNNI_DOT_16x4_INTRIN", "dot_product_16x4_u8i8i32_desc"]
