"""Producers and consumers of a sum that may be computed in its kernel."""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import SSAValue

from ...analysis.scopes import consumers, enclosing_scope, precedes_in_text, producers, reads_of, root_buffer, writes_of
from ...analysis.threads.axes import is_in_kernel
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, BlockOp, LoadOp, StoreOp
from .. import Schedule
from ..handles import BlockRV
from .kernel import Kernel, block_of


def is_epilogue_of(kernel: Kernel, user: BlockOp) -> bool:
    """Whether `user` consumes the results of a block element by element, in loops of its own, and may do so as soon as
    each is computed."""
    return Kernel(BlockRV(""), user).has_plain_loops() and reads_each_element_of(kernel, user)


def reads_each_element_of(kernel: Kernel, user: BlockOp) -> bool:
    """Whether `user` consumes the results of a block element by element, and may do so as soon as each is computed.

    The conditions: `user` is the only consumer of the results, and has an axis for each of their dimensions; other
    blocks access the buffers that it writes after it; and its other operands are complete before.
    """
    other = Kernel(BlockRV(""), user)
    (buffer,) = {write.buffer for write in kernel.writes}
    results = {axis for axis in other.axes if other.extents[axis] != 1}
    reads = [read for read in other.reads if read.buffer is buffer]
    return (
        _is_temporary(buffer)
        and _stores_elements(other)
        and bool(reads)
        and all(read.is_plain() and results <= read.axes() for read in reads)
        and all(write.is_plain() for write in other.writes)
        and other.size(other.spatial_axes) == kernel.size(kernel.spatial_axes)
        and all(_is_read_later(written, user) for written in writes_of(user))
        and all(_is_complete(read, kernel.block) for read in reads_of(user) if read is not buffer)
    )


def is_prologue(producer: BlockOp, user: BlockOp) -> bool:
    """Whether a block computes elements of temporaries independently, for `user` alone, and may be moved into its
    kernel.
    """
    return (
        all(_is_temporary(buffer) for buffer in writes_of(producer))
        and Kernel(BlockRV(""), producer).has_plain_loops()
        and _stores_elements(Kernel(BlockRV(""), producer))
        and consumers(producer) == [user]
        and not any(_is_written_between(buffer, producer, user) for buffer in reads_of(producer))
    )


def producer_of(sch: Schedule, block: BlockRV, buffer: SSAValue) -> BlockRV | None:
    """The block that computes elements of a buffer independently, for `block` alone, if it may be moved into it."""
    op = block_of(sch, block)
    for handle, producer in zip(sch.get_producers(block), producers(op), strict=True):
        if buffer in writes_of(producer):
            return handle if is_prologue(producer, op) else None
    return None


def _is_temporary(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, AllocBufferOp) and buffer.owner.type.memory_space == NoneAttr()


def _stores_elements(kernel: Kernel) -> bool:
    """Whether each instance of a block outside of kernels of a GPU stores one element of a buffer that it does not
    read."""
    written = {write.buffer for write in kernel.writes}
    return (
        len(kernel.spatial_axes) == len(kernel.axes)
        and kernel.is_one_store()
        and not any(read.buffer in written for read in kernel.reads)
        and not is_in_kernel(kernel.block)
    )


def _is_read_later(buffer: SSAValue, block: BlockOp) -> bool:
    """Whether all accesses to the memory of a buffer are in a block, or loads after it."""
    others = (op for op in _accesses(block, buffer) if not block.is_ancestor(op))
    return all(isinstance(op, LoadOp) and precedes_in_text(block, op) for op in others)


def _is_complete(buffer: SSAValue, block: BlockOp) -> bool:
    """Whether all stores to a buffer precede a block."""
    return all(precedes_in_text(op, block) for op in _accesses(block, buffer) if isinstance(op, StoreOp))


def _is_written_between(buffer: SSAValue, a: BlockOp, b: BlockOp) -> bool:
    """Whether a store to a buffer may run between two blocks: it neither precedes `a` nor follows `b`."""
    stores = [op for op in _accesses(a, buffer) if isinstance(op, StoreOp)]
    return not all(precedes_in_text(op, a) or precedes_in_text(b, op) for op in stores)


def _accesses(block: BlockOp, buffer: SSAValue) -> list[LoadOp | StoreOp]:
    """The loads and stores of the memory of a buffer, in the function that contains a block."""
    memory = root_buffer(buffer)
    every = find_ops(enclosing_scope(block), LoadOp, StoreOp)
    return [op for op in every if root_buffer(op.buffer) is memory]
