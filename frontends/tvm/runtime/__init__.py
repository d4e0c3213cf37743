"""The module `tvm.runtime`: arrays, devices, and compiled programs."""

from __future__ import annotations

import os
from abc import ABC
from pathlib import Path
from tempfile import TemporaryDirectory
from types import BuiltinFunctionType, FunctionType

from ....backends.graph import Executable
from ....backends.relax import VMExecutable
from ....backends.runtime.program import CompiledFunction, Program
from ....backends.saving.format import archive_kind
from ....backends.saving.objects import read_object
from ....core.processors import get_num_threads
from ....expressions.expr import const
from .. import nd as ndarray
from .. import relax
from ..absent import report_absent
from ..containers import ADT, Object, ShapeTuple
from ..driver.build_module import KernelText, OperatorModule
from ..driver.build_module import OperatorModule as Module
from ..ir.families import Scriptable
from ..nd import (
    Device,
    NDArray,
    cl,
    cpu,
    cuda,
    device,
    empty,
    ext_dev,
    from_dlpack,
    gpu,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from ..nd import NDArray as Tensor
from ..nd import array as tensor
from ..object_path import ObjectPath
from ..params import load_param_dict, load_param_dict_from_file, save_param_dict, save_param_dict_to_file
from ..relay.building import GraphExecutorFactoryModule
from ..target.target import target_of
from . import profiler_vm, profiling, vm
from .conversion import convert
from .data_type import DataType, DataTypeCode
from .profiling import Report

__getattr__ = report_absent("tvm.runtime")


def load_module(
    path: str | os.PathLike[str],
    fmt: str = "",
) -> OperatorModule | GraphExecutorFactoryModule | relax.Executable | KernelText:
    """The functions, the graph or the program saved by `export_library`, or by `save` in an object file, perhaps linked
    to a library since; of a file `.cu` or `.ptx` the text of the kernels. A saved module is native code:
    load only trusted files. fmt: ignored, the file states its format.

    LoadError if the file is broken, or built for another machine.
    """
    if Path(path).suffix in (".cu", ".ptx", ".hsaco"):
        return KernelText(Path(path).read_text())
    held = read_object(Path(path))
    if held is not None:
        with TemporaryDirectory() as folder:
            archive = Path(folder) / "program.tar"
            archive.write_bytes(held)
            return load_module(archive)
    kind = archive_kind(Path(path))
    if kind == "graph":
        return GraphExecutorFactoryModule(Executable.load(path))
    if kind == "program":
        return relax.Executable(VMExecutable.load(path))
    return OperatorModule(Program.load(path))


def enabled(target: str) -> bool:
    """Whether programs run on the device of a target here: `llvm` always, `cuda` with a GPU."""
    kind = target_of(target).kind.name
    return kind in ("llvm", "cuda", "cuda-emulated") and device(kind).exist


def num_threads() -> int:
    """The number of threads of parallel loops."""
    return get_num_threads()


def device_sync(dev: Device) -> None:
    """Waits for all work of a device."""
    dev.sync()


String = str
TypeCode = DataTypeCode
"""The name of v0.6 to v0.8."""


class PackedFunc(ABC):
    """The functions that programs call by name: those of Python, and compiled ones."""


for _kind in (CompiledFunction, FunctionType, BuiltinFunctionType):
    PackedFunc.register(_kind)

__all__ = [
    "ADT",
    "DataType",
    "DataTypeCode",
    "Device",
    "Module",
    "NDArray",
    "Object",
    "ObjectPath",
    "PackedFunc",
    "Report",
    "Scriptable",
    "ShapeTuple",
    "String",
    "Tensor",
    "TypeCode",
    "cl",
    "const",
    "convert",
    "cpu",
    "cuda",
    "device",
    "device_sync",
    "empty",
    "enabled",
    "ext_dev",
    "from_dlpack",
    "gpu",
    "load_module",
    "load_param_dict",
    "load_param_dict_from_file",
    "metal",
    "mtl",
    "ndarray",
    "num_threads",
    "opencl",
    "profiler_vm",
    "profiling",
    "rocm",
    "save_param_dict",
    "save_param_dict_to_file",
    "tensor",
    "vm",
    "vpi",
    "vulkan",
]
