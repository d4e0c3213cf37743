"""Upstream MLIR into CUDA C++ text."""

from .emitter import NVRTC_OPTIONS, EmittedCuda, EmittedKernel, KernelParameter, emit_cuda

__all__ = ["NVRTC_OPTIONS", "EmittedCuda", "EmittedKernel", "KernelParameter", "emit_cuda"]
