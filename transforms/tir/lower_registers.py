"""Operations of a warp on matrices in registers, as loads and stores of the elements that each lane accesses."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer, Lin
from ...analysis.names import buffer_name
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import THREAD_AXES, bound_loop_range, is_thread_loop, thread_axis_of
from ...analysis.threads.memories import LOCAL, OF_WARP, local_buffer, memory_of
from ...analysis.threads.registers import (
    LDMATRIX,
    MMA,
    MMA_FILL,
    WarpProduct,
    check_operands,
    product_of,
    register_error,
)
from ...core.dtypes import DType, dtype_of, mlir_type, parse_dtype
from ...core.gpu import WARP_SIZE
from ...core.walking import find_ops
from ...dialects.tir import (
    AllocBufferOp,
    AttrOp,
    CallIntrinOp,
    ForOp,
    FuncOp,
    HandleType,
    LaunchThreadOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    constant_value,
    memory_space,
    scope_of,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import erase_if_dead
from .layouts import Layouts
from .pointed_memory import PointedMemory

_SIDE = 16
"""The rows and columns of the sums that `T.mma_store` stores."""


def lower_register_operation(op: CallIntrinOp, memories: PointedMemory, *, in_memory: bool) -> None:
    """Replaces an operation by loads and stores. in_memory: whether a product exchanges the factors through memory that
    the threads share, as any target can; else it is an operation on the values of the registers."""
    check_operands(op)
    lowering = _Lowering(op, memories)
    match op.intrinsic.data:
        case name if name == MMA:
            (lowering.multiply_in_memory if in_memory else lowering.multiply)(product_of(op))
        case name if name == LDMATRIX:
            lowering.load()
        case name if name == MMA_FILL:
            lowering.fill()
        case _:
            lowering.store()


@dataclass(frozen=True)
class _Registers:
    """The registers of a lane: elements of a buffer from a position on."""

    buffer: SSAValue
    position: SSAValue

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return dtype_of(memref_type(self.buffer).element_type)

    def indices(self, builder: TirBuilder, offset: SSAValue | int) -> list[SSAValue]:
        """The indices of an element."""
        layouts = Layouts(builder)
        return layouts.indices_at(builder.add(self.position, offset), layouts.strides(self.buffer))


class _Lowering:
    """The lowering of an operation. The lanes are the iterations of the loop over `threadIdx.x` around it."""

    def __init__(self, op: CallIntrinOp, memories: PointedMemory):
        self.op = op
        self.memories = memories
        self.builder = TirBuilder(InsertPoint.before(op), op.location)
        self.threads = [outer for outer in ancestors(op) if is_thread_loop(outer)]
        mine = [loop for loop in self.threads if thread_axis_of(loop) == THREAD_AXES[0]]
        if not mine:
            raise register_error(op, "outside of loops over threadIdx.x, whose iterations are the lanes of warps")
        self.loop = mine[0]
        low, extent = bound_loop_range(self.loop)
        if low != 0 or not isinstance(extent, int) or extent % WARP_SIZE:
            raise register_error(op, f"expected a multiple of {WARP_SIZE} threads of threadIdx.x, got {extent}")
        self.extent = extent
        thread = self.builder.cast(self.loop.variable, "int32")
        self.lane = thread if extent == WARP_SIZE else self.builder.binary("floormod", thread, WARP_SIZE)

    def _registers(self, pointer: SSAValue, offset: SSAValue, of_lane: int = 0) -> _Registers:
        """The registers of the lane. of_lane: their number, if `offset` is that of the registers of all lanes."""
        buffer, position = self.memories.place(self.op, pointer, self.builder, {})
        position = self.builder.add(position, self.builder.cast(offset, "int64"))
        memory = memory_of(pointer)
        assert memory is not None
        if of_lane and _scope(memory) == OF_WARP:
            mine = self.builder.mul(self.builder.cast(self.lane, "int64"), of_lane)
            position = self.builder.add(position, mine)
        return _Registers(buffer, position)

    def _loop(self, name: str, extent: int) -> SSAValue:
        """Emits a loop, and moves the builder into it; returns its variable."""
        loop = self.builder.insert(ForOp(name, 0, extent, i32))
        self.builder.point = InsertPoint.at_end(loop.body.block)
        return loop.variable

    def fill(self) -> None:
        size = self._constant(0)
        registers = self._registers(self.op.args[1], self.op.args[2], size)
        e = self._loop("e", size)
        zero = self.builder.const(0, registers.dtype)
        self.builder.store(zero, registers.buffer, registers.indices(self.builder, e))

    def store(self) -> None:
        rows, columns = self._constant(0), self._constant(1)
        if (rows, columns) != (_SIDE, _SIDE):
            raise register_error(self.op, f"sums of {rows}x{columns}, expected {_SIDE}x{_SIDE}")
        builder, count = self.builder, _SIDE * _SIDE // WARP_SIZE
        registers = self._registers(self.op.args[3], self.op.args[4], count)
        matrix = self._registers(self.op.args[2], builder.const(0, i32))
        self._check(matrix, registers.dtype)
        e = self._loop("e", count)
        half = builder.binary("floordiv", builder.binary("floormod", e, 4), 2)
        row = builder.add(builder.mul(half, 8), builder.binary("floordiv", self.lane, 4))
        first = builder.mul(builder.binary("floordiv", e, 4), 8)
        pair = builder.mul(builder.binary("floormod", self.lane, 4), 2)
        column = builder.add(builder.add(first, pair), builder.binary("floormod", e, 2))
        value = builder.load(registers.buffer, registers.indices(builder, e))
        distance = builder.add(builder.mul(row, self.op.args[5]), column)
        builder.store(value, matrix.buffer, matrix.indices(builder, distance))

    def load(self) -> None:
        """Emits the loads of matrices of 8 rows of 16 bytes: lane `8 * r + i` has the address of row `i` of matrix `r`,
        and each lane receives 4 bytes of a row, of which four lanes have all."""
        op, builder = self.op, self.builder
        is_transposed, number = constant_value(op.args[0]), self._constant(1)
        registers = self._registers(op.args[3], op.args[4])
        bits = registers.dtype.bits
        if number not in (1, 2, 4) or bits not in (8, 16, 32):
            raise register_error(op, f"{number} matrices of elements of {bits} bits, expected 1, 2 or 4 of 8, 16 or 32")
        per = 32 // bits
        if is_transposed and bits == 8:
            self._load_transposed_bytes(registers)
            return
        if is_transposed and bits != 16:
            raise register_error(op, f"transposed elements of {bits} bits, expected 16")
        words = StringAttr(f"x{number}{'.trans' if is_transposed else ''}")
        nest = builder.insert(AttrOp(LDMATRIX, words, words))
        builder.point = InsertPoint.at_end(nest.body.block)
        r, e = self._loop("r", number), self._loop("e", per)
        group, member = builder.binary("floordiv", self.lane, 4), builder.binary("floormod", self.lane, 4)
        place = builder.add(builder.mul(member, per), e)
        row, column = (place, group) if is_transposed else (group, place)
        source = builder.add(builder.mul(r, 8), row)
        thread = self.builder.cast(self.loop.variable, "int32")
        if self.extent != WARP_SIZE:
            source = builder.add(builder.sub(thread, self.lane), source)
        known: dict[SSAValue, SSAValue] = {self.loop.variable: builder.cast(source, dtype_of(self.loop.variable.type))}
        buffer, position = self.memories.place(op, op.args[5], builder, known)
        offset = copy_expression(op.args[6], builder, dict(known), self.loop)
        position = builder.add(position, builder.cast(offset, "int64"))
        there = _Registers(buffer, position)
        self._check(there, registers.dtype)
        value = builder.load(buffer, there.indices(builder, column))
        here = builder.add(builder.mul(r, per), e)
        builder.store(value, registers.buffer, registers.indices(builder, here))

    def _load_transposed_bytes(self, registers: _Registers) -> None:
        """Emits the loads of a transposed 32x16 matrix of bytes, whose distance of rows the operation has in place of
        an offset; no instruction has them."""
        builder, op = self.builder, self.op
        stride = op.args[6]
        buffer, position = self.memories.place(op, op.args[5], builder, {})
        e = self._loop("e", 16)
        block = builder.binary("floordiv", builder.binary("floormod", e, 8), 4)
        line = builder.add(builder.mul(block, 16), builder.mul(builder.binary("floormod", self.lane, 4), 4))
        row = builder.add(line, builder.binary("floormod", e, 4))
        right = builder.mul(builder.binary("floordiv", e, 8), 8)
        column = builder.add(builder.binary("floordiv", self.lane, 4), right)
        there = _Registers(buffer, position)
        self._check(there, registers.dtype)
        value = builder.load(buffer, there.indices(builder, builder.add(builder.mul(row, stride), column)))
        builder.store(value, registers.buffer, registers.indices(builder, e))

    # Products

    def _factors(self, product: WarpProduct) -> tuple[_Registers, _Registers, _Registers]:
        args = self.op.args
        left, right, sums = (self._registers(args[n], args[n + 1]) for n in (6, 8, 10))
        for registers, dtype in zip((left, right, sums), product.dtypes, strict=True):
            self._check(registers, dtype)
        return left, right, sums

    def _check(self, registers: _Registers, dtype: DType) -> None:
        """Raises UnsupportedError unless elements are of a data type."""
        if registers.dtype != dtype:
            name = buffer_name(registers.buffer)
            raise register_error(self.op, f"{name} has elements of {registers.dtype}, expected {dtype}")

    def multiply(self, product: WarpProduct) -> None:
        builder, op = self.builder, self.op
        values, places = list[SSAValue](), list[list[SSAValue]]()
        factors = self._factors(product)
        for registers, count in zip(factors, product.counts, strict=True):
            self._check_row(registers, count)
            indices = registers.indices(builder, 0)
            if count > 1:
                indices[-1] = builder.ramp(indices[-1], 1, count)
            places.append(indices)
            values.append(builder.load(registers.buffer, indices))
        call = CallIntrinOp(MMA, [*op.args[:6], *values], values[-1].type)
        result = builder.insert(call).result
        assert result is not None
        builder.store(result, factors[2].buffer, places[2])

    def _check_row(self, registers: _Registers, count: int) -> None:
        """Raises UnsupportedError unless the registers are in one row of their buffer."""
        shape = memref_type(registers.buffer).get_shape()
        if len(shape) == 1:
            return
        analyzer = Analyzer()
        rest = analyzer.floormod(analyzer.exact(registers.position), count)
        if shape[-1] % count or analyzer.constant(rest) != 0:
            raise register_error(
                self.op, f"{count} elements of {buffer_name(registers.buffer)} that may be in two rows of it"
            )

    def multiply_in_memory(self, product: WarpProduct) -> None:
        builder = self.builder
        left, right, sums = self._factors(product)
        thread, total = self._thread()
        shown = [
            self._show(registers, name, count, dtype, thread, total)
            for registers, name, count, dtype in zip(
                (left, right), ("left", "right"), product.counts, product.dtypes, strict=False
            )
        ]
        first = builder.sub(thread, self.lane)
        places = _QuadPlaces(product) if product.is_by_quads else _Places(product)
        index = self._loop("index", product.counts[2])
        here, point = sums.indices(builder, index), builder.point
        total, dtype = self._total(sums, here, product.dtypes[2])
        each = self._loop("k", product.shape[2])
        row, column = places.sum(builder, self.lane, index)
        elements = places.left(builder, row, each, self.lane), places.right(builder, each, column, self.lane)
        factors: list[SSAValue] = []
        for buffer, (lane, element) in zip(shown, elements, strict=True):
            factors.append(builder.cast(builder.load(buffer, [builder.add(first, lane), element]), dtype))
        where = here if total is sums.buffer else [builder.const(0, i32)]
        before = builder.load(total, where)
        builder.store(builder.add(before, builder.mul(*factors)), total, where)
        if total is not sums.buffer:
            builder.point = point
            result = builder.load(total, [builder.const(0, i32)])
            builder.store(builder.cast(result, product.dtypes[2]), sums.buffer, here)

    def _total(self, sums: _Registers, here: list[SSAValue], dtype: DType) -> tuple[SSAValue, DType]:
        """The buffer in which a sum is computed, and its data type: sums of 16 bits are rounded once."""
        if dtype.name != "float16":
            return sums.buffer, dtype
        builder, wide = self.builder, parse_dtype("float32")
        total = builder.insert(local_buffer("total", mlir_type(wide), 1)).buffer
        builder.store(builder.cast(builder.load(sums.buffer, here), wide), total, [builder.const(0, i32)])
        return total, wide

    def _thread(self) -> tuple[SSAValue, int]:
        """The index of the thread in its block, `threadIdx.x` fastest, and the number of threads."""
        builder, number, stride = self.builder, self.builder.const(0, i32), 1
        for axis in THREAD_AXES:
            loop = next((loop for loop in self.threads if thread_axis_of(loop) == axis), None)
            if loop is None:
                continue
            _, extent = bound_loop_range(loop)
            if not isinstance(extent, int):
                raise register_error(self.op, f"the number of threads of {axis} is not constant")
            number = builder.add(number, builder.mul(builder.cast(loop.variable, "int32"), stride))
            stride *= extent
        return number, stride

    def _show(
        self, registers: _Registers, name: str, count: int, dtype: DType, thread: SSAValue, total: int
    ) -> SSAValue:
        """Emits the copy of the registers of each thread to memory that the threads share."""
        alloc = AllocBufferOp(name, mlir_type(dtype), [total, count], space=memory_space("shared"))
        Rewriter.insert_op(alloc, InsertPoint.before(self.threads[-1]))
        point = self.builder.point
        e = self._loop("e", count)
        value = self.builder.load(registers.buffer, registers.indices(self.builder, e))
        self.builder.store(value, alloc.buffer, [thread, e])
        self.builder.point = point
        return alloc.buffer

    def _constant(self, n: int) -> int:
        value = constant_value(self.op.args[n])
        if not isinstance(value, int):
            raise register_error(self.op, f"operand {n} is an expression, expected a number")
        return value


def keep_in_registers(function: FuncOp) -> None:
    """Replaces memory of a warp by memory of each thread, in place, where every lane accesses its own row of the memory
    alone: the row before the last dimension, of which there are as many as lanes."""
    analyzer = Analyzer()
    for alloc in list(find_ops(function, AllocBufferOp)):
        shape = alloc.type.get_shape()
        if (
            scope_of(alloc.type) != OF_WARP
            or len(shape) < 2
            or shape[-2] != WARP_SIZE
            or alloc.mixed_strides is not None
        ):
            continue
        users = [use.operation for use in alloc.buffer.uses]
        if users and all(isinstance(user, LoadOp | StoreOp) and _is_own_row(analyzer, user) for user in users):
            extents = [*alloc.mixed_shape[:-2], alloc.mixed_shape[-1]]
            new = alloc.copy_with_shape(extents, memory_space(LOCAL))
            new.location = alloc.location
            Rewriter.insert_op(new, InsertPoint.before(alloc))
            for user in users:
                assert isinstance(user, LoadOp | StoreOp)
                row = user.indices[-2]
                redirect_access(user, new.buffer, [*user.indices[:-2], user.indices[-1]])
                erase_if_dead(row)
            alloc.detach()
            alloc.erase()


def _is_own_row(analyzer: Analyzer, user: LoadOp | StoreOp) -> bool:
    """Whether the row of an access is the index of the lane."""
    loop = next((outer for outer in ancestors(user) if thread_axis_of(outer) == THREAD_AXES[0]), None)
    if not isinstance(loop, ForOp | LaunchThreadOp) or bound_loop_range(loop) != (0, WARP_SIZE):
        return False
    return analyzer.exact(user.indices[-2]) == Lin.of(loop.variable)


def _scope(memory: SSAValue) -> str:
    return memory.type.scope.data if isinstance(memory.type, HandleType) else scope_of(memref_type(memory))


Element = tuple[SSAValue, SSAValue]
"""A lane, and the index of an element in its registers."""


class _Places:
    """The lanes that have the elements of the factors and the sums."""

    def __init__(self, product: WarpProduct):
        bits = {"tfloat32": 32}.get(product.left) or product.dtypes[0].bits
        self.per = max(1, 32 // bits)
        self.halves = product.shape[0] // 8

    def left(self, b: TirBuilder, row: SSAValue, k: SSAValue, _lane: SSAValue) -> Element:
        column, register = self._along(b, k)
        half = b.add(b.mul(b.binary("floordiv", k, 4 * self.per), self.halves), b.binary("floordiv", row, 8))
        return b.add(b.mul(b.binary("floormod", row, 8), 4), column), b.add(b.mul(half, self.per), register)

    def right(self, b: TirBuilder, k: SSAValue, column: SSAValue, _lane: SSAValue) -> Element:
        row, register = self._along(b, k)
        part = b.mul(b.binary("floordiv", k, 4 * self.per), self.per)
        return b.add(b.mul(column, 4), row), b.add(part, register)

    def _along(self, b: TirBuilder, k: SSAValue) -> Element:
        rest = b.binary("floormod", k, 4 * self.per)
        return b.binary("floordiv", rest, self.per), b.binary("floormod", rest, self.per)

    def sum(self, b: TirBuilder, lane: SSAValue, index: SSAValue) -> tuple[SSAValue, SSAValue]:
        row = b.add(b.binary("floordiv", lane, 4), b.mul(b.binary("floordiv", index, 2), 8))
        return row, b.add(b.mul(b.binary("floormod", lane, 4), 2), b.binary("floormod", index, 2))


class _QuadPlaces:
    """The same for products by four lanes and the four that follow them by 16."""

    def __init__(self, product: WarpProduct):
        self.by_rows = [layout == "row" for layout in product.layouts]
        self.is_wide = product.sums != "float16"

    def left(self, b: TirBuilder, row: SSAValue, k: SSAValue, lane: SSAValue) -> Element:
        return self._place(b, row, k, lane, self.by_rows[0])

    def right(self, b: TirBuilder, k: SSAValue, column: SSAValue, lane: SSAValue) -> Element:
        return self._place(b, column, k, lane, not self.by_rows[1])

    def _place(self, b: TirBuilder, near: SSAValue, far: SSAValue, lane: SSAValue, by_near: bool) -> Element:
        first = b.mul(b.binary("floordiv", b.binary("floormod", lane, 16), 4), 4)
        group = b.add(first, b.mul(b.binary("floordiv", near, 4), 16))
        rest = b.binary("floormod", near, 4)
        return (b.add(group, rest), far) if by_near else (b.add(group, far), rest)

    def sum(self, b: TirBuilder, lane: SSAValue, index: SSAValue) -> tuple[SSAValue, SSAValue]:
        below = b.mul(b.binary("floordiv", lane, 16), 4)
        if not self.is_wide:
            return b.add(b.binary("floormod", lane, 4), below), index
        pair = b.binary("floormod", b.binary("floordiv", index, 2), 2)
        row = b.add(b.binary("floormod", lane, 2), b.mul(pair, 2))
        column = b.add(
            b.mul(b.binary("floordiv", index, 4), 4),
            b.mul(b.binary("floormod", b.binary("floordiv", lane, 2), 2), 2),
        )
        return b.add(row, below), b.add(column, b.binary("floormod", index, 2))


__all__ = ["keep_in_registers", "lower_register_operation"]
