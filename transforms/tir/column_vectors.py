"""Vectors of columns of buffers in registers: the rows, transposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.lanes import LaneBuilder, NotVectorizable
from ...analysis.scopes import only_child
from ...analysis.threads.memories import is_local
from ...analysis.transposes import can_transpose, transpose
from ...core.dtypes import dtype_of, element_byte_size
from ...core.walking import find_ops
from ...dialects.tir import ForOp, LoadOp, RampOp, StoreOp, TirBuilder, constant_value
from ...dialects.tir.tree import is_pure_expression, treeify


@dataclass(frozen=True)
class _Nest:
    """A vectorized loop in an unrolled loop, whose statement reads columns of buffers in registers.

    outer, inner: the loops.  columns, rows: their extents.  ops: the expressions of the statement, and the store.
    loads: the loads of the elements of a column.
    """

    outer: ForOp
    inner: ForOp
    columns: int
    rows: int
    ops: Sequence[Operation]
    loads: Sequence[LoadOp]


def vectorize_columns(inner: ForOp) -> ForOp | None:
    """Emits the iterations of an unrolled loop around a vectorized loop that reads a column of a buffer in registers in
    each of them: the rows are loaded and transposed. Returns the unrolled loop, which the emitted operations precede;
    None where the loops stay as they are.

    The columns and rows must form a matrix that `transpose` supports, and the elements of a row must be contiguous.
    """
    outer = inner.parent_op()
    if not isinstance(outer, ForOp) or outer.kind.data != "unrolled" or only_child(outer) is not inner:
        return None
    if not any(is_local(op.buffer) for op in find_ops(inner, LoadOp)):
        return None
    treeify(outer)
    nest = _nest(outer, inner)
    if nest is None:
        return None
    piece = Block()
    builder = TirBuilder(InsertPoint.at_end(piece), inner.location)
    try:
        _emit(nest, builder)
    except NotVectorizable:
        for op in reversed(list(piece.ops)):
            op.detach()
            op.erase(safe_erase=False)
        return None
    block = outer.parent
    assert block is not None
    for op in list(piece.ops):
        op.detach()
        block.insert_op_before(op, outer)
    return outer


def _nest(outer: ForOp, inner: ForOp) -> _Nest | None:
    """The nest of two loops; None if it has another form."""
    counts = [_count(loop) for loop in (outer, inner)]
    *expressions, store = inner.body.block.ops
    around = [op for op in outer.body.block.ops if op is not inner]
    plain = all(is_pure_expression(op) or isinstance(op, LoadOp) for op in (*around, *expressions))
    if None in counts or not plain or not isinstance(store, StoreOp) or store.predicate is not None:
        return None
    columns, rows = (count for count in counts if count is not None)
    size = element_byte_size(store.value.type)
    loads = [op for op in expressions if isinstance(op, LoadOp) and is_local(op.buffer)]
    fits = can_transpose(rows, columns, size) and all(_is_plain(op, store.buffer, size) for op in loads)
    if not loads or not fits:
        return None
    return _Nest(outer, inner, columns, rows, [*expressions, store], loads)


def _is_plain(load: LoadOp, stored: SSAValue, size: int) -> bool:
    """Whether a load reads an element of a number of bytes, of a buffer that shares no memory with the stored one."""
    element, uses = load.result.type, load.buffer.uses
    return (
        load.predicate is None
        and not isinstance(element, VectorType)
        and element_byte_size(element) == size
        and load.buffer is not stored
        and all(isinstance(use.operation, LoadOp | StoreOp) for use in uses)
    )


def _count(loop: ForOp) -> int | None:
    low, extent, step = loop.mixed_bounds
    return extent if isinstance(low, int) and isinstance(extent, int) and step == 1 else None


def _emit(nest: _Nest, builder: TirBuilder) -> None:
    """Emits the rows, their transposes, and the statement for each column. Raises NotVectorizable for rows that are not
    contiguous."""
    size = element_byte_size(nest.loads[0].result.type)
    columns = [transpose(_rows(nest, load, builder), nest.columns, size, builder.shuffle) for load in nest.loads]
    for n in range(nest.columns):
        _emit_column(nest, builder, n, [vectors[n] for vectors in columns])


def _rows(nest: _Nest, load: LoadOp, builder: TirBuilder) -> list[SSAValue]:
    """Loads the rows of a buffer, of which a load reads the elements of a column."""
    needed = _operands_in(nest, load.indices)
    first, rows = nest.inner.mixed_bounds[0], list[SSAValue]()
    assert isinstance(first, int)
    for n in range(nest.rows):
        lanes = LaneBuilder(builder, nest.outer, nest.columns, nest.outer.mixed_bounds[0])
        lanes.define(nest.inner.variable, builder.const(first + n, dtype_of(nest.inner.variable.type)))
        for op in needed:
            lanes.expression(op)
        lanes.expression(load)
        row = lanes.vector(load.result)
        if not isinstance(row.owner, LoadOp) or not _is_contiguous(row.owner):
            raise NotVectorizable("the elements of a row are not contiguous")
        rows.append(row)
    return rows


def _operands_in(nest: _Nest, values: Sequence[SSAValue]) -> list[Operation]:
    """The expressions of a nest that compute some values, in the order of the program."""
    pending, found = list(values), set[Operation]()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and nest.outer.is_ancestor(owner) and owner not in found:
            found.add(owner)
            pending += owner.operands
    return [op for op in nest.outer.walk() if op in found]


def _is_contiguous(load: LoadOp) -> bool:
    """Whether a load of a vector reads consecutive elements."""
    *others, last = load.indices
    ramp = last.owner
    is_ramp = isinstance(ramp, RampOp) and constant_value(ramp.stride) == 1
    return is_ramp and not any(isinstance(index.type, VectorType) for index in others)


def _emit_column(nest: _Nest, builder: TirBuilder, n: int, columns: Sequence[SSAValue]) -> None:
    """Emits the statement for a column, whose elements are lanes. columns: the vectors of the loads."""
    low = nest.outer.mixed_bounds[0]
    assert isinstance(low, int)
    values: dict[SSAValue, SSAValue] = {nest.outer.variable: builder.const(low + n, dtype_of(nest.outer.variable.type))}
    for op in nest.outer.body.block.ops:
        if op is not nest.inner:
            builder.insert(op.clone(values))
    copy = nest.inner.clone(values)
    lanes = LaneBuilder(builder, copy, nest.rows, copy.mixed_bounds[0])
    vectors = dict(zip(nest.loads, columns, strict=True))
    for op, twin in zip(nest.ops, copy.body.block.ops, strict=True):
        if isinstance(op, LoadOp) and op in vectors:
            assert isinstance(twin, LoadOp)
            lanes.define_lanes(twin.result, vectors[op])
        elif isinstance(twin, StoreOp):
            lanes.store(twin)
        else:
            lanes.expression(twin)
    copy.erase()
