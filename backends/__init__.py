"""The back ends: compilation of modules to native code, GPU kernels and Python, and their execution."""
