"""What `tvm.ir` has."""

from .module import IRModule, PrimFunc

__all__ = ["IRModule", "PrimFunc"]
