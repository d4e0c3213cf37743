"""The pass `prefetch-loads`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer, Lin
from ...analysis.sums import TILE_BYTES, updated_bytes
from ...core.cpu import CpuModel
from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import PREFETCH, PREFETCH_LEVEL, PREFETCH_PANEL
from .accesses import FAR_PART, LINE, AccessLoop, byte_offset, described, is_large_parameter, known_bytes, loops_of_sum

_remarks = PassRemarks("prefetch-loads")

_UPDATES_PER_CYCLE = 2
"""The greatest number of vectors of sums that a processor updates in a cycle."""
_SECOND = 2
"""The level of the cache that rows of a matrix are requested into."""
_MOST_PASSES = 16
"""The greatest number of passes over a panel whose first pass takes a part of the time that pays requests."""
_MOST_LOADS = 7 / 8
"""The greatest number of loads and requests for each sum, if a core starts as many loads as additions in a cycle."""


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

    A panel of weights that is used in several passes, for a tile of rows in each, arrives during the first pass, which
    waits for the memory then, while the other passes leave the memory idle. So each pass requests an equal part of the
    next panel into the second cache (`stepwell.prefetch_panel`), if the parameter is known to exceed a fourth of that
    cache. ResNet-18 takes 7 to 10 % less time on Emerald Rapids.

    A core that updates fewer than two cache lines of sums in a cycle requests nothing in loops whose loads and requests
    are more than 7 for 8 vectors of sums, as over the windows of a depthwise convolution, which takes 1.2 to 1.6 times
    as long with requests on Zen 3, nor a panel that is used in more than 16 passes.

    cpu: the processor, as `CpuModel.from_text` accepts it.  tile-bytes: the least size in bytes of the sums that an
    iteration updates.

    Before
        scf.for %k = %c0 to %c1152 step %c1 {
          %w = vector.load %W[%k, %c0] : memref<1152x16xf32>, vector<16xf32>
          ...
        }

    After
        scf.for %k = %c0 to %c1152 step %c1 {
          %w = vector.load %W[%k, %c0] {stepwell.prefetch = array<i64: 2304>} : memref<1152x16xf32>, vector<16xf32>
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
        is_far = any(advance > len(lines) * LINE for advance in advances.values())
        if min(advances.values()) <= 0 or (is_far and (known_bytes(buffer) or 0) <= cpu.l2_bytes):
            _remarks.missed(
                loop, lambda buffer=buffer: f"{described(buffer)} is not loaded in the order of its addresses"
            )
            continue
        reason = "" if cpu.is_fast else _obstacle(cpu, block, lines, analyzer)
        if reason:
            _remarks.missed(
                loop, lambda buffer=buffer, reason=reason: f"{described(buffer)} is not requested: {reason}"
            )
            continue
        is_large = not is_far and (known_bytes(buffer) or 0) > cpu.l2_bytes // FAR_PART
        panels = ", and the next panel in each pass" if is_large and _request_panels(lines, analyzer) else ""
        for load, advance in advances.items():
            load.attributes[PREFETCH] = DenseArrayBase.from_list(i64, [advance * iterations])
            if is_far:
                load.attributes[PREFETCH_LEVEL] = IntegerAttr(_SECOND, 64)
        _remarks.applied(
            loop,
            lambda buffer=buffer, count=len(lines), panels=panels: (
                f"{described(buffer)} is requested {iterations} iterations before its loads, {count} lines in each"
                + panels
            ),
        )


def _obstacle(cpu: CpuModel, block: Block, lines: Mapping[vector.LoadOp, Lin], analyzer: Analyzer) -> str:
    """The reason why a core that is not fast does not request lines, "" for none: its loads would take the time of its
    sums, or most passes over a panel find the lines in a near cache. lines: the loads that would request them, with
    their offsets."""
    loads, sums = _vectors_loaded(cpu, block, analyzer) + len(lines), updated_bytes(block) / cpu.vector_bytes
    if loads > sums * _MOST_LOADS:
        return f"{loads} loads and requests for {sums:g} vectors of sums"
    passes = max(_Panel.of(load, offset, analyzer).passes for load, offset in lines.items())
    return f"{passes} passes use it" if passes > _MOST_PASSES else ""


def _vectors_loaded(cpu: CpuModel, block: Block, analyzer: Analyzer) -> int:
    """The number of different vectors and numbers that an iteration loads, except sums, which are in registers."""
    stored = {op.operands[1] for op in block.ops if isinstance(op, vector.StoreOp | memref.StoreOp)}
    sizes = dict[Hashable, int]()
    for op in block.ops:
        if isinstance(op, vector.LoadOp | memref.LoadOp) and op.operands[0] not in stored:
            dtype = dtype_of(op.results[0].type)
            element = op.operands[0], *map(analyzer.lin, op.operands[1:])
            sizes[element] = -(-dtype.bytes * dtype.lanes // cpu.vector_bytes)
    return sum(sizes.values())


def _request_panels(lines: Mapping[vector.LoadOp, Lin], analyzer: Analyzer) -> bool:
    """Marks the loads that request the next panel of a buffer. lines: the loads of different lines, with their offsets.
    Returns whether there are such loads."""
    streams = list[Lin]()
    for load, offset in lines.items():
        panel = _Panel.of(load, offset, analyzer)
        if not panel.is_repeated():
            continue
        # The lines of an iteration are one stream: its first loads request all lines.
        earlier = [each for each in streams if each.terms == offset.terms and offset.const - each.const < panel.advance]
        streams.append(offset)
        if len(earlier) * LINE < -(-panel.advance // panel.passes):
            load.attributes[PREFETCH_PANEL] = DenseArrayBase.from_list(i64, panel.distances())
    return bool(streams)


@dataclass(frozen=True)
class _Panel:
    """A part of a buffer that is read in passes. inside: the loops over the panel, the innermost first.  around: those
    over the passes, around them.  next: the bytes from a panel to the next one."""

    inside: Sequence[AccessLoop]
    around: Sequence[AccessLoop]
    next: int

    @staticmethod
    def of(load: vector.LoadOp, offset: Lin, analyzer: Analyzer) -> _Panel:
        """The panel of a load, as far as the loops around it are known."""
        loops = [AccessLoop.of(loop, offset, analyzer) for loop in loops_of_sum(load, offset)]
        inside = list(takewhile(lambda loop: loop.stride, loops))
        around = list(takewhile(lambda loop: not loop.stride, loops[len(inside) :]))
        rest = loops[len(inside) + len(around) :]
        return _Panel(inside, around, rest[0].stride * rest[0].step if rest else 0)

    @property
    def advance(self) -> int:
        """The bytes that an iteration of the innermost loop adds to the offset."""
        return self.inside[0].stride * self.inside[0].step

    @property
    def passes(self) -> int:
        return prod(loop.trips for loop in self.around)

    def is_repeated(self) -> bool:
        """Whether the panel is known, is read in several passes, and another one follows."""
        return self.next != 0 and self.passes > 1 and self.is_contiguous()

    def is_contiguous(self) -> bool:
        """Whether each loop over the panel continues after the loop inside of it. False for unknown loops."""
        size = self.advance
        for loop in self.inside:
            if loop.stride * loop.step != size:
                return False
            size *= loop.trips
        return size > 0

    def distances(self) -> list[int]:
        """The value of `stepwell.prefetch_panel`: each pass requests an equal part of the next panel."""
        changes = [-(-loop.stride // self.passes) - loop.stride for loop in self.inside]
        part = self.advance * prod(loop.trips for loop in self.inside) // self.passes
        for loop in self.around:
            changes.append(part // loop.step)
            part *= loop.trips
        first = sum(change * loop.low for change, loop in zip(changes, [*self.inside, *self.around], strict=True))
        return [self.next - first, *changes]


def _first_of_lines(offsets: Mapping[vector.LoadOp, Lin]) -> dict[vector.LoadOp, Lin]:
    """The loads, with their offsets, of which none begins in the cache line that begins with another."""
    first: dict[vector.LoadOp, Lin] = {}
    for load, offset in sorted(offsets.items(), key=lambda pair: pair[1].const):
        if not any(offset.terms == other.terms and offset.const - other.const < LINE for other in first.values()):
            first[load] = offset
    return first


def _streams(cpu: CpuModel, block: Block) -> dict[SSAValue, list[vector.LoadOp]]:
    """The loads of vectors of a block from parameters that may exceed the fastest cache, by buffer."""
    streams: dict[SSAValue, list[vector.LoadOp]] = {}
    for op in block.ops:
        if isinstance(op, vector.LoadOp) and is_large_parameter(op.base, cpu.l1_bytes):
            streams.setdefault(op.base, []).append(op)
    return streams
