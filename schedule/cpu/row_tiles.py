"""Chains of products over tiles of the same rows, as attention: a product, a softmax of its rows, another product."""

from __future__ import annotations

from ...core.cpu import CpuModel
from ...core.walking import find_ops
from ...dialects.tir import BlockOp
from .. import Schedule
from ..rules.kernel import Kernel, handle_of
from ..handles import BlockRV

def row_tiles(cpu: CpuModel, sch: Schedule, function: str) -> tuple[tuple[str, ...], str]:
    blocks = list(find_ops(sch.mod.function_ops[function], BlockOp))
    n = 1
    first = next(k for k, b in enumerate(blocks) if k and b.init is not None)
    *producers, last = (handle_of(sch, function, block) for block in blocks)
    tile, _ = sch.split(sch.get_loops(last)[n], [None, 32])
    norm = producers[-1]
    for k, p in reversed(list(enumerate(producers))):
        if p is norm or k < first:
            sch.compute_at(p, tile)
        else:
            sch.compute_at(p, sch.get_loops(norm)[n + 1])
    return tuple(b.block_name.data for b in blocks[:-1]), "tiles"
