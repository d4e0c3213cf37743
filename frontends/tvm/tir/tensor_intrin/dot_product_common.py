"""Tensor intrinsics of sums of four products of bytes: `tvm.tir.tensor_intrin.dot_product_common`."""

DP4A_S8S8S32_INTRIN = "dp4a_s8s8s32"
DP4A_U8S8S32_INTRIN = "dp4a_u8s8s32"
DP4A_S8U8S32_INTRIN = "dp4a_s8u8s32"
DP4A_U8U8U32_INTRIN = "dp4a_u8u8u32"
DP4A_INTRIN = DP4A_S8S8S32_INTRIN
"""The only one until v0.11."""


__all__ = ["DP4A_INTRIN", "DP4A_S8S8S32_INTRIN", "DP4A_S8U8S32_INTRIN", "DP4A_U8S8S32_INTRIN", "DP4A_U8U8U32_INTRIN"]
