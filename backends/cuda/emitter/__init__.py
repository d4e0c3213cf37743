"""The translation of upstream MLIR to CUDA C++ text."""

from .emitter import NVRTC_OPTIONS, EmittedCuda, EmittedKernel, KernelParameter, emit_cuda

__all__ = ["NVRTC_OPTIONS", "EmittedCuda", "EmittedKernel", "KernelParameter", "emit_cuda"]
