"""The pass `prefetch-loads`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, NoneAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer, Lin
from ...analysis.sums import TILE_BYTES, updated_bytes
from ...core.cpu import CpuModel
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import PREFETCH, PREFETCH_LEVEL
from .vector_accesses import byte_offset, described, known_bytes

_remarks = PassRemarks("prefetch-loads")

_LINE = 64
"""The bytes of a cache line."""
_UPDATES_PER_CYCLE = 2
"""The greatest number of vectors of sums that a processor updates in a cycle."""
_SECOND = 2
"""The level of the cache that rows of a matrix are requested into."""


@dataclass(frozen=True)
class PrefetchLoadsPass(ModulePass):
    """Requests the operands of a tile of sums before the iteration that loads them.

    The time of a loop over a tile of sums is that of its multiplications, as long as its operands arrive in time. The
    weights of a graph are in the cache of all cores, or in memory, when their kernel starts. The requests that a
    processor makes on its own come too late for several streams with long iterations: a convolution of 1152 to 192
    channels of a 7x7 image, with weights from memory, takes 178 us, and 107 us with early requests.

    The loads of vectors from a parameter get the attribute `stepwell.prefetch`: the distance in bytes from their
    addresses to the cache line that they also request, of the iteration `memory_cycles` later. A parameter that is
    known to fit the fastest cache is not requested. Of several loads of a cache line, one requests it. The request of
    an address past the end of a buffer has no effect.

    Rows of a matrix, whose successive iterations load cache lines far from each other, would displace each other from
    the fastest cache. They are requested into the second one (`stepwell.prefetch_level`), if the parameter is known to
    exceed it: the product of 16 rows by a matrix of 1024x1024 takes 10 to 20 % less time on Emerald Rapids.

    cpu: the processor, as `CpuModel.from_text` accepts it.  tile-bytes: the least size in bytes of the sums that an
    iteration updates.

    Before
        scf.for %k = %c0 to %c1152 step %c1 {
          %w = vector.load %W[%k, %c0] : memref<1152x16xf32>, vector<16xf32>
          ...
        }

    After
        scf.for %k = %c0 to %c1152 step %c1 {
          %w = vector.load %W[%k, %c0] {stepwell.prefetch = 2304 : i64} : memref<1152x16xf32>, vector<16xf32>
          ...
        }

    Must hold before: vectors have their final widths (`split-vectors`).

    Gone after: nothing.
    """

    name = "prefetch-loads"

    cpu: str = "avx2"
    tile_bytes: int = TILE_BYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cpu = CpuModel.from_text(self.cpu)
        for loop in find_ops(op, scf.ForOp):
            if updated_bytes(loop.body.block) >= self.tile_bytes:
                _request_operands(cpu, loop)


def _request_operands(cpu: CpuModel, loop: scf.ForOp) -> None:
    """Marks the loads of a loop over a tile of sums that request operands early."""
    block, analyzer = loop.body.block, Analyzer()
    step = analyzer.number(loop.step)
    if step is None:
        return
    cycles = updated_bytes(block) / cpu.vector_bytes / _UPDATES_PER_CYCLE
    iterations = ceil(cpu.memory_cycles / cycles)
    for buffer, loads in _streams(cpu, block).items():
        lines = _first_of_lines({load: byte_offset(load, analyzer) for load in loads})
        advances = {load: offset.terms.get(block.args[0], 0) * step for load, offset in lines.items()}
        is_far = any(advance > len(lines) * _LINE for advance in advances.values())
        if min(advances.values()) <= 0 or (is_far and (known_bytes(buffer) or 0) <= cpu.l2_bytes):
            _remarks.missed(
                loop, lambda buffer=buffer: f"{described(buffer)} is not loaded in the order of its addresses"
            )
            continue
        for load, advance in advances.items():
            load.attributes[PREFETCH] = IntegerAttr(advance * iterations, 64)
            if is_far:
                load.attributes[PREFETCH_LEVEL] = IntegerAttr(_SECOND, 64)
        _remarks.applied(
            loop,
            lambda buffer=buffer, count=len(lines): (
                f"{described(buffer)} is requested {iterations} iterations before its loads, {count} lines in each"
            ),
        )


def _first_of_lines(offsets: Mapping[vector.LoadOp, Lin]) -> dict[vector.LoadOp, Lin]:
    """The loads, with their offsets, of which none begins in the cache line that begins with another."""
    first: dict[vector.LoadOp, Lin] = {}
    for load, offset in sorted(offsets.items(), key=lambda pair: pair[1].const):
        if not any(offset.terms == other.terms and offset.const - other.const < _LINE for other in first.values()):
            first[load] = offset
    return first


def _streams(cpu: CpuModel, block: Block) -> dict[SSAValue, list[vector.LoadOp]]:
    """The loads of vectors of a block from parameters that may exceed the fastest cache, by buffer."""
    streams: dict[SSAValue, list[vector.LoadOp]] = {}
    for op in block.ops:
        if isinstance(op, vector.LoadOp) and _is_large_parameter(op.base, cpu.l1_bytes):
            streams.setdefault(op.base, []).append(op)
    return streams


def _is_large_parameter(buffer: SSAValue, most: int) -> bool:
    """Whether a buffer is a parameter, or what a parameter points to, and is not known to have at most some bytes."""
    source = buffer
    while isinstance(source.owner, memref.ReinterpretCastOp | UnrealizedConversionCastOp):
        source = source.owner.operands[0]
    type, size = cast("MemRefType[Attribute]", buffer.type), known_bytes(buffer)
    is_parameter = isinstance(source.owner, Block) and isinstance(source.owner.parent_op(), func.FuncOp)
    return is_parameter and isinstance(type.layout, NoneAttr) and (size is None or size > most)
