"""The LLVM back end: upstream MLIR to LLVM IR text to native code."""
