"""`tvm.contrib.utils`, as TVM called it until v0.7."""

from .utils import TempDirectory, tempdir, which

__all__ = ["TempDirectory", "tempdir", "which"]
