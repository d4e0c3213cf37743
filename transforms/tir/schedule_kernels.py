"""The pass `tir-schedule-kernels`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from math import gcd, prod

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...analysis.index import Analyzer, Atom, DivAtom, Lin
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import GRAPH_KERNEL
from ...dialects.te.base import COMPUTE_AXIS_KINDS
from ...dialects.tir import AllocBufferOp, BlockOp, ForOp, FuncOp, LoadOp, StoreOp
from ...dialects.tir.base import DYNAMIC
from ...dialects.tir.tree import depends_on
from ...schedule import Schedule
from ...schedule.cpu.winograd import Registers, products_of_winograd, schedule_winograd
from ...schedule.handles import BlockRV, LoopRV
from .parallel_kernels import shared_loops

_remarks = PassRemarks("tir-schedule-kernels")

LANES = 16
"""The maximum number of lanes of a vector: the floats of the widest register."""
LEAST = 4
"""The minimum number of lanes of a vector."""
FARTHEST = 4
"""The maximum stride at which the elements of a vector may be read; such vectors are assembled from several loads."""
SUMS = 4
"""The vectors of partial sums of a single result: as many as additions that a processor has in flight."""
VECTORS_OF_ONE_ROW, VECTORS_OF_ROWS = 8, 3
"""The numbers of vectors along the vectorized axis in a tile: of a single row, and of several rows."""
REUSED = 16
"""The least number of uses of an element of a factor for which the factor is transposed."""
IRREGULAR = 1 << 62
"""The stride along an axis that changes an address by other numbers than multiples."""
UNKNOWN = 1
"""The extent that represents a dynamic extent: such an axis is not split."""
_REGISTERS = {False: Registers(), True: Registers(blocks=4, square=16)}
"""The registers of processors without and with masks."""
ROWS = (8, 7, 6, 5, 4, 3, 2)
"""The numbers of vectors to keep in registers at once, the best first."""


@dataclass(frozen=True)
class TirScheduleKernelsPass(ModulePass):
    """Schedules the kernels of graphs for processors: vectors, and tiles of results in registers.

    - Reductions: a spatial axis along which stores are contiguous, and loads contiguous or invariant, is vectorized.
      Another spatial axis, along which the loaded vectors are invariant, is split into tiles; the sums of a tile stay
      in registers during the reduction. If no such axis exists, but all loads are contiguous along the reduction axis,
      that axis is split into lanes, whose sums are added at the end; a sum of a whole tensor has several vectors. A
      factor whose elements many results use is transposed before instead, as the weights of `dense`.
    - Operators on elements are vectorized along the axis of the store. Where a load is contiguous along another axis,
      squares of elements are transposed in registers.
    - Blocks that compute the same rows one after the other, as those of softmax and norms, share the loops over rows.
    - A loop over spatial axes around each block is parallel where threads save time, by an estimate of the time of the
      loop from its operations and the bytes that it reads and writes.

    - Convolutions by Winograd's algorithm have a schedule of their own (`schedule/cpu/winograd.py`).

    Only functions generated from graphs are scheduled (`relay.kernel`), and only axes of static extent are split.

    masks: whether the processor has 32 registers of 64 bytes, and instructions for the lanes of a mask.

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

    masks: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp) and f.attr(GRAPH_KERNEL) is not None]:
            if products_of_winograd(func) is not None and self._schedule_winograd(func):
                continue
            rows = _common_rows(func)
            plans = _plans(func, rows)
            if rows or any(isinstance(plan, _Plan) for plan in plans.values()) or shared_loops(func):
                _replace(func, _schedule(func, rows, plans))
            else:
                _report(func, plans, rows)
                shared_loops(func, _remarks)

    def _schedule_winograd(self, func: FuncOp) -> bool:
        """Replaces a function with the products of Winograd's algorithm by a scheduled copy. Returns whether its
        schedule applies."""
        schedule = Schedule(ModuleOp([func.clone()]), enable_check=False)
        text = schedule_winograd(schedule, func.sym_name.data, _REGISTERS[self.masks])
        if text is None:
            return False
        _remarks.applied(func, lambda: text)
        _replace(func, _finish(schedule, func))
        return True


def _replace(func: FuncOp, copy: FuncOp) -> None:
    parent = func.parent
    assert parent is not None
    parent.insert_op_before(copy, func)
    parent.erase_op(func)


@dataclass(frozen=True)
class _Plan:
    """The schedule of a block. text: the schedule in words, for remarks.  apply: schedules the block."""

    text: str
    apply: Callable[[Schedule, BlockRV], None]


