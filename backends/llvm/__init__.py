"""Upstream MLIR into LLVM IR text, and that into native code."""
