"""TVM's Python API over Stepwell: `import stepwell.frontends.tvm as tvm`.

What it has works as in TVM; what it does not have is no attribute of it (docs/tvm.md lists both).
"""

from __future__ import annotations

from ..tvmscript.values import Word
from . import driver, ir, nd, script, te, testing, tir, topi, transform
from .driver import build, lower
from .ir.module import IRModule
from .nd import cpu, cuda, gpu
from .registry import get_global_func, register_func

__tvmscript__ = Word("tvm")
"""What the name of this module means in a program."""

__all__ = [
    "IRModule",
    "build",
    "cpu",
    "cuda",
    "driver",
    "get_global_func",
    "gpu",
    "ir",
    "lower",
    "nd",
    "register_func",
    "script",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
]
