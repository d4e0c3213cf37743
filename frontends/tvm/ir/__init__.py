"""The module `tvm.ir`."""

from .module import IRModule, PrimFunc

__all__ = ["IRModule", "PrimFunc"]
