"""CUDA C++: kernels for GPUs."""
