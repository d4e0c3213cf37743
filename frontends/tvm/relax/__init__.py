"""Programs that call kernels: `tvm.relax`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ....backends.devices.timing import BenchmarkResult
from ....backends.relax import VirtualMachine as _Machine
from ....backends.relax import VMExecutable, build_relax
from ....core.errors import ArgumentError, OptionError
from ....module import Module
from ..absent import report_absent
from ..nd import Device
from ..target.target import TargetLike, target_of
from ..transform import FunctionalPass, PassContext
from . import bindings, calls, expr, frontend, struct_info, transform
from .bindings import *  # noqa: F403
from .block_builder import BlockBuilder
from .calls import *  # noqa: F403
from .expr import *  # noqa: F403
from .function import Function
from .struct_info import *  # noqa: F403

__getattr__ = report_absent("tvm.relax")


class Executable:
    """A compiled program, for a `VirtualMachine`."""

    def __init__(self, executable: VMExecutable):
        self.executable = executable

    def export_library(self, file_name: str | os.PathLike[str]) -> None:
        """Saves the program for `tvm.runtime.load_module`: as one file if the name ends in `.tar`, else as a folder.

        OptionError if another kind of file exists at the path, OSError.
        """
        self.executable.save(file_name)

    def as_text(self) -> str:
        """The functions that the virtual machine executes, and the graphs that they call."""
        return str(self.executable.module)


def build(mod: Module, target: TargetLike | None = None, params: None = None, pipeline: str = "default") -> Executable:
    """Compiles the functions of relax of a module, and all functions that they call. target: by default the
    current target, or `llvm`.

    The `opt_level` of the context controls rewriting and fusion. Raises ArgumentError for `params`, which `BindParams`
    binds, and another pipeline than the default one; and the errors of `stepwell.build_relax`.
    """
    if params is not None or pipeline not in ("default", "default_build"):
        raise ArgumentError("relax.build: expected a module and a target; relax.transform.BindParams binds parameters")
    level = PassContext.current().opt_level
    return Executable(build_relax(mod, target_of(target).compiled, opt_level=level))


def get_pipeline(name: str = "zero", **options: Any) -> FunctionalPass:
    """The passes of a pipeline as one pass: "zero", "default" and "default_build" replace operators by functions of
    `tir`. OptionError for another pipeline, and for options.
    """
    if name not in ("zero", "default", "default_build") or options:
        raise OptionError(f"pipeline {name!r} with options {list(options)}, expected 'zero' or 'default' without any")
    return transform.LegalizeOps()


class VirtualMachine(_Machine):
    """Executes the functions of a program: `vm["main"](x)`."""

    def __init__(self, rt_mod: Executable | VMExecutable, device: Device | Sequence[Device] | None = None):
        """device: of the arrays. ArgumentError for several devices, or a device of another kind."""
        devices = [device] if isinstance(device, Device) else list(device or [])
        if len(devices) > 1:
            raise ArgumentError(f"devices {', '.join(map(str, devices))}, expected one: a program runs on one device")
        executable = rt_mod.executable if isinstance(rt_mod, Executable) else rt_mod
        super().__init__(executable, devices[0] if devices else None)

    def time_evaluator(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0.0,
    ) -> Callable[..., BenchmarkResult]:
        """The function that measures a function of the program. dev: that of the machine."""
        return super().time_evaluator(func_name, number, repeat, min_repeat_ms)


vm = SimpleNamespace(build=build, VirtualMachine=VirtualMachine, Executable=Executable)
"""The names that were in `tvm.relax.vm` until v0.12."""

__all__ = ["BlockBuilder", "Executable", "Function", "VirtualMachine", "build", "frontend", "get_pipeline", "transform", "vm"]
__all__ += bindings.__all__
__all__ += calls.__all__
__all__ += expr.__all__
__all__ += struct_info.__all__
