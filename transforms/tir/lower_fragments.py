"""The pass `tir-lower-fragments`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, i32
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.names import memory_name
from ...analysis.threads.fragments import (
    COLUMNS,
    FILL,
    LOAD,
    MULTIPLY,
    NEST,
    STORE,
    SUMS,
    FragmentType,
    check_product,
    fragment_buffer_shape,
    fragment_memory,
    fragment_types,
    fragments_of,
    is_matrix_operation,
    layout_of,
)
from ...analysis.threads.registers import is_register_operation
from ...core.diagnostics import unsupported_op_error
from ...core.dtypes import dtype_of
from ...dialects.tir import (
    AccessPtrOp,
    AddressOfOp,
    AttrOp,
    CallIntrinOp,
    DeclBufferOp,
    ForOp,
    FuncOp,
    MatchBufferOp,
    Mixed,
    TirBuilder,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.tree import erase_if_dead, treeify
from .layouts import Layouts
from .lower_registers import keep_in_registers, lower_register_operation
from .pointed_memory import PointedMemory
from .pointers import replace_pointers


class TirLowerFragmentsPass(ModulePass):
    """Replaces matrix operations of a warp by the loops that they mean, in a `tir.attr` that names the operation.

    A fragment is a tile of its buffer, the tiles counted along the rows of the buffer, so that later passes see loads
    and stores of elements. A factor whose matrix has contiguous columns is transposed in its tile.
    `tir-raise-fragments` replaces the loops in kernels by matrix operations again.

    Before
        tir.call_intrin "tvm_fill_fragment"(%data, %16, %16, %16, %n, %x)

    After
        tir.attr "stepwell.fragments" of "tvm_fill_fragment" is "16x16x16" {
          tir.for serial "i" %i : i32 in [0 +: 16] {
            tir.for serial "j" %j : i32 in [0 +: 16] {
              tir.store %x, %C[%n * 16 + %i, %j] : memref<64x16xf32, "wmma.accumulator">
            }
          }
        }

    Operations on the registers of lanes become loads and stores of the elements of each lane, and a product an
    operation on their values. Memory of a warp of which each lane accesses its own row becomes memory of each thread.

    Must hold before: no tir.match_region of memory of these operations (`tir-lower-match-buffers`). Raises
    UnsupportedError for shapes and data types without matrix operations, for fragments of which nobody states the
    shape or layout, for operations that disagree about them, and for operations on registers that PTX does not have.

    Gone after: tir.call_intrin of matrix operations, but for products of values in registers.
    """

    name = "tir-lower-fragments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            lower_fragments(function)


def lower_fragments(function: FuncOp, *, in_memory: bool = False) -> None:
    """Replaces the matrix operations of a function by loops, in place. in_memory: whether products of values in
    registers become loops, too, which exchange the values in memory."""
    lowering = _Lowering(function)
    operations = [op for op in function.walk() if is_matrix_operation(op)]
    for op in operations:
        lowering.run(op)
    on_registers = [op for op in function.walk() if is_register_operation(op)]
    for op in on_registers:
        lower_register_operation(op, lowering.memories, in_memory=in_memory)
        _erase(op)
    if on_registers:
        replace_pointers(function)
        keep_in_registers(function)
    if operations or on_registers:
        treeify(function)


def _erase(op: CallIntrinOp) -> None:
    operands = list(op.operands)
    op.detach()
    op.erase()
    for value in operands:
        erase_if_dead(value)


@dataclass
class _Lowering:
    """The lowering of the matrix operations of a function."""

    function: FuncOp
    memories: PointedMemory = field(default_factory=PointedMemory)
    _buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @cached_property
    def types(self) -> dict[SSAValue, FragmentType]:
        """The types of the fragments in each memory."""
        return fragment_types(self.function)

    def run(self, op: CallIntrinOp) -> None:
        """Replaces a matrix operation."""
        fragments = [self._fragment(op, pointer, number) for pointer, number in fragments_of(op)]
        name, shape = op.intrinsic.data, "x".join(map(str, fragments[0].type.shape))
        layouts: list[str] = []
        body = Block()
        builder = TirBuilder(body, op.location)
        match name:
            case _ if name == MULTIPLY:
                layouts = _multiply(op, builder, fragments)
            case _ if name == FILL:
                _fill(builder, fragments[0], op.args[5])
            case _:
                layouts = [layout_of(op)]
                _copy(op, builder, fragments[0], layouts[0], self.memories)
        nest = AttrOp(NEST, StringAttr(name), StringAttr(" ".join([shape, *layouts])))
        nest.location = op.location
        nest.attributes.update(op.attributes)
        for inner in list(body.ops):
            inner.detach()
            nest.body.block.add_op(inner)
        TirBuilder(InsertPoint.before(op), op.location).insert(nest)
        _erase(op)

    def _fragment(self, op: CallIntrinOp, pointer: SSAValue, number: SSAValue) -> _Fragment:
        memory = fragment_memory(op, pointer)
        if memory not in self.types:
            raise unsupported_op_error(
                op,
                f"T.{op.intrinsic.data}: no shape of the fragments in {memory_name(memory)}, expected a load, "
                "fill or store of them in this function",
            )
        if isinstance(pointer.owner, AccessPtrOp | AddressOfOp):
            raise unsupported_op_error(
                op, f"T.{op.intrinsic.data}: an address in {memory_name(memory)}, expected its data and a number"
            )
        return _Fragment(op, self._buffer(op, memory), number, self.types[memory])

    def _buffer(self, op: CallIntrinOp, memory: SSAValue) -> SSAValue:
        """The buffer of some memory, as whose tiles the fragments are counted."""
        if isinstance(memory.type, MemRefType):
            return memory
        if memory not in self._buffers:
            views = [use.operation for use in memory.uses if isinstance(use.operation, DeclBufferOp | MatchBufferOp)]
            self._buffers[memory] = views[0].buffer if len(views) == 1 else self.memories.buffer(op, memory)
        return self._buffers[memory]


@dataclass(frozen=True)
class _Fragment:
    """A fragment: tile `number` of a buffer."""

    op: CallIntrinOp
    buffer: SSAValue
    number: SSAValue
    type: FragmentType

    def indices(self, builder: TirBuilder, row: SSAValue, column: SSAValue) -> list[SSAValue]:
        """The indices of an element of the matrix in the buffer."""
        tile = self.type.tile
        shape = fragment_buffer_shape(self.op, self.buffer, tile)
        if self.type.layout == COLUMNS:
            row, column = column, row
        if len(shape) == 1:
            first = builder.mul(self.number, tile[0] * tile[1])
            return [builder.add(builder.add(first, builder.mul(row, tile[1])), column)]
        beside = shape[-1] // tile[1]
        above = builder.binary("floordiv", self.number, beside)
        before = builder.binary("floormod", self.number, beside)
        line = builder.add(builder.mul(above, tile[0]), row)
        place = builder.add(builder.mul(before, tile[1]), column)
        return [*Layouts(builder).indices_at(line, _strides(shape[:-1])), place]


def _strides(shape: Sequence[int]) -> list[Mixed]:
    return [prod(shape[n + 1 :]) for n in range(len(shape))]


# Loops


def _loops(builder: TirBuilder, names: str, extents: Sequence[int]) -> list[SSAValue]:
    """Emits a loop in each other, and moves the builder into the innermost one; returns their variables."""
    variables: list[SSAValue] = []
    for name, extent in zip(names, extents, strict=True):
        loop = builder.insert(ForOp(name, 0, extent, i32))
        builder.point = InsertPoint.at_end(loop.body.block)
        variables.append(loop.variable)
    return variables


def _fill(builder: TirBuilder, fragment: _Fragment, value: SSAValue) -> None:
    i, j = _loops(builder, "ij", fragment.type.matrix)
    filled = builder.cast(value, dtype_of(fragment.type.element))
    builder.store(filled, fragment.buffer, fragment.indices(builder, i, j))


def _copy(op: CallIntrinOp, builder: TirBuilder, fragment: _Fragment, layout: str, memories: PointedMemory) -> None:
    """Emits the loops of a load from memory, or of a store of sums to memory."""
    if op.intrinsic.data == STORE and fragment.type.scope != SUMS:
        raise unsupported_op_error(op, f"T.{STORE} of {fragment.type.scope}, expected {SUMS}")
    memory, position = memories.place(op, op.args[5], builder, {})
    type = memref_type(memory)
    if type.element_type != fragment.type.element:
        got, expected = dtype_of(type.element_type), dtype_of(fragment.type.element)
        raise unsupported_op_error(op, f"T.{op.intrinsic.data}: memory of {got}, expected {expected}")
    i, j = _loops(builder, "ij", fragment.type.matrix)
    far, near = (j, i) if layout == COLUMNS else (i, j)
    distance = builder.add(builder.mul(far, op.args[6]), near)
    layouts = Layouts(builder)
    there = layouts.indices_at(builder.add(position, distance), layouts.strides(memory))
    here = fragment.indices(builder, i, j)
    if op.intrinsic.data == LOAD:
        builder.store(builder.load(memory, there), fragment.buffer, here)
    else:
        builder.store(builder.load(fragment.buffer, here), memory, there)


def _multiply(op: CallIntrinOp, builder: TirBuilder, fragments: Sequence[_Fragment]) -> list[str]:
    """Emits the loops of a product that is added to sums; returns the layouts of its factors."""
    result, left, right, sums = fragments
    check_product(op, sums.type, left.type, right.type)
    check_product(op, result.type, left.type, right.type)
    layouts = [factor.type.layout for factor in (left, right)]
    for factor in (left, right):
        if factor.type.layout is None:
            name = memory_name(fragment_memory(op, factor.buffer))
            raise unsupported_op_error(op, f"T.{MULTIPLY}: no layout of {name}, expected a load in this function")
    if result.type != sums.type:
        raise unsupported_op_error(op, f"T.{MULTIPLY}: results and sums have different types")
    m, n, depth = sums.type.shape
    dtype = dtype_of(sums.type.element)
    i, j = _loops(builder, "ij", (m, n))
    here = result.indices(builder, i, j)
    before = builder.load(sums.buffer, sums.indices(builder, i, j))
    builder.store(before, result.buffer, here)
    (k,) = _loops(builder, "k", (depth,))
    here = result.indices(builder, i, j)
    before = builder.load(result.buffer, here)
    a = builder.cast(builder.load(left.buffer, left.indices(builder, i, k)), dtype)
    b = builder.cast(builder.load(right.buffer, right.indices(builder, k, j)), dtype)
    builder.store(builder.add(before, builder.mul(a, b)), result.buffer, here)
    return [layout for layout in layouts if layout is not None]
