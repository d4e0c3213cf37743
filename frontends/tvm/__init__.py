"""TVM's Python API over Stepwell: `import stepwell.frontends.tvm as tvm`.

A supported name works as in TVM; an unsupported name is no attribute of the package (docs/tvm.md lists both).
"""

from __future__ import annotations

from ..tvmscript.values import Word
from . import contrib, driver, ir, nd, relax, relay, runtime, script, te, testing, tir, topi, transform
from .driver import build, lower
from .ir.module import IRModule
from .nd import context, cpu, cuda, device, gpu
from .registry import get_global_func, register_func

__tvmscript__ = Word("tvm")
"""The meaning of the name of this package in a TVMScript program."""

__all__ = [
    "IRModule",
    "build",
    "context",
    "contrib",
    "cpu",
    "cuda",
    "device",
    "driver",
    "get_global_func",
    "gpu",
    "ir",
    "lower",
    "nd",
    "register_func",
    "relax",
    "relay",
    "runtime",
    "script",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
]
