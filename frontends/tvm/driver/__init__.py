"""The module `tvm.driver`."""

from .build_module import OperatorModule, build, lower

__all__ = ["OperatorModule", "build", "lower"]
