"""Buffers that sums read in steps, as the padded image of a convolution with strides."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...analysis.scopes import consumers, loops_around
from ...dialects.tir import AllocBufferOp, BlockOp, StoreOp
from ...dialects.tir.base import memref_type
from .. import Schedule
from ..handles import LoopRV
from ..rules.kernel import block_of
from ..rules.results import DeclineError, decline_unless
from ..rules.strides import UNKNOWN, Strides, loads_of, store_of
from .contraction import FARTHEST, require_spatial_vector, require_sums
from .nest import Nest
from .tiles import fill_registers


def steps(nest: Nest) -> tuple[str, str]:
    """Divides the rows of a buffer that a reduction reads in steps along its vectors, so that the elements one step
    apart are adjacent: a vector of each remainder is assembled once, where the buffer is written, instead of for each
    window.

    Returns the name of the block that writes the buffer, and the schedule in words. Declines: reductions without such
    a buffer; buffers that other blocks access, or that a block does not write element by element.
    """
    strides = require_sums(nest)
    vector = require_spatial_vector(nest, strides)
    step, source = _source(nest, strides, vector)
    sch = nest.sch
    writers = [block for block in sch.get_producers(nest.rv) if source in _stored(block_of(sch, block))]
    decline_unless(len(writers) == 1, "several blocks write the buffer that it reads in steps")
    (writer,) = writers
    block = block_of(sch, writer)
    is_single = len(consumers(block)) == 1 and len(_stored(block)) == 1
    decline_unless(is_single and block.init is None, "its buffer that is read in steps is not written for it alone")
    extent = memref_type(source).get_shape()[-1]
    row = UNKNOWN if extent < 0 else extent
    lanes = nest.lanes_of_images(row)
    decline_unless(row >= 2 * step * nest.least_lanes, f"rows of {row} elements in steps of {step} are short")
    store = store_of(block)
    loop = sch.get_loops(writer)[-1]
    is_last = store.indices[-1] is block.variables[-1] and block.axes[-1].binding is loops_around(block)[-1].variable
    decline_unless(is_last, f"{block.block_name.data} does not store along its last axis")

    sch.transform_layout(writer, ("write", 0), lambda *dims: (*dims[:-1], dims[-1] % step, dims[-1] // step))
    _fill(sch, loop, min(lanes, -(-row // step)), step)
    return block.block_name.data, f"the elements of a row {step} apart are adjacent for {nest.kernel.name}"


def _fill(sch: Schedule, loop: LoopRV, lanes: int, step: int) -> None:
    """Vectorizes a loop over a row whose elements one step apart are adjacent."""
    whole, lane, rest = sch.split(loop, [None, lanes, step])
    sch.reorder(whole, rest, lane)
    fill_registers(sch, [rest, lane])


def _source(nest: Nest, strides: Strides, vector: int) -> tuple[int, SSAValue]:
    """The step between the elements of a vector, and the buffer that is read so. Raises DeclineError without one."""
    for read, load in zip(strides.read, loads_of(nest.kernel.block), strict=True):
        buffer = load.buffer
        if 1 < read[vector] <= FARTHEST and isinstance(buffer.owner, AllocBufferOp):
            return read[vector], buffer
    raise DeclineError("it reads no intermediate results in steps")


def _stored(block: BlockOp) -> list[SSAValue]:
    return [op.buffer for op in block.body.block.ops if isinstance(op, StoreOp)]
