"""Regions without jumps: execution in order, and errors with source locations."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from ...core.errors import UndefinedBehaviorError
from ...dialects import te
from ...dialects.tir import FuncOp, Mixed, SymbolOp
from ..oracle.context import location_of
from ..oracle.memory import Fault

OpFilter = Callable[[Operation], bool]


def run_region(interpreter: Interpreter, region: Region, args: Sequence[Any], name: str = "region") -> tuple[Any, ...]:
    """Runs the ops of a region of one block. Returns the operands of its terminator, if any.

    A `tir.symbol` is not executed: the op that binds it sets its value.
    """
    with scope(interpreter, name):
        interpreter.set_values(zip(region.block.args, args, strict=True))
        return run_ops(interpreter, region.block)


@contextmanager
def scope(interpreter: Interpreter, name: str) -> Generator[None]:
    """A scope for values, left on normal and exceptional exit."""
    outside = sum(1 for _ in interpreter.scope_names())
    interpreter.push_scope(name)
    try:
        yield
    finally:
        while sum(1 for _ in interpreter.scope_names()) > outside:
            interpreter.pop_scope()


def run_ops(interpreter: Interpreter, block: Block, which: OpFilter = lambda op: True) -> tuple[Any, ...]:
    """Runs the ops of a block selected by `which`, in the current scope."""
    skipped = _skipped_ops(interpreter)
    for op in block.ops:
        if isinstance(op, SymbolOp) or op in skipped or not which(op):
            continue
        if op.has_trait(IsTerminator):
            return interpreter.get_values(op.operands)
        run_op(interpreter, op)
    return ()


def run_op(interpreter: Interpreter, op: Operation) -> None:
    """Runs an op. Raises UndefinedBehaviorError, with the source location, for excluded behaviour."""
    try:
        results = interpreter.run_op(op, interpreter.get_values(op.operands))
    except Fault as error:
        where = location_of(op) or "".join(f"{name}: " for name in _function_around(op))
        raise UndefinedBehaviorError(f"{where}{op.name}: {error}") from None
    interpreter.set_values(zip(op.results, results, strict=True))


def exclude_ops(interpreter: Interpreter, ops: Iterable[Operation]) -> None:
    """Excludes ops from execution, such as declarations of accesses."""
    _skipped_ops(interpreter).update(ops)


def _skipped_ops(interpreter: Interpreter) -> set[Operation]:
    return interpreter.get_data(InterpreterFunctions, "skipped", set[Operation])


def _function_around(op: Operation) -> list[str]:
    """The name of the enclosing function of an op, as a list; empty without a function."""
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, te.FuncOp | FuncOp):
            return [outer.sym_name.data]
        outer = outer.parent_op()
    return []


def evaluate_mixed(interpreter: Interpreter, mixed: Mixed) -> int:
    """The value of a size or bound: a constant, or an SSA value."""
    return interpreter.get_values([mixed])[0] if isinstance(mixed, SSAValue) else mixed


def evaluate_all_mixed(interpreter: Interpreter, mixed: Sequence[Mixed]) -> tuple[int, ...]:
    return tuple(evaluate_mixed(interpreter, each) for each in mixed)
