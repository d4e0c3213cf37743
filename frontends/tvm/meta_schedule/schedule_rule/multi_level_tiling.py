"""Rules that tile the loops of a product: `MultiLevelTiling` and its variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .....analysis.dependence import has_self_conflicts
from .....analysis.scopes import root_buffer, writes_of
from .....analysis.work import static_extent
from .....core.dtypes import dtype_of
from .....core.errors import OptionError, ScheduleError
from .....dialects.tir import BlockOp, ForOp
from .....dialects.tir.base import memref_type
from .....schedule.handles import ExprRV, LoopRV
from ...tir import SBlockRV, Schedule
from ..blocks import TENSORIZE, TILING, inner_block, is_copy_in_order, needs_tiling
from .intrinsics import inner_loops
from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from ..tune_context import TuneContext

COOPERATIVE_FETCH = "meta_schedule.cooperative_fetch"
"""The annotation of a copy to shared memory that `RewriteCooperativeFetch` distributes over threads: the number of
elements of each vector."""
LEAST_THREADS = "meta_schedule.thread_extent_low_inclusive"
MOST_THREADS = "meta_schedule.thread_extent_high_inclusive"
"""The annotations of a block with the least and greatest numbers of threads of a block of a GPU."""
_REQUIREMENTS = ("no", "may", "must")
_LANES: Mapping[str, Callable[[int], bool]] = {
    "float32": lambda lanes: lanes <= 4,
    "float16": lambda lanes: lanes <= 8 and (lanes == 1 or lanes % 2 == 0),
    "int8": lambda lanes: lanes <= 16,
}
"""Whether a vector with a number of elements is loaded by one instruction, by data type."""


@dataclass(frozen=True)
class ReuseType:
    """A copy of a buffer around tiles.

    req: "no", "may" or "must".  levels: the numbers of the tiles, from 1, in whose innermost loop the copy is.  scope:
    the memory.  OptionError for another `req`.
    """

    req: str
    levels: Sequence[int]
    scope: str

    def __post_init__(self) -> None:
        if self.req not in _REQUIREMENTS:
            raise OptionError(f"ReuseType: req {self.req!r}, expected {', '.join(_REQUIREMENTS)}")

    def as_dict(self) -> dict[str, Any]:
        """The values by name."""
        return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


@dataclass(frozen=True)
class _State:
    """A schedule with a tiled block. tiles: the loops of each letter of the structure."""

    sch: Schedule
    block: SBlockRV
    tiles: Sequence[Sequence[LoopRV]] = ()

    def copy(self) -> _State:
        """The state with a copy of the schedule."""
        return replace(self, sch=self.sch.copy())


class MultiLevelTiling(ScheduleRule):
    """Tiles the loops of a block that reads elements several times: products of matrices, convolutions.

    structure: a letter for each level of tiles, outermost first, S for spatial and R for reduction axes (`"SSRSRS"`).
    The sizes of tiles are drawn; the loops of a letter that is the only one of its kind are not divided.
    tile_binds: the thread axes of the first levels.  max_innermost_factor: the greatest size of the innermost tiles,
    by default any.  vector_load_lens: numbers of elements of the vectors that threads load together, of which one is
    drawn.  reuse_read, reuse_write: copies of the operands and of the results; with "may" there is a schedule without
    a copy, too, and each level has schedules of its own.  filter_fn: a function of the schedule and the block, which
    selects further blocks.  OptionError for another letter.
    """

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
        filter_fn: Callable[[Schedule, Any], bool] | None = None,
    ):
        if set(structure) - set("SR"):
            raise OptionError(f"structure {structure!r}, expected letters S and R")
        self.structure = structure
        self.tile_binds = list(tile_binds or ())
        self.max_innermost_factor = -1 if max_innermost_factor is None else max_innermost_factor
        self.vector_load_lens = list(vector_load_lens or ())
        self.reuse_read = reuse_read
        self.reuse_write = reuse_write
        self.filter_fn = filter_fn
        self._threads: tuple[int, int] | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        target = context.target
        is_gpu = "gpu" in target.keys
        self._threads = (int(target.thread_warp_size), int(target.max_threads_per_block)) if is_gpu else None

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        is_chosen = self.filter_fn is not None and bool(self.filter_fn(sch, sch.get_sref(block)))
        if op is None or not (is_chosen or needs_tiling(op)) or has_self_conflicts(op, with_init=False):
            return [sch]
        # No step is checked: the instances may run in any order, the first of each reduction first, and the copies
        # are of the elements that a tile accesses.
        with sch.without_checks():
            sch.annotate(block, TILING, self.structure)
            states = self._begin(_State(sch, block))
            for step in (self._tile, self._copy_results, self._copy_operands):
                states = [after for state in states for after in step(state)]
        return [state.sch.with_checks() for state in states]

    def _begin(self, state: _State) -> list[_State]:
        """The states before the loops are tiled."""
        return [state]

    # Tiles

    def _tile(self, state: _State) -> list[_State]:
        """Divides the loops, orders the tiles, and binds the first ones."""
        sch, loops = state.sch, state.sch.get_loops(state.block)
        op = inner_block(sch, state.block)
        assert op is not None
        if len(loops) != len(op.axes):
            raise ScheduleError(f"{len(loops)} loops around a block with {len(op.axes)} axes, expected one for each")
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        results: int | None = 1
        for loop, axis in zip(loops, op.axes, strict=True):
            letter = {"spatial": "S", "reduce": "R"}.get(axis.kind)
            levels = [n for n, each in enumerate(self.structure) if each == letter]
            if letter == "S":
                extent = static_extent(self._for(sch, loop))
                results = None if results is None or extent is None else results * extent
            parts = [loop] if len(levels) == 1 else self._divide(sch, state.block, loop, len(levels)) if levels else ()
            for level, part in zip(levels, parts, strict=True):
                tiles[level].append(part)
        sch.reorder(*(loop for level in tiles for loop in level))
        for n, axis in enumerate(self.tile_binds[: len(tiles)]):
            tiles[n] = [sch.fuse(*tiles[n])]
            sch.bind(tiles[n][0], axis)
        if self._threads is not None:
            warp, most = self._threads
            sch.annotate(state.block, LEAST_THREADS, warp if results is None or results > 2 * warp else 1)
            sch.annotate(state.block, MOST_THREADS, most)
        return [replace(state, tiles=tiles)]

    def _divide(self, sch: Schedule, block: SBlockRV, loop: LoopRV, count: int) -> list[LoopRV]:
        """The tiles of a loop, whose sizes are drawn. count: their number.  block: the block in the loop."""
        return sch.split(loop, sch.sample_perfect_tile(loop, count, self.max_innermost_factor))

    @staticmethod
    def _for(sch: Schedule, loop: LoopRV) -> ForOp:
        op = sch.op(loop)
        assert isinstance(op, ForOp)
        return op

    # Copies

    def _copy_results(self, state: _State) -> list[_State]:
        """Writes the results to a copy, which another block writes to memory in an outer tile."""
        reuse = self.reuse_write
        if reuse is None or reuse.req == "no":
            return [state]
        states: list[_State] = []
        if reuse.req == "may":
            users = state.sch.get_consumers(state.block)
            user = inner_block(state.sch, users[0]) if len(users) == 1 else None
            if user is not None and is_copy_in_order(user):
                return [*self._move_results(state, users[0], reuse), state]
            states.append(state.copy())
        copy = state.sch.cache_write(state.block, 0, reuse.scope)
        return [*states, *self._move_results(state, copy, reuse)]

    @staticmethod
    def _move_results(state: _State, user: SBlockRV, reuse: ReuseType) -> list[_State]:
        states = [(state.copy(), level) for level in reuse.levels]
        for each, level in states:
            each.sch.reverse_compute_at(user, each.tiles[level - 1][-1], preserve_unit_loops=True)
        return [each for each, _ in states]

    def _copy_operands(self, state: _State) -> list[_State]:
        """Reads the operands from copies, which are made in an outer tile."""
        reuse = self.reuse_read
        if reuse is None or reuse.req == "no":
            return [state]
        if reuse.req == "may":
            raise OptionError("reuse_read: req 'may', expected 'no' or 'must'")
        states = [(state.copy(), level) for level in reuse.levels]
        for each, level in states:
            self._copy_operands_at(each, each.tiles[level - 1][-1], reuse.scope)
        return [each for each, _ in states]

    def _copy_operands_at(self, state: _State, loop: LoopRV, scope: str) -> None:
        sch = state.sch
        for index, rank in enumerate(_ranks_of_reads(sch, state.block)):
            if rank:
                copy = sch.cache_read(state.block, index, scope, [state.block])
                sch.compute_at(copy, loop, preserve_unit_loops=True)
                sch.fuse(*sch.get_loops(copy)[-rank:])
                self._annotate_fetch(sch, copy)

    def _annotate_fetch(self, sch: Schedule, copy: SBlockRV) -> None:
        """Annotates a copy with the number of elements that a thread loads together."""
        op = inner_block(sch, copy)
        assert op is not None
        fits = _LANES.get(dtype_of(memref_type(writes_of(op)[0]).element_type).name, lambda _: True)
        lanes = [each for each in self.vector_load_lens if fits(each)]
        if lanes:
            number = sch.sample_categorical(lanes, [1.0 / len(lanes)] * len(lanes))
            sch.annotate(copy, COOPERATIVE_FETCH, number)


def _ranks_of_reads(sch: Schedule, block: SBlockRV) -> list[int]:
    """The number of dimensions of each buffer that a block reads, 0 for one that it writes, too."""
    op = inner_block(sch, block)
    assert op is not None
    written = set(writes_of(op))
    reads = [each for each in op.accesses if not each.is_write]
    return [0 if root_buffer(each.buffer) in written else len(each.region) for each in reads]


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Tiles the loops of a block for a tensor intrinsic, whose extents the innermost loops have; the postprocessor
    `RewriteTensorize` replaces them. A block of which the intrinsic computes no part stays.

    intrin_name: the name of a registered intrinsic.  The others: as of `MultiLevelTiling`.
    """

    def __init__(
        self,
        intrin_name: str,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
    ):
        super().__init__(structure, tile_binds, max_innermost_factor, vector_load_lens, reuse_read, reuse_write)
        self.intrin_name = intrin_name

    def apply(self, sch: Schedule, block: SBlockRV) -> list[Schedule]:
        op = inner_block(sch, block)
        if op is None or not needs_tiling(op) or inner_loops(op, self.intrin_name) is None:
            return [sch]
        return super().apply(sch.copy(), block)

    def _begin(self, state: _State) -> list[_State]:
        sch, block = state.sch, state.block
        op = inner_block(sch, block)
        found = None if op is None else inner_loops(op, self.intrin_name)
        assert found is not None
        loops = sch.get_loops(block)
        inner: list[LoopRV] = []
        outer = {n: loop for n, loop in enumerate(loops)}
        for n, extent in found:
            outer[n], part = sch.split(loops[n], [None, extent])
            inner.append(part)
        sch.reorder(*outer.values(), *inner)
        tile = sch.blockize(inner[0])
        sch.annotate(tile, TENSORIZE, self.intrin_name)
        return [replace(state, block=tile)]


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Tiles the loops of a block, where the innermost tile along the last axis of the results is one vector.

    structure, max_innermost_factor, reuse_read, reuse_write: as of `MultiLevelTiling`.  vector_length_in_bits: the size
    of a vector.
    """

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
    ):
        super().__init__(structure, None, max_innermost_factor, None, reuse_read, reuse_write)
        self.vector_length_in_bits = vector_length_in_bits

    def _divide(self, sch: Schedule, block: SBlockRV, loop: LoopRV, count: int) -> list[LoopRV]:
        op, outer = inner_block(sch, block), self._for(sch, loop)
        assert op is not None
        lanes, extent = self.vector_length_in_bits // _bits(op), static_extent(outer)
        if not _is_last_axis(op, outer):
            return super()._divide(sch, block, loop, count)
        if extent is None or extent <= lanes:
            ones: list[int | ExprRV | None] = [1] * (count - 1)
            return sch.split(loop, [*ones, extent])
        rest, vector = sch.split(loop, [None, lanes])
        factors = sch.sample_perfect_tile(rest, count - 1, self.max_innermost_factor)
        return [*sch.split(rest, factors), vector]


def _bits(op: BlockOp) -> int:
    """The size of an element of the results of a block in bits."""
    return dtype_of(memref_type(writes_of(op)[0]).element_type).bits


def _is_last_axis(op: BlockOp, loop: ForOp) -> bool:
    """Whether a loop determines the last index of the results of a block."""
    (write,) = (each for each in op.accesses if each.is_write)
    variables = dict(zip(op.variables, op.axes, strict=True))
    last = write.region[-1][0]
    return last in variables and variables[last].binding is loop.variable  # pyright: ignore[reportArgumentType]
