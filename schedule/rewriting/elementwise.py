"""Blocks that store single elements: the requirements of inlining, instances of blocks, and their removal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.iter_map import Domain, DomainVar, detect, invert
from ...analysis.names import block_name, buffer_name
from ...analysis.scopes import ancestors, enclosing_scope, root_buffer, statements
from ...core.errors import ScheduleError
from ...core.walking import find_ops
from ...dialects.text import expression_text
from ...dialects.tir import AccessOp, AllocBufferOp, BlockOp, BufferOp, FuncOp, LoadOp, StoreOp
from ...dialects.tir.tree import erase_statement, has_effect
from .copying import loads_in, stores_in, why_not_simple
from .nest import erase_empty_around

# Requirements


def block_statements(block: BlockOp) -> list[Operation]:
    """The statements in the body of a block."""
    return statements(block.body.block)


def element_stores(block: BlockOp | FuncOp) -> list[StoreOp]:
    """The stores of a block that only stores single elements, computed from buffers that it does not write.
    ScheduleError for any other block."""
    if isinstance(block, FuncOp):
        raise ScheduleError("block root is the body of the function, expected a block that stores single elements")
    name = block_name(block)
    if block.init is not None:
        raise ScheduleError(f"block {name} has an init, expected one that stores each element once", [block])
    stores = _simple_stores(block, block_statements(block))
    written = {root_buffer(store.buffer) for store in stores}
    read = next((load.buffer for load in loads_in(block) if root_buffer(load.buffer) in written), None)
    if read is not None:
        raise ScheduleError(f"block {name} reads buffer {buffer_name(read)}, which it writes", [block])
    return stores


def initialized_stores(block: BlockOp) -> list[StoreOp]:
    """The stores of a block whose init stores one element of a buffer, and whose other statements only update this
    element: the store of the init first. ScheduleError for any other block with an init."""
    name, init = block_name(block), block.init
    assert init is not None
    first = statements(init.body.block)
    stores = _simple_stores(block, [*first, *(op for op in block_statements(block) if op is not init)])
    if stores[0].parent_op() is not init:
        raise ScheduleError(f"the init of block {name} may store nothing, expected the store of one element", [block])
    buffer, element = stores[0].buffer, _element_of(stores[0])
    accesses = [*stores, *(load for load in loads_in(block) if root_buffer(load.buffer) is root_buffer(buffer))]
    other = next((op for op in accesses if op.buffer is not buffer or _element_of(op) != element), None)
    if other is not None:
        raise ScheduleError(
            f"block {name} accesses {element_text(other)} besides {element_text(stores[0])}, which its init stores, "
            "expected updates of this element alone",
            [block],
        )
    return stores


def _element_of(op: LoadOp | StoreOp) -> list[Lin]:
    analyzer = Analyzer()
    return [analyzer.exact(index) for index in op.indices]


def _simple_stores(block: BlockOp, ops: Sequence[Operation]) -> list[StoreOp]:
    """The stores among statements of a block. ScheduleError unless they are all that the block does, and store single
    elements."""
    name = block_name(block)
    odd = why_not_simple(ops)
    if odd is not None:
        raise ScheduleError(f"block {name} has a {odd.name} in it, expected stores of single elements only", [block])
    if any(find_ops(block, BufferOp)):
        raise ScheduleError(f"block {name} has buffers of its own, expected stores of single elements only", [block])
    if any(has_effect(op) for op in block.walk()):
        raise ScheduleError(f"block {name} makes calls, expected stores of single elements only", [block])
    stores = list(stores_in(ops))
    if any(isinstance(index.type, VectorType) for store in stores for index in store.indices):
        raise ScheduleError(f"block {name} stores vectors, expected stores of single elements", [block])
    if not stores:
        raise ScheduleError(f"block {name} stores nothing", [block])
    return stores


def enclosing_block(op: Operation) -> BlockOp | None:
    """The innermost block around an op, or None."""
    return next((outer for outer in ancestors(op) if isinstance(outer, BlockOp)), None)


def require_allocation(writer: BlockOp, buffer: SSAValue) -> AllocBufferOp:
    """The allocation of a buffer that `writer` writes. ScheduleError if the function does not allocate the buffer."""
    if not isinstance(buffer.owner, AllocBufferOp):
        raise ScheduleError(
            f"buffer {buffer_name(buffer)}, which block {block_name(writer)} writes, is not allocated in the function, "
            "so its values are needed outside",
            [writer],
        )
    return buffer.owner


def require_loads(writer: BlockOp, buffer: SSAValue, reader: BlockOp | None = None) -> list[LoadOp]:
    """The loads of a buffer that only `writer` writes. ScheduleError for any use but loads of single elements in the
    same scope (in `reader` alone, if it is passed)."""
    name, loads = buffer_name(buffer), list[LoadOp]()
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, AccessOp) or writer.is_ancestor(op):
            continue
        other = enclosing_block(op)
        where = "outside of blocks" if other is None else f"in block {block_name(other)}"
        marks = {writer: ""} if other is None else {writer: "", other: "here"}
        if isinstance(op, StoreOp):
            raise ScheduleError(f"buffer {name} is written {where} too, expected one writer", marks)
        if not isinstance(op, LoadOp) or op.predicate is not None or _has_lanes(op):
            raise ScheduleError(f"buffer {name} is used {where} by {op.name}, expected loads of single elements", marks)
        if reader is not None and not reader.body.is_ancestor(op):
            expected = f"only in block {block_name(reader)}"
            raise ScheduleError(f"buffer {name} is read {where} too, expected it to be read {expected}", marks)
        if not enclosing_scope(writer).is_ancestor(op):
            raise ScheduleError(f"buffer {name} is read {where}, outside of the scope it is written in", marks)
        loads.append(op)
    return loads


def _has_lanes(op: LoadOp) -> bool:
    return any(isinstance(index.type, VectorType) for index in op.indices)


# Instances


def axis_domain(analyzer: Analyzer, block: BlockOp, axes: Iterable[SSAValue]) -> Domain:
    """The domain of some axes of a block."""
    chosen = set(axes)
    return Domain(
        tuple(
            DomainVar(variable, analyzer.exact(axis.low), analyzer.exact(axis.extent))
            for axis, variable in zip(block.axes, block.variables, strict=True)
            if variable in chosen
        )
    )


def solve_axes(
    analyzer: Analyzer, block: BlockOp, axes: Iterable[SSAValue], indices: Sequence[Lin], element: Sequence[Lin]
) -> dict[SSAValue, Lin] | str:
    """The axis values at which `indices`, sums of the axes, equal `element`; or the reason why they are not unique."""
    names = [f"dimension {n}" for n in range(len(indices))]
    mapping = detect(analyzer, axis_domain(analyzer, block, axes), indices, names)
    return mapping if isinstance(mapping, str) else invert(analyzer, mapping, element)


def element_text(op: LoadOp | StoreOp) -> str:
    """The accessed element as program text."""
    return f"{buffer_name(op.buffer)}[{', '.join(map(expression_text, op.indices))}]"


# Changing


def blocks_using(buffers: Iterable[SSAValue]) -> set[BlockOp]:
    """The blocks that use one of the allocated buffers, directly or in nested blocks, without the blocks around the
    allocations."""
    blocks: set[BlockOp] = set()
    for buffer in buffers:
        for use in buffer.uses:
            for outer in ancestors(use.operation):
                if isinstance(outer, BlockOp) and not outer.is_ancestor(buffer.owner):
                    blocks.add(outer)
    return blocks


def erase_block(block: BlockOp) -> None:
    """Erase a block, and the loops and branches that become empty."""
    outer = block.parent_op()
    erase_statement(block)
    erase_empty_around(outer)


def erase_buffer(buffer: SSAValue) -> None:
    """Erase the allocation of an unused buffer."""
    assert isinstance(buffer.owner, AllocBufferOp)
    erase_statement(buffer.owner)
