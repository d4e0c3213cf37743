"""Expressions of functions on buffers: buffer elements, vectors, and operations without a node class of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....core.dtypes import DType, dtype_of, parse_dtype
from ....dialects.tir import BufferOp, CallIntrinOp, scope_of
from ....expressions.axes import Range
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import BufferPointer, ExternCall
from ....expressions.errors import TeError
from ....expressions.expr import Call, ExprLike, IntImm, PrimExpr, Var, as_expr, cast, promote_operands
from ....expressions.intrinsic_names import IntrinsicName
from ....expressions.rewrite import Substitution

_HANDLE = DType("int", 64)


class RegionBuffer(DeclaredBuffer):
    """A buffer with regions: `a[0:16, j]` is the box of its elements."""

    def __getitem__(self, indices: Any) -> Any:
        """An element, or a region where an index is a slice; with a step, the slice is a vector of elements. TeError
        for another number of indices, and for a slice without an end."""
        places: list[Any] = list(indices) if isinstance(indices, list | tuple) else [indices]  # pyright: ignore[reportUnknownArgumentType]
        if not any(isinstance(each, slice) for each in places):
            return super().__getitem__(indices)
        if len(places) != len(self.shape):
            raise TeError(f"{len(places)} indices into buffer {self.name} of {len(self.shape)} dimensions")
        sides = [self._side(each, extent) for each, extent in zip(places, self.shape, strict=True)]
        if all(step is None for _, _, step in sides):
            return BufferRegion(self, tuple(Range(low, extent) for low, extent, _ in sides))
        vectors = [low if step is None else self._vector(low, extent, step) for low, extent, step in sides]
        return BufferLoad(self, vectors)

    def same_as(self, other: object) -> bool:
        """Whether both are the same buffer."""
        return self == other

    def get_flattened_buffer(self) -> RegionBuffer:
        """The buffer of all elements on the same memory, with a dimension for each axis of physical memory."""
        starts = [0, *self.axis_separators]
        if starts == [*range(len(self.shape))] and not self.strides:
            return self
        groups = [range(low, end) for low, end in zip(starts, [*starts[1:], len(self.shape)], strict=True)]
        if self.strides:
            shape = [self.shape[group[0]] * self.strides[group[0]] for group in groups]
        else:
            shape = [as_expr(prod(self.shape[n] for n in group)) for group in groups]
        data: Any = self.data
        pointer = pointer_of(data) if isinstance(data, BufferPointer) else data
        separators = tuple(range(1, len(groups)))
        flat = DeclaredBuffer(self.name, tuple(shape), self.data_type, (), self.elem_offset, self.memory, separators)
        return PointedBuffer(flat, pointer)

    def _side(self, place: Any, extent: PrimExpr) -> tuple[PrimExpr, PrimExpr, Any]:
        """The first index, the number of indices, and the step of a slice, None without one."""
        if not isinstance(place, slice):
            return as_expr(place), IntImm(as_expr(place).dtype, 1), None
        low, high = promote_operands(
            0 if place.start is None else place.start, extent if place.stop is None else place.stop
        )
        # lazy: facts about expressions are written in terms of nodes
        from ..arith.analyzer import Analyzer

        return low, Analyzer().simplify(high - low), place.step

    def _vector(self, low: PrimExpr, extent: PrimExpr, step: Any) -> PrimExpr:
        if not isinstance(extent, IntImm) or extent.value % int(step):
            raise TeError(f"buffer {self.name}: a slice of {extent} elements in steps of {step}, expected a multiple")
        return Ramp(low, step, extent.value // int(step))


class Buffer(RegionBuffer):
    """A buffer of a function. Two are equal if they refer to the same SSA value."""

    value: SSAValue

    def __init__(
        self,
        value: SSAValue,
        name: str,
        shape: Sequence[PrimExpr],
        strides: Sequence[PrimExpr] = (),
        elem_offset: PrimExpr | None = None,
    ):
        type = value.type
        assert isinstance(type, MemRefType)
        kind = dtype_of(type.element_type)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        start = IntImm("int32", 0) if elem_offset is None else elem_offset
        separators = value.owner.separators if isinstance(value.owner, BufferOp) else ()
        layout = (tuple(strides), start, scope_of(type), separators)  # pyright: ignore[reportUnknownArgumentType]
        super().__init__(name, tuple(shape), kind, *layout)
        object.__setattr__(self, "value", value)

    data_alignment = 64
    """The alignment of the address in bytes, which allocations have at least."""
    offset_factor = 1
    """The number that divides `elem_offset`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self.value is other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Buffer({self.name})"


@dataclass(frozen=True)
class PrimType:
    """The type of numbers. dtype: their data type."""

    dtype: str


@dataclass(frozen=True)
class PointerType:
    """The type of addresses. element_type: of the elements there.  storage_scope: of the memory."""

    element_type: PrimType
    storage_scope: str = ""


