"""TVM's Python API over Stepwell: `import stepwell.frontends.tvm as tvm`.

A supported name works as in TVM, under the spelling of each version; any other name raises an AttributeError that says
what to use instead (docs/tvm.md lists both).
"""

from __future__ import annotations

from ...core.errors import StepwellError as TVMError
from ..tvmscript.values import Word
from . import (
    arith,
    contrib,
    dlight,
    driver,
    hybrid,
    instrument,
    ir,
    ir_pass,
    nd,
    relax,
    relay,
    rpc,
    runtime,
    s_tir,
    script,
    support,
    target,
    te,
    testing,
    tir,
    tirx,
    topi,
    transform,
)

# The tuners apply passes of `tvm.relax`.
from . import auto_scheduler as auto_scheduler
from . import autotvm as autotvm
from . import meta_schedule as meta_schedule
from . import nd as ndarray
from .absent import report_absent
from .aliases import install
from .driver import build, compile, lower
from .intrinsics import register_intrin_rule
from .ir.module import IRModule
from .legacy import build_config, expr, module, schedule, stmt, tensor
from .nd import (
    Device,
    cl,
    context,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    hexagon,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
from .registry import get_global_func, register_func, register_global_func

# Modules of `tvm.relax` that need the decorators of `tvm.script`.
from .relax import base_py_module as base_py_module
from .relax import relax_to_pyfunc_converter as relax_to_pyfunc_converter
from .runtime import DataType, DataTypeCode, Object, convert
from .runtime import Module as Module
from .te import *  # noqa: F403
from .tir import Select as select
from .tir import ir_builder
from .tir.functions import call_intrin, call_pure_intrin
from .version import __version__

__getattr__ = report_absent("tvm")

__tvmscript__ = Word("tvm")
"""The meaning of the name of this package in a TVMScript program."""

__all__ = [
    "DataType",
    "DataTypeCode",
    "Device",
    "IRModule",
    "Object",
    "TVMError",
    "__version__",
    "arith",
    "auto_scheduler",
    "autotvm",
    "build",
    "build_config",
    "call_intrin",
    "call_pure_intrin",
    "cl",
    "compile",
    "context",
    "contrib",
    "convert",
    "cpu",
    "cuda",
    "device",
    "dlight",
    "driver",
    "expr",
    "ext_dev",
    "get_global_func",
    "gpu",
    "hexagon",
    "hybrid",
    "install",
    "instrument",
    "ir",
    "ir_builder",
    "ir_pass",
    "lower",
    "metal",
    "module",
    "mtl",
    "nd",
    "ndarray",
    "opencl",
    "register_func",
    "register_global_func",
    "register_intrin_rule",
    "relax",
    "relay",
    "rocm",
    "rpc",
    "runtime",
    "s_tir",
    "schedule",
    "script",
    "select",
    "stmt",
    "support",
    "target",
    "te",
    "tensor",
    "testing",
    "tir",
    "tirx",
    "topi",
    "transform",
    "vpi",
    "vulkan",
    "webgpu",
]
__all__ += [name for name in te.__all__ if name not in __all__]