def _report(func: FuncOp, plans: dict[str, _Plan | str], rows: int) -> None:
    """Reports the schedule of each block, or the reason why it has none. rows: the number of leading loops that the
    blocks share."""
    for block in _blocks(func) if _remarks.are_collected else ():
        name = f"block {block.block_name.data}"
        plan = plans[block.block_name.data]
        if isinstance(plan, str):
            _remarks.missed(block, lambda: f"{name} stays as it is: {plan}")
        else:
            shared = f"; {rows} loops shared with other blocks" if rows else ""
            text = f"{name}: {plan.text}{shared}"
            _remarks.applied(block, lambda: text)


@dataclass(frozen=True)
class _Axes:
    """The axes of a block: their names, kinds and extents, and the strides in elements of the store and of each load of
    another buffer along every axis, `IRREGULAR` where no number is the stride.

    runs: for each load and axis, the length of the ranges of indices, from each multiple of the length on, in which the
    address is the same; 0 for an address that the axis does not change.  sources: for each load, the index of its
    buffer among the buffers that the block reads.  shared: the number of leading axes whose loops are around other
    blocks as well.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    extents: Sequence[int]
    written: Sequence[int]
    read: Sequence[Sequence[int]]
    runs: Sequence[Sequence[int]]
    sources: Sequence[int]
    shared: int

    def of_kind(self, kind: str) -> list[int]:
        """The indices of the axes of a kind whose loops are around this block alone."""
        return [n for n, each in enumerate(self.kinds) if each == kind and n >= self.shared]


def _blocks(func: FuncOp) -> list[BlockOp]:
    return list(find_ops(func, BlockOp))


def _common_rows(func: FuncOp) -> int:
    """The number of leading loops that all blocks of a function have in common, where each iteration reads only the
    intermediate results of the same iteration; 0 if less than two blocks have loops of their own."""
    blocks = _blocks(func)
    if len(blocks) < 2:
        return 0
    *producers, last = blocks
    count = len(last.axes)
    for block in (*producers, last):
        stores = list(find_ops(block, StoreOp))
        if not all(_is_loop(axis.binding) for axis in block.axes) or (
            block is not last and not all(isinstance(op.buffer.owner, AllocBufferOp) for op in stores)
        ):
            return 0
        count = min(count, _leading(block, last), _row_limit(block))
    return count


def _row_limit(block: BlockOp) -> int:
    """The greatest number of leading axes of a block that may be rows. The results of a reduction along its vectors,
    and those that use the same elements, stay together."""
    if block.init is None:
        return len(block.axes)
    axes = _axes(block, 0)
    if axes is None or _factor_to_transpose(block) is not None:
        return 0
    vector = _spatial_vector(axes)
    reused = [n for n, extent in enumerate(axes.extents) if extent > 1 and any(not stride[n] for stride in axes.read)]
    return min([len(block.axes), *reused, *([] if vector is None else [vector])])


def _leading(block: BlockOp, last: BlockOp) -> int:
    """The number of leading spatial axes of a block that agree with those of the last block, and that are the leading
    indices of its accesses of intermediate results."""
    count = 0
    for a, b in zip(block.axes, last.axes, strict=False):
        if a.kind != "spatial" or (a.kind, a.low, a.extent) != (b.kind, b.low, b.extent) or a.extent == 1:
            break
        count += 1
    for op in block.walk():
        if isinstance(op, LoadOp | StoreOp) and isinstance(op.buffer.owner, AllocBufferOp):
            pairs = zip(op.indices, block.variables[:count], strict=False)
            count = len(list(takewhile(lambda pair: pair[0] is pair[1], pairs)))
    return count


def _plans(func: FuncOp, shared: int) -> dict[str, _Plan | str]:
    """The schedules of blocks by name, and the reasons for the blocks that stay as they are. shared: the number of
    leading loops that the blocks have in common."""
    return {block.block_name.data: _plan(block, shared) for block in _blocks(func)}


def _plan(block: BlockOp, shared: int) -> _Plan | str:
    """The schedule of a block; the reason for a block that stays as it is."""
    axes = _axes(block, shared)
    if axes is None:
        return "an axis has no loop of its own or no elements, or rows have a dynamic size"
    if block.init is not None:
        return _plan_reduction(axes)
    return "it reduces without an init" if axes.of_kind("reduce") else _plan_copy(axes)


def _axes(block: BlockOp, shared: int) -> _Axes | None:
    """The axes of a block with loops and affine accesses; None for other blocks. Axes of one element may have no loop;
    they are omitted then."""
    kinds = [axis.kind for axis in block.axes]
    if any(axis.low != 0 for axis in block.axes) or not set(kinds) <= set(COMPUTE_AXIS_KINDS):
        return None
    looped = [n for n, axis in enumerate(block.axes) if _is_loop(axis.binding)]
    if any(axis.extent != 1 for n, axis in enumerate(block.axes) if n not in looped):
        return None
    extents = [axis.extent if isinstance(axis.extent, int) else UNKNOWN for axis in block.axes]
    accesses = _accesses(block)
    addresses = _addresses(block, accesses)
    if addresses is None or 0 in extents:
        return None
    written, *read = [[strides[n] for n in looped] for strides, _ in addresses]
    runs = [[runs[n] for n in looped] for _, runs in addresses[1:]]
    buffers = [access.buffer for access in block.accesses if not access.is_write]
    sources = [buffers.index(load.buffer) for load in accesses[1:]]
    names = [block.axes[n].name for n in looped]
    return _Axes(names, [kinds[n] for n in looped], [extents[n] for n in looped], written, read, runs, sources, shared)


def _spatial_vector(axes: _Axes) -> int | None:
    """The spatial axis along which the results of a reduction are vectors: stores are contiguous there, and loads
    contiguous, invariant, or nearly contiguous."""
    for vector in reversed(axes.of_kind("spatial")):
        is_near = all(0 <= stride[vector] <= FARTHEST for stride in axes.read)
        if axes.written[vector] == 1 and is_near and _lanes(axes.extents[vector]):
            return vector
    return None


def _plan_reduction(axes: _Axes) -> _Plan | str:
    extents, read, spatial, summed = axes.extents, axes.read, axes.of_kind("spatial"), axes.of_kind("reduce")
    if not summed:  # a sum of one element, whose loop another primitive has removed
        return "it has no loop over summands"
    vector = _spatial_vector(axes)
    if vector is not None:
        lanes = _lanes(extents[vector])
        loads = [n for n, stride in enumerate(read) if stride[vector]]
        rows, height = _rows([n for n in spatial if n != vector], axes, loads, ROWS)
        vectors = VECTORS_OF_ONE_ROW if rows is None else VECTORS_OF_ROWS
        fits = lanes == LANES and extents[vector] >= vectors * lanes
        return _plan_tile(_tile, "sums", _Tile(axes, vector, lanes, rows, height, vectors if fits else 1))
    vector = summed[-1]
    if extents[vector] < LEAST or prod(extents[n] for n in summed) <= LANES:
        return f"no spatial axis is contiguous, and the sums are short, {extents[vector]} along {axes.names[vector]}"
    if not all(stride[vector] in (0, 1) for stride in read):
        return f"no spatial axis is contiguous, nor are the loads along {axes.names[vector]}"
    if all(extents[n] == 1 for n in spatial):
        vectors = SUMS if extents[vector] > 2 * SUMS * LANES else 1
        return _plan_tile(_sum_by_lanes, "partial sums", _Tile(axes, vector, vectors * LANES, None, 1))
    rows, height = _rows(spatial, axes, [n for n, stride in enumerate(read) if stride[vector]][-1:], ROWS[-3:])
    return _plan_tile(_sum_by_lanes, "partial sums", _Tile(axes, vector, min(LANES, extents[vector]), rows, height))


def _plan_tile(apply: Callable[[_Tile, Schedule, BlockRV], None], sums: str, tile: _Tile) -> _Plan:
    """The plan of a tile. sums: the name of its elements."""
    along = tile.axes.names[tile.vector]
    times = "" if tile.vectors == 1 else f", {tile.vectors} at a time"
    rows = "" if tile.rows is None else f", {tile.height} rows along {tile.axes.names[tile.rows]}"
    return _Plan(f"{sums} in registers, vectors of {tile.lanes} lanes along {along}{times}{rows}", partial(apply, tile))


def _plan_copy(axes: _Axes) -> _Plan | str:
    """The schedule of a block without a reduction: vectors along the axis of the store, and squares of elements where a
    load is contiguous along another axis."""
    own = range(axes.shared, len(axes.kinds))
    vector = next((n for n in own if axes.written[n] == 1 and axes.extents[n] >= LEAST), None)
    if vector is None:
        return f"no axis of {LEAST} or more elements is contiguous in the store"
    name, lanes = axes.names[vector], min(LANES, axes.extents[vector])
    if all(stride[vector] in (0, 1) for stride in axes.read):
        return _Plan(f"vectors of {lanes} lanes along {name}", partial(_vectorize, vector, lanes))
    transposed = [n for n, stride in enumerate(axes.read) if stride[vector] not in (0, 1)]
    rows = {axis for n in transposed for axis in own if axes.read[n][axis] == 1}
    if (
        len(rows) == 1
        and all(1 in axes.read[n][axes.shared :] for n in transposed)
        and min(axes.extents[min(rows)], axes.extents[vector]) >= LANES
    ):
        buffers = sorted({axes.sources[n] for n in transposed})
        row = rows.pop()
        text = f"squares of {LANES} elements along {axes.names[row]} and {name}, transposed in registers"
        return _Plan(text, partial(_transpose, axes.shared, row, vector, buffers))
    return f"a load is not contiguous along {name}, nor along another axis of {LANES} or more elements"


def _is_loop(value: SSAValue) -> bool:
    return isinstance(value.owner, Block) and isinstance(value.owner.parent_op(), ForOp)


def _lanes(extent: int) -> int:
    """The number of lanes of vectors along an axis: the greatest that divides the extent, if it needs no more vectors
    than the widest register does; 0 if no vectors are worthwhile."""
    divisor = next((n for n in range(LANES, LEAST - 1, -1) if extent % n == 0), 0)
    if divisor and extent // divisor <= -(-extent // LANES):
        return divisor
    return LANES if extent >= LANES else divisor


def _rows(
    candidates: Sequence[int], axes: _Axes, vectors: Sequence[int], heights: Sequence[int]
) -> tuple[int | None, int]:
    """The axis to split into tiles, and the height of a tile: an axis along which loaded vectors are invariant, at
    least in each tile. vectors: the indices of the loads of vectors."""
    for n in reversed(candidates) if vectors else ():
        extent, run = axes.extents[n], gcd(*(axes.runs[load][n] for load in vectors))
        height = next((rows for rows in heights if extent % rows == 0 == run % rows and 2 * rows > heights[0]), 0)
        if not height:
            height = next((rows for rows in heights if run % rows == 0), 1) if run else min(heights[0], extent)
        if height > 1:
            return n, height
    return None, 1


def _accesses(block: BlockOp) -> list[LoadOp | StoreOp]:
    """The store of a block, then its loads of other buffers; none if the block has several stores."""
    stores = [op for op in block.body.block.ops if isinstance(op, StoreOp)]
    if len(stores) != 1:
        return []
    loads = [op for op in block.body.block.ops if isinstance(op, LoadOp) and op.buffer is not stores[0].buffer]
    return [*stores, *loads]


def _addresses(block: BlockOp, accesses: Sequence[LoadOp | StoreOp]) -> list[tuple[list[int], list[int]]] | None:
    """The strides of accesses along each axis in elements, and their runs; None if there are none or if the rows of a
    buffer have a dynamic size."""
    analyzer = Analyzer()
    if not accesses or any(DYNAMIC in _shape(access)[1:] for access in accesses):
        return None
    return [_address(analyzer, block, access) for access in accesses]


def _address(analyzer: Analyzer, block: BlockOp, access: LoadOp | StoreOp) -> tuple[list[int], list[int]]:
    variables = list(block.variables)
    strides, runs = [0] * len(variables), [0] * len(variables)
    for n, index in enumerate(access.indices):
        step = prod(_shape(access)[n + 1 :])
        for atom, coefficient in analyzer.lin(index).terms.items():
            if atom in variables:
                strides[variables.index(atom)] += coefficient * step  # pyright: ignore[reportArgumentType]
                continue
            leaves = set(Lin.of(atom).leaves())
            for axis, variable in enumerate(variables):
                if any(depends_on(leaf, (variable,)) for leaf in leaves):
                    runs[axis] = gcd(runs[axis], _run(atom, variable))
    for axis, run in enumerate(runs):
        if run:
            runs[axis] = 1 if strides[axis] else run
            strides[axis] = IRREGULAR
        elif strides[axis]:
            runs[axis] = 1
    return strides, runs


def _run(atom: Atom, variable: SSAValue) -> int:
    """The length of the ranges of a variable in which a part of an index is the same, from each multiple on."""
    if isinstance(atom, DivAtom) and atom.args[0] == Lin.of(variable):
        divisor = atom.args[1]
        if isinstance(divisor, Lin) and not divisor.terms:
            return divisor.const
    return 1


def _shape(access: LoadOp | StoreOp) -> Sequence[int]:
    """The shape of the buffer of an access."""
    assert isinstance(access.buffer.type, MemRefType)
    return access.buffer.type.get_shape()


# Schedules


@dataclass(frozen=True)
class _Tile:
    """The tile of a reduction, whose sums are in registers. axes: the axes of its block.

    vector, lanes: the index of the vectorized axis, and the number of lanes; a reduction axis is split into lanes whose
    sums are added.  rows, height: the index of the axis that is split into tiles, None for none, and the number of its
    elements in a tile.  vectors: the number of vectors along the vectorized axis in a tile.
    """

    axes: _Axes
    vector: int
    lanes: int
    rows: int | None
    height: int
    vectors: int = 1


def _schedule(func: FuncOp, rows: int, plans: dict[str, _Plan | str]) -> FuncOp:
    """A copy of a function with its blocks scheduled. rows: the number of leading loops that its blocks share."""
    # Reductions and the rows of a function may be reordered freely, so no step is checked.
    schedule = Schedule(ModuleOp([func.clone()]), enable_check=False)
    name = func.sym_name.data
    if rows:
        *producers, last = (schedule.get_block(block.block_name.data, name) for block in _blocks(func))
        row = schedule.get_loops(last)[rows - 1]
        for producer in reversed(producers):
            schedule.compute_at(producer, row)
    prepared = rows > 0 or _transpose_factors(schedule, func)
    current = schedule.mod.functions[name]
    assert isinstance(current, FuncOp)
    if prepared:
        plans = _plans(current, rows)
    _report(current, plans, rows)
    for block, plan in plans.items():
        if isinstance(plan, _Plan):
            plan.apply(schedule, schedule.get_block(block, name))
    return _finish(schedule, func)


def _finish(schedule: Schedule, func: FuncOp) -> FuncOp:
    """Shares the loops of a scheduled copy of a function among threads, and takes the copy out of the schedule."""
    name = func.sym_name.data
    scheduled = schedule.mod.functions[name]
    assert isinstance(scheduled, FuncOp)
    for loop in shared_loops(scheduled, _remarks):
        loop.apply(schedule, name)
    scheduled = schedule.mod.functions[name]
    scheduled.detach()
    assert isinstance(scheduled, FuncOp)
    scheduled.location = func.location
    return scheduled


def _transpose_factors(schedule: Schedule, func: FuncOp) -> bool:
    """Copies a factor of each product whose rows are summed, as the weights of `dense`, so that its columns are
    contiguous: the results of the product are vectors then. Returns whether there is such a product."""
    found = False
    for block in _blocks(func):
        factor = _factor_to_transpose(block)
        if factor is not None:
            source, order = factor
            product = schedule.get_block(block.block_name.data, func.sym_name.data)
            schedule.cache_read(product, source, "global")
            schedule.transform_layout(product, ("read", source), lambda *dims: tuple(dims[n] for n in order))
            found = True
    return found


def _factor_to_transpose(block: BlockOp) -> tuple[int, list[int]] | None:
    """The index among the buffers that a block reads of a buffer to be transposed, and the new order of its dimensions;
    None if there is none."""
    axes = None if block.init is None else _axes(block, 0)
    if axes is None or len(axes.kinds) != len(block.axes) or _spatial_vector(axes) is not None:
        return None
    spatial = axes.of_kind("spatial")
    vector = next((n for n in spatial if axes.written[n] == 1 and axes.extents[n] >= LANES), None)
    if vector is None:
        return None
    far = [n for n, stride in enumerate(axes.read) if stride[vector] > FARTHEST]
    if len(far) != 1 or any(stride[vector] not in (0, 1) for n, stride in enumerate(axes.read) if n not in far):
        return None
    load = _accesses(block)[1 + far[0]]
    assert isinstance(load, LoadOp)
    reused = prod(axes.extents[n] for n in spatial if not axes.read[far[0]][n])
    dims = [n for n, index in enumerate(load.indices) if index is block.variables[vector]]
    if len(dims) != 1 or reused < REUSED or axes.sources.count(axes.sources[far[0]]) != 1:
        return None
    order = [n for n in range(len(load.indices)) if n not in dims]
    return axes.sources[far[0]], [*order, *dims]


def _vectorize(axis: int, lanes: int, schedule: Schedule, block: BlockRV) -> None:
    """Makes vectors of the elements along an axis."""
    schedule.vectorize(schedule.split(schedule.get_loops(block)[axis], [None, lanes])[1])


def _transpose(
    shared: int, rows: int, columns: int, buffers: Sequence[int], schedule: Schedule, block: BlockRV
) -> None:
    """Copies a square of each transposed buffer to registers, row by row, and stores its columns."""
    loops = schedule.get_loops(block)
    splits = {n: schedule.split(loops[n], [None, LANES]) for n in (rows, columns)}
    outer = [splits[n][0] if n in splits else loop for n, loop in enumerate(loops)]
    inner = [splits[n][1] for n in (rows, columns)]
    schedule.reorder(*outer[shared:], *inner)
    for buffer in buffers:
        square = schedule.cache_read(block, buffer, "local")
        schedule.compute_at(square, outer[-1])
        _fill_registers(schedule, schedule.get_loops(square)[-2:])
    _fill_registers(schedule, inner)


def _fill_registers(schedule: Schedule, tile: Sequence[LoopRV]) -> None:
    """Vectorizes the innermost loop of a tile, and unrolls the others."""
    *rows, lanes = tile
    schedule.vectorize(lanes)
    for loop in rows:
        schedule.unroll(loop)


def _tile(plan: _Tile, schedule: Schedule, block: BlockRV) -> None:
    loops = schedule.get_loops(block)
    outer, summed, inner = list[LoopRV](), list[LoopRV](), list[LoopRV]()
    for n, (loop, kind) in enumerate(zip(loops, plan.axes.kinds, strict=True)):
        if n == plan.vector:
            first, *parts = schedule.split(loop, [None, *([plan.vectors] if plan.vectors > 1 else []), plan.lanes])
            outer.append(first)
            inner += parts
        elif n == plan.rows:
            parts = schedule.split(loop, [None, plan.height])
            outer.append(parts[0])
            inner.insert(0, parts[1])
        else:
            (outer if kind == "spatial" else summed).append(loop)
    schedule.reorder(*outer[plan.axes.shared :], *summed, *inner)
    _keep_in_registers(schedule, block, summed[0], inner)


def _keep_in_registers(schedule: Schedule, block: BlockRV, summed: LoopRV, tile: Sequence[LoopRV]) -> None:
    """Vectorizes a tile of sums, and moves its init before the reduction loops."""
    start = schedule.decompose_reduction(block, summed)
    for nest in (tile, schedule.get_loops(start)[-len(tile) :]):
        _fill_registers(schedule, nest)


def _sum_by_lanes(plan: _Tile, schedule: Schedule, block: BlockRV) -> None:
    """Sums each lane by itself, and then the lanes, for one tile of results at a time."""
    lane = schedule.split(schedule.get_loops(block)[plan.vector], [None, plan.lanes])[1]
    partial = schedule.rfactor(lane, -1)
    loops = schedule.get_loops(block)  # over spatial axes, then over lanes
    outer, tile = loops[:-1], list[LoopRV]()
    if plan.rows is not None:
        parts = schedule.split(loops[plan.rows], [None, plan.height])
        outer = [parts[0] if n == plan.rows else loop for n, loop in enumerate(outer)]
        tile = [parts[1]]
        schedule.reorder(*outer[plan.axes.shared :], *tile, loops[-1])
    summed, inner = _join(schedule, partial, outer, len(tile))
    _keep_in_registers(schedule, partial, summed[0], inner)
    if plan.lanes > LANES:
        lane = schedule.split(schedule.get_loops(block)[-1], [None, LANES])[1]
        vector = schedule.rfactor(lane, -1)
        summed, inner = _join(schedule, vector, outer, 0)
        _keep_in_registers(schedule, vector, summed[0], inner)


def _join(
    schedule: Schedule, partial: BlockRV, outer: Sequence[LoopRV], tile: int
) -> tuple[Sequence[LoopRV], Sequence[LoopRV]]:
    """Moves partial sums into the loops around their final sum. Returns the loops over summands, and the loops inside,
    over a tile and over lanes. tile: the number of loops over the tile."""
    around = schedule.get_loops(partial)[: len(outer)]
    if [schedule.get(loop) for loop in around] != [schedule.get(loop) for loop in outer]:
        schedule.compute_at(partial, outer[-1])
        lane, *inner = schedule.get_loops(partial)[len(outer) :]
        summed, inner = inner[tile:], [*inner[:tile], lane]
        schedule.reorder(*summed, *inner)
        return summed, inner
    *summed, lane = schedule.get_loops(partial)[len(outer) :]
    return summed, [lane]
