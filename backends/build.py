"""`build`: a module at any landing into something to call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError, UnsupportedError
from ..core.target import Target
from ..module import Module
from ..transforms.pipelines import has_graphs, lower, run_pipeline, to_tir

if TYPE_CHECKING:
    from .runtime.library import Library


def _build_llvm(module: Module, target: Target) -> Library:
    from .llvm import Target as Processor
    from .llvm import compile_module

    lowered = lower(module, contract=target.contract)
    return compile_module(lowered.op, target=Processor.of(target), symbols=_symbols(module, target))


def _symbols(module: Module, target: Target) -> dict[str, int]:
    """The addresses of the C functions that graphs call."""
    if not has_graphs(module.op):
        return {}
    from ..transforms.relay.libraries import library_symbols

    return library_symbols(module, target)


def _build_python(module: Module) -> Any:
    from .oracle import compile_oracle

    return compile_oracle(run_pipeline(module, to_tir(module.op)).op)


def _build_emulated(module: Module, target: Target) -> Library:
    from .cuda.build import build_emulated

    return build_emulated(module, target, symbols=_symbols(module, target))


def _build_cuda(module: Module, target: Target) -> Library:
    from .cuda.build import build_cuda

    return build_cuda(module, target, symbols=_symbols(module, target))


ORACLE = "python"
TARGETS = {"llvm": _build_llvm, "cuda": _build_cuda, "cuda-emulated": _build_emulated}
"""What a module can be built for besides the oracle: native code of this machine, a GPU, or one that is emulated."""


def build(mod: Module | ModuleOp, target: str | Target = "llvm") -> Library:
    """Compile `mod`, which stays as it is, for `target`: `llvm` (this machine), `python` (the oracle), `cuda` (loops
    bound to blocks and threads as kernels of a GPU; functions without such loops get default schedules) or
    `cuda-emulated` (the same, run on the CPU).

    `cuda -arch=sm_90` says which GPU, `llvm -mcpu=skylake` which processor; by default it is the one that is there.
    `-fast-math-contract=1` lets sums of products round once (`contract-floats`). The result is called like a function
    when the module has one, else by name: `lib["main"](a, b, out)`. Arguments are numpy arrays or anything with DLPack,
    written in place; numbers for scalars. For `cuda` they are arrays on the device (`stepwell.nd.array`).

    Raises `VerifyError` for a module that breaks its constraints, `UnsupportedError` for what the target cannot do,
    `LinkError` for a C symbol nobody provides, `OptionError` for an unknown target or option of it, `PluginError` if
    the target needs what is not installed.
    """
    module = Module(mod) if isinstance(mod, ModuleOp) else mod
    kind, known = next(iter(str(target).split()), ""), [*TARGETS, ORACLE]
    if kind not in TARGETS and target != ORACLE:
        raise OptionError(
            f"unknown target {str(target)!r}{did_you_mean(str(target), known)} (there are {', '.join(known)})"
        )
    parsed = Target() if target == ORACLE else Target.of(target)
    if parsed.libs:
        raise UnsupportedError(f"target {parsed}: libraries are for graphs, expected `build_graph`")
    module.verify()
    return _build_python(module) if target == ORACLE else TARGETS[kind](module, parsed)
