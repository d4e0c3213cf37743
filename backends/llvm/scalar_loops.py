"""Loops of scalars, of which LLVM's optimization may make vectors."""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from ...dialects.attributes import NOINLINE, PARALLEL
from .work import Lookup

_LOOPS = (scf.ForOp, scf.ParallelOp)


def has_scalar_loops(function: func.FuncOp, lookup: Lookup) -> bool:
    """Whether LLVM may make vectors of scalars in a loop of a function.

    The loop contains neither loops, calls that LLVM does not inline, nor operations on vectors; or it takes scalars
    from vectors, as the last steps of reductions, of which LLVM computes several at a time; or it is a `scf.while`.
    lookup: the functions of the module, by name.
    """
    loops: list[Operation] = []
    others: set[Operation] = set()
    for op in function.body.walk():
        kind = type(op)
        if kind is scf.WhileOp:
            return True
        is_loop = kind in _LOOPS
        if is_loop:
            loops.append(op)
        reads_vectors, vectors, scalars = _lanes(op)
        if not (is_loop or reads_vectors or vectors or kind is func.CallOp):
            continue
        loop = _loop_around(op, function)
        if loop is None:
            continue
        if reads_vectors and scalars:
            return True
        if is_loop or reads_vectors or vectors or _is_outlined_call(op, lookup):
            others.add(loop)
    return any(loop not in others for loop in loops)


def _lanes(op: Operation) -> tuple[bool, bool, bool]:
    """Whether an operation has operands that are vectors, results that are vectors, and other results."""
    reads = vectors = scalars = False
    for operand in op.operands:
        reads = reads or type(operand.type) is VectorType
    for result in op.results:
        if type(result.type) is VectorType:
            vectors = True
        else:
            scalars = True
    return reads, vectors, scalars


def _loop_around(op: Operation, function: func.FuncOp) -> Operation | None:
    """The innermost loop around an operation of a function."""
    parent = op.parent_op()
    while parent is not None and parent is not function and not isinstance(parent, _LOOPS):
        parent = parent.parent_op()
    return None if parent is function else parent


def _is_outlined_call(op: Operation, lookup: Lookup) -> bool:
    """Whether an operation calls a function that LLVM does not inline."""
    if not isinstance(op, func.CallOp):
        return False
    return PARALLEL in op.attributes or NOINLINE in lookup(op.callee.string_value()).attributes
