"""The module `tvm.driver`."""

from .build_module import OperatorModule, build, compile, lower

__all__ = ["OperatorModule", "build", "compile", "lower"]