class PointerVar(Var):
    """A variable for an address: a parameter of a function, or memory.

    element: the data type of the elements there, None if unknown.  scope: of the memory.
    """

    __slots__ = ("element", "scope")

    def __init__(self, name: str, element: str | None = None, scope: str = ""):
        super().__init__(name, _HANDLE.name)
        self.element, self.scope = element, scope

    @property
    def dtype(self) -> str:
        return "handle"

    @property
    def type_annotation(self) -> PointerType | PrimType:
        """The type: of an address of elements, or of any address."""
        return PrimType("handle") if self.element is None else PointerType(PrimType(self.element), self.scope)


class PointedBuffer(RegionBuffer):
    """A buffer on the memory of a pointer, as `decl_buffer(..., data=pointer)` declares it."""

    pointer: PointerVar

    def __init__(self, buffer: DeclaredBuffer, pointer: PointerVar):
        super().__init__(**{each.name: getattr(buffer, each.name) for each in fields(buffer)})
        object.__setattr__(self, "pointer", pointer)

    @property
    def data(self) -> PointerVar:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The address of the memory."""
        return self.pointer


_POINTERS: WeakKeyDictionary[DeclaredBuffer, PointerVar] = WeakKeyDictionary()


def pointer_of(data: BufferPointer) -> PointerVar:
    """The variable that the address of a buffer's memory, `buffer.data`, denotes in statements."""
    buffer = data.buffer
    if buffer not in _POINTERS:
        _POINTERS[buffer] = PointerVar(buffer.name, buffer.dtype, buffer.memory)
    return _POINTERS[buffer]


class StatementBuffer:
    """The base class of objects whose elements are read and written by statements. buffer: their buffer."""

    buffer: DeclaredBuffer


@dataclass(frozen=True)
class BufferRegion:
    """A box of elements of a buffer: an interval for each dimension."""

    buffer: DeclaredBuffer
    region: tuple[Range, ...]


def refuse_predicate(what: str, buffer: DeclaredBuffer, predicate: object) -> None:
    """TeError for a load or store under a condition."""
    if predicate is not None:
        raise TeError(f"{what} of {buffer.name}: predicate {predicate}, expected None, and if_then_else or IfThenElse")


class BufferLoad(PrimExpr):
    """An element of a buffer, or a vector of elements if an index is a vector."""

    __slots__ = ("buffer", "indices")
    predicate = None
    """The condition of the load: a load under a condition is another node."""

    def __init__(self, buffer: DeclaredBuffer, indices: Sequence[ExprLike], predicate: None = None, span: None = None):
        """predicate: TeError for a condition."""
        refuse_predicate("BufferLoad", buffer, predicate)
        self.buffer = buffer
        self.indices = tuple(as_expr(index) for index in indices)
        if len(self.indices) != len(buffer.shape):
            raise TeError(f"{len(self.indices)} indices into buffer {buffer.name} of {len(buffer.shape)} dimensions")
        lanes = max((index.data_type.lanes for index in self.indices), default=1)
        self.data_type = parse_dtype(buffer.dtype).with_lanes(lanes)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.indices

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return BufferLoad(self.buffer, children)

    def text(self) -> str:
        return f"{self.buffer.name}[{', '.join(map(repr, self.indices))}]"


class Ramp(PrimExpr):
    """The vector `base, base + stride, ...` of `lanes` lanes."""

    __slots__ = ("base", "lanes", "stride")

    def __init__(self, base: ExprLike, stride: ExprLike, lanes: int | IntImm):
        self.base = as_expr(base)
        self.stride = cast(self.base.dtype, stride)
        self.lanes = int(lanes)
        self.data_type = self.base.data_type.with_lanes(self.lanes)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.base, self.stride

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        base, stride = children
        return Ramp(base, stride, self.lanes)

    def text(self) -> str:
        return f"T.Ramp({self.base!r}, {self.stride!r}, {self.lanes})"


class Broadcast(PrimExpr):
    """A scalar broadcast to `lanes` lanes."""

    __slots__ = ("lanes", "value")

    def __init__(self, value: ExprLike, lanes: int | IntImm):
        self.value = as_expr(value)
        self.lanes = int(lanes)
        self.data_type = self.value.data_type.with_lanes(self.lanes)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return (self.value,)

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return Broadcast(children[0], self.lanes)

    def text(self) -> str:
        return f"T.Broadcast({self.value!r}, {self.lanes})"


