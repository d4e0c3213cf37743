"""The pass `tir-lower-match-buffers`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.threads.memories import is_fragment
from ...core.diagnostics import unsupported_op_error, where
from ...core.dtypes import dtype_of
from ...core.errors import PassError
from ...core.walking import find_ops
from ...dialects.tir import (
    AccessOp,
    AddressOfOp,
    AssertOp,
    BufferDataOp,
    CallExternOp,
    CallIntrinOp,
    CallOp,
    CallPackedOp,
    DeclBufferOp,
    FuncOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    StoreOp,
    SymbolOp,
    TirBuilder,
    separators_of,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.describe import format_index
from ...dialects.tir.operands import redirect_access
from .layouts import Layouts, constant_int
from .pointers import replace_pointers


class TirLowerMatchBuffersPass(ModulePass):
    """Replaces each named box of a buffer by the buffer, with indices offset by the lower corner of the box.

    Symbols in the shape, strides and offset of the box become the values of the buffer; assertions check all other
    declared sizes. The offset of a tile of fragments that declares no strides is its number times its size. Pointers
    into the box point into the buffer; a call that takes the box itself takes a buffer declared over such a pointer.

    In functions with kernels, pointers to allocated memory become buffers, and buffers replace views of other shapes,
    so that threads can have copies of them.

    Before
        %B = tir.match_region "B" %A[%i, %j +: 4] : memref<16x16xf32> -> memref<4xf32>
        %x = tir.load %B[%k] : memref<4xf32>

    After
        %j_k = arith.addi %j, %k : i32
        %x = tir.load %A[%i, %j_k] : memref<16x16xf32>

    Must hold before: nothing.

    Gone after: tir.match_region.
    """

    name = "tir-lower-match-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            lower_match_buffers(function)


def lower_match_buffers(function: FuncOp) -> None:
    """Replaces the boxes of buffers in a function by the buffers, in place."""
    replace_pointers(function)
    # Outer boxes first; their lowering includes nested boxes.
    for region in list(find_ops(function, MatchRegionOp)):
        if region.parent is not None:
            _Lowering(region).run()


class _Lowering:
    """The lowering of one tir.match_region."""

    def __init__(self, op: MatchRegionOp):
        self.op = op
        self.builder = TirBuilder(InsertPoint.before(op), op.location)
        self.layouts = Layouts(self.builder)
        self.name = op.buffer_name.data
        self.region = op.region
        self.dropped = len(self.region) - op.type.get_num_dims()

    def run(self) -> None:
        self._check_dropped()
        self._resolve_shape()
        self._resolve_strides()
        self._resolve_offset()
        for use in list(self.op.buffer.uses):
            self._replace(use.operation)
        self.op.detach()
        self.op.erase()

    # Declared against actual shape, strides and offset

    def _check_dropped(self) -> None:
        if self.dropped < 0 or any(extent != 1 for _, extent in self.region[: self.dropped]):
            rank = self.op.type.get_num_dims()
            raise PassError(f"{where(self.op)}{self.name}: the box has {len(self.region)} dimensions, expected {rank}")

    def _resolve_shape(self) -> None:
        for n, (_, extent) in enumerate(self.region[self.dropped :]):
            self._unify(f"shape[{n}]", self.op.mixed_shape[n], extent)

    def _resolve_strides(self) -> None:
        if self.op.mixed_strides is None or self._tile is not None:
            return
        for n, stride in enumerate(self.layouts.strides(self.op.source)[self.dropped :]):
            self._unify(f"strides[{n}]", self.op.mixed_strides[n], stride)

    def _resolve_offset(self) -> None:
        if self._has_offset():
            lows = [low for low, _ in self.region]
            actual = self._position_of_tile(lows) if self._tile else self.layouts.position(self.op.source, lows)
            self._unify("offset", self.op.mixed_offset, actual)

    def _has_offset(self) -> bool:
        return self.op.mixed_offset != 0

    @cached_property
    def _tile(self) -> tuple[int, int] | None:
        """The rows and columns of a box that is a tile of fragments and declares the strides of its shape; None for any
        other box."""
        shape, source = self.op.type.get_shape(), memref_type(self.op.source).get_shape()
        if not is_fragment(self.op.source) or len(shape) != 2 or min(*shape, *source) < 1:
            return None
        rows, columns = shape
        whole = prod(source[:-1]) % rows == 0 and source[-1] % columns == 0
        return (rows, columns) if whole and self.op.mixed_strides == [columns, 1] else None

    def _position_of_tile(self, lows: Sequence[Mixed]) -> Mixed:
        """The offset of a tile of fragments if the elements of each tile are contiguous, with the tiles along the rows
        of the buffer."""
        assert self._tile is not None
        (rows, columns), shape, builder = self._tile, memref_type(self.op.source).get_shape(), self.builder
        line: Mixed = 0
        for n, low in enumerate(lows[:-1]):
            line = self.layouts.add(line, self.layouts.mul(low, prod(shape[n + 1 : -1])))
        above = builder.mul(builder.binary("floordiv", self._value(line), rows), shape[-1] // columns)
        number = builder.add(above, builder.binary("floordiv", self._value(lows[-1]), columns))
        return builder.mul(number, rows * columns)

    def _unify(self, what: str, declared: Mixed, actual: Mixed) -> None:
        """Binds a declared symbol that is not bound elsewhere to the actual value; checks all other declarations."""
        if isinstance(declared, SSAValue) and isinstance(declared.owner, SymbolOp) and _is_free(declared.owner):
            symbol = declared.owner
            declared.replace_all_uses_with(self.builder.cast(self._value(actual), dtype_of(declared.type)))
            symbol.detach()
            symbol.erase()
            return
        a, b = constant_int(declared), constant_int(actual)
        if declared is actual or (a is not None and a == b):
            return
        if a is not None and b is not None:
            raise PassError(f"{where(self.op)}{self.name}: {what} is {b}, expected {a}")
        condition = self.builder.binary("eq", self._value(actual), self._value(declared))
        text = declared if isinstance(declared, int) else format_index(declared)
        self.builder.insert(AssertOp(condition, f"{self.name}: {what} must be {text}"))

    def _value(self, number: Mixed) -> SSAValue:
        return self.builder.value(number)

    def _is_contiguous(self) -> bool:
        """Whether the box is a compact array of its shape."""
        expected = 1
        pairs = list(zip(self.op.mixed_shape, self.layouts.strides(self.op.source)[self.dropped :], strict=True))
        for n, (extent, stride) in enumerate(reversed(pairs)):
            if extent != 1 and constant_int(stride) != expected:
                return False
            if not isinstance(extent, int):
                return n == len(pairs) - 1
            expected *= extent
        return True

    # Uses

    def _replace(self, user: Operation) -> None:
        builder = TirBuilder(InsertPoint.before(user), user.location)
        match user:
            case LoadOp() | StoreOp():
                redirect_access(user, self.op.source, self._access(builder, user.indices))
                return
            case AddressOfOp():
                pointer = builder.insert(AddressOfOp(self.op.source, self._access(builder, user.indices))).pointer
                user.pointer.replace_all_uses_with(pointer)
            case AccessOp():
                builder.insert(AccessOp(user.kind.data, self.op.source, self._box(builder, user.region)))
            case MatchRegionOp():
                self._rebase(builder, user)
            case BufferDataOp():
                user.pointer.replace_all_uses_with(self._pointer(builder))
            case CallOp() | CallExternOp() | CallPackedOp() | CallIntrinOp():
                self._pass(builder, user)
                return
            case _:
                raise unsupported_op_error(user, f"{self.name} is a box of a buffer, which cannot be used here")
        user.detach()
        user.erase()

    def _access(self, builder: TirBuilder, indices: Sequence[SSAValue]) -> list[SSAValue]:
        return [builder.value(i) for i in Layouts(builder).source_indices(self.op, indices)]

    def _box(self, builder: TirBuilder, region: list[tuple[Mixed, Mixed]]) -> list[tuple[Mixed, Mixed]]:
        lows = Layouts(builder).source_indices(self.op, [low for low, _ in region])
        extents = [*(1 for _ in range(self.dropped)), *(extent for _, extent in region)]
        return list(zip(lows, extents, strict=True))

    def _rebase(self, builder: TirBuilder, inner: MatchRegionOp) -> None:
        """Replaces a box of the box by a box of the buffer."""
        new = MatchRegionOp(
            inner.buffer_name.data,
            self.op.source,
            self._box(builder, inner.region),
            inner.mixed_shape,
            strides=inner.mixed_strides,
            offset=inner.mixed_offset,
        )
        inner.buffer.replace_all_uses_with(builder.insert(new).buffer)
        _Lowering(new).run()

    def _pointer(self, builder: TirBuilder) -> SSAValue:
        """The data pointer of the box: the data pointer of the buffer if the box declares an offset, else the lower
        corner.
        """
        if self._has_offset():
            return builder.insert(BufferDataOp(self.op.source)).pointer
        lows = [builder.value(low) for low, _ in self.region]
        return builder.insert(AddressOfOp(self.op.source, lows)).pointer

    def _pass(self, builder: TirBuilder, user: Operation) -> None:
        """Passes the box to a call as a buffer declared over the same memory."""
        strides = self.op.mixed_strides
        if strides is None and not self._is_contiguous():
            if isinstance(user, CallOp):
                raise unsupported_op_error(user, f"{self.name} is not contiguous, give the strides it is to have")
            strides = self.layouts.strides(self.op.source)[self.dropped :]
        declared = DeclBufferOp(
            self.name,
            self._pointer(builder),
            self.op.type.element_type,
            self.op.mixed_shape,
            strides=strides,
            offset=self.op.mixed_offset,
            space=self.op.type.memory_space,
            axis_separators=separators_of(self.op.buffer),
        )
        builder.insert(declared)
        user.operands = [declared.buffer if o is self.op.buffer else o for o in user.operands]


def _is_free(symbol: SymbolOp) -> bool:
    """Whether no parameter of the function binds a symbol."""
    return not any(isinstance(use.operation, MatchBufferOp) for use in symbol.result.uses)
