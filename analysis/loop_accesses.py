"""Accesses of memory in a loop: memories that have no element in common, accesses that each execution executes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects.tir import (
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    AttrOp,
    ForOp,
    FuncOp,
    HandleType,
    RampOp,
    constant_value,
)

_ADDRESSED = frozenset((MemRefType, HandleType))


def are_apart(a: SSAValue | None, b: SSAValue | None, noalias: bool) -> bool:
    """Whether two memories (`memory_of`) have no element in common. noalias: whether parameters do not overlap."""
    if a is None or b is None or a is b:
        return False
    return any(map(is_allocation, (a, b))) or (noalias and all(map(is_parameter, (a, b))))


def is_parameter(memory: SSAValue | None) -> bool:
    """Whether a memory is a parameter of a function."""
    return isinstance(memory, BlockArgument) and isinstance(memory.owner.parent_op(), FuncOp)


def is_allocation(memory: SSAValue | None) -> bool:
    """Whether a function allocates a memory."""
    return memory is not None and isinstance(memory.owner, AllocBufferOp | AllocateOp | AllocateConstOp)


def uses_address(op: Operation) -> bool:
    """Whether an op uses the address of a buffer."""
    for values in (op.operands, op.results):
        for value in values:
            if type(value.type) in _ADDRESSED:
                return True
    return False


def has_iterations(loop: ForOp) -> bool:
    """Whether the bounds of a loop are static, and it has iterations."""
    extent = loop.mixed_bounds[1]
    return all(isinstance(bound, int) for bound in loop.mixed_bounds) and isinstance(extent, int) and extent > 0


def constant_extent(loop: ForOp) -> int:
    """The extent of a loop, which is a number."""
    extent = loop.mixed_bounds[1]
    assert isinstance(extent, int)
    return extent


def contiguous_elements(indices: Sequence[SSAValue]) -> tuple[list[SSAValue], int | None] | None:
    """The indices of the first element of an access at some indices, and the number of its elements, None for a scalar.
    None for a vector of other than contiguous elements."""
    first, lanes = list(indices), None
    if first and isinstance(ramp := first[-1].owner, RampOp) and constant_value(ramp.stride) == 1:
        first[-1], lanes = ramp.base, ramp.lanes
    return None if any(isinstance(index.type, VectorType) for index in first) else (first, lanes)


def is_certain(access: Operation, loop: ForOp) -> bool:
    """Whether each iteration of a loop executes an access in it."""
    op = access.parent_op()
    while op is not None and op is not loop:
        if not isinstance(op, AttrOp) and not (isinstance(op, ForOp) and has_iterations(op)):
            return False
        op = op.parent_op()
    return True
