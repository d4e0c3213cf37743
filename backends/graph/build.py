"""`build_graph`: compilation of a graph to native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...core.arrays import plain_array
from ...core.cpu import CpuModel, cpu_of
from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError, UnsupportedError
from ...core.remarks import RemarkReceiver, report_remarks
from ...core.target import Target
from ...module import FunctionNotFoundError, Module
from ...operators.relay import FuncOp
from ...transforms.pipelines import AfterPass, lower_graph, lower_to_tir
from ...transforms.relay.libraries import libraries_of, library_symbols
from ...transforms.reproducers import leave_reproducers
from ..caching import CachedKind, compile_once
from ..llvm.build import build_llvm
from ..runtime.program import Program
from ..validation import validate_passes, validation_options
from .description import GraphDescription
from .executable import Executable


def build_graph(
    mod: Module,
    *,
    target: Target | str | Mapping[str, Any] = "llvm",
    entry: str = "main",
    opt_level: int = 2,
    winograd: bool = True,
    after: AfterPass | None = None,
    sanitize: bool = False,
    remarks: RemarkReceiver | None = None,
    schedule_kernels: Callable[[Module], Module] | None = None,
) -> Executable:
    """Compiles a function of the `relay` dialect and its callees: to native code of this machine (`llvm`), or to
    kernels of a GPU (`cuda`, `cuda-emulated`), which need not be present.

    mod: is not modified.  target: as accepted by `Target.from_value`, with the libraries to offload supported operators
    to, `llvm -libs=cblas`.  opt_level: 0 for a kernel per operator and no rewriting, 1 adds fusion, 2 adds rewriting.
    winograd: whether Winograd's algorithm, whose results round differently, computes convolutions where it saves time;
    on a processor, and with rewriting (docs/relay.md#convolutions).  after: is called with the module after each pass.
    sanitize: whether the code detects undefined behaviour, for `llvm` only (docs/errors.md).  remarks: is called with
    each decision of the passes, as `print` (docs/performance.md).
    schedule_kernels: returns the program, whose kernels are loops without schedules, with schedules for some kernels;
    the others get default schedules. With it, no convolution is computed by Winograd's algorithm, no weights are
    packed, and nothing is cached.

    Raises FunctionNotFoundError if `entry` does not exist, OptionError if it is not a graph and for an invalid target,
    PluginError for a library or compiler that is not installed, UnsupportedError for a graph that cannot be compiled.
    """
    target = Target.from_value(target)
    mod.verify()
    func = mod.function_ops.get(entry)
    if func is None:
        raise FunctionNotFoundError(f"no function {entry!r}{did_you_mean(entry, mod.function_ops)}")
    if not isinstance(func, FuncOp):
        hint = ", which build_relax compiles" if func.name == "relax.func" else ""
        raise OptionError(f"function {entry!r} is {func.name}{hint}, expected relay.func")
    if func.size_parameters:
        sizes = ", ".join(func.size_parameters)
        raise UnsupportedError(f"function {entry!r} takes the sizes {sizes} as numbers, expected sizes of arguments")
    if sanitize:
        target.require_processor("sanitize")
    winograd &= target.kind == "llvm" and schedule_kernels is None
    libraries = tuple(library.name for library in libraries_of(target))

    def compile_module(module: Module, after: AfterPass | None = None) -> Executable:
        packs = target.kind == "llvm" and schedule_kernels is None
        cpu = cpu_of(target) if packs else CpuModel()
        graph = lower_graph(module, opt_level, libraries, after, winograd, packs, cpu)
        program = graph if schedule_kernels is None else schedule_kernels(lower_to_tir(graph))
        return describe(graph, _compile(program, target, after, sanitize, library_symbols(graph, target)), entry)

    def repeat() -> None:
        with validate_passes():
            compile_module(mod)

    with leave_reproducers(repeat, validation_options()), report_remarks(remarks), validate_passes():
        if after is not None or schedule_kernels is not None:
            return compile_module(mod, after)
        return compile_once(_KIND, mod, target, (entry, opt_level, winograd, sanitize), compile_module)


_KIND = CachedKind[Executable]("graph", Executable.load_cached, Executable.save, lambda executable: executable.program)


def _compile(
    graph: Module, target: Target, after: AfterPass | None, sanitize: bool, symbols: Mapping[str, int]
) -> Program:
    if target.kind == "llvm":
        return build_llvm(graph, target, after, symbols, sanitize, callables=False)  # executors call entry points
    # lazy: the CUDA emitter is needed for GPUs only
    from ..cuda.build import build_cuda, build_emulated

    if target.kind == "cuda":
        return build_cuda(graph, target, after, symbols)
    return build_emulated(graph, target, after, symbols)


def describe(graph: Module, program: Program, entry: str) -> Executable:
    """Creates the `Executable` of a graph of kernel calls and its native code."""
    description = GraphDescription.of(graph, entry)
    constants = {
        spec.name: np.ascontiguousarray(plain_array(graph.constants[spec.name])) for spec in description.constants
    }
    return Executable(constants=constants, program=program, read_graph=lambda: graph, **description.fields())
