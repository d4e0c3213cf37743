"""Arguments of primitives that specify a buffer of a block."""

from __future__ import annotations

from ..handles import BlockRV
from ..recorder import Recorder
from ..rewriting.copies import BufferLike, buffer_index


class BufferArguments(Recorder):
    """The base of primitives on a buffer of a block, which may be specified by name."""

    def _buffer_index(self, block: BlockRV, side: str, buffer: BufferLike) -> int:
        """The index of a buffer, which may be specified by name."""
        return buffer if isinstance(buffer, int) else buffer_index(self._block_op(block), side, buffer)
