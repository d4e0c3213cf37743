"""The primitive `annotate_buffer_access`: declared regions of the accesses of a block."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.iter_map import lin_text
from ...analysis.names import block_name, buffer_name
from ...core.errors import ScheduleError
from ...dialects.schedule import AnnotateBufferAccessOp, BoundMap
from ...dialects.tir import AccessOp, BlockOp, FuncOp, TirBuilder
from ...dialects.tir.tree import erase_statement
from ..handles import BlockLike
from ..rewriting.copies import BufferLike, access_at, index_type, require_block
from ..rewriting.index_maps import IndexMap, apply_map, bound_index_map, require_sizes_of, with_numbers
from ..rewriting.nest import REGION_MARKS, export_mixed, function_of, set_annotation
from ..state import State, applies
from .arguments import BufferArguments


class RegionPrimitives(BufferArguments):
    """The primitive that declares the region of an access."""

    def annotate_buffer_access(
        self, block: BlockLike, buffer_index: BufferLike, buf_type: str, gen_new_ranges: IndexMap
    ) -> None:
        """Declare the region of a buffer that a block reads or writes.

            with T.block("C"):             ->      with T.block("C"):
                vi = ...                               vi = ...
                T.reads(B[vi])                         T.reads(B[vi - 1:vi + 2])
                                                       T.block_attr({"explicit_read_region": [0]})

        block: a block.  buffer_index: the index of the buffer among the buffers that the block reads or writes, or its
        name.  buf_type: "read" or "write".  gen_new_ranges: a function of the axes of the block that returns for each
        dimension of the buffer a pair (first element, end), or an index for a range of one element.
        A block that `compute_at` or `reverse_compute_at` moves computes the elements of declared regions within the
        shape of the buffer: more than are accessed, if the region is larger. A primitive that changes the accesses of
        the block infers its regions again.
        Always legal: regions determine no results. A primitive that uses a region too small for the accesses is
        refused, for its check regards the accesses themselves. ScheduleError for another number of ranges, and for a
        range known to be empty.
        """
        handle = self._block(block)
        target = require_block(self._block_op(handle))
        if buf_type not in REGION_MARKS:
            raise ScheduleError(f"buf_type {buf_type!r}, expected 'read' or 'write'", [target])
        ranges = _with_ends(gen_new_ranges) if callable(gen_new_ranges) else gen_new_ranges
        self.record(
            AnnotateBufferAccessOp,
            block=handle,
            buffer_index=self._buffer_index(handle, buf_type, buffer_index),
            buf_type=buf_type,
            gen_new_ranges=bound_index_map(ranges, len(target.axes)),
        )


def _with_ends(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the two ends of each range among the results of `function`."""
    function = with_numbers(function)

    @functools.wraps(function)
    def ends(*axes: Any, **named: Any) -> list[Any]:
        ranges = function(*axes, **named)
        return [_ends(each) for each in (cast("Any", ranges) if isinstance(ranges, tuple | list) else [ranges])]

    return ends


def _ends(range: Any) -> tuple[Any, Any]:
    if not isinstance(range, tuple | list):
        return range, range + 1
    sides = cast("tuple[Any, ...]", tuple(range))
    if len(sides) != 2:
        raise ScheduleError(f"range {range!r}, expected a pair of the first element and the end, or an index")
    return sides


@applies(AnnotateBufferAccessOp)
def annotate_buffer_access(
    state: State, block: BlockOp | FuncOp, buffer_index: int, buf_type: str, gen_new_ranges: BoundMap
) -> None:
    block = require_block(block)
    old = access_at(block, buf_type, buffer_index)
    require_sizes_of(function_of(block), gen_new_ranges)
    analyzer = Analyzer(through_lets=False)
    ends = apply_map(analyzer, gen_new_ranges, [Lin.of(variable) for variable in block.variables])
    ranges = list(zip(ends[::2], ends[1::2], strict=False))
    rank = len(old.region)
    if len(ends) != 2 * rank:
        count = f"{len(ends) // 2} ranges" if len(ends) % 2 == 0 else f"{len(ends)} ends of ranges"
        raise ScheduleError(
            f"{count} for buffer {buffer_name(old.buffer)}, expected {rank}, one for each dimension", [block]
        )
    for n, (low, end) in enumerate(ranges):
        if analyzer.is_provably("le", end, low):
            raise ScheduleError(
                f"range {lin_text(low)} to {lin_text(end)} of dimension {n} of buffer {buffer_name(old.buffer)} in "
                f"block {block_name(block)} is empty, expected an end after the first element",
                [block],
            )
    mark = REGION_MARKS[buf_type]
    known = None if block.annotations is None else block.annotations.data.get(mark)
    marked = [i for i in known.data if isinstance(i, IntegerAttr)] if isinstance(known, ArrayAttr) else []
    new = IntegerAttr(buffer_index, i32)
    with state.changing(check=False):
        builder, type = TirBuilder(InsertPoint.before(old), old.location), index_type(block)
        region = [
            (export(analyzer, low, builder, type), export_mixed(analyzer, end - low, builder, type))
            for low, end in ranges
        ]
        builder.insert(AccessOp(old.kind.data, old.buffer, region))
        erase_statement(old)
        set_annotation(block, mark, ArrayAttr([*(i for i in marked if i != new), new]))
