"""Programs as C."""

from __future__ import annotations

from ...module import Module
from ...transforms.pipelines import lower_to_c
from .emitter import EmittedC, emit_c


def c_source(module: Module) -> EmittedC:
    """The C11 of the functions of a module at any landing, as of `emit_c`: the loops of the program, without default
    schedules.

    Raises UnsupportedError for operations that have no C: threads, functions of Python, atomic operations.
    """
    return emit_c(lower_to_c(module).op)
