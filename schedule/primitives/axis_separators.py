"""The primitive `set_axis_separator`: groups of the dimensions of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, SSAValue

from ...analysis.names import buffer_name
from ...core.errors import ScheduleError
from ...dialects.schedule import SetAxisSeparatorOp
from ...dialects.tir import AllocBufferOp, BlockOp, BufferOp, FuncOp, MatchBufferOp, MatchRegionOp, separators_of
from ...dialects.tir.base import memref_type
from ...dialects.tir.buffers import check_separators
from ..handles import BlockLike
from ..recorder import Recorder
from ..rewriting.copies import access_at, require_block
from ..rewriting.nest import function_of
from ..rewriting.parameters import match_parameter, require_uncalled, restore_parameter
from ..state import State, applies
from .reindex import SidedBuffer, buffer_side


class AxisSeparatorPrimitives(Recorder):
    """The primitive that groups the dimensions of a buffer."""

    def set_axis_separator(
        self, block: BlockLike, buffer: SidedBuffer, axis_separators: Sequence[int] | None = None
    ) -> None:
        """Divide the dimensions of a buffer into groups, one for each axis of physical memory.

            B = T.alloc_buffer((16, 12))      ->      B = T.alloc_buffer((16, 12), axis_separators=[1])

        block: a block that reads or writes the buffer.  buffer: ("read", index), ("write", index), or its name.
        axis_separators: the positions of the dimensions that start a group after the first, from 0 to the number of
        dimensions, in order; equal neighbours leave a group empty. None, or an empty list: one group of all dimensions.
        Views of the buffer by `T.match_buffer` get the separators too. Always legal: the groups have no effect on
        computed values, nor on memory of one axis. ScheduleError for a view, and for a parameter of a function that
        another function calls.
        """
        handle = self._block(block)
        side, index = buffer_side(self._block_op(handle), buffer)
        separators = list(axis_separators or ())
        self.record(SetAxisSeparatorOp, block=handle, buffer_side=side, buffer_index=index, axis_separators=separators)


def require_separators(axis_separators: Sequence[int], rank: int) -> None:
    """Raise ScheduleError unless positions divide dimensions into groups."""
    try:
        check_separators(axis_separators, rank)
    except ValueError as error:
        raise ScheduleError(f"axis_separators {list(axis_separators)}, expected {error}") from None


@applies(SetAxisSeparatorOp)
def set_axis_separator(
    state: State, block: BlockOp | FuncOp, buffer_side: str, buffer_index: int, axis_separators: list[int]
) -> None:
    buffer = access_at(block, buffer_side, buffer_index).buffer
    is_argument = isinstance(buffer, BlockArgument)
    if not is_argument and not isinstance(buffer.owner, AllocBufferOp | MatchBufferOp):
        raise ScheduleError(
            f"buffer {buffer_name(buffer)} is a view of another, expected a parameter or one that the program "
            "allocates",
            [block],
        )
    require_separators(axis_separators, memref_type(buffer).get_num_dims())
    if is_argument and not axis_separators:
        return
    if is_argument or (isinstance(buffer.owner, MatchBufferOp) and not axis_separators):
        require_uncalled(state, function_of(require_block(block)), buffer)
    with state.changing(check=False):
        _separate(match_parameter(buffer) if isinstance(buffer, BlockArgument) else buffer, axis_separators)
        if isinstance(match := buffer.owner, MatchBufferOp) and match.is_parameter:
            restore_parameter(match)


def _separate(buffer: SSAValue, axis_separators: Sequence[int]) -> None:
    """Set the separators of a buffer and of the views of its regions."""
    declaration = buffer.owner
    assert isinstance(declaration, BufferOp)
    declaration.separators = axis_separators
    for use in buffer.uses:
        if isinstance(view := use.operation, MatchRegionOp):
            _separate(view.buffer, separators_of(buffer))
