"""Building, as `tvm.build` does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.passes import ModulePass

from ....backends.build import build as _build
from ....backends.cuda.library import DeviceLibrary
from ....backends.devices import BenchmarkResult, Device
from ....backends.runtime.library import CompiledFunction, Library
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

    def __init__(self, library: Library):
        self._library = library

    def get_source(self, fmt: str = "") -> str:
        """Their text: "cu" (the default), or "ptx" as it was compiled to."""
        return _source(self._library, fmt, {"": "cuda", "cu": "cuda", "cuda": "cuda", "ptx": "ptx"})


class OperatorModule:
    """Compiled functions. Called, it runs its entry: the function `main`, or its only one.

    Functions take `tvm.nd` arrays, numpy arrays, and anything that speaks DLPack.
    """

    def __init__(self, library: Library):
        self._library = library

    @property
    def entry_name(self) -> str:
        """The name of the function that a call runs."""
        return self.entry_func.name

    @property
    def entry_func(self) -> CompiledFunction:
        """The function that a call runs. ArgumentError if there are several and none is called `main`."""
        names = list(self._library.functions)
        if len(names) == 1 or "main" in names:
            return self._library["main" if "main" in names else names[0]]
        raise ArgumentError(f"functions {', '.join(names) or 'none'}, none of which is main: name the one to call")

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def __getitem__(self, name: str) -> CompiledFunction:
        return self._library[name]

    def get_function(self, name: str, query_imports: bool = False) -> CompiledFunction:
        """A function by name. ArgumentError if there is none."""
        return self._library[name]

    def get_source(self, fmt: str = "") -> str:
        """The program as text: "ll" (the default) or "asm"."""
        kinds = {"": "llvm-optimized", "ll": "llvm-optimized", "s": "asm", "asm": "asm"}
        return _source(self._library, fmt, kinds)

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """What the functions launch: one module if they are for a GPU, else none."""
        return [DeviceModule(self._library)] if isinstance(self._library, DeviceLibrary) else []

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0.0,
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures one of these with the arguments that it is given. dev: where these are, which they
        say themselves."""
        function = self.entry_func if func_name == self.entry_name else self._library[func_name]
        return function.time_evaluator(number, repeat, min_repeat_ms)

    def export_library(self, file_name: str | os.PathLike[str]) -> None:
        """Save the functions, for `tvm.runtime.load_module`: as one file if the name ends in `.tar`, else as a folder.

        OptionError if something else is there, OSError.
        """
        self._library.export(file_name)


def _source(library: Library, fmt: str, kinds: Mapping[str, str]) -> str:
    if fmt not in kinds:
        raise OptionError(f"source format {fmt!r}, expected one of {', '.join(kind for kind in kinds if kind)}")
    return library.source(kinds[fmt])


_PHASES: tuple[Callable[[], list[ModulePass]], ...] = (
    lambda: [],
    lambda: [TirResolveBlocksPass(), TirLowerMatchBuffersPass()],
    lambda: [TirSimplifyPass(unit_loops=True), TirUnrollLoopsPass(), TirVectorizeLoopsPass()],
    lambda: [TirSimplifyPass(unit_loops=True)],
)
"""The way down to loops and accesses of buffers, in TVM's four phases."""


def lower(
    inputs: Module | te.Schedule, args: Sequence[te.Tensor | te.Var] | None = None, name: str | None = None
) -> IRModule:
    """A module, a function or a schedule of tensors, which stays as it is, as loops, branches and accesses of buffers.

    args: the parameters of the function that a schedule is of, in order.  name: what to call the only function.
    Behind each phase run the passes that the context has for it (`tir.add_lower_pass`); its instruments see all passes,
    under the names that `stepwell-opt` has for ours. A module that has been lowered is left as it is. Errors as the
    passes raise them.
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
        mod = run_passes(mod, [*map(XdslPass, ours), *context.added(phase)])
    mod.is_lowered = True
    return mod


def build(
    inputs: Module | te.Schedule,
    args: Sequence[te.Tensor | te.Var] | str | None = None,
    target: str = "llvm",
    name: str | None = None,
) -> OperatorModule:
    """Compile a module, a function or a schedule of tensors, which stays as it is.

    args: the parameters of the function that a schedule is of; for a module the target may stand here.  target: what
    to compile for, `llvm` for this machine, `cuda` for a GPU.  name: what to call the only function. It is lowered
    first, if it has not been. Errors as `stepwell.build` and the passes raise them.
    """
    if isinstance(args, str):
        args, target = None, args
    return OperatorModule(_build(lower(inputs, args, name), target))
