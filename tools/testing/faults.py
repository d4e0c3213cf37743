"""Faults planted in valid programs: a changed index, a removed write, a divisor of 0, a shift amount out of range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from ...core.dtypes import dtype_of, int_range, wrap_int
from ...dialects.tir import (
    DIVISIONS,
    SHIFTS,
    AccessOp,
    AllocBufferOp,
    BlockOp,
    DeclBufferOp,
    LoadOp,
    StoreOp,
    TirBuilder,
)
from ...dialects.tir.tree import is_expression_op
from .choices import Choices, pick

Fault: TypeAlias = Callable[[Choices, Operation], None]


def plant_fault(choices: Choices, module: ModuleOp) -> bool:
    """Changes one operation of a module so that the program may have undefined behaviour; False if no change is
    possible."""
    candidates = [(op, fault) for op in module.walk() for fault in _faults_of(op)]
    if not candidates:
        return False
    op, fault = pick(choices, candidates)
    fault(choices, op)
    return True


def _faults_of(op: Operation) -> Sequence[Fault]:
    """The faults that can be planted at an operation which the program evaluates."""
    if isinstance(op, LoadOp | StoreOp) and not _is_declaration(op):
        indices: list[Fault] = [_shift_index] if op.indices else []
        is_local = isinstance(op, StoreOp) and isinstance(op.buffer.owner, AllocBufferOp | DeclBufferOp)
        return [*indices, _remove] if is_local else indices
    if isinstance(op, DIVISIONS) and not _is_declaration(op):
        return [_clear_operand]
    if isinstance(op, SHIFTS) and not _is_declaration(op):
        return [_raise_amount]
    return [_narrow_domain] if isinstance(op, BlockOp) and op.axes else []


def _is_declaration(op: Operation) -> bool:
    """Whether only declarations of accesses use the result of an operation."""
    users = [use.operation for result in op.results for use in result.uses]
    return any(isinstance(u, AccessOp) or (is_expression_op(u) and _is_declaration(u)) for u in users)


def _shift_index(choices: Choices, op: Operation) -> None:
    """Adds a number to an index of an access."""
    assert isinstance(op, LoadOp | StoreOp)
    builder = TirBuilder(InsertPoint.before(op), op.location)
    d = choices.integer(0, len(op.indices) - 1)
    index = op.indices[d]
    step = wrap_int(pick(choices, (1, -1, 2, 100)), dtype_of(index.type).scalar)
    op.operands[list(op.operands).index(index)] = builder.add(index, builder.const(step, dtype_of(index.type)))


def _remove(_choices: Choices, op: Operation) -> None:
    """Removes a write of local memory."""
    op.detach()
    op.erase()


def _clear_operand(_choices: Choices, op: Operation) -> None:
    """Makes a divisor 0."""
    builder = TirBuilder(InsertPoint.before(op), op.location)
    op.operands[1] = builder.const(0, dtype_of(op.operands[1].type))


def _raise_amount(_choices: Choices, op: Operation) -> None:
    """Makes a shift amount the number of bits, or the largest number of its type if that is less."""
    builder = TirBuilder(InsertPoint.before(op), op.location)
    dtype = dtype_of(op.operands[1].type)
    op.operands[1] = builder.const(min(dtype.bits, int_range(dtype.scalar)[1]), dtype)


def _narrow_domain(choices: Choices, op: Operation) -> None:
    """Reduces the constant extent of the domain of an axis by 1."""
    assert isinstance(op, BlockOp)
    axes = [n for n, axis in enumerate(op.axes) if isinstance(axis.extent, int) and axis.extent > 1]
    if axes:
        numbers = list(op.static_domains.get_values())  # pyright: ignore
        numbers[2 * pick(choices, axes) + 1] -= 1
        op.static_domains = type(op.static_domains).from_list(op.static_domains.elt_type, numbers)  # pyright: ignore
