"""The functions that nobody has scheduled, which get default schedules for processors."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr

from ..core.walking import find_ops
from ..dialects.attributes import (
    DISJOINT_VERSION,
    GRAPH_KERNEL,
    HOST_FUNCTION,
    SCHEDULED,
    TIR_IS_SCHEDULED,
    TIR_NOALIAS,
    is_true,
)
from ..dialects.tir import AttrOp, BlockOp, ForOp, FuncOp, HandleType, PrintOp
from .scopes import loops_around, parameter_buffers
from .work import CALLS, function_nanoseconds

LEAST_TIME = 1_000
"""The estimated nanoseconds of a function from which a schedule is worth the time of its search."""
SIMPLE = 16
"""The factor of this time for operators on elements without functions, which LLVM vectorizes by itself."""


def unscheduled_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions with blocks that get default schedules: kernels of graphs without the attribute `tir.is_scheduled`,
    and functions without a `reason_to_keep`."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and not is_true(op.attr(TIR_IS_SCHEDULED)):
            if is_graph_kernel(op) or (_has_blocks(op) and reason_to_keep(op) is None):
                yield op


def is_graph_kernel(func: FuncOp) -> bool:
    """Whether a function is generated from a graph."""
    return func.attr(GRAPH_KERNEL) is not None


def has_known_shapes(func: FuncOp) -> bool:
    """Whether all parameters of a function are buffers of known shapes."""
    return all(isinstance(value.type, MemRefType) for _, value in func.params)


def reason_to_keep(func: FuncOp) -> str | None:
    """The reason why a function with blocks gets no default schedule; None if it gets one."""
    if is_true(func.attr(HOST_FUNCTION)):
        return "it calls functions of a device"
    if is_true(func.attr(TIR_IS_SCHEDULED)):
        return f"it has the attribute {TIR_IS_SCHEDULED}"
    if func.attr(DISJOINT_VERSION) is not None:
        return "it has a version with a default schedule"
    if SCHEDULED in func.attributes:
        return "a schedule has changed it"
    if next(find_ops(func, PrintOp), None) is not None:
        return "it prints"
    for op in find_ops(func, ForOp, AttrOp, BlockOp):
        reason = _reason_of(op)
        if reason is not None:
            return reason
    if may_overlap(func) and not are_contiguous(func):
        return f"its buffers may overlap, since it lacks the attribute {TIR_NOALIAS}, and are not all contiguous"
    if function_nanoseconds(func) < LEAST_TIME * (SIMPLE if _is_simple(func) else 1):
        return "it takes too little time"
    return None


def _is_simple(func: FuncOp) -> bool:
    """Whether no block of a function has an init, or calls a function."""
    ops = (op for block in find_ops(func, BlockOp) for op in (block, *block.body.walk()))
    return not any(op.name.startswith(CALLS) or (isinstance(op, BlockOp) and op.init is not None) for op in ops)


def may_overlap(func: FuncOp) -> bool:
    """Whether a function may be called with buffers that overlap."""
    buffers = sum(isinstance(value.type, MemRefType | HandleType) for _, value in func.params)
    return buffers > 1 and not is_graph_kernel(func) and not is_true(func.attr(TIR_NOALIAS))


def are_contiguous(func: FuncOp) -> bool:
    """Whether all pointers that a function receives are contiguous buffers."""
    types = [buffer.type for buffer in parameter_buffers(func)]
    return all(
        isinstance(type.layout, NoneAttr) if isinstance(type, MemRefType) else not isinstance(type, HandleType)
        for type in types
    )


def _reason_of(op: ForOp | AttrOp | BlockOp) -> str | None:
    """The mark of a schedule that an op has."""
    match op:
        case ForOp() if op.kind.data != "serial" or op.thread is not None:
            return f"loop {op.loop_var.data} is not serial"
        case ForOp() if op.annotations is not None:
            return f"loop {op.loop_var.data} has annotations"
        case AttrOp():
            return "it has an attribute on statements"
        case BlockOp() if not _binds_its_loops(op):
            return f"the axes of block {op.block_name.data} are not the loops around it, in their order"
        case _:
            return None


def _binds_its_loops(block: BlockOp) -> bool:
    """Whether the axes of a block are bound to the loops around it, in their order, or have one element."""
    bound = [axis.binding for axis in block.axes if axis.extent != 1 or _is_loop_variable(axis.binding)]
    return bound == [loop.variable for loop in loops_around(block)]


def _is_loop_variable(value: object) -> bool:
    owner = getattr(value, "owner", None)
    return isinstance(getattr(owner, "parent_op", lambda: None)(), ForOp)


def _has_blocks(func: FuncOp) -> bool:
    return next(find_ops(func, BlockOp), None) is not None
