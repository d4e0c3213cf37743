"""`build_relax`: compilation of a program of `relax`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...core.arrays import plain_array
from ...core.errors import OptionError
from ...core.remarks import RemarkReceiver, report_remarks
from ...core.target import Target
from ...core.walking import find_ops
from ...module import Module
from ...operators.relax import FuncOp
from ...operators.relay import ConstantOp
from ...transforms.pipelines import AfterPass, lower_graph
from ...transforms.relay.libraries import libraries_of, library_symbols
from ..caching import CachedKind, compile_once
from ..llvm.build import build_llvm
from ..runtime.program import Program
from .executable import VMExecutable


def build_relax(
    mod: Module,
    target: Target | str | Mapping[str, Any] = "llvm",
    *,
    opt_level: int = 2,
    winograd: bool = True,
    after: AfterPass | None = None,
    remarks: RemarkReceiver | None = None,
) -> VMExecutable:
    """Compiles the functions of `relax` of a module, with all functions that they call.

    Operators and calls of kernels become graphs, which are compiled as by `build_graph`; packed functions are looked up
    when they are called.

    mod: is not modified.  target, opt_level, winograd, after, remarks: as of `build_graph`.

    Raises VerifyError for a module that breaks its constraints, OptionError for a module without functions of relax or
    without the array of a constant and for an invalid target, and the errors of `build_graph`.
    """
    target = Target.from_value(target)
    mod.verify()
    if not any(isinstance(func, FuncOp) for func in mod.functions.values()):
        raise OptionError(f"a module of {', '.join(mod.functions) or 'no functions'}, expected a function of relax")
    missing = [name for name in _constants_of(mod) if name not in mod.constants]
    if missing:
        raise OptionError(
            f"no array of constant {', '.join(map(repr, missing))} in the module, expected mod.constants to have it"
        )
    winograd &= target.kind == "llvm"
    libraries = tuple(library.name for library in libraries_of(target))

    def compile_module(module: Module) -> VMExecutable:
        lowered = lower_graph(module, opt_level, libraries, after, winograd)
        program = _compile(lowered, target, after)
        arrays = {name: np.ascontiguousarray(plain_array(lowered.constants[name])) for name in _constants_of(lowered)}
        return VMExecutable(program, arrays, lambda: lowered)

    with report_remarks(remarks):
        if after is not None:
            return compile_module(mod)
        return compile_once(_KIND, mod, target, (opt_level, winograd), compile_module)


_KIND = CachedKind[VMExecutable]("program", VMExecutable.load_cached, VMExecutable.save, lambda made: made.program)


def _constants_of(module: Module) -> list[str]:
    names = (op.array_name for op in find_ops(module.op, ConstantOp))
    return list(dict.fromkeys(name.data for name in names if name is not None))


def _compile(lowered: Module, target: Target, after: AfterPass | None) -> Program:
    """The native code of all functions except those of relax."""
    ops = [op.clone() for op in lowered.op.body.block.ops if not isinstance(op, FuncOp)]
    native = Module(ModuleOp(ops), lowered.constants)
    symbols = library_symbols(native, target)
    if target.kind == "llvm":
        return build_llvm(native, target, after, symbols)
    # lazy: the CUDA emitter is needed for GPUs only
    from ..cuda.build import build_cuda, build_emulated

    build = build_cuda if target.kind == "cuda" else build_emulated
    return build(native, target, after, symbols)
