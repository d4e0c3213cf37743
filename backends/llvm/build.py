"""Building programs for a processor."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.cpu import cpu_of
from ...core.target import Target
from ...module import Module
from ...transforms.observers import pass_observers
from ...transforms.pipelines import AfterPass, Options, lower_part, lower_to_parts, lower_with
from ..runtime import Program
from . import perf_map
from .compile import compile_module
from .engine import Processor


def build_llvm(
    module: Module,
    target: Target,
    after: AfterPass | None = None,
    symbols: Mapping[str, int] | None = None,
    sanitize: bool = False,
    callables: bool = True,
    schedule: bool = True,
) -> Program:
    """Compiles a module at any landing to native code of the processor of a target.

    after: is called with the module after each pass.  symbols: addresses of C functions that the module calls.
    sanitize: whether the code detects undefined behaviour.  callables: as of `emit_module`.
    schedule: whether functions that nobody has scheduled get default schedules.
    Raises UnsupportedError for operations that cannot be compiled, LinkError for an undefined C symbol.
    """
    processor = Processor.of(target)
    schedule &= processor.optimized
    options = Options(contract=target.contract, sanitize=sanitize, cpu=cpu_of(target), schedule=schedule)
    if after is not None or pass_observers() or perf_map.is_requested():  # compile the whole module at once
        lowered = lower_with(module, options, after)
        return compile_module(lowered.op, target=processor, symbols=symbols, callables=callables)
    parts = lower_to_parts(module)
    if len(parts) == 1:
        lower_part(parts[0], options)
        return compile_module(parts[0].module.op, target=processor, symbols=symbols, callables=callables)
    # lazy: programs of one part need no processes
    from .parts import compile_parts

    return compile_parts(parts, options, processor, symbols=symbols, callables=callables)
