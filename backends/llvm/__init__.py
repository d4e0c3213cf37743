"""The LLVM back end: upstream MLIR to LLVM IR text to native code."""

from .compile import compile_module
from .emitter import EmittedModule, emit_module
from .engine import Processor

__all__ = ["EmittedModule", "Processor", "compile_module", "emit_module"]
