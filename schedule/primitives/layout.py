"""The primitive `transform_layout`: buffers in a new layout."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from ...analysis.index import Analyzer, Lin, type_range
from ...analysis.iter_map import Domain, DomainVar, lin_text, why_not_injective, why_not_onto
from ...analysis.names import buffer_name
from ...analysis.regions.access_regions import buffer_shape
from ...analysis.regions.relax import Relaxer
from ...analysis.scopes import all_blocks
from ...core.errors import ScheduleError
from ...dialects.schedule import BoundMap, SetAxisSeparatorOp, TransformLayoutOp
from ...dialects.tir import AccessOp, AllocBufferOp, BlockOp, FuncOp, LoadOp, MatchBufferOp, StoreOp, SymbolOp
from ...dialects.tir.buffers import buffer_type
from ...dialects.tir.operands import set_operands
from ...dialects.tir.tree import erase_if_dead, treeify
from ..handles import BlockLike, BlockRV
from ..recorder import Recorder
from ..rewriting.copies import access_at, require_block, set_indices, side_accesses, sum_type
from ..rewriting.index_maps import (
    IndexMap,
    PadValue,
    apply_map,
    map_bounds,
    padding_value,
    require_divisors,
    require_sizes_of,
    separated_index_map,
    share_parameters,
)
from ..rewriting.layout_padding import add_padding_block, plan_padding, rewrite_writers, wrap_stores
from ..rewriting.nest import builder_before, export_mixed, function_of, make_loop, renew_accesses
from ..rewriting.parameters import match_parameter, require_uncalled
from ..state import State, applies
from .axis_separators import require_separators
from .reindex import SidedBuffer, buffer_side


class LayoutPrimitives(Recorder):
    """Primitives that change the layout of a buffer."""

    def transform_layout(
        self,
        block: BlockLike,
        buffer: SidedBuffer,
        index_map: IndexMap,
        pad_value: Any = None,
        *,
        axis_separators: Sequence[int] | None = None,
        assume_injective_transform: bool = False,
    ) -> None:
        """Change the layout of a buffer: the element at `index` moves to `index_map(index)` in the whole function.

            B = T.alloc_buffer((8, 16))                  B = T.alloc_buffer((8, 4, 4))
            ...                                   ->     ...
            B[vi, vj] = A[vi, vj]                        B[vi, vj // 4, vj % 4] = A[vi, vj]

        block: a block that reads or writes the buffer.  buffer: ("read", index), ("write", index), or its name.
        index_map: a function of one index per dimension that returns a tuple of indices, with +, -, and //, % and * by
        integers, by numbers that the schedule has sampled, and by sizes of the program (`get_size`); a divisor must be
        positive for every element of the buffer.  pad_value: the value of elements to which the map assigns no index: a
        number, or a function of the new indices that returns a number or such an index; None: unspecified, and no block
        reads them. If the only block that writes the buffer writes its elements in order, it writes the padding too;
        otherwise a separate block does. The padding of a parameter that is only read is assumed to hold the value.
        axis_separators: those of the new layout, as of `set_axis_separator`; None: the positions of
        `IndexMap.AXIS_SEPARATOR` ("axis_separator") among the results of the map; without any, the buffer keeps its
        separators if it keeps its number of dimensions.  assume_injective_transform: accepted as in TVM, without
        effect: injectivity is always checked.

        A parameter changes its shape: callers of the function must pass it in the new layout. Legal if different
        elements remain different. ScheduleError with two that would not, or if the buffer has a use other than loads
        and stores of single elements.
        """
        handle = self._block(block)
        target = self._block_op(handle)
        side, index = buffer_side(target, buffer)
        old = access_at(target, side, index).buffer
        rank = len(buffer_shape(old))
        mapping, separators = separated_index_map(index_map, rank)
        if axis_separators is not None:
            separators = list(axis_separators)
            require_separators(separators, len(mapping.map.results))
        padding = padding_value(pad_value, len(mapping.map.results))
        if isinstance(padding, BoundMap):
            mapping, padding = share_parameters(mapping, padding)
        declaration = _declaration(old)
        with self.attempt():
            self.record(
                TransformLayoutOp,
                block=handle,
                buffer_side=side,
                buffer_index=index,
                index_map=mapping,
                pad_value=padding,
                assume_injective_transform=assume_injective_transform,
            )
            if separators or axis_separators is not None:
                self._separate(handle, side, declaration, separators)

    def _separate(
        self, block: BlockRV, side: str, declaration: Operation | int | None, axis_separators: list[int]
    ) -> None:
        """Set the axis separators of a buffer, whose index in the block may differ in the new layout."""
        accesses = side_accesses(require_block(self._block_op(block)), side)
        index = next((n for n, access in enumerate(accesses) if _declaration(access.buffer) == declaration), None)
        if index is None:
            raise ScheduleError(f"block {block.name} does not access the buffer in its new layout")
        self.record(
            SetAxisSeparatorOp, block=block, buffer_side=side, buffer_index=index, axis_separators=axis_separators
        )


def _declaration(buffer: SSAValue) -> Operation | int | None:
    """The declaration of a buffer, which a change of its layout keeps: an operation, or the number of a parameter."""
    if isinstance(buffer, BlockArgument):
        return buffer.index
    if isinstance(match := buffer.owner, MatchBufferOp) and isinstance(match.source, BlockArgument):
        return match.source.index
    return match if isinstance(match, Operation) else None


@dataclass(frozen=True)
class Layout:
    """A new layout of a buffer.

    indices: variables for the old indices, and `sums` the new indices in terms of them.  old, new: the shapes.
    why_padded: None if every element of the new shape is one of the old; else a text with an element that is not.
    """

    map: BoundMap
    indices: Sequence[BlockArgument]
    sums: Sequence[Lin]
    old: Sequence[Lin]
    new: Sequence[Lin]
    why_padded: str | None

    @property
    def domain(self) -> Domain:
        return index_domain(self.indices, self.old)

    def at_elements(self, analyzer: Analyzer) -> AbstractContextManager[None]:
        """Assumes in the body that the old shape contains elements."""
        return assume_elements(analyzer, self.old)

    def inside(self, analyzer: Analyzer) -> AbstractContextManager[None]:
        """Assumes in the body that the new shape contains elements, as it does at each of them."""
        return assume_elements(analyzer, self.new)


@contextmanager
def assume_elements(analyzer: Analyzer, shape: Sequence[Lin]) -> Generator[None]:
    """Assumes in the body that a shape contains elements."""
    with analyzer.assumptions():
        for extent in shape:
            analyzer.assume_not_negative(extent - 1)
        yield


def index_domain(indices: Sequence[BlockArgument], shape: Sequence[Lin]) -> Domain:
    """The domain of the indices of a shape."""
    return Domain(tuple(DomainVar(index, Lin(), extent) for index, extent in zip(indices, shape, strict=True)))


def new_layout(
    analyzer: Analyzer,
    index_map: BoundMap,
    shape: Sequence[Lin],
    types: Sequence[Attribute],
) -> Layout:
    """The layout that an index map defines for a shape, or for the domains of axes.

    types: the types of the indices.
    ScheduleError if two indices are mapped to the same one, an index to a negative one, or a divisor may not be
    positive.
    """
    indices = tuple(
        _index(analyzer, n, extent, type) for n, (extent, type) in enumerate(zip(shape, types, strict=True))
    )
    domain = index_domain(indices, shape)
    with assume_elements(analyzer, shape):
        parameters = [analyzer.exact(value) for value in index_map.values]
        with analyzer.assumptions():
            for index, extent in zip(indices, shape, strict=True):
                analyzer.assume_not_negative(Lin.of(index))
                analyzer.assume_not_negative(extent - 1 - Lin.of(index))
            sums = apply_map(analyzer, index_map, [Lin.of(index) for index in indices])
        new = [
            _extent(analyzer, result, total, indices, shape, parameters)
            for result, total in zip(index_map.map.results, sums, strict=True)
        ]
    with analyzer.assumptions():
        for extent in shape:
            analyzer.assume_not_negative(extent)
        new = [analyzer.maximum(extent, Lin()) for extent in new]  # of a shape without elements, as `4*n - 3` for n = 0
    for n, extent in enumerate(new):
        require_divisors(analyzer, extent, f"the extent of new dimension {n}")
    names = [f"dimension {n}" for n in range(len(sums))]
    reason = why_not_injective(analyzer, domain, sums, names)
    if reason is not None:
        raise ScheduleError(f"the index map puts different indices in the same place: {reason}")
    padded = why_not_onto(analyzer, domain, sums, [(Lin(), extent) for extent in new], names)
    padded = padded or _why_not_empty(analyzer, shape, new)
    return Layout(index_map, indices, sums, shape, new, padded)


def _why_not_empty(analyzer: Analyzer, old: Sequence[Lin], new: Sequence[Lin]) -> str | None:
    """None if the new shape is known to be empty where the old shape is; else the reason."""
    with assume_elements(analyzer, new):
        if all(analyzer.is_provably("ge", extent, 1) for extent in old):
            return None
    unknown = next(extent for extent in old if not analyzer.is_provably("ge", extent, 1))
    return f"the new shape may have elements where extent {lin_text(unknown)} is 0"


def _index(analyzer: Analyzer, n: int, extent: Lin, type: Attribute) -> BlockArgument:
    """A new variable with the values below an extent, which belongs to no program."""
    known = analyzer.constant(extent)
    return make_loop(f"i{n}", 0, type_range(type)[1] if known is None else known, type).variable


def _extent(
    analyzer: Analyzer,
    result: AffineExpr,
    total: Lin,
    indices: Sequence[SSAValue],
    shape: Sequence[Lin],
    parameters: Sequence[Lin],
) -> Lin:
    """The extent of a new dimension: the upper bound plus 1 of a sum of indices, or of `result` by its syntax."""
    bounds = map_bounds(analyzer, result, shape, parameters)
    if bounds is not None and analyzer.is_provably("ge", bounds[0], 0):
        return analyzer.combine(bounds[1] + 1)
    ranges = {index: (Lin(), extent - 1) for index, extent in zip(indices, shape, strict=True)}
    ends = Relaxer(analyzer, lambda value: value not in indices, ranges).ends(total)
    if ends is None or not analyzer.is_provably("ge", ends[0], 0):
        text = lin_text(total)
        start = "an unknown number" if ends is None else lin_text(ends[0])
        raise ScheduleError(
            f"the index map gives {text}, which starts at {start}, expected indices that are not negative"
        )
    return analyzer.combine(ends[1] + 1)


# transform_layout


@applies(TransformLayoutOp)
def transform_layout(
    state: State,
    block: BlockOp | FuncOp,
    buffer_side: str,
    buffer_index: int,
    index_map: BoundMap,
    pad_value: PadValue | None,
    assume_injective_transform: bool,
) -> None:
    buffer = access_at(block, buffer_side, buffer_index).buffer
    func = function_of(require_block(block))
    if index_map.map == AffineMap.identity(len(buffer_shape(buffer))):
        return
    _check_buffer(state, func, buffer)
    analyzer = Analyzer(through_lets=False)
    shape = [analyzer.exact(extent) for extent in buffer_shape(buffer)]
    require_sizes_of(func, index_map)
    layout = new_layout(analyzer, index_map, shape, [sum_type(extent) for extent in shape])
    if isinstance(buffer.owner, MatchBufferOp):
        _check_symbols(buffer.owner, layout.new)
    padding = None
    if pad_value is not None and layout.why_padded is not None:
        padding = plan_padding(buffer, layout, pad_value)
    with state.changing(check=False):
        _hoist_symbols(func, index_map)
        if padding is not None:
            rewrite_writers(padding, layout)
        new = _relocate(buffer, layout)
        if padding is not None and pad_value is not None and padding.sequential:
            wrap_stores(padding, layout, new, pad_value)
        elif padding is not None and pad_value is not None and padding.writers:
            add_padding_block(func, padding, layout, new, pad_value)
        renew_accesses(b for b in all_blocks(func) if any(access.buffer is new for access in b.accesses))
        if any(not isinstance(extent, int) for extent in buffer_shape(new)):
            treeify(func)  # the old sizes may be operands of several expressions now


def _hoist_symbols(func: FuncOp, index_map: BoundMap) -> None:
    """Move the symbols of an index map to the start of a function, before the buffers whose extents they become."""
    body = func.body.block
    leading = list(takewhile(lambda op: isinstance(op, SymbolOp), body.ops))
    for value in index_map.values:
        if isinstance(value, SSAValue) and isinstance(op := value.owner, SymbolOp) and op not in leading:
            op.detach()
            body.insert_op_before(op, next(iter(body.ops)))


def _relocate(buffer: SSAValue, layout: Layout) -> SSAValue:
    """Change the shape of a buffer and the indices of every access to it; the boxes remain to be computed anew."""
    accesses = _transform_accesses(layout, buffer)
    new = _retype(Analyzer(through_lets=False), buffer, layout.new)
    analyzer = Analyzer(through_lets=False)
    for op, indices in accesses:
        set_indices(analyzer, op, indices)
    return new


def _check_buffer(state: State, func: FuncOp, buffer: SSAValue) -> None:
    """Raise ScheduleError unless a buffer is compact, passed to no call, and accessed only by single elements."""
    name = buffer_name(buffer)
    is_parameter = isinstance(buffer, BlockArgument) or isinstance(buffer.owner, MatchBufferOp)
    if not is_parameter and not isinstance(buffer.owner, AllocBufferOp):
        raise ScheduleError(
            f"buffer {name} looks at memory that has another name ({cast(Operation, buffer.owner).name}), whose layout "
            "cannot be changed"
        )
    if not isinstance(cast("MemRefType[Attribute]", buffer.type).layout, NoneAttr):
        raise ScheduleError(f"buffer {name} has strides or an offset, expected a compact one")
    for use in buffer.uses:
        op = use.operation
        if not isinstance(op, LoadOp | StoreOp | AccessOp):
            raise ScheduleError(
                f"buffer {name} is used otherwise than to load and store elements ({op.name}), which is not "
                "supported yet",
                [_statement(op)],
            )
        if not isinstance(op, AccessOp) and any(not _is_scalar(index) for index in op.indices):
            raise ScheduleError(
                f"buffer {name} is accessed by vectors of elements; transform its layout before", [_statement(op)]
            )
    if is_parameter:
        require_uncalled(state, func, buffer)


def _is_scalar(index: SSAValue) -> bool:
    return index.type.name == "integer_type"


def _statement(op: Operation) -> Operation:
    """The innermost block around an op; the op itself without such a block."""
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, BlockOp):
        parent = parent.parent_op()
    return op if parent is None else parent


def _check_symbols(op: MatchBufferOp, shape: Sequence[Lin]) -> None:
    """Raise ScheduleError if a symbolic size could no longer be determined from any argument."""
    kept = {extent.atom for extent in shape}
    for dim in op.dims:
        if not isinstance(dim.owner, SymbolOp) or dim in kept:
            continue
        others = (use.operation for use in dim.uses if use.operation is not op)
        if not any(isinstance(other, MatchBufferOp) and dim in other.operands for other in others):
            raise ScheduleError(
                f"size {dim.owner.var_name.data} is known from the shape of parameter {op.buffer_name.data} alone, and "
                "would not be one of its extents any more"
            )


def _transform_accesses(layout: Layout, buffer: SSAValue) -> list[tuple[Operation, list[Lin]]]:
    """The loads, stores and accesses of a buffer with their new indices; for a box, those of its minimum."""
    analyzer = Analyzer(through_lets=False)
    accesses: list[tuple[Operation, list[Lin]]] = []
    for op in dict.fromkeys(use.operation for use in buffer.uses):
        match op:
            case LoadOp() | StoreOp():
                old = [analyzer.exact(index) for index in op.indices]
            case AccessOp():
                old = [analyzer.exact(low) for low, _ in op.region]
            case _:
                continue
        with layout.at_elements(analyzer):
            accesses.append((op, apply_map(analyzer, layout.map, old)))
    return accesses


def _retype(analyzer: Analyzer, buffer: SSAValue, shape: Sequence[Lin]) -> SSAValue:
    """Change the shape of a buffer in its declaration; returns the new buffer."""
    old = cast("MemRefType[Attribute]", buffer.type)
    owner = buffer.owner
    if isinstance(owner, Block):
        dims = [analyzer.constant(extent) for extent in shape]
        if None not in dims:
            return Rewriter.replace_value_with_new_type(
                buffer, buffer_type(old.element_type, [cast(int, d) for d in dims], space=old.memory_space)
            )
        return _retype(analyzer, match_parameter(cast(BlockArgument, buffer)), shape)
    assert isinstance(owner, AllocBufferOp | MatchBufferOp)
    builder = builder_before(owner)
    mixed = [export_mixed(analyzer, extent, builder, sum_type(extent)) for extent in shape]
    head = [[owner.source]] if isinstance(owner, MatchBufferOp) else []
    dims, old_dims = [d for d in mixed if isinstance(d, SSAValue)], list(owner.dims)
    set_operands(owner, [*head, dims, owner.strides, owner.offset])
    if len(shape) != old.get_num_dims():
        owner.separators = ()
    for value in old_dims:
        erase_if_dead(value)
    return Rewriter.replace_value_with_new_type(
        owner.buffer, buffer_type(old.element_type, mixed, space=old.memory_space)
    )
