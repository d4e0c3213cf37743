"""The pass `tir-split-batch`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, is_index_arithmetic
from ...analysis.names import block_name, symbols_of
from ...analysis.scopes import declarations, loops_around, only_child, parameter_buffers, statements
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
    BufferOp,
    CallOp,
    ForOp,
    FuncOp,
    LoadOp,
    MatchBufferOp,
    Mixed,
    StoreOp,
    SymbolOp,
    TirBuilder,
)
from ...dialects.tir.base import DYNAMIC
from ...dialects.tir.static import make_static
from ...dialects.tir.tree import depends_on, erase_if_dead, is_pure_expression
from ...schedule.cpu import threads
from ...schedule.rewriting.nest import erase_accesses, make_loop, renew_accesses
from .extents import set_extents

ITEM = ".item"
"""The end of the name of a function that computes one item of a batch, after the name of the kernel that calls it."""
_LEAST_ROWS = 4
"""The least number of rows of an item that a matrix, which all items share, is multiplied by."""
_ITEMS = 2
"""The number of items for each thread from which threads share the items, if they can share the computation of an item:
numbers that are no multiples of the threads leave some of them without work for a part of the time."""
_SHORT = 8
"""The divisor of the time of a thread's part of a loop (`threads.LEAST_TIME`) for the least time of an item."""
_remarks = PassRemarks("tir-split-batch")


