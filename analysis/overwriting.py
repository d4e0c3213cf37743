"""Kernels that may compute a result in the memory of an operand."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..dialects.tir import AccessOp, ForOp, FuncOp, LaunchThreadOp, LoadOp, MatchBufferOp, StoreOp, WhileOp
from . import isl, isl_budget
from .dependence import carried_dependence
from .index import Analyzer
from .scopes import ancestors


def compute_in_place(func: FuncOp, operand: int, result: int) -> FuncOp | str:
    """Returns a copy of a kernel whose parameter `operand` is also its parameter `result`, or why there is none.

    The copy computes what the kernel computes if each element of the operand is read before an element of the result is
    stored in its place: no loop has an iteration that stores an element that another iteration reads, and in an
    iteration the reads precede the store.
    """
    copy = func.clone()
    read, written = (_buffer(copy.body.block.args[n]) for n in (operand, result))
    if read is None or written is None:
        return "the kernel uses an address"
    if not _are_alike(read, written):
        return "the kernel has buffers of different types for them"
    loads = [use.operation for use in read.uses if isinstance(use.operation, LoadOp)]
    stores = [use.operation for use in written.uses if isinstance(use.operation, StoreOp)]
    others = [
        use.operation for buffer in (read, written) for use in buffer.uses if not isinstance(use.operation, AccessOp)
    ]
    if len(others) > len(loads) + len(stores):
        return "the kernel uses them otherwise than by reads of the operand and stores of the result"
    loops = dict.fromkeys(loop for store in stores for loop in ancestors(store))
    if any(isinstance(loop, WhileOp) for loop in loops):
        return "a while loop stores elements"
    if not all(_precedes(load, store) for load in loads for store in stores):
        return "a read of the operand follows a store"
    written.replace_all_uses_with(read)
    memory = copy.body.block.args[operand]
    try:
        with isl_budget.isl_operation_limit(isl_budget.DEPENDENCES):
            for loop in loops:
                if isinstance(loop, ForOp | LaunchThreadOp) and carried_dependence(loop, memories={memory}) is not None:
                    return "the kernel reads elements at other positions than it stores"
    except isl.Error:
        return "the positions of its reads take too much to find out"
    _remove_parameter(copy, result)
    return copy


def _buffer(parameter: BlockArgument) -> SSAValue | None:
    """The buffer of a parameter; None for a number, and for a pointer that is not viewed as one buffer."""
    if isinstance(parameter.type, MemRefType):
        return parameter
    views = [use.operation for use in parameter.uses]
    return views[0].buffer if len(views) == 1 and isinstance(views[0], MatchBufferOp) else None


def _are_alike(a: SSAValue, b: SSAValue) -> bool:
    """Whether two buffers have equal shapes, data types and layouts."""
    if a.type != b.type:
        return False
    sizes = [list(each.owner.operands)[1:] if isinstance(each.owner, MatchBufferOp) else [] for each in (a, b)]
    analyzer = Analyzer()
    return len(sizes[0]) == len(sizes[1]) and all(map(analyzer.same, *sizes))


def _precedes(load: Operation, store: Operation) -> bool:
    """Whether a load precedes a store in each iteration of the loops around both."""
    blocks: dict[Block | None, Operation] = {each.parent: each for each in (store, *ancestors(store))}
    each = next(each for each in (load, *ancestors(load)) if each.parent in blocks)
    ours = blocks[each.parent]
    return each is not ours and each.is_before_in_block(ours)


def _remove_parameter(func: FuncOp, index: int) -> None:
    """Removes a parameter, whose buffer has no uses."""
    argument = func.body.block.args[index]
    for use in list(argument.uses):
        use.operation.detach()
        use.operation.erase()
    func.body.block.erase_arg(argument)
    names = list(func.param_names.data)
    del names[index]
    func.param_names = type(func.param_names)(names)
