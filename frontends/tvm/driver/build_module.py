"""Lowering and compilation: `tvm.lower`, `tvm.build`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from xdsl.dialects.builtin import StringAttr
from xdsl.passes import ModulePass

from ....backends.build import build as _build
from ....backends.c import c_source
from ....backends.cuda.opencl import opencl_source
from ....backends.cuda.program import DeviceProgram
from ....backends.devices import BenchmarkResult, Device
from ....backends.runtime.program import CompiledFunction, Program
from ....backends.saving.objects import write_object
from ....core.errors import ArgumentError, OptionError, ScheduleError, UnsupportedError
from ....core.walking import find_ops
from ....dialects.attributes import ILLEGAL_SCHEDULE
from ....dialects.tir import ForOp, FuncOp
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....module import Module
from ....operators.relax import FuncOp as RelaxFuncOp
from ....transforms.tir.lower_match_buffers import TirLowerMatchBuffersPass
from ....transforms.tir.resolve_blocks import TirResolveBlocksPass
from ....transforms.tir.simplify import TirSimplifyPass
from ....transforms.tir.unroll_loops import TirUnrollLoopsPass
from ....transforms.tir.vectorize_loops import TirVectorizeLoopsPass
from ... import te
from .. import relax
from ..exporting import overwrite
from ..ir.module import IRModule, PrimFunc
from ..target.target import TargetLike, target_of
from ..transform import PassContext, XdslPass, as_module, run_passes
from .intrinsics import lower_intrinsics
from .selects import make_selects_lazy

_KERNEL_FORMATS = ("cu", "ptx")
C_FORMATS = ("c", "cc")
NATIVE_FORMATS = {"": "llvm-optimized", "ll": "llvm-optimized", "s": "asm", "asm": "asm"}
"""The formats of native code, each with the kind of `Program.source`."""


class DeviceModule:
    """The kernels of compiled functions."""

    type_key = "cuda"

    def __init__(self, program: Program):
        self._program = program

    def get_source(self, fmt: str = "") -> str:
        """The source of the kernels: "cu" (the default), or "ptx" for the PTX compiled from it. The emulated GPU, which
        runs the source itself, has it in place of the code of machines: "ptx", and "llvm", "ll", "asm" and "hsaco" of
        AMD's.
        """
        kinds = {"": "cuda", "cu": "cuda", "cuda": "cuda", "ptx": "ptx"}
        if "ptx" not in self._program.source_kinds:
            kinds |= dict.fromkeys(("ptx", "llvm", "ll", "asm", "hsaco"), "cuda")
        return source_of(self._program, fmt, kinds)

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Writes the source of the kernels: `.cu`, `.ptx`, or `.hsaco` on the emulated GPU. fmt: the format, by default
        the ending of the name."""
        is_emulated = "ptx" not in self._program.source_kinds
        save_source(self, file_name, fmt, (*_KERNEL_FORMATS, *(["hsaco"] if is_emulated else [])))


@dataclass(frozen=True)
class KernelText:
    """The source of kernels in a file that `DeviceModule.save` has written."""

    text: str


