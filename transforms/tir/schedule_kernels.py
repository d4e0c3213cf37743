"""The pass `tir-schedule-kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer
from ...dialects.attributes import GRAPH_KERNEL
from ...dialects.te.base import COMPUTE_AXIS_KINDS
from ...dialects.tir import BlockOp, ForOp, FuncOp, InitOp, LoadOp, StoreOp
from ...dialects.tir.base import DYNAMIC
from ...schedule import Schedule
from ...schedule.handles import BlockRV, LoopRV

LANES = 16
"""The maximum number of lanes of a vector: the floats of the widest register."""
FARTHEST = 4
"""The maximum stride at which the elements of a vector may be read; such vectors are assembled from several loads."""
UNKNOWN = 1
"""The extent that represents a dynamic extent: such an axis is not split."""
ROWS = (8, 7, 6, 5, 4, 3, 2)
"""The numbers of vectors to keep in registers at once, the best first."""


class TirScheduleKernelsPass(ModulePass):
    """Schedules sums, products and convolutions for processors: vectorizes them and keeps accumulators in registers.

    One spatial axis of a reduction is vectorized: an axis along which stores are contiguous, and loads contiguous or
    invariant. Another spatial axis, along which the loaded vectors are invariant, is split into tiles; the accumulators
    of a tile stay in registers during the reduction. If no such axis exists, but all loads are contiguous along the
    reduction axis, the reduction axis is split into lanes, whose sums are added at the end. Only functions generated
    from graphs are scheduled (`relay.kernel`), and only axes of static extent are split.

    Before
        for i, j, k in T.grid(64, 32, 48):
            with T.block("C"):
                ...
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    After
        for i_0, j_0 in T.grid(8, 2):
            for i_1_init in T.unroll(8):
                for j_1_init in T.vectorized(16):
                    with T.block("C_init"):
                        ...
            for k in range(48):
                for i_1 in T.unroll(8):
                    for j_1 in T.vectorized(16):
                        with T.block("C_update"):
                            ...

    Must hold before: blocks have the form that `convert-te-to-tir` produces.

    Gone after: nothing.
    """

    name = "tir-schedule-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp) and f.attr(GRAPH_KERNEL) is not None]:
            plans = [plan for block in func.walk() if isinstance(block, BlockOp) and (plan := _plan(block)) is not None]
            if plans:
                copy = _schedule(func, plans)
                parent = func.parent
                assert parent is not None
                parent.insert_op_before(copy, func)
                parent.erase_op(func)


@dataclass(frozen=True)
class _Plan:
    """The schedule of a block. kinds: the kinds of its axes.

    vector, lanes: the index of the vectorized axis, and the number of lanes; a reduction axis is split into lanes whose
    sums are added.  rows, height: the index of the axis that is split into tiles, None for none, and the number of its
    elements in a tile.
    """

    block: str
    kinds: Sequence[str]
    vector: int
    lanes: int
    rows: int | None
    height: int


def _plan(block: BlockOp) -> _Plan | None:
    """The schedule of a block; None for a block that stays as it is."""
    axes = block.axes
    if not any(isinstance(op, InitOp) for op in block.body.block.ops):
        return None
    kinds = [axis.kind for axis in axes]
    if any(axis.low != 0 for axis in axes) or not set(kinds) <= set(COMPUTE_AXIS_KINDS):
        return None
    if not all(_is_loop(axis.binding) for axis in axes):
        return None
    extents = [axis.extent if isinstance(axis.extent, int) else UNKNOWN for axis in axes]
    strides = _strides(block)
    if strides is None or 0 in extents:
        return None
    written, *read = strides
    spatial = [n for n, kind in enumerate(kinds) if kind == "spatial"]
    summed = [n for n, kind in enumerate(kinds) if kind == "reduce"]
    for vector in reversed(spatial):
        lanes = _lanes(extents[vector])
        if written[vector] == 1 and lanes and all(0 <= stride[vector] <= FARTHEST for stride in read):
            rows, height = _rows([n for n in spatial if n != vector], extents, [s for s in read if s[vector]], ROWS)
            return _Plan(block.block_name.data, kinds, vector, lanes, rows, height)
    vector = summed[-1]
    fits = extents[vector] % LANES == 0 and extents[vector] > LANES
    if not spatial or not fits or not all(stride[vector] in (0, 1) for stride in read):
        return None
    rows, height = _rows(spatial, extents, [stride for stride in read if stride[vector]][-1:], ROWS[-3:])
    return _Plan(block.block_name.data, kinds, vector, LANES, rows, height)


def _is_loop(value: SSAValue) -> bool:
    return isinstance(value.owner, Block) and isinstance(value.owner.parent_op(), ForOp)


def _lanes(extent: int) -> int:
    """The greatest number of lanes that divides the extent of an axis; 0 if none is worthwhile."""
    return next((n for n in range(LANES, 3, -1) if extent % n == 0), 0)


def _rows(
    candidates: Sequence[int], extents: Sequence[int], vectors: Sequence[Sequence[int]], heights: Sequence[int]
) -> tuple[int | None, int]:
    """The axis to split into tiles, and the height of a tile: an axis along which loaded vectors are invariant."""
    for n in reversed(candidates):
        height = next((rows for rows in heights if extents[n] % rows == 0), 1)
        if height > 1 and vectors and all(stride[n] == 0 for stride in vectors):
            return n, height
    return None, 1


def _strides(block: BlockOp) -> list[list[int]] | None:
    """The strides of the store of a block, then of all its other accesses, along each axis in elements; None if not
    affine.
    """
    analyzer = Analyzer()
    stores = [op for op in block.body.block.ops if isinstance(op, StoreOp)]
    if len(stores) != 1:
        return None
    loads = [op for op in block.body.block.ops if isinstance(op, LoadOp) and op.buffer is not stores[0].buffer]
    strides = [_stride(analyzer, block, access) for access in (stores[0], *loads)]
    return None if None in strides else [stride for stride in strides if stride is not None]


def _stride(analyzer: Analyzer, block: BlockOp, access: LoadOp | StoreOp) -> list[int] | None:
    type = access.buffer.type
    assert isinstance(type, MemRefType)
    shape = type.get_shape()
    if DYNAMIC in shape[1:]:
        return None
    total = [0] * len(block.axes)
    for n, index in enumerate(access.indices):
        step = prod(shape[n + 1 :])
        lin = analyzer.lin(index)
        for atom, coefficient in lin.terms.items():
            if atom not in block.variables:
                return None
            total[list(block.variables).index(atom)] += coefficient * step  # pyright: ignore[reportArgumentType]
    return total


# Schedules


def _schedule(func: FuncOp, plans: Sequence[_Plan]) -> FuncOp:
    """A copy of a function with its blocks scheduled."""
    # The loops of a single reduction block may be reordered freely, so no step is checked.
    schedule = Schedule(ModuleOp([func.clone()]), enable_check=False)
    name = func.sym_name.data
    for plan in plans:
        (_tile if plan.kinds[plan.vector] == "spatial" else _sum_by_lanes)(schedule, plan, name)
    scheduled = schedule.mod.functions[name]
    scheduled.detach()
    assert isinstance(scheduled, FuncOp)
    scheduled.location = func.location
    return scheduled


def _tile(schedule: Schedule, plan: _Plan, func: str) -> None:
    block = schedule.get_block(plan.block, func)
    loops = schedule.get_loops(block)
    outer, summed, inner = list[LoopRV](), list[LoopRV](), list[LoopRV]()
    for n, (loop, kind) in enumerate(zip(loops, plan.kinds, strict=True)):
        if n in (plan.vector, plan.rows):
            count = plan.lanes if n == plan.vector else plan.height
            parts = schedule.split(loop, [None, count])
            outer.append(parts[0])
            inner.insert(len(inner) if n == plan.vector else 0, parts[1])
        else:
            (outer if kind == "spatial" else summed).append(loop)
    schedule.reorder(*outer, *summed, *inner)
    _keep_in_registers(schedule, block, summed[0], inner)


def _keep_in_registers(schedule: Schedule, block: BlockRV, summed: LoopRV, tile: Sequence[LoopRV]) -> None:
    """Vectorizes a tile of sums, and moves its init before the reduction loops."""
    start = schedule.decompose_reduction(block, summed)
    for nest in (tile, schedule.get_loops(start)[-len(tile) :]):
        schedule.vectorize(nest[-1])
        if len(nest) > 1:
            schedule.unroll(nest[0])


def _sum_by_lanes(schedule: Schedule, plan: _Plan, func: str) -> None:
    """Sums each lane by itself, and then the lanes, for one tile of results at a time."""
    block = schedule.get_block(plan.block, func)
    loops = schedule.get_loops(block)
    lane = schedule.split(loops[plan.vector], [None, plan.lanes])[1]
    partial = schedule.rfactor(lane, -1)
    loops = schedule.get_loops(block)  # over spatial axes, then over lanes
    outer, tile = loops[:-1], list[LoopRV]()
    if plan.rows is not None:
        parts = schedule.split(loops[plan.rows], [None, plan.height])
        outer = [parts[0] if n == plan.rows else loop for n, loop in enumerate(outer)]
        tile = [parts[1]]
        schedule.reorder(*outer, *tile, loops[-1])
    schedule.compute_at(partial, outer[-1])
    lane, *inner = schedule.get_loops(partial)[len(outer) :]
    tile, summed = inner[: len(tile)], inner[len(tile) :]
    schedule.reorder(*summed, *tile, lane)
    _keep_in_registers(schedule, partial, summed[0], [*tile, lane])
