"""Inlining of producers into their consumers, so that a chain of producers is one kernel."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...analysis.scopes import BlockScope, writes_of
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, BlockOp, LoadOp
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import Kernel

LARGEST = 64
"""The maximum number of ops of an expression that is inlined more than once."""


def inline_producers(sch: Schedule, function: str) -> Schedule:
    """A schedule in which the elementwise producers of temporaries of a function are inlined.

    Not inlined are large expressions with several readers, and expressions that would be recomputed many times though
    they cost more than a load: expressions with an operation of `math` or a division, for a reduction that reads each
    element several times.
    """
    done = set[str]()
    while (block := _next(sch, function, done)) is not None:
        done.add(block.block_name.data)
        trial = sch.copy()
        try:
            trial.compute_inline(trial.get_block(block.block_name.data, function))
        except ScheduleError:
            continue
        sch = trial
    return sch


def _next(sch: Schedule, function: str, done: set[str]) -> BlockOp | None:
    """The first block that should be inlined and has not been tried."""
    func = sch.mod.function_ops[function]
    scope = BlockScope(func)  # pyright: ignore[reportArgumentType]
    for block in scope.blocks:
        if block.block_name.data not in done and _is_injective(block) and _pays(block, scope):
            return block
    return None


def _is_injective(block: BlockOp) -> bool:
    """Whether a block computes the elements of one temporary independently."""
    written = writes_of(block)
    return (
        len(written) == 1
        and isinstance(written[0].owner, AllocBufferOp)
        and block.init is None
        and all(axis.kind == "spatial" for axis in block.axes)
        and not any(op.regions and not op.results for op in block.body.block.ops)
    )


def _pays(block: BlockOp, scope: BlockScope) -> bool:
    (buffer,) = writes_of(block)
    consumers = scope.consumers(block)
    if not consumers:
        return False
    loads = [op for other in consumers for op in find_ops(other, LoadOp) if op.buffer is buffer]
    size = sum(1 for _ in block.body.walk())
    if len(loads) > 1 and size * len(loads) > LARGEST:
        return False
    return all(_reads_once(other, buffer) or (_is_cheap(block) and not _is_product(other)) for other in consumers)


def _is_cheap(block: BlockOp) -> bool:
    """Whether computing an element costs little more than loading it."""
    return all(type(op) not in _DEAR and not op.name.startswith("math.") for op in block.body.walk())


_DEAR = (arith.DivfOp,)


def _is_product(consumer: BlockOp) -> bool:
    """Whether a reduction reads two elements at each step: its operands go to shared memory."""
    kernel = Kernel(BlockRV(""), consumer)
    return len([read for read in kernel.reads if read.axes() & set(kernel.reduction_axes)]) > 1


def _reads_once(consumer: BlockOp, buffer: SSAValue) -> bool:
    """Whether a block reads each element of a buffer in few of its instances."""
    kernel = Kernel(BlockRV(""), consumer)
    if not kernel.reduction_axes:
        return True
    several = {axis for axis in kernel.axes if kernel.extents[axis] != 1}
    return all(several <= read.axes() for read in kernel.reads if read.buffer is buffer)
