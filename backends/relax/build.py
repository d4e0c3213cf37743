"""`build_relax`: compilation of a program of `relax`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr

from ...core.arrays import plain_array
from ...core.errors import OptionError, UnsupportedError
from ...core.remarks import RemarkReceiver, report_remarks
from ...core.target import Target
from ...core.walking import find_ops
from ...module import Module
from ...operators.relax import CallTirInplaceOp, CallTirOp, FuncOp
from ...operators.relax.devices import DEVICES, GLOBAL, Devices, device_names, memory_scopes, targets_in
from ...operators.relay import CallOp as GraphCallOp
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

    mod: is not modified.  target, opt_level, winograd, after, remarks: as of `build_graph`. The devices of a module
    (`I.vdevice`), if it has several, state their targets.

    Raises VerifyError for a module that breaks its constraints, OptionError for a module without functions of relax or
    without the array of a constant and for an invalid target, and the errors of `build_graph`.
    """
    target = Target.from_value(target)
    mod.verify()
    if not any(isinstance(func, FuncOp) for func in mod.function_ops.values()):
        raise OptionError(f"a module of {', '.join(mod.function_ops) or 'no functions'}, expected a function of relax")
    missing = [name for name in _constants_of(mod) if name not in mod.constants]
    if missing:
        raise OptionError(
            f"no array of constant {', '.join(map(repr, missing))} in the module, expected mod.constants to have it"
        )
    for name, scope in zip(device_names(mod.op), memory_scopes(mod.op), strict=True):
        if scope != GLOBAL:
            text = f"device {name!r}: memory scope {scope!r}, which has no meaning for {name.partition(':')[0]}"
            raise UnsupportedError(f"{text}, expected {GLOBAL!r}")
    is_mixed = len(device_names(mod.op)) > 1
    winograd &= target.kind == "llvm" and not is_mixed
    libraries = () if is_mixed else tuple(library.name for library in libraries_of(target))

    def compile_module(module: Module) -> VMExecutable:
        lowered = lower_graph(module, opt_level, libraries, after, winograd)
        program, *others = (_compile(part, each, after) for part, each in _parts(lowered, target))
        arrays = {name: np.ascontiguousarray(plain_array(lowered.constants[name])) for name in _constants_of(lowered)}
        return VMExecutable(program, arrays, lambda: lowered, {each.device_kind: each for each in others})

    with report_remarks(remarks):
        if after is not None or is_mixed:
            return compile_module(mod)
        return compile_once(_KIND, mod, target, (opt_level, winograd), compile_module)


_KIND = CachedKind[VMExecutable]("program", VMExecutable.load_cached, VMExecutable.save, lambda made: made.program)


def _constants_of(module: Module) -> list[str]:
    names = (op.array_name for op in find_ops(module.op, ConstantOp))
    return list(dict.fromkeys(name.data for name in names if name is not None))


def _parts(lowered: Module, target: Target) -> list[tuple[Module, Target]]:
    """The graphs and kernels for each target, the first one first: all for `target` unless the module has devices."""
    names = device_names(lowered.op)
    if len(names) < 2:
        return [(lowered, target)]
    used: dict[str, set[str]] = {name: set() for name in names}
    for func in lowered.function_ops.values():
        if isinstance(func, FuncOp):
            devices = Devices.of_function(func)
            for op in func.walk():
                if isinstance(op, GraphCallOp | CallTirOp | CallTirInplaceOp):
                    used[devices.of(op.results[0]) or names[0]].add(op.callee.string_value())
    parts: dict[str, tuple[Target, set[str]]] = {}
    for name, text in zip(names, targets_in(lowered.op.attributes[DEVICES]), strict=True):
        each = Target.from_value(text)
        parts.setdefault(each.kind, (each, set()))[1].update(used[name])
    return [(_part(lowered, called), each) for each, called in parts.values()]


def _part(lowered: Module, called: set[str]) -> Module:
    """A module of the functions called `called` and of their callees."""
    pending, wanted = list(called), set[str]()
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            callees = (op.properties.get("callee") for op in lowered.function_ops[name].walk())
            pending += [callee.string_value() for callee in callees if isinstance(callee, SymbolRefAttr)]
    ops = [op.clone() for name, op in lowered.function_ops.items() if name in wanted]
    return Module(ModuleOp(ops), lowered.constants)


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
