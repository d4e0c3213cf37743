"""`build`: compilation of a module at any landing to a callable program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError, UnsupportedError
from ..core.remarks import RemarkReceiver, report_remarks
from ..core.target import Target
from ..module import Module, has_graphs, has_programs
from ..transforms.reproducers import leave_reproducers
from ..transforms.statistics import StatisticsReceiver, report_statistics
from ..transforms.timing import TimesReceiver, report_times
from .validation import validate_passes, validation_options

if TYPE_CHECKING:
    from .runtime.program import Program


def _build_llvm(module: Module, target: Target, schedule: bool = True, sanitize: bool = False) -> Program:
    # lazy: LLVM is needed for this target only
    from .caching import compile_once, program_kind

    symbols = _symbols(module, target)

    def make(module: Module) -> Program:
        # lazy: a program in the cache needs no passes
        from .llvm.build import build_llvm

        module.verify()
        return build_llvm(module, target, None, symbols, sanitize, schedule=schedule)

    return compile_once(program_kind(symbols), module, target, (sanitize, schedule), make)


def _symbols(module: Module, target: Target) -> dict[str, int]:
    """The addresses of the C functions that graphs call."""
    if not has_graphs(module.op):
        return {}
    module.verify()
    # lazy: the operators of relay are needed for graphs only
    from ..transforms.relay.libraries import library_symbols

    return library_symbols(module, target)


def _build_python(module: Module) -> Any:
    # lazy: the oracle is needed for this target only
    from ..transforms.pipelines import lower_to_tir
    from .oracle import compile_oracle

    module.verify()
    return compile_oracle(lower_to_tir(module).op)


def _build_gpu(module: Module, target: Target) -> Program:
    # lazy: needed for these targets only
    from .caching import compile_once, program_kind

    symbols = _symbols(module, target)

    def make(module: Module) -> Program:
        # lazy: a program in the cache needs no passes
        from .cuda.build import build_cuda, build_emulated

        module.verify()
        build = build_cuda if target.kind == "cuda" else build_emulated
        return build(module, target, symbols=symbols)

    return compile_once(program_kind(symbols), module, target, (), make)


ORACLE = "python"
TARGETS = {"llvm": _build_llvm, "cuda": _build_gpu, "cuda-emulated": _build_gpu}
"""The build function of each kind of target except the oracle: native code of this machine, a GPU, an emulated GPU."""


def parse_target(target: str | Target) -> Target:
    """The target for which a program is compiled; the default target for the oracle.

    OptionError for an unknown kind of target, and for a malformed option.
    """
    text, known = str(target), [*TARGETS, ORACLE]
    if text == ORACLE:
        return Target()
    if next(iter(text.split()), "") not in TARGETS:
        raise OptionError(f"unknown target {text!r}{did_you_mean(text, known)} (there are {', '.join(known)})")
    return Target.from_value(target)


def build(
    mod: Module | ModuleOp,
    target: str | Target = "llvm",
    sanitize: bool = False,
    remarks: RemarkReceiver | None = None,
    schedule: bool = True,
    times: TimesReceiver | None = None,
    statistics: StatisticsReceiver | None = None,
) -> Program:
    """Compiles `mod`, which is not modified, for `target`.

    `llvm` is this machine, `python` the oracle, `cuda` a GPU (loops bound to blocks and threads become kernels;
    functions without such loops get default schedules), `cuda-emulated` the emulation of a GPU on the CPU.
    `cuda -arch=sm_90` names a GPU, `llvm -mcpu=skylake` a processor; the default is the GPU or processor of this
    machine. `-fast-math-contract=1` lets sums of products round once (`contract-floats`), `-debug=1` adds debug
    information (docs/workbench.md#debuggers-and-profilers). The result is called like a function when the module has
    one, else by name: `lib["main"](a, b, out)`. Arguments are numpy arrays or anything with DLPack, written in place;
    numbers for scalars. For `cuda` they are arrays on the device (`stepwell.nd.array`).

    sanitize: whether native code of this machine detects undefined behaviour and raises `UndefinedBehaviorError`
    (docs/errors.md); the oracle always does.  remarks: is called with each decision of the passes, as `print`
    (docs/performance.md).  schedule: whether functions that nobody has scheduled get default schedules for the
    processor (docs/cpu.md); with `sanitize` they get none.  times: is called at the end with the times of the passes,
    of the emitter and of LLVM, as `print`; the program is then compiled as a whole, without the cache.  statistics: is
    called at the end with the numbers of the decisions of each pass, as `print`.

    A fault of a pass leaves a reproducer (docs/workbench.md#reproducers), whose path is a note of the error.
    With the environment variable STEPWELL_VALIDATE set to 1, all passes are validated (docs/workbench.md#validation).
    Raises `VerifyError` for a module that breaks its constraints, `UnsupportedError` for operations that the target
    does not support, `LinkError` for an undefined C symbol, `OptionError` for an unknown target or option,
    `PluginError` if a dependency of the target is not installed.
    """
    module = Module(mod) if isinstance(mod, ModuleOp) else mod
    parsed = parse_target(target)
    if has_programs(module.op):
        raise UnsupportedError("a module with functions of relax, which a virtual machine executes: `build_relax`")
    if parsed.libs:
        raise UnsupportedError(f"target {parsed}: libraries are for graphs, expected `build_graph`")
    if sanitize or not schedule:
        parsed.require_processor("sanitize" if sanitize else "schedule=False")

    def compile_module() -> Program:
        with validate_passes():
            if target == ORACLE:
                return _build_python(module)
            if not sanitize and schedule:
                return TARGETS[parsed.kind](module, parsed)
            return _build_llvm(module, parsed, schedule, sanitize)

    with leave_reproducers(compile_module, validation_options()), report_remarks(remarks):
        with report_statistics(statistics), report_times(times):
            return compile_module()
