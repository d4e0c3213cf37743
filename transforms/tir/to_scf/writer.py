"""`UpstreamWriter`: the emission of one function of the upstream dialects during a walk over the `tir` function.

Constants are at the top of the function, each once. Conversions for index arithmetic (the `index` of a value, its
constant) are emitted at their first use, and reused in the regions that they dominate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from xdsl.dialects import arith, llvm, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    UnitAttr,
    UnknownLoc,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....analysis.index import Analyzer
from ....analysis.threads.fragments import FragmentType, fragment_types
from ....core.diagnostics import unsupported_op_error, where
from ....core.dtypes import dtype_of, element_byte_size
from ....core.errors import PassError
from ....dialects.attributes import BLOCK_NAME, READ_ONLY
from ....dialects.extensions import scalar_operation
from ....dialects.tir import ConstOp, FuncOp, HandleType, Mixed, constant_value
from .types import I64, INDEX, POINTER, lower_type

if TYPE_CHECKING:
    from .module import ModuleLowering

OpT = TypeVar("OpT", bound=Operation)

Index: TypeAlias = int | SSAValue
"""A known integer, or a value of type `index`."""

Handlers: TypeAlias = Mapping[type[Operation], Callable[["UpstreamWriter", Any], None]]
"""{ operation -> its lowering }."""


@cache
def _default_properties(cls: type[Operation]) -> Mapping[str, Attribute]:
    """The default properties of an op."""
    definition = cls.get_irdl_definition()  # pyright: ignore[reportAttributeAccessIssue]
    return {name: p.default_value for name, p in definition.properties.items() if p.default_value is not None}


@lru_cache(maxsize=4096)  # the sign tells -0.0 from 0.0, which are equal keys
def _constant_attr(value: int | float, _negative: bool, type: Attribute) -> Attribute:
    if isinstance(type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(type, [value])  # pyright: ignore[reportArgumentType]
    if dtype_of(type).is_float:
        return FloatAttr(value, type)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return IntegerAttr(value, type)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _missing_lowering(op: Operation) -> str:
    if scalar_operation(op) is not None:
        return "the passes tir-lower-extension-scalars and convert-tir-to-scf lower it"
    return "no pass of the way down takes this operation: run one that lowers it first"


def _constant_name(value: int | float, type: Attribute) -> str:
    if isinstance(value, float) or isinstance(type, VectorType):
        return "cst"
    number = f"m{-value}" if value < 0 else str(value)
    return f"c{number}" if type == INDEX else f"c{number}_{type}"


@dataclass(frozen=True)
class LoweredPointer:
    """The target of a handle: element `offset` of `base`.

    The base is a memref (the offset counts its elements from its start) or an `!llvm.ptr`, then with offset 0.
    is_read: whether the calls that take the pointer only read its memory.
    """

    base: SSAValue
    offset: Index = 0
    is_read: bool = False


class UpstreamWriter:
    """The insertion point, the lowered values of the `tir` function, and builders of small pieces of IR."""

    def __init__(self, module: ModuleLowering, function: FuncOp, entry: Block):
        self.module = module
        self.function = function
        self.entry = entry
        self.block = entry
        self.location: LocationAttr = UnknownLoc()
        self.values: dict[SSAValue, SSAValue] = {}
        self.pointers: dict[SSAValue, LoweredPointer] = {}
        self.data: dict[SSAValue, LoweredPointer] = {}
        """The data pointers of buffers declared over a pointer."""
        self.indices: dict[SSAValue, SSAValue] = {}
        """Values that have an `index` of their own: loop variables, symbols."""
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}
        self._last_constant: Operation | None = None
        self._scopes: list[dict[tuple[object, ...], SSAValue]] = [{}]
        self._heap: list[list[SSAValue]] = []
        self._stack_blocks = [entry]
        self.analyzer = Analyzer()
        self.launched: dict[str, SSAValue] | None = None
        """Inside a launch, { axis -> index of the block or thread along this axis }."""

    # Operations

    @cached_property
    def fragment_types(self) -> dict[SSAValue, FragmentType]:
        """The types of the fragments in each memory of the function."""
        return fragment_types(self.function)

    def statements(self, ops: Iterable[Operation]) -> None:
        """Lowers operations in order."""
        outer = self.location
        for op in ops:
            self.location = op.location
            handler = self.module.handlers.get(type(op))
            if handler is None:
                raise unsupported_op_error(op, _missing_lowering(op))
            last = self.block.last_op
            handler(self, op)
            if BLOCK_NAME in op.attributes and (emitted := self.block.last_op) is not None and emitted is not last:
                emitted.attributes[BLOCK_NAME] = op.attributes[BLOCK_NAME]
        self.location = outer

    def insert(self, op: OpT) -> OpT:
        """Inserts `op` at the end of the current block, with the current source location."""
        op.location = self.location
        self.block.add_op(op)
        return op

    def make(
        self,
        cls: type[OpT],
        operands: Sequence[SSAValue],
        types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> OpT:
        """Builds and inserts an op with plain operands, without the cost of its constructor."""
        if properties is None:
            properties = _default_properties(cls)
        return self.insert(
            cls.create(operands=operands, result_types=types, properties=properties, regions=regions)  # pyright: ignore[reportArgumentType]
        )

    def op(self, cls: type[Operation], *operands: SSAValue, type: Attribute | None = None) -> SSAValue:
        """The result of a new op on `operands`, of the type of the first operand unless `type` is given."""
        return self.make(cls, operands, [operands[0].type if type is None else type]).results[0]

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Makes `block`, a block of a region of an op being built, the insertion point until `end`."""
        outer, self.block = self.block, block
        self._scopes.append({})
        self._heap.append([])
        try:
            yield
        finally:
            self.block = outer
            self._scopes.pop()
            self._heap.pop()

    def free_at_end(self, buffer: SSAValue) -> None:
        """Registers heap memory to be freed at the end of the current region."""
        self._heap[-1].append(buffer)

    def end(self, terminator: type[Operation], *values: SSAValue) -> None:
        """Frees the heap allocations of the current region, and terminates it."""
        for buffer in reversed(self._heap[-1]):
            self.make(memref.DeallocOp, [buffer])
        self.make(terminator, values)

    def remember(self, key: tuple[object, ...], value: SSAValue) -> SSAValue:
        """Records `value` for `recall(key)` until the end of the current region."""
        self._scopes[-1][key] = value
        return value

    def recall(self, key: tuple[object, ...]) -> SSAValue | None:
        """The value that `remember` has recorded; None if no enclosing region has one."""
        return next((scope[key] for scope in reversed(self._scopes) if key in scope), None)

    @contextmanager
    def own_stack(self, block: Block) -> Generator[None]:
        """Places stack allocations at the start of `block`: parallel iterations need separate memory."""
        self._stack_blocks.append(block)
        try:
            yield
        finally:
            self._stack_blocks.pop()

    def on_stack(self, op: OpT) -> OpT:
        """Inserts `op`, a static memref.alloca, before all possible uses, outside of loops."""
        op.location = self.location
        block = self._stack_blocks[-1]
        if block is self.entry and self._last_constant is not None:
            Rewriter.insert_op(op, InsertPoint.after(self._last_constant))
        else:
            Rewriter.insert_op(op, InsertPoint.at_start(block))
        return op

    # Constants

    def constant(self, value: int | float, type: Attribute) -> SSAValue:
        """A constant of an upstream type; for a vector type, a splat."""
        key = (repr(value), type)
        if key not in self._constants:
            attr = _constant_attr(value, repr(value).startswith("-"), type)
            self._constants[key] = new = self._at_entry(
                arith.ConstantOp.create(result_types=[type], properties={"value": attr})
            ).results[0]
            new.name_hint = _constant_name(value, type)
        return self._constants[key]

    def dense_constant(self, values: Sequence[int], type: VectorType[Attribute]) -> SSAValue:
        """A constant vector of integers."""
        key = (repr(list(values)), type)
        if key not in self._constants:
            attr = DenseIntOrFPElementsAttr.from_list(type, list(values))  # pyright: ignore[reportArgumentType, reportCallIssue]
            self._constants[key] = self._at_entry(
                arith.ConstantOp.create(result_types=[type], properties={"value": attr})
            ).results[0]
        return self._constants[key]

    def _at_entry(self, op: OpT) -> OpT:
        op.location = self.location
        if self._last_constant is None:
            Rewriter.insert_op(op, InsertPoint.at_start(self.entry))
        else:
            Rewriter.insert_op(op, InsertPoint.after(self._last_constant))
        self._last_constant = op
        return op

    # Values

    def value(self, value: SSAValue) -> SSAValue:
        """The lowered value of a `tir` value. A handle becomes an `!llvm.ptr`, emitted here."""
        lowered = self.values.get(value)
        if lowered is not None:
            return lowered
        if value in self.pointers:
            return self.pointer_value(self.pointers[value])
        return self._late(value)

    def _late(self, value: SSAValue) -> SSAValue:
        """Emits a value that is emitted only where it is needed: a constant, a ramp, the typed form of an `index`."""
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return self._literal(owner)
        if isinstance(owner, ConstOp) and not isinstance(value.type, HandleType):
            number = constant_value(value)
            assert number is not None
            return self.constant(_to_signed(int(number), value.type), lower_type(value.type))
        cached = self.recall((value,))
        if cached is not None:
            return cached
        index = self.indices.get(value)
        if index is not None:
            return self.remember((value,), self.from_index(index, value.type))
        late = self.module.late.get(type(owner)) if isinstance(owner, Operation) else None
        if late is None:
            raise PassError(f"{_describe(value)} is used before it is defined")
        return self.remember((value,), late(self, owner))

    def _literal(self, op: arith.ConstantOp) -> SSAValue:
        match op.value:
            case IntegerAttr() as attr:
                return self.constant(_to_signed(attr.value.data, op.result.type), op.result.type)
            case FloatAttr() as attr:
                return self.constant(attr.value.data, op.result.type)
            case attr:
                key = (str(attr), op.result.type)
                if key not in self._constants:
                    new = arith.ConstantOp.create(result_types=[op.result.type], properties={"value": attr})
                    self._constants[key] = self._at_entry(new).results[0]
                return self._constants[key]

    def bind(self, value: SSAValue, to: SSAValue) -> None:
        """Binds `value` of the `tir` function to its lowered value `to`."""
        self.values[value] = to
        if value.name_hint is not None and to.name_hint is None:
            to.name_hint = value.name_hint

    # Index arithmetic, always 64 bits wide

    def index(self, number: Index) -> SSAValue:
        """An `Index` as a value of type `index`."""
        return self.constant(number, INDEX) if isinstance(number, int) else number

    def index_of(self, value: Mixed) -> Index:
        """An integer of the `tir` function as an `Index`."""
        if isinstance(value, int):
            return value
        known = constant_value(value)
        if isinstance(known, int):
            return known
        if value in self.indices:
            return self.indices[value]
        cached = self.recall(("index", value))
        return (
            self.remember(("index", value), self.to_index(self.value(value), value.type)) if cached is None else cached
        )

    def to_index(self, value: SSAValue, type: Attribute) -> SSAValue:
        """`value`, of type `type` on the `tir` landing, converted to an `index`."""
        assert isinstance(type, IntegerType)
        if dtype_of(type).kind != "int" and type.width.data < 64:
            value = self.op(arith.ExtUIOp, value, type=I64)
        return self.op(arith.IndexCastOp, value, type=INDEX)

    def from_index(self, index: SSAValue, type: Attribute) -> SSAValue:
        """An `index` converted to an integer of the `tir` type `type`."""
        result = self.op(arith.IndexCastOp, index, type=lower_type(type))
        result.name_hint = index.name_hint
        return result

    def is_at_least(self, value: SSAValue, number: int) -> bool:
        """Whether a scalar integer of the `tir` function is provably at least `number`."""
        if not isinstance(value.type, IntegerType):
            return False
        return self.analyzer.bounds(self.analyzer.exact(value))[0] >= number

    def add(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        if b == 0:
            return a
        return self.op(arith.AddiOp, self.index(a), self.index(b))

    def mul(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 1 or b == 0:
            return b
        if b == 1 or a == 0:
            return a
        return self.op(arith.MuliOp, self.index(a), self.index(b))

    # Pointers and memrefs

    def pointer(self, handle: SSAValue) -> LoweredPointer:
        """The target of a handle."""
        if handle not in self.pointers:
            self.pointers[handle] = LoweredPointer(self.value(handle))
        return self.pointers[handle]

    def pointer_value(self, pointer: LoweredPointer) -> SSAValue:
        """A pointer converted to an `!llvm.ptr`."""
        base, type = pointer.base, pointer.base.type
        if not isinstance(type, MemRefType):
            return base
        address: Index = self.op(memref.ExtractAlignedPointerAsIndexOp, base, type=INDEX)
        address = self.add(address, self.mul(pointer.offset, element_byte_size(type.element_type)))
        return self.pointer_to(self.op(arith.IndexCastOp, self.index(address), type=I64), pointer.is_read)

    def pointer_to(self, address: SSAValue, is_read: bool) -> SSAValue:
        """The `!llvm.ptr` of an address. is_read: whether the calls that take the pointer only read its memory."""
        result = self.op(llvm.IntToPtrOp, address, type=POINTER)
        if is_read:
            assert isinstance(result.owner, Operation)
            result.owner.attributes[READ_ONLY] = UnitAttr()
        return result

    def memref(self, buffer: SSAValue) -> SSAValue:
        """The memref of a buffer."""
        lowered = self.values.get(buffer)
        if lowered is None:
            raise PassError(f"buffer {_describe(buffer)} is used before it is declared")
        assert isinstance(lowered.type, MemRefType) or lowered.type == POINTER
        return lowered


def _to_signed(number: int, type: Attribute) -> int:
    """The number with the same bits in the signed interpretation of `type`; a bool is 0 or 1."""
    dtype = dtype_of(lower_type(type))
    if dtype.is_bool:
        return number % 2
    bits = dtype.bits
    return (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _describe(value: SSAValue) -> str:
    owner = value.owner
    location = where(owner) if isinstance(owner, Operation) else ""
    return f"{location}%{value.name_hint or '?'} of type {value.type}"
