"""Registration of all implementations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter

from ...core.diagnostics import did_you_mean
from ...dialects import te, tir
from ...module import FunctionNotFoundError, Module
from ...operators import relax, relay
from ..oracle.checks import Packed
from .extensions import extension_functions
from .relax import RelaxFunctions
from .relay import RelayFunctions
from .te import TeFunctions
from .tir import TirFunctions
from .values import ValueFunctions


def register_implementations(
    interpreter: Interpreter, *, packed: Packed | None = None, uninitialized: Sequence[str] = ()
) -> None:
    """Registers implementations of `relax`, `relay`, `te` and `tir`, of the ops of arith, math and vector with exact
    data types, and of the operations of other packages in the program, replacing registered ones.

    packed: the functions for packed calls of `tir` and `relax`, by name; the registered functions by default.
    uninitialized: names of buffer parameters whose elements count as uninitialized at the start of a call, as the
    elements of outputs should. `interpreter.call_op("main", arguments)` then calls a function: numpy arrays, anything
    with DLPack and xDSL's `ShapedArray` for buffers and tensors, written in place; numbers for scalars. Functions of
    `relay` and `relax` write to no argument, and return values. Raises ArgumentError for other arguments,
    UndefinedBehaviorError, with the source location, for behaviour that docs/semantics.md excludes (races are not
    detected).
    """
    call = packed, uninitialized
    for functions in (
        ValueFunctions(),
        TirFunctions(*call),
        TeFunctions(*call),
        RelayFunctions(*call),
        RelaxFunctions(*call),
        extension_functions(interpreter.module),
    ):
        interpreter.register_implementations(functions, override=True)


_FUNCTIONS = relax.FuncOp | relay.FuncOp | te.FuncOp | tir.FuncOp


def interpret(
    mod: Module | ModuleOp,
    entry: str,
    arguments: Sequence[Any],
    *,
    packed: Packed | None = None,
    uninitialized: Sequence[str] = (),
) -> Any:
    """Calls function `entry` of a program by xDSL's interpreter and returns its result: for `relay` an array, or a
    tuple of several. Arrays are written in place.

    Options and errors as of `register_implementations`. Raises FunctionNotFoundError if `entry` does not exist.
    """
    op = mod.op if isinstance(mod, Module) else mod
    interpreter = Interpreter(op)
    register_implementations(interpreter, packed=packed, uninitialized=uninitialized)
    ops = [func for func in op.body.block.ops if isinstance(func, _FUNCTIONS)]
    functions = {func.sym_name.data: func for func in ops}
    if entry not in functions:
        known = ", ".join(functions) or "none"
        raise FunctionNotFoundError(f"no function {entry!r}{did_you_mean(entry, functions)} (has: {known})")
    results = interpreter.call_op(functions[entry], tuple(arguments))
    return results if len(results) > 1 else results[0] if results else None