class OpenCLKernels(DeviceModule):
    """Kernels as OpenCL C, for a program of the user's to compile."""

    type_key = "opencl"

    def __init__(self, text: str):
        self._text = text

    def get_source(self, fmt: str = "") -> str:
        """The source of the kernels. fmt: "cl", the default. OptionError for another format."""
        if fmt not in ("", "cl"):
            raise OptionError(f"source format {fmt!r}, expected cl")
        return self._text

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Writes the source of the kernels. fmt: the format, `cl`; by default the ending of the name."""
        save_source(self, file_name, fmt, ("cl",))


_FLUSHES = ("cache_flush_cpu_non_first_arg", "l2_cache_flush_cuda")
"""The functions of TVM that remove data from caches."""
_CACHE = 64 << 20
"""The bytes that replace the contents of a last-level cache."""


class OperatorModule:
    """Compiled functions. A call runs the entry function: `main`, or the only function.

    Functions take `tvm.nd` arrays, numpy arrays, and any object that supports DLPack. symbols: the names of functions
    by the attribute `global_symbol`, under which TVM finds them, too.
    """

    type_key = "llvm"

    def __init__(self, program: Program, symbols: Mapping[str, str] | None = None):
        self._program = program
        self._symbols = symbols or {}

    @property
    def entry_name(self) -> str:
        """The name of the entry function."""
        return self.entry_func.name

    @property
    def entry_func(self) -> CompiledFunction:
        """The function run by a call. ArgumentError if the module has several functions and no `main`."""
        if self._entry is not None:
            return self._program[self._entry]
        names = ", ".join(self._program.functions) or "none"
        raise ArgumentError(f"functions {names}, none of which is main: name the one to call")

    @property
    def _entry(self) -> str | None:
        """The name of `main`, or of the only function; None without either."""
        names = list(self._program.functions)
        return "main" if "main" in names else names[0] if len(names) == 1 else None

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.entry_func(*args, **named)

    def __getitem__(self, name: str) -> CompiledFunction:
        return self.get_function(name)

    def get_function(self, name: str, query_imports: bool = False) -> CompiledFunction:
        """The function called `name`, or with this symbol. ArgumentError if no function has the name."""
        return self._program[name if name in self._program.functions else self._symbols.get(name, name)]

    def get_source(self, fmt: str = "") -> str:
        """The program as text: "ll" (the default) or "asm"."""
        return source_of(self._program, fmt, NATIVE_FORMATS)

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """The device modules of the functions: one if they launch GPU kernels, else none."""
        return [DeviceModule(self._program)] if isinstance(self._program, DeviceProgram) else []

    def import_module(self, module: DeviceModule | KernelText) -> None:
        """Nothing: the functions hold their kernels. OptionError for kernels of other functions."""
        own = [each.get_source(fmt) for each in self.imported_modules for fmt in _KERNEL_FORMATS]
        text = module.text if isinstance(module, KernelText) else module.get_source()
        if self._program.source_kinds and text not in own:  # a loaded program has no text
            raise OptionError("import_module: kernels of other functions; the functions hold their kernels")

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
        ctx: Device | None = None,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures `func_name` on given arguments. dev, ctx: ignored; the arguments determine the
        device.  f_preproc: `cache_flush_cpu_non_first_arg` or `l2_cache_flush_cuda` for other data in the caches before
        each repetition, OptionError for another function.
        """
        if f_preproc not in ("", *_FLUSHES):
            raise OptionError(f"time_evaluator: f_preproc {f_preproc!r}, expected {' or '.join(_FLUSHES)}")
        cache_flush_bytes = cache_flush_bytes or (_CACHE if f_preproc else 0)
        is_own = func_name in self._program.functions or func_name in self._symbols
        is_entry = not is_own and self._entry is not None and func_name == self.entry_name
        function = self.entry_func if is_entry else self.get_function(func_name)
        return function.time_evaluator(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes,
        )  # fmt: skip

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Writes the program as text, `.ll`, `.s` or `.asm`, or as an object file, `.o`, that holds the program for
        `load_module`, as does the library that `tvm.contrib.cc.create_shared` makes of it.

        fmt: the format, by default the ending of the name. OptionError for another format.
        """
        if format_of(file_name, fmt) in ("o", "obj"):
            write_object(Path(file_name), self._program.contents())
        else:
            save_source(self, file_name, fmt, ("ll", "s", "asm", "o"))

    def export_library(self, file_name: str | os.PathLike[str], fcompile: Any = None, **options: Any) -> None:
        """Saves the functions for `tvm.runtime.load_module`: as one file if the name ends in `.tar`, else as a folder.

        fcompile, options: a linker, `cc` and other options of it, which nothing needs. A file at the path is replaced.
        OptionError for a folder that holds something else, OSError.
        """
        overwrite(file_name)
        self._program.export(file_name)


class CModule(OperatorModule):
    """Compiled functions whose source is C11, for a compiler of the user's. On this machine native code runs them."""

    type_key = "c"

    def __init__(self, module: Module, program: Program, symbols: Mapping[str, str] | None = None):
        super().__init__(program, symbols)
        self._module = module

    def get_source(self, fmt: str = "") -> str:
        """The functions as C. fmt: "c", the default, or "cc". OptionError for another format, UnsupportedError for a
        program that has no C."""
        check_c_format(fmt)
        return c_source(self._module).source

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Writes the functions as C, `.c` or `.cc`, or as `OperatorModule.save` does."""
        if format_of(file_name, fmt) in C_FORMATS:
            save_source(self, file_name, fmt, C_FORMATS)
        else:
            super().save(file_name, fmt)


class OpenCLModule(OperatorModule):
    """Functions for an OpenCL device, of which the kernels exist as source. program: the functions on the emulated GPU;
    without it, UnsupportedError for every use but the source."""

    type_key = "opencl"

    def __init__(self, text: str, program: Program | None = None):
        self._kernels = OpenCLKernels(text)
        self._symbols = {}
        if program is not None:
            self._program = program

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """The kernels."""
        return [self._kernels]

    def __getattr__(self, name: str) -> Any:
        if name == "_program":
            raise UnsupportedError(
                "target opencl: the kernels exist as source only, expected target cuda or llvm to run"
            )
        raise AttributeError(f"OpenCLModule has no attribute {name!r}")


class _HasSource(Protocol):
    """A module with a source."""

    def get_source(self, fmt: str = "") -> str: ...


def save_source(module: _HasSource, file_name: str | os.PathLike[str], fmt: str, kinds: Sequence[str]) -> None:
    """Writes the source of a module in a format, `fmt` or the ending of the name. OptionError for a format that is not
    among `kinds`."""
    kind = format_of(file_name, fmt)
    if kind not in kinds:
        raise OptionError(
            f"save {Path(file_name).name}: format {kind!r}, expected {', '.join(kinds)}; "
            "export_library saves programs to load"
        )
    Path(file_name).write_text(module.get_source(kind))


def format_of(file_name: str | os.PathLike[str], fmt: str) -> str:
    """The format of a file: `fmt`, or the ending of the name."""
    return fmt or Path(file_name).suffix.removeprefix(".")


def check_c_format(fmt: str) -> None:
    """OptionError for a format of source other than C: "c", "cc" and the default, ""."""
    if fmt not in ("", *C_FORMATS):
        raise OptionError(f"source format {fmt!r}, expected c")


def source_of(program: Program, fmt: str, kinds: Mapping[str, str]) -> str:
    """The source of a program in a format. kinds: by format the kind of `Program.source`. OptionError for a format that
    is not among them."""
    if fmt not in kinds:
        raise OptionError(f"source format {fmt!r}, expected one of {', '.join(kind for kind in kinds if kind)}")
    return program.source(kinds[fmt])


def _resolve_blocks() -> list[ModulePass]:
    """The passes to loops without blocks; reductions across threads need the init of their blocks."""
    # lazy: needed for GPUs only
    from ....transforms.tir.lower_thread_reductions import TirLowerThreadReductionsPass

    return [TirLowerThreadReductionsPass(), TirResolveBlocksPass(), TirLowerMatchBuffersPass()]


def _is_for_gpu(mod: Module) -> bool:
    """Whether a loop of a module is bound to an axis of a grid."""
    return any(loop.thread is not None for loop in find_ops(mod.op, ForOp))


def _transform_loops(is_for_gpu: bool) -> list[ModulePass]:
    vectorize = TirVectorizeLoopsPass(vector_bytes=0, reductions=False) if is_for_gpu else TirVectorizeLoopsPass()
    return [TirSimplifyPass(unit_loops=True), TirUnrollLoopsPass(), vectorize]


_PHASES: tuple[Callable[[bool], list[ModulePass]], ...] = (
    lambda _: [],
    lambda _: _resolve_blocks(),
    _transform_loops,
    lambda _: [TirSimplifyPass(unit_loops=True)],
)
"""TVM's four phases of the lowering to loops and buffer accesses, of modules with and without bound loops."""


