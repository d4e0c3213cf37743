"""The CUDA back end: CUDA C++ kernels, their compilation, and their emulation."""
