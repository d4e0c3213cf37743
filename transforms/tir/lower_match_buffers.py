"""The pass `tir-lower-match-buffers`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.threads.axes import thread_axis_of
from ...core.diagnostics import unsupported_op_error, where
from ...core.dtypes import dtype_of
from ...core.errors import PassError
from ...dialects.tir import (
    AccessOp,
    AddressOfOp,
    AssertOp,
    BufferDataOp,
    BufferOp,
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
    RampOp,
    StoreOp,
    SymbolOp,
    TirBuilder,
    constant_value,
)
from ...dialects.tir.describe import format_index
from ...dialects.tir.operands import redirect_access
from .pointers import replace_pointers


class TirLowerMatchBuffersPass(ModulePass):
    """Replaces each named box of a buffer by the buffer, with indices offset by the lower corner of the box.

    Symbols in the shape, strides and offset of the box become the values of the buffer; assertions check all other
    declared sizes. Pointers into the box point into the buffer; a call that takes the box itself takes a buffer
    declared over such a pointer.

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
            if any(thread_axis_of(loop) is not None for loop in function.walk()):
                replace_pointers(function)
        # Outer boxes first; their lowering includes nested boxes.
        for region in [r for r in op.walk() if isinstance(r, MatchRegionOp)]:
            if region.parent is not None:
                _Lowering(region).run()


class _Lowering:
    """The lowering of one tir.match_region."""

    def __init__(self, op: MatchRegionOp):
        self.op = op
        self.builder = TirBuilder(InsertPoint.before(op), op.location)
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
        if self.op.mixed_strides is None:
            return
        for n, stride in enumerate(self._source_strides()[self.dropped :]):
            self._unify(f"strides[{n}]", self.op.mixed_strides[n], stride)

    def _resolve_offset(self) -> None:
        if self._has_offset():
            self._unify("offset", self.op.mixed_offset, self._start())

    def _has_offset(self) -> bool:
        return self.op.mixed_offset != 0

    def _unify(self, what: str, declared: Mixed, actual: Mixed) -> None:
        """Binds a declared symbol that is not bound elsewhere to the actual value; checks all other declarations."""
        if isinstance(declared, SSAValue) and isinstance(declared.owner, SymbolOp) and _is_free(declared.owner):
            symbol = declared.owner
            declared.replace_all_uses_with(self.builder.cast(self._value(actual), dtype_of(declared.type)))
            symbol.detach()
            symbol.erase()
            return
        a, b = _constant_int(declared), _constant_int(actual)
        if declared is actual or (a is not None and a == b):
            return
        if a is not None and b is not None:
            raise PassError(f"{where(self.op)}{self.name}: {what} is {b}, expected {a}")
        condition = self.builder.binary("eq", self._value(actual), self._value(declared))
        text = declared if isinstance(declared, int) else format_index(declared)
        self.builder.insert(AssertOp(condition, f"{self.name}: {what} must be {text}"))

    def _value(self, number: Mixed) -> SSAValue:
        return self.builder.value(number)

    # Position of the box

    def _source_strides(self) -> list[Mixed]:
        """The strides of the buffer that contains the box, in elements."""
        source = self.op.source
        if isinstance(source.owner, BufferOp):
            strides = source.owner.mixed_strides
            return list(strides) if strides is not None else self._compact(source.owner.mixed_shape)
        type = source.type
        assert isinstance(type, MemRefType)
        if isinstance(layout := type.layout, StridedLayoutAttr):
            return [s.data for s in layout.strides.data if not isinstance(s, NoneAttr)]
        return self._compact(list(type.get_shape()))

    def _compact(self, shape: Sequence[Mixed]) -> list[Mixed]:
        strides: list[Mixed] = [1]
        for extent in reversed(shape[1:]):
            strides.insert(0, self._product(strides[0], self._wide(extent)))
        return strides[: len(shape)]

    def _wide(self, number: Mixed) -> Mixed:
        return number if isinstance(number, int) else self.builder.cast(number, "int64")

    def _product(self, a: Mixed, b: Mixed) -> Mixed:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 1:
            return b
        return a if b == 1 else self.builder.mul(a, b)

    def _start(self) -> Mixed:
        """The offset of the box from the data pointer of the buffer, in elements; computed in 64 bits."""
        source = self.op.source
        total = self._wide(source.owner.mixed_offset if isinstance(source.owner, BufferOp) else 0)
        for (low, _), stride in zip(self.region, self._source_strides(), strict=True):
            total = _sum(self.builder, total, self._product(self._wide(low), stride))
        return total

    def _indices(self, builder: TirBuilder, indices: Sequence[Mixed]) -> list[Mixed]:
        """The indices in the buffer for `indices` in the box."""
        lows = [low for low, _ in self.region]
        inner = [_sum(builder, low, i) for low, i in zip(lows[self.dropped :], indices, strict=True)]
        return [*lows[: self.dropped], *inner]

    def _is_contiguous(self) -> bool:
        """Whether the box is a compact array of its shape."""
        expected = 1
        pairs = list(zip(self.op.mixed_shape, self._source_strides()[self.dropped :], strict=True))
        for n, (extent, stride) in enumerate(reversed(pairs)):
            if extent != 1 and _constant_int(stride) != expected:
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
        return [builder.value(i) for i in self._indices(builder, indices)]

    def _box(self, builder: TirBuilder, region: list[tuple[Mixed, Mixed]]) -> list[tuple[Mixed, Mixed]]:
        lows = self._indices(builder, [low for low, _ in region])
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
            strides = self._source_strides()[self.dropped :]
        declared = DeclBufferOp(
            self.name,
            self._pointer(builder),
            self.op.type.element_type,
            self.op.mixed_shape,
            strides=strides,
            offset=self.op.mixed_offset,
            space=self.op.type.memory_space,
        )
        builder.insert(declared)
        user.operands = [declared.buffer if o is self.op.buffer else o for o in user.operands]


def _is_free(symbol: SymbolOp) -> bool:
    """Whether no parameter of the function binds a symbol."""
    return not any(isinstance(use.operation, MatchBufferOp) for use in symbol.result.uses)


def _constant_int(number: Mixed) -> int | None:
    known = number if isinstance(number, int) else constant_value(number)
    return known if isinstance(known, int) else None


def _sum(builder: TirBuilder, low: Mixed, index: Mixed) -> Mixed:
    """`low + index`; the sum with a ramp is a ramp, so that its lanes are known to be contiguous."""
    a, b = _constant_int(low), _constant_int(index)
    if a is not None and b is not None and (isinstance(low, int) or isinstance(index, int)):
        return a + b
    if a == 0:
        return index
    if b == 0:
        return low
    if isinstance(index, SSAValue) and isinstance(ramp := index.owner, RampOp):
        return builder.ramp(builder.value(_sum(builder, low, ramp.base)), ramp.stride, ramp.lanes)
    return builder.add(low, index)
