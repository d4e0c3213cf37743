"""TVM's Python API over Stepwell: `import stepwell.frontends.tvm as tvm`.

A supported name works as in TVM, under the spelling of each version; any other name raises an AttributeError that says
what to use instead (docs/tvm.md lists both).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from . import nd as ndarray
from .absent import report_absent
from .aliases import install
from .containers import register_object
from .driver import build, compile, lower
from .intrinsics import register_intrin_rule
from .ir import EnvFunc, load_json, save_json
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
from .runtime import DataType, DataTypeCode, Object, TypeCode, convert
from .runtime import Module as Module
from .te import *  # noqa: F403
from .tir import Select as select
from .tir import bijective_layout, call_llvm_intrin, ir_builder, layout
from .tir.functions import call_intrin, call_pure_intrin
from .version import __version__

if TYPE_CHECKING:
    # The tuners are imported when they are used (`submodules.py`).
    from . import auto_scheduler, autotvm
    from . import meta_schedule as meta_schedule

__getattr__ = report_absent("tvm")

# The names of v0.6.
TVMContext = Device
TVMType = DataType
get_env_func = EnvFunc.get
register_node = register_object
float32, handle, int8, int32 = "float32", "handle", "int8", "int32"

__tvmscript__ = Word("tvm")
"""The meaning of the name of this package in a TVMScript program."""

__all__ = [
    "DataType",
    "DataTypeCode",
    "Device",
    "IRModule",
    "Object",
    "TVMContext",
    "TVMError",
    "TVMType",
    "TypeCode",
    "__version__",
    "arith",
    "auto_scheduler",
    "autotvm",
    "bijective_layout",
    "build",
    "build_config",
    "call_intrin",
    "call_llvm_intrin",
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
    "float32",
    "get_env_func",
    "get_global_func",
    "gpu",
    "handle",
    "hexagon",
    "hybrid",
    "install",
    "instrument",
    "int8",
    "int32",
    "ir",
    "ir_builder",
    "ir_pass",
    "layout",
    "load_json",
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
    "register_node",
    "register_object",
    "relax",
    "relay",
    "rocm",
    "rpc",
    "runtime",
    "s_tir",
    "save_json",
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
