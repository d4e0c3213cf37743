"""Programs for NVIDIA GPUs: CUDA C++ text, and that compiled and run."""
