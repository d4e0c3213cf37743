"""The pass `tir-split-batch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, MemRefType, ModuleOp, NoneAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.names import symbols_of
from ...analysis.scopes import declarations, loops_around, only_child, statements
from ...analysis.unscheduled import is_graph_kernel, unscheduled_functions
from ...analysis.work import block_nanoseconds
from ...core.dtypes import dtype_of
from ...core.identifiers import fresh_name
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import (
    AccessOp,
    AddressOfOp,
    AllocBufferOp,
    BlockOp,
    CallOp,
    ForOp,
    FuncOp,
    LoadOp,
    MatchBufferOp,
    StoreOp,
    SymbolOp,
    TirBuilder,
)
from ...dialects.tir.base import DYNAMIC
from ...dialects.tir.tree import depends_on
from ...schedule.cpu.threads import LEAST_TIME
from .extents import set_extents

ITEM = ".item"
"""The end of the name of a function that computes one item of a batch, after the name of the kernel that calls it."""
_LEAST_ROWS = 16
"""The least number of rows of an item that a matrix, which all items share, is multiplied by."""
_ITEMS = 4
"""The least number of items that a thread computes, if threads can share the computation of an item."""
_remarks = PassRemarks("tir-split-batch")


@dataclass(frozen=True)
class TirSplitBatchPass(ModulePass):
    """Divides kernels of graphs for a batch of any number of items into a loop over the items, and a function that
    computes an item, whose sizes are static.

    So an image of a batch of any size has the schedule of an image. Threads share the items of a large batch, and the
    loops of an item of a small one.

    A kernel is divided if the number of items is its only dynamic size: the first extent of buffers, and of the first
    axis of all blocks, which is an index of nothing but the first dimension of these buffers. An item has two
    dimensions at least, and if it is multiplied by a matrix that all items share, as are the weights of a convolution,
    16 rows for each of its columns.

    least-time: the least estimated nanoseconds of an item.

    Before
        tir.func @relu("A" %a: !tir.handle, "B" %b: !tir.handle) attrs {relay.kernel = true} {
          %n = tir.symbol "n" : i32
          %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?x64x49xf32>
          %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<?x64x49xf32>
          tir.for serial "i" %i : i32 in [0 +: %n] {
            ...

    After
        tir.func private @relu.item("A" %A: memref<1x64x49xf32>, "B" %B: memref<1x64x49xf32>) {
          tir.for serial "i" %i : i32 in [0 +: 1] {
            ...
        tir.func @relu("A" %a: !tir.handle, "B" %b: !tir.handle) attrs {relay.kernel = true} {
          ...
          tir.for parallel "item" %item : i32 in [0 +: %n] annotations {grain = 4 : i32} {
            ...
            tir.call @relu.item(%first, %second) : !tir.handle<f32>, !tir.handle<f32>

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-split-batch"

    least_time: int = 1_000

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [each for each in unscheduled_functions(op) if is_graph_kernel(each)]:
            batch = _Batch.of(func)
            if batch is None:
                continue
            reason = batch.reason_to_keep(self.least_time)
            if reason is None:
                batch.split(fresh_name(f"{func.sym_name.data}{ITEM}", symbols_of(op)))
                _remarks.applied(func, lambda f=func: f"{f.sym_name.data} computes the items of a batch one by one")
            else:
                _remarks.missed(func, lambda f=func, r=reason: f"{f.sym_name.data} computes all items at once: {r}")


@dataclass(frozen=True)
class _Batch:
    """A kernel for a batch. size: the number of items."""

    func: FuncOp
    size: SSAValue

    @classmethod
    def of(cls, func: FuncOp) -> _Batch | None:
        """The batch of a function; None if it has no dynamic size, or several."""
        symbols = [op.result for op in func.body.block.ops if isinstance(op, SymbolOp)]
        return cls(func, symbols[0]) if len(symbols) == 1 else None

    @property
    def blocks(self) -> list[BlockOp]:
        return list(find_ops(self.func, BlockOp))

    def _has_items(self, buffer: SSAValue) -> bool:
        """Whether a buffer has the items of the batch along its first dimension."""
        assert isinstance(buffer.type, MemRefType)
        return DYNAMIC in buffer.type.get_shape()

    def reason_to_keep(self, least_time: int) -> str | None:
        """The reason why a function is not divided; None if it is."""
        func = self.func
        body = func.body.block
        if func.result_type is not None or not all(isinstance(op, ForOp) for op in statements(body)):
            return "it has statements other than loops"
        if not all(map(self._is_plain_buffer, declarations(body))):
            return "the number of items is an extent elsewhere than along first dimensions"
        blocks = self.blocks
        if not blocks or not all(map(self._is_over_items, blocks)):
            return "its blocks are not all in a loop over the items"
        if self._has_other_uses():
            return "the number of items is used elsewhere than as an extent"
        if not any(self._has_items(buffer) and _has_dimensions(buffer) for buffer in self._buffers()):
            return "its items have less than two dimensions"
        if any(rows < _LEAST_ROWS for block in blocks for rows in self._rows_of_products(block)):
            return "a matrix is multiplied by a few rows of each item"
        if self._nanoseconds() < least_time:
            return "an item takes too little time"
        return None

    def _is_plain_buffer(self, op: Operation) -> bool:
        """Whether a declaration is of a compact buffer with the items along the first dimension, or of static size."""
        if isinstance(op, SymbolOp):
            return True
        if not isinstance(op, AllocBufferOp | MatchBufferOp) or not isinstance(op.type.layout, NoneAttr):
            return False
        return all(extent is self.size for extent in op.dims) and DYNAMIC not in op.type.get_shape()[1:]

    def _is_over_items(self, block: BlockOp) -> bool:
        """Whether the first axis of a block is a loop over the items, which is an index of first dimensions alone."""
        loops = loops_around(block)
        if not block.axes or not loops or not all(only_child(loop) is not None for loop in loops):
            return False
        axis, variable = block.axes[0], block.variables[0]
        is_loop = axis.binding is loops[0].variable and not any(
            depends_on(other.binding, (loops[0].variable,)) for other in block.axes[1:]
        )
        whole = axis.low == 0 and axis.extent is self.size and loops[0].mixed_bounds == (0, self.size, 1)
        return is_loop and whole and axis.kind == "spatial" and self._is_index_of_items(block, variable)

    def _is_index_of_items(self, block: BlockOp, item: SSAValue) -> bool:
        """Whether the number of an item is the first index of all buffers with items, and used nowhere else."""
        accesses = [op for op in find_ops(block, LoadOp, StoreOp, AccessOp) if self._has_items(op.buffer)]
        firsts = [op.region[0][0] if isinstance(op, AccessOp) else op.indices[0] for op in accesses]
        return all(first is item for first in firsts) and len(list(item.uses)) == len(accesses)

    def _has_other_uses(self) -> bool:
        return not all(
            isinstance(use.operation, AccessOp | AllocBufferOp | BlockOp | ForOp | MatchBufferOp)
            for use in self.size.uses
        )

    def _buffers(self) -> Iterator[SSAValue]:
        for op in declarations(self.func.body.block):
            if isinstance(op, AllocBufferOp | MatchBufferOp):
                yield op.buffer

    def _rows_of_products(self, block: BlockOp) -> Iterator[int]:
        """The number of rows of an item that a matrix is multiplied by, for each matrix without items that a block with
        sums reads."""
        if block.init is None:
            return
        axes = list(zip(block.variables, block.axes, strict=True))[1:]
        for load in find_ops(block, LoadOp):
            if not self._has_items(load.buffer):
                rows = [
                    axis.extent
                    for variable, axis in axes
                    if axis.kind == "spatial" and not any(depends_on(index, (variable,)) for index in load.indices)
                ]
                yield prod(extent for extent in rows if isinstance(extent, int))

    def _nanoseconds(self) -> float:
        """An estimate of the time of an item."""
        return sum(map(block_nanoseconds, self.blocks))

    def split(self, name: str) -> None:
        """Moves the computation of an item to a private function, which a loop over the items calls."""
        func = self.func
        body, time = func.body.block, self._nanoseconds()
        matched = {op.source: op.buffer for op in body.ops if isinstance(op, MatchBufferOp)}
        buffers = [matched.get(argument, argument) for argument in body.args]
        item = self._item(name, [op for op in body.ops if not isinstance(op, SymbolOp | MatchBufferOp)], buffers)
        parent = func.parent
        assert parent is not None
        parent.insert_op_before(item, func)
        self._call(item, buffers, _ITEMS if time >= 2 * LEAST_TIME else ceil(LEAST_TIME / time))

    def _item(self, name: str, ops: Sequence[Operation], buffers: Sequence[SSAValue]) -> FuncOp:
        """The function of an item. ops: moved to it.  buffers: its parameters, with all items."""
        func = self.func
        types = [_type_of_item(buffer) for buffer in buffers]
        body = Block(arg_types=types)
        for op in ops:
            op.detach()
            body.add_op(op)
        for op in list(body.walk()):
            self._make_single(op)
        made = FuncOp(
            name,
            [(parameter, type) for (parameter, _), type in zip(func.params, types, strict=True)],
            attrs=func.func_attrs,
            body=Region(body),
            private=True,
        )
        for buffer, argument in zip(buffers, body.args, strict=True):
            if buffer.name_hint is not None:
                set_name_hint(argument, buffer.name_hint)
            buffer.replace_uses_with_if(argument, lambda use: made.is_ancestor(use.operation))
        made.location = func.location
        return made

    def _make_single(self, op: Operation) -> None:
        """Makes the number of items 1 in an operation."""
        match op:
            case AllocBufferOp() if op.dims:
                copy = op.copy_with_shape([1, *op.type.get_shape()[1:]], op.type.memory_space)
                copy.location = op.location
                Rewriter.replace_op(op, copy)
            case ForOp() if op.mixed_bounds[1] is self.size:
                set_extents(op, [0], lambda n, type: 1)
            case BlockOp():
                set_extents(op, [0], lambda n, type: 1)
            case AccessOp() if numbers := [n for n, (_, extent) in enumerate(op.region) if extent is self.size]:
                set_extents(op, numbers, lambda n, type: 1)
            case _:
                pass

    def _call(self, item: FuncOp, buffers: Sequence[SSAValue], grain: int) -> None:
        """Adds the loop over the items. grain: the least number of items that a thread computes."""
        builder = TirBuilder(InsertPoint.at_end(self.func.body.block), self.func.location)
        annotations = DictionaryAttr({"grain": IntegerAttr(grain, i32)})
        loop = builder.insert(ForOp("item", 0, self.size, self.size.type, kind="parallel", annotations=annotations))
        with builder.at(loop.body.block):
            pointers = list[SSAValue]()
            for buffer in buffers:
                assert isinstance(buffer.type, MemRefType)
                zeros = [builder.const(0, dtype_of(self.size.type)) for _ in buffer.type.get_shape()]
                indices = [loop.variable, *zeros[1:]] if self._has_items(buffer) else zeros
                pointers.append(builder.insert(AddressOfOp(buffer, indices)).pointer)
            builder.insert(CallOp(item.sym_name.data, pointers))


def _has_dimensions(buffer: SSAValue) -> bool:
    """Whether the items of a buffer have several dimensions."""
    assert isinstance(buffer.type, MemRefType)
    return sum(extent > 1 for extent in buffer.type.get_shape()) > 1


def _type_of_item(buffer: SSAValue) -> MemRefType[Attribute]:
    """The type of a buffer of one item."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape = [1 if extent == DYNAMIC else extent for extent in type.get_shape()]
    return MemRefType(type.element_type, shape, type.layout, type.memory_space)
