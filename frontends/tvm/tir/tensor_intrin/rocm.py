"""Tensor intrinsics of GPUs of AMD: `tvm.tir.tensor_intrin.rocm`. Those of matrices are absent."""

AMDGPU_SDOT4_INTRIN = "sdot4"

__all__ = ["AMDGPU_SDOT4_INTRIN"]
