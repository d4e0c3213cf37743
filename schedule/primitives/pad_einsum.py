"""The primitive `pad_einsum`: products of tensors padded to convenient extents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.iter_map import iteration_domain, why_not_onto
from ...analysis.names import block_name, buffer_name, fresh_block_name, fresh_buffer_name, loop_name
from ...analysis.scopes import (
    binding_sums,
    depends_on,
    enclosing_scope,
    loops_around,
    only_child,
    ops_between,
    root_buffer,
    statements,
)
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...dialects.schedule import PadEinsumOp
from ...dialects.text import expression_text
from ...dialects.tir import (
    BINARY_NAMES,
    DIVISIONS,
    Axis,
    BlockOp,
    CastOp,
    ForOp,
    FuncOp,
    IfThenElseOp,
    InitOp,
    LetOp,
    LoadOp,
    Mixed,
    StoreOp,
    TirBuilder,
    constant_value,
)
from ...dialects.tir.base import split_mixed
from ...dialects.tir.operands import set_operands
from ...dialects.tir.tree import erase_if_dead, has_effect
from ..handles import BlockLike
from ..recorder import Recorder
from ..rewriting.copies import allocate_copy, index_type
from ..rewriting.copying import loads_in, require_invariant_values
from ..rewriting.elementwise import block_statements, element_text
from ..rewriting.gaps import Gap, gap_beside
from ..rewriting.nest import (
    builder_before,
    erase_accesses,
    export_mixed,
    function_of,
    make_loop,
    renew_accesses,
    set_axes,
    simplify_blocks,
)
from ..state import State, applies


class PadEinsumPrimitives(Recorder):
    """The primitive that pads products of tensors."""

    def pad_einsum(self, block: BlockLike, padding: Sequence[int]) -> None:
        """Pad the extents of a block's axes to multiples of given numbers, with zero-padded copies of its operands.

            for i, k in T.grid(13, 11):                 for i0, i1 in T.grid(16, 12):
                with T.block("C"):                          with T.block("A_pad"):
                    vi, vk = ...remap("SR", [i, k])             v0, v1 = T.axis.remap("SS", [i0, i1])
                    with T.init():                              A_pad[v0, v1] = T.if_then_else(
                        C[vi] = 0.0               ->                v0 < 13 and v1 < 11, A[v0, v1], 0.0)
                    C[vi] += A[vi, vk] * X[vk]          ... X_pad likewise
                                                        for i, k in T.grid(16, 12):
                                                            with T.block("C"):
                                                                ...
                                                                C_pad[vi] += A_pad[vi, vk] * X_pad[vk]
                                                        for i0 in range(13):
                                                            with T.block("C_pad"):
                                                                v0 = T.axis.spatial(13, i0)
                                                                C[v0] = C_pad[v0]

        block: a block with a single store, whose indices are axes; the indices of each load are axes too, or contain no
        padded axis; if a reduction axis is padded, the block is a sum of terms that are 0 where the loaded elements are
        0. It runs for all of its domain, as the only statement in its loops.
        padding: a positive number for each axis. A loop to which one axis is directly bound gets the padded extent of
        the axis; other loops do not change. Buffers without padded axes are used as they are.
        Legal by construction. ScheduleError if the block is not of this kind.
        """
        self.record(PadEinsumOp, block=self._block(block), padding=padding)


@dataclass(frozen=True)
class Dim:
    """A dimension of an accessed buffer: the block uses elements `[low, low + extent)`, in a copy of `padded` elements.

    axis: the axis that is its index; None if the index is `low` in each instance.
    """

    low: Lin
    extent: Lin
    padded: Lin
    axis: SSAValue | None = None

    @property
    def is_padded(self) -> bool:
        return self.extent != self.padded


@dataclass(frozen=True)
class Einsum:
    """A block to be padded: the padded extent of each axis, and the dimensions of each access to a padded buffer."""

    block: BlockOp
    padded: Mapping[SSAValue, Lin]
    accesses: Mapping[LoadOp | StoreOp, tuple[Dim, ...]]


@applies(PadEinsumOp)
def pad_einsum(state: State, block: BlockOp, padding: list[int]) -> None:
    if isinstance(block, FuncOp):
        raise ScheduleError("block root is the body of the function, expected a block with axes")
    padded = _padded_extents(block, padding)
    if not padded:
        return
    store = _require_store(block)
    _require_alone(block)
    _require_whole(block)
    einsum = Einsum(block, padded, _accesses(block, padded))
    _require_visible(einsum)
    _require_zero(einsum, store)
    with state.changing(check=False):
        _pad(einsum)


def _padded_extents(block: BlockOp, padding: Sequence[int]) -> dict[SSAValue, Lin]:
    """The new extents of the axes whose extent changes."""
    if len(padding) != len(block.axes) or any(n <= 0 for n in padding):
        raise ScheduleError(
            f"padding {list(padding)}: expected {len(block.axes)} positive numbers, one for each axis of block "
            f"{block_name(block)}",
            [block],
        )
    analyzer = Analyzer()
    padded: dict[SSAValue, Lin] = {}
    for axis, variable, n in zip(block.axes, block.variables, padding, strict=True):
        if n == 1:
            continue
        if axis.low != 0:
            raise ScheduleError(f"axis {axis.name} is not known to count from 0", [block])
        extent = analyzer.exact(axis.extent)
        if analyzer.constant(analyzer.floormod(extent, n)) != 0:
            padded[variable] = analyzer.floordiv(extent + (n - 1), n) * n
    return padded


# Requirements


def _require_store(block: BlockOp) -> StoreOp:
    """The only store of a block outside of its init. ScheduleError unless the block is a single store of products."""
    name = block_name(block)
    inside = [op for op in block_statements(block) if not isinstance(op, InitOp)]
    store = inside[0] if len(inside) == 1 else None
    parts: list[Operation | None] = [store]
    if block.init is not None:
        first = [op for op in block.init.body.block.ops if isinstance(op, StoreOp)]
        parts += [op for op in statements(block.init.body.block)]
        if len(first) != 1 or not _same_element(first[0], store):
            raise ScheduleError(f"block {name} does not initialise the element that it stores", [block])
    if not isinstance(store, StoreOp) or not all(isinstance(op, StoreOp) and op.predicate is None for op in parts):
        raise ScheduleError(f"block {name} is more than one store", [block])
    if any(has_effect(op) or isinstance(op, IfThenElseOp) for op in block.walk()):
        raise ScheduleError(f"block {name} has calls or choices in it, expected products of elements", [block])
    for op in block.walk():
        if isinstance(op, DIVISIONS) and not constant_value(op.operands[1]):
            raise ScheduleError(f"block {name} divides by what would be 0 in the padding", [block])
    memory = root_buffer(store.buffer)
    for load in loads_in(block):
        if root_buffer(load.buffer) is memory and (block.init is None or not _same_element(load, store)):
            raise ScheduleError(f"block {name} reads buffer {buffer_name(load.buffer)}, which it writes", [block])
    return store


def _same_element(a: LoadOp | StoreOp, b: Operation | None) -> bool:
    if not isinstance(b, StoreOp) or a.buffer is not b.buffer:
        return False
    analyzer = Analyzer()
    return [analyzer.exact(i) for i in a.indices] == [analyzer.exact(i) for i in b.indices]


def _require_alone(block: BlockOp) -> None:
    """Raise ScheduleError unless only loops enclose the block, each with no other statement in it."""
    path = [*ops_between(block, enclosing_scope(block)), block]
    for outer, inner in pairwise(path):
        if not isinstance(outer, ForOp):
            raise ScheduleError(f"not supported yet: block {block_name(block)} is inside of a {outer.name}", [block])
        if only_child(outer) is not inner:
            raise ScheduleError(
                f"loop {loop_name(outer)} has more in it than block {block_name(block)}, whose loops are to run longer",
                {outer: "", block: "to be padded"},
            )


def _require_whole(block: BlockOp) -> None:
    """Raise ScheduleError unless the block runs for each point of its domain: its results are copied as a whole."""
    analyzer = Analyzer()
    domain = iteration_domain(analyzer, loops_around(block), block.predicate)
    names = [f"axis {axis.name}" for axis in block.axes]
    box = [(analyzer.exact(axis.low), analyzer.exact(axis.extent)) for axis in block.axes]
    reason = why_not_onto(analyzer, domain, binding_sums(analyzer, block), box, names)
    if reason is not None:
        raise ScheduleError(f"block {block_name(block)} does not run for all of its domain: {reason}", [block])
    require_invariant_values(block, next(iter(loops_around(block)), block))


def _accesses(block: BlockOp, padded: Mapping[SSAValue, Lin]) -> dict[LoadOp | StoreOp, tuple[Dim, ...]]:
    """The accesses with a padded axis in an index, and their dimensions."""
    accesses: dict[LoadOp | StoreOp, tuple[Dim, ...]] = {}
    for op in block.walk():
        if isinstance(op, LoadOp | StoreOp) and any(padded.keys() & _axes_in(block, index) for index in op.indices):
            accesses[op] = tuple(_dim(block, padded, op, index) for index in op.indices)
    return accesses


def _dim(block: BlockOp, padded: Mapping[SSAValue, Lin], op: LoadOp | StoreOp, index: SSAValue) -> Dim:
    """The dimension of an index. ScheduleError unless the index is an axis, or is computed without axes."""
    analyzer = Analyzer()
    lin = analyzer.exact(index)
    if not _axes_in(block, index) and not any(isinstance(leaf.owner, LoadOp) for leaf in lin.leaves()):
        return Dim(lin, Lin(1), Lin(1))
    variable = index if index in block.variables else lin.atom
    axes: dict[SSAValue, Axis] = dict(zip(block.variables, block.axes, strict=True))
    axis = axes.get(variable) if isinstance(variable, SSAValue) else None
    if axis is None or axis.low != 0 or not isinstance(variable, SSAValue):
        raise ScheduleError(
            f"an index of {element_text(op)} in block {block_name(block)} is {expression_text(index)}, expected an "
            "axis that counts from 0, as the buffer has to be padded",
            [block],
        )
    if isinstance(op, StoreOp) and axis.kind != "spatial":
        raise ScheduleError(f"{axis.kind} axis {axis.name} is in an index of what is written", [block])
    extent = analyzer.exact(axis.extent)
    return Dim(Lin(), extent, padded.get(variable, extent), variable)


def _require_visible(einsum: Einsum) -> None:
    """Raise ScheduleError unless extents and constant indices are known before the loops."""
    outermost = next(iter(loops_around(einsum.block)), einsum.block)
    for dim in (dim for dims in einsum.accesses.values() for dim in dims):
        for leaf in (leaf for lin in (dim.low, dim.extent) for leaf in lin.leaves()):
            home = leaf.owner if isinstance(leaf.owner, Block) else leaf.owner.parent
            if home is not None and not home.is_ancestor(outermost):
                raise ScheduleError(
                    f"block {block_name(einsum.block)} uses {expression_text(leaf)} in its domain or an index, which "
                    "is not known in front of its loops",
                    [einsum.block],
                )


def _axes_in(block: BlockOp, value: SSAValue) -> set[SSAValue]:
    """The axes from which a value in the block is computed."""
    axes: set[SSAValue] = set()
    todo = [value]
    while todo:
        value = todo.pop()
        if value in block.variables:
            axes.add(value)
        elif isinstance(value.owner, Operation) and block.is_ancestor(value.owner):
            todo += value.owner.operands
    return axes


# Zeros in the padding


def _require_zero(einsum: Einsum, store: StoreOp) -> None:
    """Raise ScheduleError unless the terms in the padding of each reduction axis with a longer loop are 0."""
    block = einsum.block
    longer = _longer_loops(einsum)
    for axis, variable in zip(block.axes, block.variables, strict=True):
        if axis.kind == "spatial" or variable not in longer:
            continue
        name = block_name(block)
        if axis.kind != "reduce":
            raise ScheduleError(
                f"axis {axis.name} of block {name} is padded, expected a spatial or reduce axis", [block]
            )
        addend = _addend(store)
        if addend is None:
            raise ScheduleError(f"block {name} is no sum, so the padding of axis {axis.name} would count", [block])
        zero = {op for op, dims in einsum.accesses.items() if any(dim.axis is variable for dim in dims)}
        if not _is_zero(addend, zero):
            raise ScheduleError(
                f"what block {name} adds is not known to be 0 in the padding of axis {axis.name}: expected a product "
                "in which every element has that axis as an index",
                [block],
            )


def _addend(store: StoreOp) -> SSAValue | None:
    """The term that a store adds to its element; None if the store is no such addition."""
    op = store.value.owner
    if not isinstance(op, arith.AddiOp | arith.AddfOp):
        return None
    for old, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(old.owner, LoadOp) and _same_element(old.owner, store):
            return other
    return None


def _is_zero(value: SSAValue, zero: set[LoadOp | StoreOp]) -> bool:
    """Whether a value is 0 if the loads in `zero` yield 0. 0 * x is 0 only for a finite x: an integer or a constant."""
    if constant_value(value) is not None:
        return constant_value(value) == 0
    op = value.owner
    match op:
        case LoadOp():
            return op in zero
        case LetOp() | CastOp():
            return _is_zero(op.operands[0], zero)
        case arith.MuliOp() | arith.MulfOp():
            pairs = ((op.lhs, op.rhs), (op.rhs, op.lhs))
            return any(_is_zero(a, zero) and (_is_finite(b) or _is_zero(b, zero)) for a, b in pairs)
        case _ if not isinstance(op, Block) and BINARY_NAMES.get(type(op)) in ("add", "sub", "min", "max"):
            return all(_is_zero(operand, zero) for operand in op.operands)
        case _:
            return False


def _is_finite(value: SSAValue) -> bool:
    source = value.owner.operands[0] if isinstance(value.owner, CastOp | LetOp) else value
    number = constant_value(value)
    return math.isfinite(number) if number is not None else dtype_of(source.type).is_int


# Rewriting


def _pad(einsum: Einsum) -> None:
    block = einsum.block
    scope = enclosing_scope(block)
    first, last = (gap_beside(scope, block, after=after) for after in (False, True))
    erase_accesses([block])
    copies: dict[tuple[SSAValue, tuple[Dim, ...]], SSAValue] = {}
    written = {op.buffer for op in einsum.accesses if isinstance(op, StoreOp)}
    ordered = sorted(einsum.accesses.items(), key=lambda item: item[0].buffer in written)
    for op, dims in ordered:
        key = (op.buffer, dims)
        if key not in copies:
            copies[key] = _copy(einsum, op.buffer, dims, last if op.buffer in written else first, op.buffer in written)
        _redirect(op, copies[key], dims)
    _extend(einsum)
    renew_accesses([block])
    simplify_blocks([next(iter(loops_around(block)), block)])


def _copy(einsum: Einsum, buffer: SSAValue, dims: Sequence[Dim], gap: Gap, is_output: bool) -> SSAValue:
    """Allocate the padded copy of a buffer, and build the block that fills the copy or copies it to the buffer."""
    func, scope = function_of(einsum.block), enclosing_scope(einsum.block)
    analyzer = Analyzer()
    name = f"{buffer_name(buffer)}_pad"
    space = cast("MemRefType[Attribute]", buffer.type).memory_space
    copy = allocate_copy(analyzer, scope, fresh_buffer_name(func, name), buffer, [dim.padded for dim in dims], space)
    scratch = Block()
    counts = [dim.extent if is_output else dim.padded for dim in dims]
    block = _nest(TirBuilder(scratch, einsum.block.location), fresh_block_name(func, name), counts, einsum.block)
    builder = TirBuilder(block.body.block, einsum.block.location)
    if is_output:
        builder.store(builder.load(copy, block.variables), buffer, _element(builder, block, dims))
    else:
        builder.store(_guard_load(builder, block, buffer, dims), copy, list(block.variables))
    gap.insert_all(scratch)
    renew_accesses([block])
    return copy


def _nest(builder: TirBuilder, name: str, counts: Sequence[Lin], like: BlockOp) -> BlockOp:
    """Build loops `i0, i1, ...` around an empty block with axes `v0, v1, ...`; returns the block."""
    analyzer, type = Analyzer(), index_type(like)
    variables: list[SSAValue] = []
    for n, count in enumerate(counts):
        loop = builder.insert(make_loop(f"i{n}", 0, export_mixed(analyzer, count, builder, type), type))
        variables.append(loop.variable)
        builder.point = InsertPoint.at_end(loop.body.block)
    axes = [
        Axis(f"v{n}", "spatial", 0, export_mixed(analyzer, count, builder, type), variable)
        for n, (count, variable) in enumerate(zip(counts, variables, strict=True))
    ]
    return builder.insert(BlockOp(name, axes))


def _element(builder: TirBuilder, block: BlockOp, dims: Sequence[Dim]) -> list[SSAValue]:
    """The indices of the element that the axes of a copying block denote."""
    analyzer = Analyzer()
    pairs = zip(block.variables, dims, strict=True)
    return [export(analyzer, dim.low + Lin.of(variable), builder, variable.type) for variable, dim in pairs]


def _guard_load(builder: TirBuilder, block: BlockOp, buffer: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    """The value of an element, or 0 in the padding."""
    inside: SSAValue | None = None
    for variable, dim in zip(block.variables, dims, strict=True):
        if dim.is_padded:
            bound = builder.binary("lt", variable, export(Analyzer(), dim.extent, builder, variable.type))
            inside = bound if inside is None else builder.binary("and", inside, bound)
    assert inside is not None
    element = cast("MemRefType[Attribute]", buffer.type).element_type
    return builder.if_then_else(
        inside,
        element,
        lambda: builder.load(buffer, _element(builder, block, dims)),
        lambda: builder.const(0, dtype_of(element)),
    )


def _redirect(op: LoadOp | StoreOp, buffer: SSAValue, dims: Sequence[Dim]) -> None:
    """Redirect an access to a padded copy."""
    builder = TirBuilder(InsertPoint.before(op), op.location)
    indices = [
        builder.const(0, dtype_of(index.type)) if dim.axis is None else index
        for index, dim in zip(op.indices, dims, strict=True)
    ]
    old = list(op.indices)
    head = [[op.value]] if isinstance(op, StoreOp) else []
    set_operands(op, [*head, [buffer], indices, []])
    for index in old:
        erase_if_dead(index)


def _longer_loops(einsum: Einsum) -> dict[SSAValue, ForOp]:
    """The loops to which exactly one axis, a padded one, is directly bound: their extents are padded too."""
    loops: dict[SSAValue, ForOp] = {loop.variable: loop for loop in loops_around(einsum.block)}
    bindings = list(einsum.block.bindings)
    longer: dict[SSAValue, ForOp] = {}
    for axis, variable in zip(einsum.block.axes, einsum.block.variables, strict=True):
        loop = loops.get(axis.binding)
        if variable in einsum.padded and loop is not None and tuple(loop.mixed_bounds) == (0, axis.extent, 1):
            if sum(depends_on([binding], loop.variable) for binding in bindings) == 1:
                longer[variable] = loop
    return longer


def _extend(einsum: Einsum) -> None:
    """Set the padded extents of axes and loops."""
    analyzer = Analyzer()

    def padded_extent(variable: SSAValue, place: Operation) -> Mixed:
        return export_mixed(analyzer, einsum.padded[variable], builder_before(place), variable.type)

    for variable, loop in _longer_loops(einsum).items():
        old = list(loop.bounds)
        loop.static_bounds, loop.operands = split_mixed([0, padded_extent(variable, loop), 1])
        for value in old:
            erase_if_dead(value)
    axes: list[Axis] = []
    for axis, variable in zip(einsum.block.axes, einsum.block.variables, strict=True):
        extent = padded_extent(variable, einsum.block) if variable in einsum.padded else axis.extent
        axes.append(Axis(axis.name, axis.kind, axis.low, extent, axis.binding))
    set_axes(einsum.block, axes)
