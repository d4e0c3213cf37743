"""Tiles of sums that loops of upstream operations keep in registers."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Block

from ..core.dtypes import element_byte_size

TILE_BYTES = 320
"""The least bytes of a tile of sums that fills the registers: ten of 32 bytes. The time of a loop that updates
it is that of its multiplications; several iterations at a time would leave too few registers to the sums."""


def updated_bytes(block: Block) -> int:
    """The bytes of the vectors of numbers to which the operations of a block add, without those of nested blocks."""
    updates = (op.results[0].type for op in block.ops if isinstance(op, math.FmaOp | arith.AddfOp | arith.AddiOp))
    vectors = (
        type for type in updates if isinstance(type, VectorType) and not isinstance(type.element_type, IndexType)
    )
    return sum(map(element_byte_size, vectors))