def lower(
    inp: Module | te.Schedule | Sequence[Module],
    args: Sequence[Any] | None = None,
    name: str | None = None,
    binds: Mapping[te.Tensor, DeclaredBuffer] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """Lowers a module, a function or a schedule of tensors to loops, branches and buffer accesses; the input is not
    modified.

    args: the parameters of the function of a schedule, in order: tensors, variables, and buffers of `binds`; an output
    that is missing is memory of the function. A schedule that would change the results is a warning, and an error when
    the result is compiled. Modules and functions have parameters, whatever args are, as in TVM.
    name: a new name for the only function.  binds: the buffer of each tensor; declared buffers are compact, so binds
    determine names only.  simple_mode: whether the result prints as its statements alone, without the header and the
    attributes of functions.

    After each phase the passes that the context adds to it (`tir.add_lower_pass`) run; its instruments see all passes,
    ours under their names in `stepwell-opt`. A module that has already been lowered is returned unchanged. Errors as
    raised by the passes.
    """
    source = _readable_program(inp, args, name, binds)
    if source.is_lowered:
        return source
    context = PassContext.current()
    left_out = _passes_left_out(source, context)
    mod, is_for_gpu = source, _is_for_gpu(source)
    for phase, passes in enumerate(_PHASES):
        ours = [each for each in passes(is_for_gpu) if not isinstance(each, left_out)]
        mod = run_passes(mod, [*map(XdslPass, ours), *context.added_passes(phase)])
    mod.is_lowered = True
    mod.simple_mode = simple_mode
    if not context.changes_lowering:
        mod.remember_source(source)
    return mod


def _passes_left_out(source: IRModule, context: PassContext) -> tuple[type[ModulePass], ...]:
    """The passes that a lowering omits: vectors that the context disables, and the exchange between threads of an
    illegal schedule, which has none."""
    # lazy: needed for GPUs only
    from ....transforms.tir.lower_thread_reductions import TirLowerThreadReductionsPass

    attributes = [func.func_attrs.data for func in find_ops(source.op, FuncOp) if func.func_attrs is not None]
    left_out: list[type[ModulePass]] = []
    if context.config.get("tir.disable_vectorize", False):
        left_out.append(TirVectorizeLoopsPass)
    if any(ILLEGAL_SCHEDULE in each for each in attributes):
        left_out.append(TirLowerThreadReductionsPass)
    return tuple(left_out)


def schedule_to_module(
    sch: te.Schedule,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[te.Tensor, DeclaredBuffer] | None = None,
) -> IRModule:
    """The function of a schedule of tensors, as loops without blocks; simplified and vectorized by `lower` only. args,
    binds: as of `lower`, and so is a schedule that would change the results."""
    source = _readable_program(sch, args, name, binds)
    left_out = _passes_left_out(source, PassContext.current())
    mod = run_passes(source, [XdslPass(each) for each in _resolve_blocks() if not isinstance(each, left_out)])
    mod.remember_source(source)
    return mod


def scheduled_module(sch: te.Schedule, args: Sequence[Any]) -> IRModule:
    """The function of a schedule of tensors, with its blocks. args: as of `lower`."""
    return _program(sch, args, "main", None)


form_irmodule = schedule_to_module
"""The name of `schedule_to_module` in v0.8."""


def _program(
    inputs: Module | te.Schedule | Sequence[Module],
    args: Sequence[Any] | None,
    name: str | None,
    binds: Mapping[te.Tensor, DeclaredBuffer] | None,
    enable_check: bool = True,
    keeps_inits: bool = False,
) -> IRModule:
    """The program to lower. enable_check: as of `Schedule`.  keeps_inits: as of `te.apply_schedule`. OptionError for a
    schedule without arguments."""
    if isinstance(inputs, te.Schedule):
        if args is None:
            raise OptionError("lower of a schedule: args, the tensors that are its parameters, are missing")
        params = _parameters(args, binds or {})
        scheduled = te.apply_schedule(inputs, params, enable_check=enable_check, keeps_inits=keeps_inits)
        inputs = PrimFunc(scheduled.mod.op).with_attr("from_legacy_te_schedule", True)
    mod = (
        _join(inputs)
        if isinstance(inputs, Sequence)
        else as_module(inputs if name is None else IRModule({name: inputs}))
    )
    return make_selects_lazy(mod)


def _readable_program(
    inputs: Module | te.Schedule | Sequence[Module],
    args: Sequence[Any] | None,
    name: str | None,
    binds: Mapping[te.Tensor, DeclaredBuffer] | None,
) -> IRModule:
    """The program to lower. A program whose schedule is illegal can be read: its function has the reason as an
    attribute, with which no program is compiled; a warning states it."""
    try:
        return _program(inputs, args, name, binds)
    except ScheduleError as error:
        if not isinstance(inputs, te.Schedule):
            raise
        try:
            mod = _program(inputs, args, name, binds, enable_check=False)
        except ScheduleError:
            raise error from None
        warnings.warn(f"lower: the program cannot be compiled: {error}", stacklevel=3)
        functions = {each: PrimFunc(func.op).with_attr(ILLEGAL_SCHEDULE, str(error)) for each, func in mod.items()}
        return as_module(IRModule(functions))


def _parameters(args: Sequence[Any], binds: Mapping[te.Tensor, DeclaredBuffer]) -> list[te.Tensor | te.Var]:
    """The arguments, with the tensor of each buffer."""
    tensor_of = {buffer: tensor for tensor, buffer in binds.items()}
    params: list[te.Tensor | te.Var] = []
    for arg in args:
        if isinstance(arg, DeclaredBuffer) and arg not in tensor_of:
            raise OptionError(f"argument {arg.name}: a buffer, expected the buffer of a tensor in binds")
        params.append(tensor_of[arg] if isinstance(arg, DeclaredBuffer) else arg)
    return params


def _join(modules: Sequence[Module]) -> IRModule:
    """The module of the functions of several modules. OptionError for two functions of one name."""
    functions: dict[str, Module] = {}
    for mod in map(as_module, modules):
        for name, func in mod.items():
            if name in functions:
                raise OptionError(f"two functions called {name!r}")
            functions[name] = func
    return IRModule(functions)


def build(
    inputs: Module | te.Schedule | Sequence[Module],
    args: Sequence[Any] | TargetLike | None = None,
    target: TargetLike | None = None,
    target_host: TargetLike | None = None,
    runtime: object = None,
    name: str | None = None,
    binds: Mapping[te.Tensor, DeclaredBuffer] | None = None,
) -> OperatorModule:
    """Compiles a module, a function or a schedule of tensors; the input is not modified.

    inputs: the functions of `relax` of a module are left out, as in TVM (`compile` compiles them).  args, name, binds:
    as of `lower`; for a module the target may be passed as args.  target: `llvm` for this machine, `c` for this machine
    with C as the source, `cuda` for a GPU, `opencl` for the source of kernels alone; by default the current target.
    target_host: the target of the host's code, `llvm`.  runtime: `Runtime("cpp")`, TVM's default; for `c` also "crt".

    Intrinsics with rules for the target (`tvm.ir.register_intrin_lowering`) are replaced first. The program is compiled
    as `lower` shows it; where the context adds no passes to the lowering, functions without a schedule get default
    schedules besides, for which the inits of reductions stay in their blocks. Errors as raised by `stepwell.build` and
    the passes.
    """
    if (args is not None and not isinstance(args, Sequence)) or isinstance(args, str):
        args, target = None, args  # pyright: ignore[reportAssignmentType]
    chosen = target_of(target, target_host)
    name_of_runtime = getattr(runtime, "name", runtime)
    if name_of_runtime not in (None, "cpp") and (name_of_runtime, chosen.kind.name) != ("crt", "c"):
        raise UnsupportedError(f"build: runtime {name_of_runtime!r}, expected None, 'cpp', or 'crt' for the target 'c'")
    if isinstance(inputs, Module) and any(isinstance(func, RelaxFuncOp) for func in inputs.function_ops.values()):
        inputs = _without_programs(inputs)
    if isinstance(inputs, IRModule) and inputs.source is not None and name is None:
        mod = inputs.source
    elif PassContext.current().changes_lowering or (isinstance(inputs, IRModule) and inputs.is_lowered):
        mod = lower(inputs, args, name, binds)  # pyright: ignore[reportArgumentType]
    else:
        mod = _program(inputs, args, name, binds, keeps_inits=True)  # pyright: ignore[reportArgumentType]
    ready = lower_intrinsics(mod, chosen.kind.name)
    if chosen.kind.name == "opencl":
        return OpenCLModule(opencl_source(ready), _build(ready, chosen.compiled) if chosen.is_local else None)
    program = _build(ready, chosen.compiled)
    return CModule(ready, program, _symbols(mod)) if chosen.kind.name == "c" else OperatorModule(program, _symbols(mod))


def _without_programs(mod: Module) -> IRModule:
    """The module without its functions of `relax`."""
    copy = mod.op.clone()
    for func in [each for each in copy.ops if isinstance(each, RelaxFuncOp)]:
        func.detach()
        func.erase()
    return IRModule(copy)


def _symbols(mod: Module) -> dict[str, str]:
    """The names of functions by their attribute `global_symbol`."""
    symbols: dict[str, str] = {}
    for name, func in mod.function_ops.items():
        attributes = func.func_attrs.data if isinstance(func, FuncOp) and func.func_attrs is not None else {}
        symbol = attributes.get("global_symbol")
        if isinstance(symbol, StringAttr):
            symbols.setdefault(symbol.data, name)
    return symbols


def compile(mod: Module, target: TargetLike | None = None, **options: Any) -> Any:
    """The `OperatorModule` that `build` makes of a module or a function, or the `relax.Executable` of a module with
    functions of relax, as TVM calls both from v0.20 on. options: those of `relax.build` for functions of relax; none
    else (OptionError)."""
    if any(isinstance(func, RelaxFuncOp) for func in mod.function_ops.values()):
        return relax.build(mod, target, **options)
    if options:
        raise OptionError(
            f"compile: options {', '.join(options)} are not supported; the pipelines are those of docs/design.md"
        )
    return build(mod, target=target)
