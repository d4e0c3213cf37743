"""The LLVM back end: upstream MLIR to LLVM IR text to native code."""

from .compile import compile_module
from .emitter import EmittedModule, emit_module
from .engine import Target

__all__ = ["EmittedModule", "Target", "compile_module", "emit_module"]
