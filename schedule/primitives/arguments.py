"""Arguments of primitives that specify a buffer of a block."""

from __future__ import annotations

from ...core.errors import ScheduleError
from ...dialects.tir import BlockOp, FuncOp
from ..handles import BlockRV
from ..recorder import Recorder
from ..rewriting.copies import BufferLike, buffer_index


class BufferArguments(Recorder):
    """The base of primitives on a buffer of a block, which may be specified by name."""

    def _buffer_index(self, block: BlockRV, side: str, buffer: BufferLike) -> int:
        """The index of a buffer, which may be specified by name."""
        if isinstance(buffer, int):
            return buffer
        target = self._target(block)
        if not isinstance(target, BlockOp | FuncOp):
            raise ScheduleError("expected a block")
        return buffer_index(target, side, buffer)
