"""The pass `tir-promote-tiles`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin
from ...analysis.loop_accesses import are_apart, constant_extent, contiguous_elements, is_allocation
from ...analysis.threads.axes import thread_axis_of
from ...analysis.threads.memories import LOCAL, memory_of
from ...core.comparisons import predicate_of
from ...core.dtypes import dtype_of, element_byte_size
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import TIR_NOALIAS, is_true
from ...dialects.text import expression_text
from ...dialects.tir import (
    AllocBufferOp,
    ForOp,
    FuncOp,
    IfOp,
    IfThenElseOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    YieldOp,
    constant_value,
    is_speculatable,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.copying import copy_out
from ...dialects.tir.tree import (
    computing_ops,
    conjuncts,
    depends_on,
    erase_statement,
    has_effect,
    is_expression_op,
    is_pure_expression,
)
from .preconditions import report_blocks

_remarks = PassRemarks("tir-promote-tiles")
MOST_CLAMPED = 2
"""The most vectors of a row of sums that are computed in less time than the branch around them takes."""
Known = Mapping[SSAValue, SSAValue]
"""The values that replace those of the original loops."""


@dataclass(frozen=True)
class TirPromoteTilesPass(ModulePass):
    """Keeps sums in registers where the last tile of sums has fewer rows or columns.

    A tile is the elements that a serial loop sums, for the iterations of unrolled and vectorized loops in it, its axes.
    Comparisons limit the first iterations of the axes for which a sum is computed: their elements are not accessed in
    every iteration, so `tir-promote-elements` leaves them in memory. Here the sums of all iterations are in a local
    buffer during the serial loop. Comparisons of an unrolled axis, rows, become branches around the statements of a
    row. Rows of one or two vectors, whose lanes no comparison limits, have no branches: those that are excluded compute
    the sums of the last row within the limits again, and store them to the same elements. Comparisons of other axes,
    with the lanes of a vectorized axis, remain around the loads that depend on these axes alone, and around the stores
    after the loop: sums of lanes that they exclude are computed, and not stored.

    The serial loop contains one statement, a store. Its conditions are comparisons that hold up to an iteration of each
    axis, and that the serial loop does not change. No load of the loop may concern the memory of the stored buffer,
    except the elements themselves: other buffers are allocations, or the function has `tir.noalias`. Elements of an
    allocation whose rows have branches stay in it, unless comparisons of lanes mask their loads. A loop before that
    stores a number in the elements stores it in the local buffer instead.

    max-bytes: the maximum size of the local buffer; the size of all registers of a processor.  masks: whether
    comparisons of lanes may remain around loads: whether the processor loads the lanes of a mask.

    Before
        tir.for serial "k" %k : i32 in [0 +: 8] {
          tir.for unrolled "i" %i : i32 in [0 +: 4] {
            %0 = arith.cmpi slt, %i, %n : i32
            tir.if %0 {
              %c = tir.load %C[%i] : memref<?xf32>
              %a = tir.load %A[%i, %k] : memref<?x8xf32>
              %sum = arith.addf %c, %a : f32
              tir.store %sum, %C[%i] : memref<?xf32>
            }
          }
        }

    After
        %C_1 = tir.alloc_buffer "C" : memref<4xf32, "local">
        %last = ... the last iteration of i where the comparison holds
        ... the elements of C to it, those of row %last for later rows
        tir.for serial "k" %k : i32 in [0 +: 8] {
          tir.for unrolled "i" %i : i32 in [0 +: 4] {
            %0 = arith.minsi %i, %last : i32
            %c = tir.load %C_1[%i] : memref<4xf32, "local">
            %a = tir.load %A[%0, %k] : memref<?x8xf32>
            %sum = arith.addf %c, %a : f32
            tir.store %sum, %C_1[%i] : memref<4xf32, "local">
          }
        }
        ... the elements to C, those of later rows to row %last

    Must hold before: no tir.block (`tir-resolve-blocks`).

    Gone after: nothing.
    """

    name = "tir-promote-tiles"

    max_bytes: int = 2048
    masks: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and all(thread_axis_of(inner) is None for inner in function.walk()):
                noalias = is_true(function.attr(TIR_NOALIAS))
                self._promote_tiles(find_ops(function, ForOp), noalias)
                report_blocks(_remarks, function)

    def _promote_tiles(self, loops: Iterable[ForOp], noalias: bool) -> None:
        """Moves the tiles of loops to registers, the outermost first."""
        inside: set[Operation] = set()
        for loop in list(loops):
            tile = None if loop in inside else _Tile.of(loop, noalias)
            if tile is None:
                continue
            inside.update(loop.walk())
            text = f"the last tile of {tile.store.buffer.name_hint} during loop {loop.loop_var.data}"
            if tile.size > self.max_bytes:
                limit = f"it is {tile.size} bytes, more than {self.max_bytes}"
                _remarks.missed(loop, lambda: f"{text} stays in memory: {limit}")
            elif tile.mask and not self.masks:
                _remarks.missed(loop, lambda: f"{text} stays in memory: the processor has no masks for the lanes")
            else:
                limits = " and ".join(f"`{expression_text(limit)}`" for limit in tile.limits)
                tile.promote()
                _remarks.applied(loop, lambda: f"{text} is in registers, limited by {limits}")


@dataclass(frozen=True)
class _Tile:
    """The tile of elements that a loop sums.

    nest: the loops in `loop` around `store`.  axes: the loops of the nest that the indices of the elements depend on.
    lanes: the contiguous elements of a vector that `store` stores, None for one element.  rows: the unrolled axes whose
    comparisons depend on no other axis, each with its comparisons.  mask: the other comparisons.  init: a loop before
    `loop` that stores a number in the elements, and the number.
    """

    loop: ForOp
    nest: Sequence[ForOp]
    store: StoreOp
    axes: Sequence[ForOp]
    lanes: int | None
    rows: Mapping[ForOp, Sequence[SSAValue]]
    mask: Sequence[SSAValue]
    init: tuple[ForOp, SSAValue] | None

    @staticmethod
    def of(loop: ForOp, noalias: bool) -> _Tile | None:
        """The tile of a loop, None if it sums none or no comparison limits an axis."""
        found = _statement(loop)
        if found is None or loop.kind.data != "serial" or loop.mixed_bounds[2] != 1:
            return None
        nest, limits, store = found
        axes = [op for op in nest if any(depends_on(index, [op.variable]) for index in store.indices)]
        sums = [op for op in nest if op not in axes]
        variables = [op.variable for op in (loop, *sums)]
        analyzer = Analyzer()
        place = _Place.of(store, store.indices, analyzer)
        if (
            not limits
            or place is None
            or any(op.kind.data == "vectorized" for op in sums)
            or any(depends_on(value, variables) for value in (*limits, *store.indices))
            or not all(_is_limit(limit, axes, analyzer) for limit in limits)
            or not place.is_separate(axes)
            or not _is_alone(loop, store, place, analyzer, noalias)
        ):
            return None
        rows: dict[ForOp, list[SSAValue]] = {}
        mask: list[SSAValue] = []
        for limit in limits:
            of_limit = [axis for axis in axes if depends_on(limit, [axis.variable])]
            if len(of_limit) == 1 and of_limit[0].kind.data == "unrolled":
                rows.setdefault(of_limit[0], []).append(limit)
            elif any(axis.kind.data == "vectorized" for axis in of_limit):
                mask.append(limit)
            else:
                return None
        if any(depends_on(limit, [axis.variable]) for limit in mask for axis in rows):
            return None
        init = _init(loop, limits, store, place, axes, analyzer)
        tile = _Tile(loop, nest, store, axes, place.lanes, rows, mask, init)
        stays = not mask and is_allocation(memory_of(store.buffer)) and not tile.is_clamped
        return None if stays or not _is_safe(store.value, loop) else tile

    @property
    def limits(self) -> list[SSAValue]:
        """All comparisons."""
        return [*(limit for limits in self.rows.values() for limit in limits), *self.mask]

    @property
    def is_clamped(self) -> bool:
        """Whether rows that the comparisons exclude compute the sums of the last row within them."""
        others = [axis for axis in self.axes if axis not in self.rows and axis.kind.data != "vectorized"]
        return not self.mask and prod(map(constant_extent, others)) <= MOST_CLAMPED

    @property
    def size(self) -> int:
        """The size of the elements, in bytes."""
        size = element_byte_size(memref_type(self.store.buffer).element_type) * (self.lanes or 1)
        for axis in self.axes:
            size *= constant_extent(axis)
        return size

    def promote(self) -> None:
        """Replaces the loop by one with the elements in a local buffer."""
        builder = TirBuilder(InsertPoint.before(self.loop), self.loop.location)
        first: dict[SSAValue, SSAValue] = {axis.variable: builder.const(0, axis.variable.type) for axis in self.axes}
        limits = self.limits if self.is_clamped else self.mask
        conditions = [copy_out(limit, self.loop, builder, dict(first)) for limit in limits]
        extent = self.loop.mixed_bounds[1]
        if self.init is None and not isinstance(extent, int):
            conditions.append(builder.binary("gt", extent, 0))
        with _under(conditions, builder):
            self._emit_loop(builder)
        if self.init is not None:
            erase_statement(self.init[0])
        erase_statement(self.loop)

    def _emit_loop(self, builder: TirBuilder) -> None:
        """Emits the loop with the elements in a local buffer."""
        name, type = self.store.buffer.name_hint or "sum", memref_type(self.store.buffer).element_type
        shape = [*map(constant_extent, self.axes), *([] if self.lanes is None else [self.lanes])]
        local = builder.insert(AllocBufferOp(name, type, shape, space=StringAttr(LOCAL))).buffer
        clamped, branches = (self.rows, {}) if self.is_clamped else ({}, self.rows)
        last = {axis.variable: self._last(axis, limits, builder) for axis, limits in clamped.items()}

        def within(known: Known) -> dict[SSAValue, SSAValue]:
            rows = {each: builder.binary("min", value, last[each]) for each, value in known.items() if each in last}
            return {**known, **rows}

        def start(known: Known, indices: Sequence[SSAValue]) -> None:
            if self.init is not None:
                init, number = self.init
                value = copy_out(number, init, builder, {})
            else:
                load = partial(builder.load, self.store.buffer)
                value = self._under_mask(known, type, builder, lambda: load(self._indices(within(known), builder)))
            builder.insert(StoreOp(value, local, indices))

        def add(known: Known, indices: Sequence[SSAValue]) -> None:
            values, masked = within(known), self._masked
            for op in self._reads():
                result = op.results[0]
                if isinstance(op, LoadOp) and op.buffer is self.store.buffer:
                    values[result] = builder.load(local, indices)
                elif depends_on(result, masked):
                    copy = partial(copy_out, result, self.loop, builder, dict(values))
                    values[result] = self._under_mask(known, result.type, builder, copy)
            builder.insert(StoreOp(copy_out(self.store.value, self.loop, builder, values), local, indices))

        def save(known: Known, indices: Sequence[SSAValue]) -> None:
            with _under(self._mask(known, builder), builder):
                element = self._indices(within(known), builder)
                builder.insert(StoreOp(builder.load(local, indices), self.store.buffer, element))

        self._emit_nest(self.axes, {}, (), builder, start, rows={} if self.init is not None else branches)
        loop = builder.insert(self.loop.without_statements(*self.loop.mixed_bounds))
        with builder.at(loop.body.block):
            self._emit_nest(self.nest, {self.loop.variable: loop.variable}, (), builder, add, rows=branches)
        self._emit_nest(self.axes, {}, (), builder, save, rows=branches)

    def _emit_nest(
        self,
        loops: Sequence[ForOp],
        known: Known,
        indices: Sequence[SSAValue],
        builder: TirBuilder,
        emit: Callable[[Known, Sequence[SSAValue]], None],
        *,
        rows: Mapping[ForOp, Sequence[SSAValue]],
    ) -> None:
        """Emits copies of loops around a statement.

        indices: the variables of the axes around.  emit: emits the statement, for the values that replace those of the
        original loops and the indices of the element in the local buffer.  rows: the comparisons that remain, by their
        loops.
        """
        if not loops:
            emit(known, indices if self.lanes is None else [*indices, builder.ramp(0, 1, self.lanes)])
            return
        loop, *rest = loops
        copy = builder.insert(loop.without_statements(*loop.mixed_bounds))
        known = {**known, loop.variable: copy.variable}
        with builder.at(copy.body.block):
            limits = [copy_out(limit, self.loop, builder, dict(known)) for limit in rows.get(loop, ())]
            with _under(limits, builder):
                indices = [*indices, copy.variable] if loop in self.axes else indices
                self._emit_nest(rest, known, indices, builder, emit, rows=rows)

    def _last(self, axis: ForOp, limits: Sequence[SSAValue], builder: TirBuilder) -> SSAValue:
        """Emits the last iteration of an axis for which its comparisons hold, if they hold for the first: the number of
        later iterations for which they do."""
        type = axis.variable.type
        last = builder.const(0, type)
        for n in range(1, constant_extent(axis)):
            known: dict[SSAValue, SSAValue] = {axis.variable: builder.const(n, type)}
            holds = builder.conjunction([copy_out(limit, self.loop, builder, dict(known)) for limit in limits])
            last = builder.add(last, builder.cast(holds, dtype_of(type)))
        return builder.let(f"last_{axis.loop_var.data}", last)

    @property
    def _masked(self) -> list[SSAValue]:
        """The variables that the mask depends on."""
        variables = [axis.variable for axis in self.axes]
        return [each for each in variables if any(depends_on(limit, [each]) for limit in self.mask)]

    def _reads(self) -> list[Operation]:
        """The loads and choices that compute the sum, operands first."""
        ops = (op for op in self.loop.walk() if isinstance(op, LoadOp | IfThenElseOp))
        return [op for op in ops if not isinstance(op.parent_op(), IfThenElseOp)]

    def _mask(self, known: Known, builder: TirBuilder) -> list[SSAValue]:
        """Emits the comparisons of the mask."""
        return [copy_out(limit, self.loop, builder, dict(known)) for limit in self.mask]

    def _indices(self, known: Known, builder: TirBuilder) -> list[SSAValue]:
        """Emits the indices of an element in memory."""
        return [copy_out(index, self.loop, builder, dict(known)) for index in self.store.indices]

    def _under_mask(self, known: Known, type: Attribute, builder: TirBuilder, emit: Callable[[], SSAValue]) -> SSAValue:
        """Emits a value, 0 where the mask excludes the element."""
        if not self.mask:
            return emit()
        mask = builder.conjunction(self._mask(known, builder))
        return builder.if_then_else(mask, type, emit, lambda: builder.const(0, type))


@contextmanager
def _under(conditions: Sequence[SSAValue], builder: TirBuilder) -> Generator[None]:
    """A context in which a builder emits into a branch that is taken where all conditions hold; where it is, without
    conditions."""
    if not conditions:
        yield
        return
    branch = builder.insert(IfOp(builder.conjunction(conditions)))
    with builder.at(branch.then.block):
        yield


def _statement(loop: ForOp) -> tuple[list[ForOp], list[SSAValue], StoreOp] | None:
    """The only statement of a loop, a store, with the loops inside of the loop around the store and its conditions;
    None for a loop of other statements, or with loops whose extents are no positive numbers."""
    nest: list[ForOp] = []
    conditions: list[SSAValue] = []
    block = loop.body.block
    while True:
        statements = [op for op in block.ops if not is_expression_op(op) or has_effect(op)]
        if len(statements) != 1:
            return None
        match statements[0]:
            case StoreOp(predicate=None) as store:
                return nest, conditions, store
            case ForOp(mixed_bounds=(0, int(extent), 1), kind=kind) as inner if extent > 0:
                if kind.data not in ("serial", "unrolled", "vectorized"):
                    return None
                nest.append(inner)
                block = inner.body.block
            case IfOp() as branch if not branch.orelse.block.ops:
                conditions += conjuncts(branch.condition)
                block = branch.then.block
            case _:
                return None


def _is_limit(condition: SSAValue, axes: Iterable[ForOp], analyzer: Analyzer) -> bool:
    """Whether a condition is a comparison that, along each axis, holds up to an iteration."""
    compare = condition.owner
    if not isinstance(compare, arith.CmpiOp):
        return False
    match predicate_of(compare):
        case "slt" | "sle":
            difference = analyzer.lin(compare.lhs) - analyzer.lin(compare.rhs)
        case "sgt" | "sge":
            difference = analyzer.lin(compare.rhs) - analyzer.lin(compare.lhs)
        case _:
            return False
    leaves, factors = list(difference.leaves()), difference.terms
    variables = [axis.variable for axis in axes]
    return all(leaves.count(each) == (each in factors) and factors.get(each, 1) > 0 for each in variables)


@dataclass(frozen=True)
class _Place:
    """The elements of an access. indices: of the first element.  lanes: the number of contiguous elements of a vector,
    None for one element."""

    indices: tuple[Lin, ...]
    lanes: int | None

    @staticmethod
    def of(access: LoadOp | StoreOp, indices: Sequence[SSAValue], analyzer: Analyzer) -> _Place | None:
        """The elements of an access at some indices; None for a vector of others than contiguous elements."""
        contiguous = contiguous_elements(indices)
        if access.predicate is not None or contiguous is None:
            return None
        first, lanes = contiguous
        return _Place(tuple(map(analyzer.lin, first)), lanes)

    def is_separate(self, axes: Sequence[ForOp]) -> bool:
        """Whether each iteration of some axes accesses elements of its own."""
        leaves = [leaf for lin in self.indices for leaf in lin.leaves()]
        extents = {axis.variable: constant_extent(axis) for axis in axes if constant_extent(axis) > 1}
        factors = [{each: abs(lin.terms[each]) for each in extents if each in lin.terms} for lin in self.indices]
        if any(leaves.count(each) != 1 or not any(each in index for index in factors) for each in extents):
            return False
        for number, index in enumerate(factors, 1):
            length = self.lanes or 1 if number == len(factors) else 1
            for variable, factor in sorted(index.items(), key=lambda pair: pair[1]):
                if factor < length:
                    return False
                length = factor * extents[variable]
        return True


def _is_alone(loop: ForOp, store: StoreOp, place: _Place, analyzer: Analyzer, noalias: bool) -> bool:
    """Whether no load of a loop concerns the memory of a store, but for loads of its elements in their own buffer."""
    if not isinstance(memref_type(store.buffer).layout, NoneAttr):
        return False
    memory = memory_of(store.buffer)
    for load in find_ops(loop, LoadOp):
        if load.buffer is store.buffer:
            if _Place.of(load, load.indices, analyzer) != place or isinstance(load.parent_op(), IfThenElseOp):
                return False
        elif load.predicate is not None or not are_apart(memory_of(load.buffer), memory, noalias):
            return False
    return True


def _is_safe(value: SSAValue, loop: ForOp) -> bool:
    """Whether the computation of a value in a loop, from any elements, has no effect."""
    ops = (op for op in computing_ops(value) if loop.is_ancestor(op))
    return all(isinstance(op, LoadOp | IfThenElseOp | YieldOp) or is_speculatable(op) for op in ops)


def _init(
    loop: ForOp,
    limits: Sequence[SSAValue],
    store: StoreOp,
    place: _Place,
    axes: Sequence[ForOp],
    analyzer: Analyzer,
) -> tuple[ForOp, SSAValue] | None:
    """The loop directly before a loop that stores a number in the elements of its tile, and the number."""
    init = loop.prev_op
    while init is not None and is_pure_expression(init):
        init = init.prev_op
    if not isinstance(init, ForOp) or init.mixed_bounds != (0, constant_extent(axes[0]), 1):
        return None
    found = _statement(init)
    if found is None:
        return None
    nest, conditions, first = found
    loops = [init, *nest]
    if constant_value(first.value) is None or first.buffer is not store.buffer:
        return None
    if [each.mixed_bounds for each in loops] != [axis.mixed_bounds for axis in axes]:
        return None
    builder = TirBuilder(Block())
    known: dict[SSAValue, SSAValue] = {each.variable: axis.variable for each, axis in zip(loops, axes, strict=True)}
    copies = [copy_out(index, init, builder, dict(known)) for index in first.indices]
    compared = [copy_out(condition, init, builder, dict(known)) for condition in conditions]
    if _Place.of(first, copies, analyzer) != place:
        return None
    if {_key(each, analyzer) for each in compared} != {_key(each, analyzer) for each in limits}:
        return None
    return init, first.value


def _key(condition: SSAValue, analyzer: Analyzer) -> Hashable:
    """A key of a condition, equal for comparisons of equal sums."""
    compare = condition.owner
    if not isinstance(compare, arith.CmpiOp):
        return condition
    return predicate_of(compare), analyzer.lin(compare.lhs), analyzer.lin(compare.rhs)
