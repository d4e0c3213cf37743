"""Linking native code: object files to functions that Python can call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ...core.identifiers import symbol_of
from ..runtime import CompiledFunction, Program
from ..runtime.code import NativeCode
from ..runtime.packed import PackedCalls
from ..runtime.program import ForeignFunction
from ..saving.native import native_contents
from .engine import NativeModule
from .host import missing_features, missing_text
from .python_calls import call_code

CALL_PYTHON = "stepwell.call_python"
"""The symbol of the function that calls Python: `i32 (ptr function, i32 number, ptr slots)`. It returns a status."""
DISPATCHER = "stepwell.dispatcher"
"""The symbol whose address is the function of Python that calls packed functions, by their number; the result in the
last slot."""
POLL = "stepwell.poll"
"""The symbol of the function that long loops call: `i32 ()`. A function leaves with its status unless the status is
0."""
RUN_PARALLEL = "stepwell.run_parallel"
"""The symbol of the function of the worker pool that executes a parallel loop: `i32 (ptr task, ptr context, i64 first,
i64 last, i64 grain)`. The task, an `i32 (i64 first, i64 last, ptr context)`, executes a part of the range and returns a
status."""
SHARED = (CALL_PYTHON, POLL, RUN_PARALLEL)
"""The functions that the programs of a process share (`worker_pool.py`)."""
DISCARD_WORKSPACE = "stepwell.discard"
"""The function of every module that frees the kept blocks. It runs once, when no other function runs any more."""


def entry_name(name: str) -> str:
    """The name of the entry point of a public function."""
    return symbol_of("entry", name)


def link_code(
    code: NativeCode,
    *,
    symbols: Mapping[str, int] | None = None,
    sources: Mapping[str, Callable[[], str]] | None = None,
    function: type[CompiledFunction] = CompiledFunction,
    keep_alive: object = None,
) -> Program:
    """Links native code. Functions of code for a processor that this machine is not raise UnsupportedError when they
    are called; the program can be saved.

    `symbols`: as of `compile_module`. `sources`: the function that produces each text of the program. `function`: the
    class of the functions. `keep_alive`: the owner of the symbols. Raises LinkError.
    """
    contents = partial(native_contents, code)
    if missing := missing_features(code):
        reason = missing_text(code, missing)
        refused = {each.name: ForeignFunction(each, reason) for each in code.functions}
        return Program(refused, sources or {}, contents)
    packed = PackedCalls(code.packed)
    imported = {**(symbols or {}), DISPATCHER: id(packed.dispatch)}
    if shared := set(SHARED).intersection(code.externals):
        # lazy: small programs use none of them
        from .worker_pool import shared_address

        imported |= {name: shared_address(name) for name in shared}
    native = NativeModule(
        code.images,
        [*(entry_name(function.name) for function in code.functions), DISCARD_WORKSPACE],
        code.externals,
        imported,
    )
    native.call_at_end(DISCARD_WORKSPACE)
    functions = {
        signature.name: function(
            signature,
            native.address(entry_name(signature.name)),
            code.failures,
            packed,
            (native, keep_alive),
            call_code,
        )
        for signature in code.functions
    }
    return Program(functions, sources or {}, contents)
