"""What `tvm.driver` has."""

from .build_module import OperatorModule, build

__all__ = ["OperatorModule", "build"]
