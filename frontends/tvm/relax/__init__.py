"""Programs that call kernels: `tvm.relax`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ....backends.devices.timing import BenchmarkResult, Repetition
from ....backends.relax import VirtualMachine as _Machine
from ....backends.relax import VMExecutable, build_relax
from ....core.errors import ArgumentError
from ....module import Module
from ...tvmscript.values import Word
from ..absent import report_absent
from ..containers import with_shapes
from ..exporting import overwrite
from ..nd import Device
from ..registry import on_arrays
from ..target.target import TargetLike, target_of
from ..transform import PassContext, as_module
from . import (
    analysis,
    backend,
    bindings,
    calls,
    dpl,
    expr,
    expr_functor,
    frontend,
    struct_info,
    training,
    transform,
    utils,
)
from .binding_rewrite import DataflowBlockRewrite
from .bindings import *  # noqa: F403
from .block_builder import BlockBuilder
from .calls import *  # noqa: F403
from .effects import keep_unused_calls
from .expr import *  # noqa: F403
from .expr_functor import PyExprMutator, PyExprVisitor
from .function import Function
from .kernel_calls import call_own_kernels
from .pipelines import BUILDING, PipelineLike, get_default_pipeline, get_pipeline, register_pipeline
from .struct_info import *  # noqa: F403
from .utils import args_converter, convert_to_expr

__getattr__ = report_absent("tvm.relax")

Type, TensorType, TupleType, ShapeType = StructInfo, TensorStructInfo, TupleStructInfo, ShapeStructInfo  # noqa: F405
AnyType = ObjectType = ObjectStructInfo  # noqa: F405
"""The types by their names since v0.26."""

__tvmscript__ = Word("R")
"""The meaning of the name of this package in a TVMScript program, whose words of 2022 were `relax.add`."""


class Executable:
    """A compiled program, for a `VirtualMachine`."""

    def __init__(self, executable: VMExecutable):
        self.executable = executable

    def export_library(self, file_name: str | os.PathLike[str], fcompile: Any = None, **kwargs: Any) -> None:
        """Saves the program for `tvm.runtime.load_module`: as one file if the name ends in `.tar`, else as a folder.

        fcompile, kwargs: of the C compiler, which is not called. A file at the path is replaced. OptionError for a
        folder that holds something else, OSError.
        """
        overwrite(file_name)
        self.executable.save(file_name)

    def as_text(self) -> str:
        """The functions that the virtual machine executes, and the graphs that they call."""
        return str(self.executable.module)


def build(
    mod: Module,
    target: TargetLike | None = None,
    params: Mapping[str, Any] | None = None,
    pipeline: PipelineLike | None = "default",
    relax_pipeline: PipelineLike | None = None,
    tir_pipeline: PipelineLike | None = None,
    exec_mode: str = "bytecode",
) -> Executable:
    """Compiles the functions of relax of a module, and all functions that they call.

    target: by default the current target, or `llvm`.  pipeline, relax_pipeline: the passes that run first, by the name
    of a registered pipeline or as a pass; the default ones are part of the compilation.  tir_pipeline: passes on
    kernels, which run after these. Functions that are registered as `FLegalize` replace calls then.  exec_mode:
    ignored, there is one way of execution. The `opt_level` of the context controls rewriting and fusion. Raises
    ArgumentError for `params` that are not empty, which `BindParams` binds; and
    the errors of `stepwell.build_relax`.
    """
    if params:
        raise ArgumentError("relax.build: expected a module and a target; relax.transform.BindParams binds parameters")
    for given in (pipeline if relax_pipeline is None else relax_pipeline, tir_pipeline):
        if given not in (None, *BUILDING):
            mod = (get_pipeline(given) if isinstance(given, str) else given)(as_module(mod))
    level = PassContext.current().opt_level
    mod = keep_unused_calls(call_own_kernels(transform.replace_calls(as_module(mod), {})))
    return Executable(build_relax(mod, target_of(target).compiled, opt_level=level))


class VirtualMachine(_Machine):
    """Executes the functions of a program: `vm["main"](x)`."""

    def __init__(
        self,
        rt_mod: Executable | VMExecutable,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: Any = None,
        profile: bool = False,
    ):
        """device: of the arrays; for a module of several devices all, in its order. memory_cfg, profile: ignored, every
        machine has `profile`. ArgumentError for other devices."""
        executable = rt_mod.executable if isinstance(rt_mod, Executable) else rt_mod
        super().__init__(executable, device)
        self._saved: dict[str, Callable[..., Any]] = {}

    def imported_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An argument that is a function, which gets arrays of TVM."""
        return on_arrays(function)

    def exported(self, value: Any) -> Any:
        """A result; a shape is a `ShapeTuple`."""
        return with_shapes(super().exported(value))

    @property
    def module(self) -> VirtualMachine:
        """This machine, as TVM's name for the owner of `time_evaluator`."""
        return self

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Makes `vm[saved_name]()` call a function with these arguments. include_return: whether its result is that of
        the function, else None.  kwargs: arguments by the names of parameters. ArgumentError for other names."""
        function = self[func_name]
        arguments = function.arguments(args, kwargs)

        def saved() -> Any:
            result = function(*arguments)
            return result if include_return else None

        self._saved[saved_name] = saved

    def __getitem__(self, name: str) -> Any:
        return self._saved.get(name) or super().__getitem__(name)

    def time_evaluator(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0.0,
    ) -> Callable[..., BenchmarkResult]:
        """The function that measures a function of the program, a saved one, or `invoke_stateful` of the function that
        its argument names. dev: that of the machine."""
        stated = self._saved.get(func_name) or (self.invoke_stateful if func_name == "invoke_stateful" else None)
        if stated is None:
            return super().time_evaluator(func_name, number, repeat, min_repeat_ms)
        repetition = Repetition(number, repeat, min_repeat_ms)
        return lambda *args: repetition.measure(lambda: stated(*args), self.clock)


vm = SimpleNamespace(build=build, VirtualMachine=VirtualMachine, Executable=Executable)
"""The names that were in `tvm.relax.vm` until v0.12."""

__all__ = [
    "AnyType",
    "BlockBuilder",
    "DataflowBlockRewrite",
    "Executable",
    "Function",
    "ObjectType",
    "PyExprMutator",
    "PyExprVisitor",
    "ShapeType",
    "TensorType",
    "TupleType",
    "Type",
    "VirtualMachine",
    "analysis",
    "args_converter",
    "backend",
    "build",
    "convert_to_expr",
    "dpl",
    "expr_functor",
    "frontend",
    "get_default_pipeline",
    "get_pipeline",
    "register_pipeline",
    "training",
    "transform",
    "utils",
    "vm",
]
__all__ += bindings.__all__
__all__ += calls.__all__
__all__ += expr.__all__
__all__ += struct_info.__all__
