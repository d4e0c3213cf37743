"""Tensor intrinsics of sums of products of bytes on x86: `tvm.tir.tensor_intrin.x86`."""

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"

__all__ = ["AVX512_DOT_16x4_INTRIN", "VNNI_DOT_16x4_INTRIN"]
