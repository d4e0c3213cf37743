"""Compilation of an upstream module to functions that Python can call."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import ModuleOp

from ...transforms.observers import stage
from ..runtime import Program
from ..runtime.code import NativeCode
from . import perf_map
from .emitter import NO_KERNELS, DeviceRequirements, Facts, emit_module
from .engine import ObjectCode, Processor, host_triple
from .linking import link_code
from .remarks import report_stack_buffers


def compile_module(
    module: ModuleOp,
    *,
    target: Processor | None = None,
    symbols: Mapping[str, int] | None = None,
    callables: bool = True,
) -> Program:
    """Compiles a module in the upstream subset, which is not changed, to native code.

    `target`: the processor, by default the host's. `symbols`: addresses of C symbols, which take precedence over those
    of the process. `callables`: as of `emit_module`. Raises UnsupportedError for operations that cannot be compiled,
    LinkError for an undefined C symbol.
    """
    code, sources = compile_native(module, target=target, callables=callables)
    with stage("linking"):
        return link_code(code, symbols=symbols, sources=sources)


def compile_native(
    module: ModuleOp,
    *,
    target: Processor | None = None,
    requirements: DeviceRequirements = NO_KERNELS,
    callables: bool = True,
) -> tuple[NativeCode, dict[str, Callable[[], str]]]:
    """Native code before linking, and the function that produces each text of the program. Arguments and errors of
    `compile_module`. requirements: of the kernels that the module launches.  callables: as of `emit_module`.
    """
    target = target or Processor.host()
    with stage("emission of LLVM IR"):
        emitted = emit_module(
            module,
            instructions=target.instructions,
            requirements=requirements,
            callables=callables,
            debug=target.debug,
        )
    with stage("LLVM"):
        units = [emitted.text] if perf_map.is_requested() else emitted.parts.units()
        compiled = ObjectCode.of(units, target)
    report_stack_buffers(emitted.stack, compiled.optimized_text)
    return native_code(emitted.facts, compiled), texts_of(emitted.parts.whole, compiled)


def native_code(facts: Facts, code: ObjectCode) -> NativeCode:
    """Native code with the facts about its program."""
    target = code.target
    return NativeCode(
        code.images,
        host_triple(),
        target.cpu,
        target.features,
        facts.functions,
        facts.failures,
        facts.packed,
        facts.externals,
    )


def texts_of(text: Callable[[], str], code: ObjectCode) -> dict[str, Callable[[], str]]:
    """The functions that produce the texts of a program. text: produces its LLVM IR."""
    return {"llvm": text, "llvm-optimized": lambda: code.optimized_text, "asm": code.assembly}
