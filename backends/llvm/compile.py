"""Compilation of an upstream module to functions that Python can call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from xdsl.dialects.builtin import ModuleOp

from ..runtime import CompiledFunction, Program
from ..runtime.code import NativeCode
from ..runtime.packed import PackedCalls
from ..saving.native import native_contents
from .calls import CALL_PACKED, entry_name
from .emitter import NO_KERNELS, DeviceRequirements, emit_module
from .engine import NativeModule, ObjectCode, Processor, host_triple
from .remarks import report_stack_buffers
from .workspace import DISCARD_WORKSPACE


def compile_module(
    module: ModuleOp, *, target: Processor | None = None, symbols: Mapping[str, int] | None = None
) -> Program:
    """Compiles a module in the upstream subset, which is not changed, to native code.

    `target`: the processor, by default the host's. `symbols`: addresses of C symbols, which take precedence over those
    of the process. Raises UnsupportedError for operations that cannot be compiled, LinkError for an undefined C symbol.
    """
    code, sources = compile_native(module, target=target)
    return link_code(code, symbols=symbols, sources=sources)


def compile_native(
    module: ModuleOp, *, target: Processor | None = None, requirements: DeviceRequirements = NO_KERNELS
) -> tuple[NativeCode, dict[str, Callable[[], str]]]:
    """Native code before linking, and the function that produces each text of the program. Arguments and errors of
    `compile_module`. requirements: of the kernels that the module launches.
    """
    target = target or Processor.host()
    emitted = emit_module(module, native_half=target.has_half_conversions, requirements=requirements)
    compiled = ObjectCode.of(emitted.parts.units(), target)
    report_stack_buffers(emitted.stack, "\n".join(compiled.optimized))
    code = NativeCode(
        compiled.images,
        host_triple(),
        target.cpu,
        target.features,
        emitted.functions,
        emitted.failures,
        emitted.packed,
        emitted.externals,
    )
    return code, {
        "llvm": emitted.parts.whole,
        "llvm-optimized": lambda: "\n".join(compiled.optimized),
        "asm": compiled.assembly,
    }


def link_code(
    code: NativeCode,
    *,
    symbols: Mapping[str, int] | None = None,
    sources: Mapping[str, Callable[[], str]] | None = None,
    function: type[CompiledFunction] = CompiledFunction,
    keep_alive: object = None,
) -> Program:
    """Links native code that this machine can run.

    `symbols`: as of `compile_module`. `sources`: the function that produces each text of the program. `function`: the
    class of the functions. `keep_alive`: the owner of the symbols. Raises LinkError.
    """
    packed = PackedCalls(code.packed)
    native = NativeModule(
        code.images,
        [*(entry_name(function.name) for function in code.functions), DISCARD_WORKSPACE],
        code.externals,
        {**(symbols or {}), CALL_PACKED: packed.address},
    )
    native.call_at_end(DISCARD_WORKSPACE)
    functions = {
        signature.name: function(
            signature, native.address(entry_name(signature.name)), code.failures, packed, (native, keep_alive)
        )
        for signature in code.functions
    }
    return Program(functions, sources or {}, partial(native_contents, code))