class Shuffle(PrimExpr):
    """Lanes of the concatenation of vectors and scalars, as a vector; one lane is a scalar."""

    __slots__ = ("indices", "vectors")

    def __init__(self, vectors: Sequence[ExprLike], indices: Sequence[ExprLike], span: None = None):
        """indices: the lane of the concatenation for each lane of the result. TeError for a lane that it lacks, and for
        vectors of several element types."""
        self.vectors = tuple(as_expr(each) for each in vectors)
        self.indices = tuple(as_expr(each) for each in indices)
        kinds = {each.data_type.scalar for each in self.vectors}
        if len(kinds) != 1:
            raise TeError(f"Shuffle: vectors of {', '.join(sorted(each.name for each in kinds)) or 'no'} elements")
        total = sum(each.data_type.lanes for each in self.vectors)
        for index in self.indices:
            if not isinstance(index, IntImm) or not 0 <= index.value < total:
                raise TeError(f"Shuffle: lane {index!r}, expected a number in [0, {total})")
        self.data_type = self.vectors[0].data_type.scalar.with_lanes(len(self.indices))

    @property
    def lanes(self) -> list[int]:
        """The lanes of the concatenation, as numbers."""
        return [index.value for index in self.indices if isinstance(index, IntImm)]

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.vectors

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return Shuffle(children, self.indices)

    def text(self) -> str:
        return f"T.Shuffle({list(self.vectors)}, {self.lanes})"


_CALLED = {"access_ptr": "tvm_access_ptr", "call_packed": "tvm_call_packed"}
"""TVM's names of the ops of `tir` that have others."""


class OtherExpr(Call):
    """An op without a node class of its own, as a call: of a function, or of a builtin that returns a pointer.

    operation: the op.  index: of its result.
    """

    __slots__ = ("index", "operation")

    def __init__(self, operation: Operation, index: int, args: Sequence[PrimExpr]):
        self.operation = operation
        self.index = index
        self.args = tuple(args)
        own_name = operation.name.partition(".")[2]
        name = operation.intrinsic.data if isinstance(operation, CallIntrinOp) else own_name
        self.op = IntrinsicName(_CALLED.get(name, name))
        try:
            self.data_type = dtype_of(operation.results[index].type)
        except ValueError:  # a pointer
            self.data_type = _HANDLE

    @property
    def name(self) -> str:
        """The name of the op."""
        return self.operation.name

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return OtherExpr(self.operation, self.index, children)


class ExternCallExpr(Call):
    """A call of an external function, for its effect. call: the function and its arguments."""

    __slots__ = ("call",)

    def __init__(self, call: ExternCall):
        self.call = call
        args = [arg for arg in call.args if isinstance(arg, PrimExpr)]
        kind = "tvm_call_packed" if call.dtype is None else "call_extern"
        self.op = IntrinsicName(call.name if call.is_intrinsic else kind)
        self.args = tuple(args)
        self.data_type = _HANDLE if call.dtype in (None, "", "handle") else parse_dtype(call.dtype)

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        changed = iter(children)
        args = [next(changed) if isinstance(arg, PrimExpr) else arg for arg in self.call.args]
        return ExternCallExpr(replace(self.call, args=tuple(args)))


class BufferArg(PrimExpr):
    """A buffer or pointer as an operand of a call."""

    __slots__ = ("value",)

    def __init__(self, value: SSAValue):
        self.value = value
        self.data_type = _HANDLE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BufferArg) and self.value is other.value

    def __hash__(self) -> int:
        return hash(self.value)


class BufferOperand(PrimExpr):
    """A declared buffer as an operand of an operation."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: DeclaredBuffer):
        self.buffer = buffer
        self.data_type = _HANDLE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BufferOperand) and self.buffer == other.buffer

    def __hash__(self) -> int:
        return hash(self.buffer)


class Load(PrimExpr):
    """An expression of TVM that no program has here: elements of memory are read by `BufferLoad`. TeError for a new
    one."""

    __slots__ = ()

    def __init__(self, *args: object, **options: object):
        raise TeError(f"{type(self).__name__}: expected BufferLoad, or an expression of te")


class Let(PrimExpr):
    """A variable inside of an expression. Values have no names here: `Let(var, value, body)` is the body with the value
    in place of the variable."""

    __slots__ = ()

    def __new__(cls, var: Var, value: Any, body: Any, span: None = None) -> Any:  # noqa: ARG004  as in TVM
        return Substitution({var: cast(var.dtype, value)}).expr(as_expr(body))


class EqualOp(Load):
    """The result of `==`, as of `Load`: it is an expression `EQ` at once."""

    __slots__ = ()


class NotEqualOp(Load):
    """The result of `!=`, as of `Load`: it is an expression `NE` at once."""

    __slots__ = ()


__all__ = [
    "Broadcast", "Buffer", "BufferArg", "BufferLoad", "BufferOperand", "BufferRegion", "EqualOp",
    "ExternCallExpr", "Let", "Load", "NotEqualOp", "OtherExpr", "PointedBuffer", "PointerType", "PointerVar",
    "PrimType", "Ramp", "RegionBuffer", "Shuffle", "pointer_of", "refuse_predicate",
]  # fmt: skip
