"""The module `tvm.target`: targets of compilations, as text, dictionaries and tags."""

from ..absent import report_absent
from ..intrinsics import register_intrin_rule
from . import codegen as codegen
from .compilation_config import CompilationConfig, make_compilation_config
from .creation import arm_cpu, bifrost, create, cuda, intel_graphics, llvm, mali, micro, rasp, riscv_cpu, rocm
from .generic_func import generic_func, override_native_generic_func
from .tags import list_tags
from .target import Target, TargetKind
from .virtual_device import VirtualDevice

current_target = Target.current

__getattr__ = report_absent("tvm.target")

__all__ = [
    "CompilationConfig",
    "Target",
    "TargetKind",
    "VirtualDevice",
    "arm_cpu",
    "bifrost",
    "create",
    "cuda",
    "current_target",
    "generic_func",
    "intel_graphics",
    "list_tags",
    "llvm",
    "make_compilation_config",
    "mali",
    "micro",
    "override_native_generic_func",
    "rasp",
    "register_intrin_rule",
    "riscv_cpu",
    "rocm",
]
