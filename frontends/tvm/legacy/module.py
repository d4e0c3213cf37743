"""The module `tvm.module` until v0.6: compiled programs."""

from ..runtime import Module, enabled
from ..runtime import load_module as load

__all__ = ["Module", "enabled", "load"]