@dataclass(frozen=True)
class TirSplitBatchPass(ModulePass):
    """Divides kernels of graphs for a batch of any number of items into a loop over the items, and a function that
    computes an item, whose sizes are static.

    So an image of a batch of any size has the schedule of an image. Threads share the items of a large batch, and the
    loops of an item of a small one.

    A kernel is divided if the number of items is its only dynamic size, the first extent of parameters, and if each
    item is computed from the same item of its parameters: a block has an axis of as many elements for each item, as
    the tiles of images of Winograd's algorithm, and accesses elements of this item, and others that all items share.
    An item has two dimensions at least, and if it is multiplied by a matrix that all items share, as are the weights of
    a convolution, 4 rows at least. It takes a microsecond at least, by an estimate.

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
          tir.for parallel "item" %item : i32 in [0 +: %n] annotations {least_per_thread = 2 : i32} {
            ...
            tir.call @relu.item(%first, %second) : !tir.handle<f32>, !tir.handle<f32>

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-split-batch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in [each for each in unscheduled_functions(op) if is_graph_kernel(each)]:
            batch = _Batch.of(func)
            if batch is None:
                continue
            reason = batch.reason_to_keep()
            if reason is None:
                batch.split(fresh_name(f"{func.sym_name.data}{ITEM}", symbols_of(op)))
                _remarks.applied(func, lambda f=func: f"{f.sym_name.data} computes the items of a batch one by one")
            else:
                _remarks.missed(func, lambda f=func, r=reason: f"{f.sym_name.data} computes all items at once: {r}")


class _Batch:
    """A kernel for a batch. size: the number of items."""

    def __init__(self, func: FuncOp, size: SSAValue):
        self.func = func
        self.size = size
        self.blocks = list(find_ops(func, BlockOp))
        self._analyzer = Analyzer()

    @staticmethod
    def of(func: FuncOp) -> _Batch | None:
        """The batch of a function; None if it has no dynamic size, or several."""
        symbols = [op.result for op in func.body.block.ops if isinstance(op, SymbolOp)]
        return _Batch(func, symbols[0]) if len(symbols) == 1 else None

    def _of_item(self, extent: Mixed) -> int | None:
        """The part of an extent that is of one item: the number that the number of items is multiplied by. None for
        other extents."""
        if isinstance(extent, int):
            return None
        lin = self._analyzer.exact(extent)
        return lin.terms.get(self.size) if len(lin.terms) == 1 and lin.const == 0 else None

    def _dimension(self, buffer: SSAValue) -> int | None:
        """The number of the dimension of a buffer along which it has the items; None for a buffer without items."""
        assert isinstance(buffer.type, MemRefType)
        shape = buffer.type.get_shape()
        return shape.index(DYNAMIC) if DYNAMIC in shape else None

    # Conditions

    def reason_to_keep(self) -> str | None:
        """The reason why a function is not divided; None if it is."""
        body = self.func.body.block
        if self.func.result_type is not None or not all(isinstance(op, ForOp) for op in statements(body)):
            return "it has statements other than loops"
        if not all(isinstance(buffer.type, MemRefType) for buffer in parameter_buffers(self.func)):
            return "it has parameters other than buffers"
        if not all(map(self._is_plain, declarations(body))):
            return "a buffer has several dynamic extents, strides, or no elements"
        if not self.blocks or not all(map(self._is_over_items, self.blocks)):
            return "its blocks are not all in loops over the items and static extents"
        for block in self.blocks:
            if not self._computes_items(block):
                return f"block {block_name(block)} computes an item from others, or from their number"
        if not any(map(_has_dimensions, parameter_buffers(self.func))):
            return "its items have less than two dimensions"
        if any(rows < _LEAST_ROWS for block in self.blocks for rows in self._rows_of_products(block)):
            return "a matrix is multiplied by a few rows of each item"
        if self._nanoseconds() < threads.LEAST_TIME // _SHORT:
            return "an item takes too little time"
        return None

    def _is_plain(self, op: Operation) -> bool:
        """Whether a declaration is of a compact buffer with elements, of static size or with the items along one
        dimension: along the first one in an argument."""
        if isinstance(op, SymbolOp):
            return True
        if not isinstance(op, AllocBufferOp | MatchBufferOp) or not isinstance(op.type.layout, NoneAttr):
            return False
        if 0 in op.type.get_shape():
            return False
        counts = list(map(self._of_item, op.dims))
        return (counts in ([], [1]) and self._dimension(op.buffer) in (None, 0)) or (
            isinstance(op, AllocBufferOp) and len(counts) == 1 and counts[0] is not None
        )

    def _is_over_items(self, block: BlockOp) -> bool:
        """Whether the axes of a block are its loops, of which one is over the items."""
        loops = loops_around(block)
        extents = [axis.extent for axis in block.axes]
        return (
            block.predicate is None
            and all(only_child(loop) is not None for loop in loops)
            and [axis.binding for axis in block.axes] == [loop.variable for loop in loops]
            and all(loop.mixed_bounds[0] == 0 and loop.mixed_bounds[2] == 1 for loop in loops)
            and list(map(self._static, (loop.mixed_bounds[1] for loop in loops))) == list(map(self._static, extents))
            and all(axis.low == 0 for axis in block.axes)
            and [axis.kind for axis in block.axes if not isinstance(axis.extent, int)] == ["spatial"]
            and all(isinstance(extent, int) or self._of_item(extent) is not None for extent in extents)
        )

    def _computes_items(self, block: BlockOp) -> bool:
        """Whether a block computes each item from the same item: with n elements of an axis for an item, element
        `item * n + m` accesses the elements `item * k + f(m)` of the dimensions with k elements for an item, stores
        nothing else, and depends on m alone else."""
        variable, extent = self._item_axis(block)
        count = self._of_item(extent)
        assert count is not None
        item, part = (make_loop(name, 0, end, variable.type).variable for name, end in (("b", self.size), ("m", count)))
        values = {variable: Lin.of(item, count) + (Lin.of(part) if count > 1 else 0)}

        def is_of_part(value: SSAValue, elements: int) -> bool:
            lin = self._analyzer.substitute(self._analyzer.exact(value), values) - Lin.of(item, elements)
            return not any(leaf is item or depends_on(leaf, (variable, self.size)) for leaf in lin.leaves())

        for op in block.body.walk():
            if isinstance(op, AccessOp) or is_index_arithmetic(op):
                continue
            elements = self._elements_by_index(op) if isinstance(op, LoadOp | StoreOp) else {}
            if isinstance(op, StoreOp) and not elements:
                return False
            for n, operand in enumerate(op.operands):
                if _is_number(operand) and not is_of_part(operand, elements.get(n, 0)):
                    return False
        return True

    def _item_axis(self, block: BlockOp) -> tuple[SSAValue, Mixed]:
        """The variable and the extent of the axis over the items."""
        pairs = zip(block.variables, block.axes, strict=True)
        return next((variable, axis.extent) for variable, axis in pairs if not isinstance(axis.extent, int))

    def _elements_by_index(self, op: LoadOp | StoreOp) -> dict[int, int]:
        """The number of elements of an item along the dimension with the items of an accessed buffer, by the number of
        the operand that is the index; empty without items."""
        dimension = self._dimension(op.buffer)
        if dimension is None:
            return {}
        owner = op.buffer.owner
        assert isinstance(owner, BufferOp)
        count = self._of_item(owner.dims[0])
        assert count is not None
        first = list(op.operands).index(op.indices[0])
        return {first + dimension: count}

    def _rows_of_products(self, block: BlockOp) -> Iterator[int]:
        """The number of rows of an item that a matrix is multiplied by, for each matrix without items that a block with
        sums reads."""
        if block.init is None:
            return
        for load in find_ops(block, LoadOp):
            if self._dimension(load.buffer) is None:
                yield prod(
                    axis.extent if isinstance(axis.extent, int) else self._of_item(axis.extent) or 1
                    for variable, axis in zip(block.variables, block.axes, strict=True)
                    if axis.kind == "spatial" and not any(depends_on(index, (variable,)) for index in load.indices)
                )

    def _nanoseconds(self) -> float:
        """An estimate of the time of an item."""
        return sum(map(block_nanoseconds, self.blocks))

    # Division

    def split(self, name: str) -> None:
        """Moves the computation of an item to a private function, which a loop over the items calls."""
        func = self.func
        body, time = func.body.block, self._nanoseconds()
        buffers = parameter_buffers(self.func)
        item = self._item(name, [op for op in body.ops if not isinstance(op, SymbolOp | MatchBufferOp)], buffers)
        parent = func.parent
        assert parent is not None
        parent.insert_op_before(item, func)
        part = threads.LEAST_TIME
        limits = {"least_per_thread": _ITEMS} if time >= 2 * part else {"grain": ceil(part / time)}
        self._call(item, buffers, limits)

    def _item(self, name: str, ops: Sequence[Operation], buffers: Sequence[SSAValue]) -> FuncOp:
        """The function of an item. ops: moved to it.  buffers: its parameters, with all items."""
        func = self.func
        for block in self.blocks:
            make_static(block, self._static)
        for op in find_ops(func, ForOp):
            make_static(op, self._static)
        types = [_type_of_item(buffer) for buffer in buffers]
        body = Block(arg_types=types)
        for op in ops:
            op.detach()
            body.add_op(op)
        made = FuncOp(
            name,
            [(parameter, type) for (parameter, _), type in zip(func.params, types, strict=True)],
            attrs=func.func_attrs,
            body=Region(body),
            private=True,
        )
        made.location = func.location
        for op in list(find_ops(made, AllocBufferOp)):
            if (dimension := self._dimension(op.buffer)) is not None:
                set_extents(op, [dimension], lambda n, type, size=op.dims[0]: self._static(size))
        erase_accesses(self.blocks)
        for buffer, argument in zip(buffers, body.args, strict=True):
            if buffer.name_hint is not None:
                set_name_hint(argument, buffer.name_hint)
            buffer.replace_uses_with_if(argument, lambda use: made.is_ancestor(use.operation))
        for op in [each for each in made.walk() if is_pure_expression(each)]:
            if op.parent is not None:  # not erased with another one
                erase_if_dead(op.results[0])
        renew_accesses(self.blocks)
        return made

    def _static(self, value: Mixed) -> Mixed:
        """The extent of an item for an extent of all items; other extents as they are."""
        count = self._of_item(value)
        return value if count is None else count

    def _call(self, item: FuncOp, buffers: Sequence[SSAValue], limits: Mapping[str, int]) -> None:
        """Adds the loop over the items. limits: its annotations, by which threads share it."""
        builder = TirBuilder(InsertPoint.at_end(self.func.body.block), self.func.location)
        annotations = DictionaryAttr({name: IntegerAttr(number, i32) for name, number in limits.items()})
        loop = builder.insert(ForOp("item", 0, self.size, self.size.type, kind="parallel", annotations=annotations))
        with builder.at(loop.body.block):
            pointers = list[SSAValue]()
            for buffer in buffers:
                assert isinstance(buffer.type, MemRefType)
                indices = list[SSAValue]([] if self._dimension(buffer) is None else [loop.variable])
                while len(indices) < buffer.type.get_num_dims():
                    indices.append(builder.const(0, dtype_of(self.size.type)))
                pointers.append(builder.insert(AddressOfOp(buffer, indices)).pointer)
            builder.insert(CallOp(item.sym_name.data, pointers))


def _is_number(value: SSAValue) -> bool:
    """Whether a value is an integer, and no truth value."""
    return isinstance(value.type, IndexType) or (isinstance(value.type, IntegerType) and value.type.width.data > 1)


def _has_dimensions(buffer: SSAValue) -> bool:
    """Whether a buffer has items of several dimensions."""
    assert isinstance(buffer.type, MemRefType)
    return DYNAMIC in buffer.type.get_shape() and sum(extent > 1 for extent in buffer.type.get_shape()) > 1


def _type_of_item(buffer: SSAValue) -> MemRefType[Attribute]:
    """The type of a buffer of one item."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape = [1 if extent == DYNAMIC else extent for extent in type.get_shape()]
    return MemRefType(type.element_type, shape, type.layout, type.memory_space)
