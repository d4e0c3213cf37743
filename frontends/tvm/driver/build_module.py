"""Lowering and compilation: `tvm.lower`, `tvm.build`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.passes import ModulePass

from ....backends.build import build as _build
from ....backends.cuda.program import DeviceProgram
from ....backends.devices import BenchmarkResult, Device
from ....backends.runtime.program import CompiledFunction, Program
from ....core.errors import ArgumentError, OptionError
from ....module import Module
from ....transforms.tir.lower_match_buffers import TirLowerMatchBuffersPass
from ....transforms.tir.resolve_blocks import TirResolveBlocksPass
from ....transforms.tir.simplify import TirSimplifyPass
from ....transforms.tir.unroll_loops import TirUnrollLoopsPass
from ....transforms.tir.vectorize_loops import TirVectorizeLoopsPass
from ... import te
from ..ir.module import IRModule, PrimFunc
from ..transform import PassContext, XdslPass, as_module, run_passes


class DeviceModule:
    """The kernels of compiled functions."""

    type_key = "cuda"

    def __init__(self, program: Program):
        self._program = program

    def get_source(self, fmt: str = "") -> str:
        """The source of the kernels: "cu" (the default), or "ptx" for the PTX compiled from it."""
        return _source(self._program, fmt, {"": "cuda", "cu": "cuda", "cuda": "cuda", "ptx": "ptx"})


class OperatorModule:
    """Compiled functions. A call runs the entry function: `main`, or the only function.

    Functions take `tvm.nd` arrays, numpy arrays, and any object that supports DLPack.
    """

    def __init__(self, program: Program):
        self._program = program

    @property
    def entry_name(self) -> str:
        """The name of the entry function."""
        return self.entry_func.name

    @property
    def entry_func(self) -> CompiledFunction:
        """The function run by a call. ArgumentError if the module has several functions and no `main`."""
        names = list(self._program.functions)
        if len(names) == 1 or "main" in names:
            return self._program["main" if "main" in names else names[0]]
        raise ArgumentError(f"functions {', '.join(names) or 'none'}, none of which is main: name the one to call")

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.entry_func(*args, **named)

    def __getitem__(self, name: str) -> CompiledFunction:
        return self._program[name]

    def get_function(self, name: str, query_imports: bool = False) -> CompiledFunction:
        """The function called `name`. ArgumentError if no function has the name."""
        return self._program[name]

    def get_source(self, fmt: str = "") -> str:
        """The program as text: "ll" (the default) or "asm"."""
        kinds = {"": "llvm-optimized", "ll": "llvm-optimized", "s": "asm", "asm": "asm"}
        return _source(self._program, fmt, kinds)

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """The device modules of the functions: one if they launch GPU kernels, else none."""
        return [DeviceModule(self._program)] if isinstance(self._program, DeviceProgram) else []

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0.0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0.0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures `func_name` on given arguments. dev: ignored; the arguments determine the device."""
        function = self.entry_func if func_name == self.entry_name else self._program[func_name]
        return function.time_evaluator(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes,
        )  # fmt: skip

    def export_library(self, file_name: str | os.PathLike[str]) -> None:
        """Saves the functions for `tvm.runtime.load_module`: as one file if the name ends in `.tar`, else as a folder.

        OptionError if another kind of file exists at the path, OSError.
        """
        self._program.export(file_name)


def _source(program: Program, fmt: str, kinds: Mapping[str, str]) -> str:
    if fmt not in kinds:
        raise OptionError(f"source format {fmt!r}, expected one of {', '.join(kind for kind in kinds if kind)}")
    return program.source(kinds[fmt])


def _resolve_blocks() -> list[ModulePass]:
    """The passes to loops without blocks; reductions across threads need the init of their blocks."""
    # lazy: needed for GPUs only
    from ....transforms.tir.lower_thread_reductions import TirLowerThreadReductionsPass

    return [TirLowerThreadReductionsPass(), TirResolveBlocksPass(), TirLowerMatchBuffersPass()]


_PHASES: tuple[Callable[[], list[ModulePass]], ...] = (
    lambda: [],
    _resolve_blocks,
    lambda: [TirSimplifyPass(unit_loops=True), TirUnrollLoopsPass(), TirVectorizeLoopsPass()],
    lambda: [TirSimplifyPass(unit_loops=True)],
)
"""TVM's four phases of the lowering to loops and buffer accesses."""


def lower(
    inputs: Module | te.Schedule, args: Sequence[te.Tensor | te.Var] | None = None, name: str | None = None
) -> IRModule:
    """Lowers a module, a function or a schedule of tensors to loops, branches and buffer accesses; the input is not
    modified.

    args: the parameters of the function of a schedule, in order.  name: a new name for the only function. After each
    phase the passes that the context adds to it (`tir.add_lower_pass`) run; its instruments see all passes, ours under
    their names in `stepwell-opt`. A module that has already been lowered is returned unchanged. Errors as raised by the
    passes.
    """
    if isinstance(inputs, te.Schedule):
        if args is None:
            raise OptionError("lower of a schedule: args, the tensors that are its parameters, are missing")
        inputs = PrimFunc(te.apply_schedule(inputs, args).mod.op).with_attr("from_legacy_te_schedule", True)
    elif args is not None:
        raise OptionError(f"lower of {type(inputs).__name__}: args are those of a schedule of tensors")
    mod = as_module(inputs if name is None else IRModule({name: inputs}))
    if mod.is_lowered:
        return mod
    context = PassContext.current()
    serial = context.config.get("tir.disable_vectorize", False)
    for phase, passes in enumerate(_PHASES):
        ours = [each for each in passes() if not (serial and isinstance(each, TirVectorizeLoopsPass))]
        mod = run_passes(mod, [*map(XdslPass, ours), *context.added_passes(phase)])
    mod.is_lowered = True
    return mod


def build(
    inputs: Module | te.Schedule,
    args: Sequence[te.Tensor | te.Var] | str | None = None,
    target: str = "llvm",
    name: str | None = None,
) -> OperatorModule:
    """Compiles a module, a function or a schedule of tensors; the input is not modified.

    args: the parameters of the function of a schedule; for a module the target may be passed here.  target: `llvm` for
    this machine, `cuda` for a GPU.  name: a new name for the only function. The module is lowered first, unless it has
    been. Errors as raised by `stepwell.build` and the passes.
    """
    if isinstance(args, str):
        args, target = None, args
    return OperatorModule(_build(lower(inputs, args, name), target))
