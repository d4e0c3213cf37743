"""The pass `prefetch-blocks`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin
from ...analysis.sums import TILE_BYTES, updated_bytes
from ...core.cpu import CpuModel
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import PREFETCH
from ...dialects.tir import TirBuilder
from ...dialects.tir.copying import copy_out
from .accesses import FAR_PART, LINE, AccessLoop, byte_offset, described, is_large_parameter, loops_of_sum

_remarks = PassRemarks("prefetch-blocks")

_STEPS = 2
"""The least number of iterations over the tile for each cache line that is requested."""
_MOST_LINES = 64
"""The greatest number of cache lines of a block, a part of those of the first cache."""
_MOST_STEPS = _MOST_LINES * 16
"""The greatest number of iterations over a block, as many as numbers of four bytes fill its cache lines."""
_LEAST_BLOCKS = 16
"""The least number of blocks, of which the first is not requested, and the request of one after the last is in vain."""


@dataclass(frozen=True)
class PrefetchBlocksPass(ModulePass):
    """Requests the elements of the next block of channels of an image, for a tile of sums on a core that is not fast.

    A tile of sums of a convolution multiplies vectors of weights by single elements of an image. Where the image has
    its channels in blocks, the iterations over a block load the elements of a few cache lines, and those over the next
    one load lines that are far from them. A processor requests lines on its own where they follow each other, so an
    image that has left the second cache delays the tile at each block: on Zen 3, 512 to 1024 channels of 28x28 in steps
    of 2 take 1.2 times as long without requests.

    Before the iterations over a block, loads without uses request the lines of the next block, at the distances of the
    attribute `stepwell.prefetch`. Where several loops run over a block, as in a convolution of 3x3, each iteration of
    the outermost of them requests an equal part of the lines.

    The parameter may exceed a fourth of the second cache, there are at least 16 blocks, and a block has at most 64
    lines, for each of which at least two iterations update the tile. A core that updates two cache lines of sums in a
    cycle requests nothing: it was not measured.

    cpu: the processor, as `CpuModel.from_text` accepts it.  tile-bytes: the least size in bytes of the sums that an
    iteration updates.

    Before
        scf.for %block = %c0 to %c32 step %c1 {
          scf.for %channel = %c0 to %c16 step %c1 {
            %x = memref.load %image[%block, %pixel, %channel] : memref<32x784x16xf32>
            ...
          }
        }

    After
        scf.for %block = %c0 to %c32 step %c1 {
          %next = memref.load %image[%block, %pixel, %c0] {stepwell.prefetch = array<i64: 50176>} : ...
          scf.for %channel = %c0 to %c16 step %c1 {
            %x = memref.load %image[%block, %pixel, %channel] : memref<32x784x16xf32>
            ...
          }
        }

    Must hold before: vectors have their final widths (`split-vectors`).

    Gone after: nothing.
    """

    name = "prefetch-blocks"

    cpu: str = "avx2"
    tile_bytes: int = TILE_BYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cpu = CpuModel.from_text(self.cpu)
        if cpu.is_fast:
            return
        for loop in list(find_ops(op, scf.ForOp)):
            if updated_bytes(loop.body.block) >= self.tile_bytes:
                _request_blocks(cpu, loop)


def _request_blocks(cpu: CpuModel, loop: scf.ForOp) -> None:
    """Requests the next blocks of the elements that a loop over a tile of sums loads."""
    analyzer = Analyzer()
    for loads in _elements(cpu, loop, analyzer):
        block = _Block.of(loads, analyzer)
        if block is None:
            _remarks.missed(loop, lambda loads=loads: f"{described(next(iter(loads)).memref)} has no blocks of lines")
            continue
        block.request()
        _remarks.applied(
            loop,
            lambda block=block: (
                f"{described(block.load.memref)} is requested a block before its loads, {len(block.lines)} lines"
            ),
        )


def _elements(cpu: CpuModel, loop: scf.ForOp, analyzer: Analyzer) -> Iterable[Mapping[memref.LoadOp, Lin]]:
    """The loads of single elements, in a loop, of parameters that may be far from the core, with their offsets in
    bytes, which differ by constants in a group."""
    groups = dict[Any, dict[memref.LoadOp, Lin]]()
    for op in loop.body.block.ops:
        if isinstance(op, memref.LoadOp) and is_large_parameter(op.memref, cpu.l2_bytes // FAR_PART):
            offset = byte_offset(op, analyzer)
            groups.setdefault((op.memref, frozenset(offset.terms.items())), {})[op] = offset
    return groups.values()


@dataclass(frozen=True)
class _Block:
    """The elements that the loops over a block load. load, offset: the first load of them, with its offset. loops,
    strides: the loops over the block, innermost first.  lines: the numbers of the cache lines, counted from the buffer
    in the first iteration of all loops around.  advance: the bytes from a block to the next one."""

    load: memref.LoadOp
    offset: Lin
    loops: Sequence[scf.ForOp]
    strides: Sequence[AccessLoop]
    lines: Sequence[int]
    advance: int

    @staticmethod
    def of(loads: Mapping[memref.LoadOp, Lin], analyzer: Analyzer) -> _Block | None:
        """The block of some loads, whose offsets differ by constants; None if no loops run over one."""
        load, offset = min(loads.items(), key=lambda pair: pair[1].const)
        loops = list(loops_of_sum(load, offset))
        strides = [AccessLoop.of(loop, offset, analyzer) for loop in loops]
        starts, steps = {each.const for each in loads.values()}, 1
        for depth, (inner, outer) in enumerate(pairwise(strides), 1):
            steps *= inner.trips
            if inner.step != 1 or not 0 < steps <= _MOST_STEPS:
                return None
            starts = {start + inner.stride * (inner.low + n) for start in starts for n in range(inner.trips)}
            lines = sorted({start // LINE for start in starts})
            if _STEPS * len(lines) <= steps:
                is_block = outer.stride and outer.trips >= _LEAST_BLOCKS and len(lines) <= _MOST_LINES
                if not is_block or not _is_computed_outside(offset, loops[:depth]):
                    return None
                return _Block(load, offset, loops[:depth], strides[:depth], lines, outer.stride * outer.step)
        return None

    def request(self) -> None:
        """Inserts the requests of the next block's lines."""
        *_, spread = self.strides
        trips = spread.trips if len(self.strides) > 1 else 1
        inner = self.loops[max(len(self.strides) - 2, 0)]
        low = self.offset.const + sum(each.stride * each.low for each in self.strides)
        builder, first = TirBuilder(InsertPoint.before(inner)), dict[SSAValue, SSAValue]()
        for loop in reversed(self.loops):
            if inner.is_ancestor(loop):
                first[loop.body.block.args[0]] = copy_out(loop.lb, inner, builder, first)
        indices = [copy_out(index, inner, builder, first) for index in self.load.indices]
        for run in _runs(self.lines):
            part = -(-len(run) // trips)
            coefficient = part * LINE - spread.stride if trips > 1 else 0
            for line in run[:part]:
                distance = line * LINE + self.advance - low - coefficient * spread.low
                request = memref.LoadOp.get(self.load.memref, indices)
                request.attributes[PREFETCH] = DenseArrayBase.from_list(i64, [distance, coefficient][: 1 + (trips > 1)])
                builder.insert(request)


def _is_computed_outside(offset: Lin, loops: Sequence[scf.ForOp]) -> bool:
    """Whether the values in an offset, except the variables of loops, are computed outside of these loops."""
    variables = {loop.body.block.args[0] for loop in loops}
    return not any(loops[-1].is_ancestor(value.owner) for value in offset.leaves() if value not in variables)


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """The runs of successive numbers in a sorted sequence."""
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]
