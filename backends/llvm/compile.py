"""From an upstream module to functions that Python can call."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from ..runtime import CompiledFunction, Library
from ..runtime.packed import PackedCalls
from .calls import CALL_PACKED, entry_name
from .emitter import emit_module
from .engine import NativeModule, Target


def compile_module(
    module: ModuleOp, *, target: Target | None = None, symbols: Mapping[str, int] | None = None
) -> Library:
    """Native code for a module in the upstream subset, which is not changed.

    `target`: the processor, by default this one. `symbols`: addresses of C symbols, before those of the process.
    Raises UnsupportedError for what cannot be compiled, LinkError for a C symbol that nobody provides.
    """
    target = target or Target.host()
    emitted = emit_module(module, native_half=target.has_half_conversions)
    packed = PackedCalls(emitted.packed)
    native = NativeModule(
        emitted.text,
        target,
        [entry_name(function.name) for function in emitted.functions],
        emitted.externals,
        {**(symbols or {}), CALL_PACKED: packed.address},
    )
    functions = {
        signature.name: CompiledFunction(
            signature, native.address(entry_name(signature.name)), emitted.failures, packed, native
        )
        for signature in emitted.functions
    }
    return Library(
        functions, {"llvm": lambda: emitted.text, "llvm-optimized": native.optimized, "asm": native.assembly}
    )
