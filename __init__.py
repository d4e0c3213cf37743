"""Stepwell: a tensor compiler that lowers programs landing by landing, from TVMScript to native code.

Public names are imported on first use, because every xDSL tool imports this package to find our dialects and passes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backends.build import build
    from .backends.devices import Device, cpu, cuda, cuda_emulated, device, nd
    from .backends.graph import Executable, GraphExecutor, build_graph
    from .backends.passes import apply_passes
    from .backends.relax import VirtualMachine, VMExecutable, build_relax
    from .backends.runtime import get_global_func, register_func
    from .backends.validation.tensor_intrinsics import register_tensor_intrin
    from .core.errors import (
        ArgumentError,
        DeviceError,
        ExecutionError,
        FaultyPassError,
        LinkError,
        LoadError,
        OptionError,
        OutOfMemoryError,
        ParseError,
        PassError,
        PluginError,
        ScheduleError,
        SizeError,
        StepwellError,
        UndefinedBehaviorError,
        UnsupportedError,
        VerifyError,
    )
    from .core.processors import get_num_threads, set_num_threads, threads
    from .decoding import KVCache
    from .frontends import relay, te
    from .frontends.mlir import parse_mlir
    from .frontends.onnx import from_onnx
    from .frontends.tvmscript import parse_tvmscript
    from .module import Module
    from .schedule import Schedule
    from .schedule.cpu import schedule_cpu
    from .schedule.gpu import schedule_gpu
    from .tools.explaining.command import explain

__all__ = [
    "ArgumentError",
    "Device",
    "DeviceError",
    "Executable",
    "ExecutionError",
    "FaultyPassError",
    "GraphExecutor",
    "KVCache",
    "LinkError",
    "LoadError",
    "Module",
    "OptionError",
    "OutOfMemoryError",
    "ParseError",
    "PassError",
    "PluginError",
    "Schedule",
    "ScheduleError",
    "SizeError",
    "StepwellError",
    "UndefinedBehaviorError",
    "UnsupportedError",
    "VMExecutable",
    "VerifyError",
    "VirtualMachine",
    "apply_passes",
    "build",
    "build_graph",
    "build_relax",
    "cpu",
    "cuda",
    "cuda_emulated",
    "device",
    "explain",
    "from_onnx",
    "get_global_func",
    "get_num_threads",
    "nd",
    "parse_mlir",
    "parse_tvmscript",
    "register_func",
    "register_tensor_intrin",
    "relay",
    "schedule_cpu",
    "schedule_gpu",
    "set_num_threads",
    "te",
    "threads",
]

_HOMES = {
    "Device": ".backends.devices",
    "Executable": ".backends.graph",
    "GraphExecutor": ".backends.graph",
    "KVCache": ".decoding",
    "Module": ".module",
    "Schedule": ".schedule",
    "VMExecutable": ".backends.relax",
    "VirtualMachine": ".backends.relax",
    "apply_passes": ".backends.passes",
    "build": ".backends.build",
    "build_graph": ".backends.graph",
    "build_relax": ".backends.relax",
    "cpu": ".backends.devices",
    "cuda": ".backends.devices",
    "cuda_emulated": ".backends.devices",
    "device": ".backends.devices",
    "explain": ".tools.explaining.command",
    "from_onnx": ".frontends.onnx",
    "get_global_func": ".backends.runtime",
    "get_num_threads": ".core.processors",
    "parse_mlir": ".frontends.mlir",
    "parse_tvmscript": ".frontends.tvmscript",
    "register_func": ".backends.runtime",
    "register_tensor_intrin": ".backends.validation.tensor_intrinsics",
    "schedule_cpu": ".schedule.cpu",
    "schedule_gpu": ".schedule.gpu",
    "set_num_threads": ".core.processors",
    "threads": ".core.processors",
}
_MODULES = {"nd": ".backends.devices.nd", "relay": ".frontends.relay", "te": ".frontends.te"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _MODULES:
        value = import_module(_MODULES[name], __name__)
    else:
        value = getattr(import_module(_HOMES.get(name, ".core.errors"), __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
