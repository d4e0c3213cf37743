"""Remarks about conditions of passes that a function does not meet."""

from __future__ import annotations

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import BlockOp, FuncOp


def report_blocks(remarks: PassRemarks, function: FuncOp, effect: str = "stay as they are") -> None:
    """Reports that a pass misses the blocks of a function, at the first one. effect: on the blocks, as a predicate."""
    blocks = list(find_ops(function, BlockOp)) if remarks.are_collected else []
    if blocks:
        names = ", ".join(dict.fromkeys(block.block_name.data for block in blocks))
        remarks.missed(blocks[0], lambda: f"blocks {effect}, run tir-resolve-blocks first: {names}")
