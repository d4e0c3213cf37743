"""Chains of blocks over the same rows, as softmax and norms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile, takewhile
from math import prod

from ...analysis.index import Analyzer, Lin
from ...core.cpu import CpuModel
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, BlockOp, LoadOp, StoreOp
from ...dialects.tir.base import memref_type
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import Kernel, are_equal_in, element_bytes, handle_of
from ..rules.results import DeclineError, decline_unless
from .contraction import factor_to_transpose, require_sums, spatial_vector
from .nest import Nest

LEAST_BYTES = 512
"""The least bytes of a row that is read by windows. A load of a window may concern several stores, for which it waits
until the stores have reached the cache; of longer rows, few loads follow the stores so closely."""


def rows(cpu: CpuModel, sch: Schedule, function: str) -> tuple[str, ...]:
    """Moves all blocks of a function into the loops over rows of the last block. Returns the names of the other blocks.

    Declines: functions whose blocks have no leading loops in common, or in which an iteration reads intermediate
    results of another iteration; rows that are the vectors of a sum, or that use the same elements; short rows that a
    block reads by windows.
    """
    blocks = list(find_ops(sch.mod.function_ops[function], BlockOp))
    count = _common_rows(cpu, sch, blocks)
    decline_unless(count, "its blocks have no rows in common")
    is_short = any(bytes < LEAST_BYTES for block in blocks for bytes in _bytes_read_by_windows(block, count))
    decline_unless(not is_short, "rows that are read by windows are short")
    names = tuple(block.block_name.data for block in blocks[:-1])
    *producers, last = (handle_of(sch, function, block) for block in blocks)
    row = sch.get_loops(last)[count - 1]
    for producer in reversed(producers):
        sch.compute_at(producer, row)
    return names


def _bytes_read_by_windows(block: BlockOp, count: int) -> Iterator[int]:
    """The bytes of a row of each intermediate buffer that a block reads by windows: at an index that is a sum of axes,
    of the result and of a window. count: the number of leading axes that are rows."""
    analyzer = Analyzer()
    for op in block.walk():
        if isinstance(op, LoadOp) and isinstance(op.buffer.owner, AllocBufferOp):
            if any(len(analyzer.lin(index).terms) > 1 for index in op.indices[count:]):
                yield prod(n for n in memref_type(op.buffer).get_shape()[count:]) * element_bytes(op.buffer)


def _common_rows(cpu: CpuModel, sch: Schedule, blocks: list[BlockOp]) -> int:
    """The number of leading loops that all blocks have in common, where each iteration reads only the intermediate
    results of the same iteration."""
    *producers, last = blocks
    count = len(last.axes)
    for block in (*producers, last):
        nest = Nest(cpu, sch, Kernel(BlockRV(""), block))
        is_intermediate = all(isinstance(op.buffer.owner, AllocBufferOp) for op in find_ops(block, StoreOp))
        if len(nest.kernel.loop_of) != len(block.axes) or not (block is last or is_intermediate):
            return 0
        count = min(count, leading_axes(block, last), row_limit(nest))
    return len(list(dropwhile(lambda axis: axis.extent == 1, reversed(list(last.axes)[:count]))))


def row_limit(nest: Nest) -> int:
    """The greatest number of leading axes of a block that may be rows. The results of a reduction along its vectors,
    and those that use the same elements, stay together."""
    axes = len(nest.kernel.axes)
    if nest.kernel.init is None:
        return axes
    try:
        strides = require_sums(nest)
        if factor_to_transpose(nest) is not None:
            return 0
    except DeclineError:
        return 0
    vector = spatial_vector(nest, strides)
    reused = [
        n for n, extent in enumerate(strides.extents) if extent > 1 and any(runs[n] != 1 for runs in strides.runs)
    ]
    return min([axes, *reused, *([] if vector is None else [vector])])


def leading_axes(block: BlockOp, last: BlockOp) -> int:
    """The number of leading spatial axes of a block that agree with those of the last block, and that are the leading
    indices of its accesses of intermediate results."""
    count = 0
    for a, b in zip(block.axes, last.axes, strict=False):
        if a.kind != "spatial" or (a.kind, a.low, a.extent) != (b.kind, b.low, b.extent):
            break
        count += 1
    analyzer = Analyzer()
    for op in block.walk():
        if isinstance(op, LoadOp | StoreOp) and isinstance(op.buffer.owner, AllocBufferOp):
            pairs = zip(op.indices, block.variables[:count], strict=False)
            equal = (are_equal_in(block, analyzer.lin(index), Lin.of(axis)) for index, axis in pairs)
            count = len(list(takewhile(bool, equal)))
    return count
