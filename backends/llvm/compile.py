"""From an upstream module to functions that Python can call."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import ModuleOp

from ..runtime import CompiledFunction, Library
from ..runtime.code import NativeCode
from ..runtime.packed import PackedCalls
from .calls import CALL_PACKED, entry_name
from .emitter import emit_module
from .engine import NativeModule, ObjectCode, Target, host_triple


def compile_module(
    module: ModuleOp, *, target: Target | None = None, symbols: Mapping[str, int] | None = None
) -> Library:
    """Native code for a module in the upstream subset, which is not changed.

    `target`: the processor, by default this one. `symbols`: addresses of C symbols, before those of the process.
    Raises UnsupportedError for what cannot be compiled, LinkError for a C symbol that nobody provides.
    """
    code, sources = compile_native(module, target=target)
    return link_code(code, symbols=symbols, sources=sources)


def compile_native(
    module: ModuleOp, *, target: Target | None = None
) -> tuple[NativeCode, dict[str, Callable[[], str]]]:
    """Native code that is not linked yet, and what makes each text of the program. As for `compile_module`."""
    target = target or Target.host()
    emitted = emit_module(module, native_half=target.has_half_conversions)
    compiled = ObjectCode.of(emitted.text, target)
    code = NativeCode(
        compiled.image,
        host_triple(),
        target.cpu,
        target.features,
        emitted.functions,
        emitted.failures,
        emitted.packed,
        emitted.externals,
    )
    return code, {
        "llvm": lambda: emitted.text,
        "llvm-optimized": lambda: compiled.optimized,
        "asm": compiled.assembly,
    }


def link_code(
    code: NativeCode,
    *,
    symbols: Mapping[str, int] | None = None,
    sources: Mapping[str, Callable[[], str]] | None = None,
    function: type[CompiledFunction] = CompiledFunction,
    keep_alive: object = None,
) -> Library:
    """The functions of native code that this machine can run.

    `symbols`: as of `compile_module`. `sources`: what makes each text of the program. `function`: how functions are
    called. `keep_alive`: what owns the symbols. Raises LinkError.
    """
    packed = PackedCalls(code.packed)
    native = NativeModule(
        code.image,
        [entry_name(function.name) for function in code.functions],
        code.externals,
        {**(symbols or {}), CALL_PACKED: packed.address},
    )
    functions = {
        signature.name: function(
            signature, native.address(entry_name(signature.name)), code.failures, packed, (native, keep_alive)
        )
        for signature in code.functions
    }
    return Library(functions, sources or {}, code)
