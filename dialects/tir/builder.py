"""`TirBuilder`: emits `tir` at an insertion point, selecting each op by the data types of its operands.

All clients select `arith` ops through the builder, so literals, promotion and broadcasting follow `core.dtypes`
everywhere. Operators raise ValueError for unsupported operands; a front end converts it to an error at the user's line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from typing import TypeAlias, TypeVar

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, LocationAttr, UnknownLoc, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core import dtypes
from ...core.dtypes import DType, dtype_of, mlir_type
from .base import HandleType, Mixed
from .blocks import Axis, BlockOp
from .control import ForOp, YieldOp
from .expressions import (
    COMPARISONS,
    FLOAT_BINARY,
    FLOAT_UNARY,
    INT_BINARY,
    INT_UNARY,
    INTRINSICS,
    CallLlvmOp,
    CastOp,
    ConstOp,
    FloormodOp,
    IfThenElseOp,
    IntrinsicOp,
    LetOp,
    MaxOp,
    MinOp,
    RampOp,
    ReinterpretOp,
    ShuffleOp,
    comparison,
)
from .memory import LoadOp, StoreOp

Operand: TypeAlias = SSAValue | bool | int | float
"""A value, or a Python literal, whose type depends on the other operand."""

OpT = TypeVar("OpT", bound=Operation)

_BOOL = DType("bool", 1)
_INT32 = DType("int", 32)
BITWISE = ("and", "or", "xor", "shl", "shr")
"""The operators for which an integer literal takes the type of the other operand."""


def _as_float(value: int | float, dtype: DType) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"an integer of {value.bit_length()} bits does not fit {dtype}") from None  # pyright: ignore[reportAttributeAccessIssue]


@lru_cache(maxsize=4096)
def _constant_attr(value: int | float, _kind: type, _zero: str, dtype: DType) -> FloatAttr | IntegerAttr:
    """The attribute of a constant. ValueError for a number outside of the range of the type.

    _kind, _zero: the type of the number, and the text of a zero, which tell equal keys apart: 1 and 1.0, 0.0 and -0.0.
    """
    type = mlir_type(dtype)
    if dtype.is_float:
        number = _as_float(value, dtype)
        if dtypes.nearest_float(number, dtype) is None:
            raise ValueError(f"{number} does not fit {dtype}")
        return FloatAttr(number, type)  # pyright: ignore[reportArgumentType, reportCallIssue]
    if isinstance(value, float):
        raise ValueError(f"{value} is not of type {dtype}")
    if not dtypes.int_fits(value, dtype):
        raise ValueError(f"{value} does not fit {dtype}")
    return IntegerAttr(int(value), type)  # pyright: ignore[reportArgumentType, reportCallIssue]


_CONSTANTS = frozenset((arith.ConstantOp, ConstOp, vector.BroadcastOp))


def constant_value(value: SSAValue) -> int | float | None:
    """The number of a constant (bools as 0 and 1), or None. The value of a broadcast constant is the scalar."""
    owner = value.owner
    if type(owner) not in _CONSTANTS:
        return None
    assert isinstance(owner, Operation)
    attr = owner.properties.get("value")
    if type(attr) is IntegerAttr:
        number = attr.value.data
        return number % 2 if number < 0 and dtype_of(value.type).is_bool else number
    if type(attr) is FloatAttr:
        return attr.value.data
    if isinstance(owner, vector.BroadcastOp):
        return constant_value(owner.source)
    if isinstance(attr, DenseIntOrFPElementsAttr) and attr.is_splat():
        number = attr.get_values()[0]
        return number % 2 if dtype_of(value.type).is_bool else number  # pyright: ignore[reportOperatorIssue, reportReturnType]
    return None


def fold_integers(name: str, a: int, b: int, dtype: DType) -> int | None:
    """The folded result of an operator of `INT_BINARY` on constants, or None for undefined divisions and shifts."""
    number = compute_integers(name, a, b, dtype)
    return None if number is None else dtypes.wrap_int(number, dtype)


def compute_integers(name: str, a: int, b: int, dtype: DType) -> int | None:
    """The exact result of an operator, which may not fit `dtype`; None for undefined divisions and shifts, and for a
    comparison."""
    if name in ("truncdiv", "truncmod", "floordiv", "floormod") and b == 0:
        return None
    if name in ("shl", "shr") and not 0 <= b < dtype.bits:
        return None
    compute = _EXACT.get(name)
    return None if compute is None else compute(a, b)


def _truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_EXACT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "truncdiv": _truncdiv,
    "truncmod": lambda a, b: a - _truncdiv(a, b) * b,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}


def binary_dtype(name: str, dtype: DType) -> DType:
    """The result type of an operator of `TirBuilder.binary` on two operands of type `dtype`. ValueError for an operator
    that does not support the type."""
    if name in COMPARISONS:
        return _BOOL.with_lanes(dtype.lanes)
    if dtype.is_float:
        if name not in FLOAT_BINARY and name not in ("floordiv", "truncdiv", "floormod", "truncmod"):
            raise ValueError(f"operator {name} needs integers, got {dtype}")
        return dtype
    if name not in INT_BINARY:
        raise ValueError(f"operator {name} needs floats, got {dtype}")
    return _INT32.with_lanes(dtype.lanes) if dtype.is_bool and name not in ("and", "or", "xor") else dtype


class TirBuilder:
    """Inserts ops at an insertion point, in order, each with the source location `location`."""

    def __init__(self, point: Block | InsertPoint, location: LocationAttr | None = None):
        self.point = InsertPoint.at_end(point) if isinstance(point, Block) else point
        self.location: LocationAttr = UnknownLoc() if location is None else location

    @contextmanager
    def at(self, point: Block | InsertPoint) -> Generator[None, None, None]:
        """A context that inserts at `point`."""
        saved = self.point
        self.point = InsertPoint.at_end(point) if isinstance(point, Block) else point
        try:
            yield
        finally:
            self.point = saved

    def insert(self, op: OpT) -> OpT:
        op.location = self.location
        self._place(op)
        return op

    def _place(self, op: Operation) -> None:
        if self.point.insert_before is None:
            self.point.block.add_op(op)
        else:
            self.point.block.insert_op_before(op, self.point.insert_before)

    def _value(self, op: Operation) -> SSAValue:
        return self.insert(op).results[0]

    # Constants and types

    def const(
        self, value: bool | int | float | FloatAttr | IntegerAttr, dtype: DType | str | Attribute | None = None
    ) -> SSAValue:
        """A constant of a data type, by default the type of an attribute. A vector constant is a broadcast.

        Floats are rounded to the type; ValueError for a number outside of the range of the type.
        """
        if isinstance(value, FloatAttr | IntegerAttr):
            value, dtype = value.value.data, value.type if dtype is None else dtype
        if dtype is None:
            raise ValueError(f"const {value}: expected a data type")
        if not isinstance(dtype, DType):
            dtype = dtypes.parse_dtype(dtype) if isinstance(dtype, str) else dtype_of(dtype)
        if dtype.lanes != 1:
            return self.broadcast(self.const(value, dtype.scalar), dtype.lanes)
        attr = _constant_attr(value, type(value), str(value) if value == 0 else "", dtype)
        if isinstance(attr, IntegerAttr) and dtype.kind == "uint":
            return self._value(ConstOp(attr.value.data, attr.type))
        return self._value(arith.ConstantOp(attr))

    def string(self, value: str) -> SSAValue:
        return self._value(ConstOp(value))

    def value(self, operand: Operand, other: DType | None = None, *, bitwise: bool = False) -> SSAValue:
        """`operand` as a value; the type of a literal depends on `other`, the type of the other operand."""
        if isinstance(operand, SSAValue):
            return operand
        return self.const(operand, dtypes.literal_dtype(operand, other, bitwise=bitwise))

    def promote_values(self, lhs: Operand, rhs: Operand, *, bitwise: bool = False) -> tuple[SSAValue, SSAValue]:
        """The two operands converted to their common type."""
        left = dtype_of(lhs.type) if isinstance(lhs, SSAValue) else None
        right = dtype_of(rhs.type) if isinstance(rhs, SSAValue) else None
        if left is right and isinstance(lhs, SSAValue) and isinstance(rhs, SSAValue):
            return lhs, rhs
        if left is None and right is None:
            left = max(
                (dtypes.literal_dtype(v) for v in (lhs, rhs) if not isinstance(v, SSAValue)),
                key=lambda d: (d.is_float, d.bits),
            )
        a = self.value(lhs, right or left, bitwise=bitwise)
        b = self.value(rhs, left or right, bitwise=bitwise)
        common = dtypes.promote(dtype_of(a.type), dtype_of(b.type))
        return self.cast(a, common), self.cast(b, common)

    def cast(self, value: Operand, dtype: DType | str) -> SSAValue:
        """`value` converted to `dtype`; a scalar is broadcast to the lanes of `dtype`, an integer constant is
        folded."""
        if isinstance(dtype, str):
            dtype = dtypes.parse_dtype(dtype)
        if not isinstance(value, SSAValue):
            if isinstance(value, float):
                exact = dtype.is_float
            else:
                exact = dtypes.preserves_int(dtype, int(value)) and (
                    not dtype.is_bool or dtypes.int_fits(int(value), dtype)
                )
            value = self.const(value, dtype.scalar) if exact else self.value(value)
        have = dtype_of(value.type)
        if have == dtype:
            return value
        if have.scalar != dtype.scalar:
            known = constant_value(value)
            if isinstance(known, int) and have.lanes == 1 and dtypes.preserves_int(dtype, known):
                value = self.const(bool(known) if dtype.is_bool else known, dtype.scalar)
            else:
                value = self._value(CastOp(value, mlir_type(dtype.with_lanes(have.lanes))))
        if have.lanes != dtype.lanes:
            if have.lanes != 1:
                raise ValueError(f"cannot cast {have} to {dtype}")
            return self.broadcast(value, dtype.lanes)
        return value

    def reinterpret(self, value: SSAValue, type: Attribute) -> SSAValue:
        return self._value(ReinterpretOp(value, type))

    def broadcast(self, value: SSAValue, lanes: int) -> SSAValue:
        return self._value(vector.BroadcastOp(value, mlir_type(dtype_of(value.type).with_lanes(lanes))))  # pyright: ignore[reportArgumentType]

    def ramp(self, base: Operand, stride: Operand, lanes: int) -> SSAValue:
        a, b = self.promote_values(base, stride)
        return self._value(RampOp(a, b, lanes))

    def ramp_of_rows(self, starts: Sequence[Operand], lanes: int, extents: Sequence[int | None]) -> list[SSAValue]:
        """The indices of adjacent elements, row after row: vectors for the last dimensions, as many as the elements
        need.

        starts: the indices of the first element.  lanes: the number of elements.  extents: of the dimensions, None for
        a dynamic one.
        """
        outer, inner = [self.value(start) for start in starts], list[SSAValue]()
        place = self.ramp(outer.pop(), 1, lanes)
        rows = lanes
        for extent in reversed(extents):
            if not outer or extent is None or rows <= extent:
                break
            inner.insert(0, self.binary("floormod", place, extent))
            row = self.binary("floordiv", place, extent)
            place, rows = self.binary("add", row, outer.pop()), -(-rows // extent)
        return [*outer, place, *inner]

    def shuffle(self, vectors: Sequence[SSAValue], lanes: Sequence[int]) -> SSAValue:
        """Lanes of the concatenation of vectors; a scalar for a single lane."""
        return self._value(ShuffleOp(vectors, lanes))

    # Operators

    def binary(self, name: str, lhs: Operand, rhs: Operand) -> SSAValue:
        """The result of an operator of `INT_BINARY`, `FLOAT_BINARY` or `COMPARISONS` on operands with a common type.

        Arithmetic on bools is done in int32. Integer constants are folded.
        """
        a, b = self.promote_values(lhs, rhs, bitwise=name in BITWISE)
        dtype = dtype_of(a.type)
        result = binary_dtype(name, dtype)
        if name in COMPARISONS:
            return self._value(comparison(name, a, b))
        if dtype.is_float:
            if name in ("floordiv", "truncdiv"):
                return self.unary(name.removesuffix("div"), self._value(arith.DivfOp(a, b)))
            if name == "truncmod":
                return self.intrinsic("fmod", a, b)
            if name == "floormod":
                return self.binary("sub", a, self.binary("mul", self.binary("floordiv", a, b), b))
            return self._value(FLOAT_BINARY[name](a, b))  # pyright: ignore[reportCallIssue]
        dtype, a, b = result, self.cast(a, result), self.cast(b, result)
        known = constant_value(a), constant_value(b)
        if isinstance(known[0], int) and isinstance(known[1], int):
            folded = fold_integers(name, known[0], known[1], dtype)
            if folded is not None:
                return self.const(folded, dtype)
        return self._value(INT_BINARY[name][dtype.kind == "uint"](a, b))  # pyright: ignore[reportCallIssue]

    def add(self, lhs: Operand, rhs: Operand) -> SSAValue:
        return self.binary("add", lhs, rhs)

    def sub(self, lhs: Operand, rhs: Operand) -> SSAValue:
        return self.binary("sub", lhs, rhs)

    def mul(self, lhs: Operand, rhs: Operand) -> SSAValue:
        return self.binary("mul", lhs, rhs)

    def dot4(self, a: SSAValue, b: SSAValue, total: SSAValue) -> SSAValue:
        """The sum of `total`, an integer of 32 bits, and of the products of four bytes of `a` and `b`, as CUDA's
        `__dp4a` computes it: each is a vector of four bytes, or an integer of 32 bits that consists of them."""
        dtype, factors = dtype_of(total.type), list[SSAValue]()
        if not dtype.is_int or (dtype.bits, dtype.lanes) != (32, 1):
            raise ValueError(f"a sum of products of bytes in {dtype}, expected int32 or uint32")
        for value in (a, b):
            have = dtype_of(value.type)
            if not have.is_int or (have.bits, have.lanes) not in ((8, 4), (32, 1)):
                raise ValueError(f"four bytes of {have}, expected int8x4, uint8x4, int32 or uint32")
            if have.lanes == 1:
                value = self.reinterpret(value, mlir_type(DType(have.kind, 8, 4)))
            factors.append(self.cast(value, dtype.with_lanes(4)))
        products = self.mul(*factors)
        for lane in range(4):
            total = self.add(total, self.shuffle([products], [lane]))
        return total

    def unary(self, name: str, value: Operand) -> SSAValue:
        """The result of a function of `FLOAT_UNARY` or `INT_UNARY`; functions on floats convert integers to float32."""
        value = self.value(value)
        dtype = dtype_of(value.type)
        if name == "clz" and dtype.is_int and dtype.bits < 4:  # the result 2 is not representable in int2
            bits = self.cast(self.cast(value, DType("uint", dtype.bits, dtype.lanes)), DType("int", 8, dtype.lanes))
            return self.sub(self.unary(name, bits), 8 - dtype.bits)
        if name in INT_UNARY and dtype.kind == "uint":
            # math's integer functions take signless operands; the cast preserves the bits.
            if name == "abs":
                return value
            result = self.unary(name, self.cast(value, DType("int", dtype.bits, dtype.lanes)))
            return result if name == "clz" else self.cast(result, dtype)
        if name in INT_UNARY and dtype.is_int:
            result = self._value(INT_UNARY[name](value))  # pyright: ignore[reportCallIssue]
            return self.cast(result, _INT32.with_lanes(dtype.lanes)) if name == "clz" else result
        if name in ("floor", "ceil", "trunc", "nearbyint") and not dtype.is_float:
            return value
        if name not in FLOAT_UNARY:
            raise ValueError(f"{name} needs an integer, got {dtype}")
        if not dtype.is_float:
            value = self.cast(value, DType("float", 32, dtype.lanes))
        return self._value(FLOAT_UNARY[name](value))  # pyright: ignore[reportCallIssue]

    def intrinsic(self, name: str, *args: Operand) -> SSAValue:
        """The result of a function of `INTRINSICS`. ValueError for a wrong number of operands."""
        arity, _ = INTRINSICS[name]
        if len(args) != arity:
            raise ValueError(f"{name} takes {arity} operands, got {len(args)}")
        if name in ("hypot", "nextafter", "fmod"):
            values: Sequence[SSAValue] = self.promote_values(*args)
        else:
            values = [self.value(a) for a in args]
        return self._value(IntrinsicOp(name, values))

    def fma(self, a: Operand, b: Operand, c: Operand) -> SSAValue:
        """The fused multiply-add `a * b + c`, rounded once."""
        left, right = self.promote_values(a, b)
        addend, _ = self.promote_values(c, left)
        return self._value(math.FmaOp(left, right, addend))

    def negate(self, value: Operand) -> SSAValue:
        """The negated value as TVM expresses it, `value * -1`; a constant is folded."""
        if not isinstance(value, SSAValue):
            return self.value(-value)
        dtype = dtype_of(value.type)
        known = constant_value(value)
        if known is not None and not dtype.is_bool and dtype.lanes == 1:
            return self.const(-known if dtype.is_float else dtypes.wrap_int(int(-known), dtype), dtype)
        if dtype.is_bool:
            return self.mul(value, -1)
        return self.mul(value, self.const(-1 if dtype.is_float else dtypes.wrap_int(-1, dtype), dtype))

    def logical_not(self, value: Operand) -> SSAValue:
        value = self.cast(value, _BOOL.with_lanes(dtype_of(self.value(value).type).lanes))
        return self._value(arith.XOrIOp(value, self.const(True, dtype_of(value.type))))

    def bitwise_not(self, value: Operand) -> SSAValue:
        value = self.value(value)
        dtype = dtype_of(value.type)
        if dtype.is_bool:
            return self.logical_not(value)
        return self.binary("xor", value, -1 if dtype.kind == "int" else dtypes.int_range(dtype)[1])

    def select(self, condition: Operand, then: Operand, orelse: Operand) -> SSAValue:
        """`then` if the condition holds, else `orelse`; both values are computed."""
        a, b = self.promote_values(then, orelse)
        condition = self.value(condition)
        lanes = dtype_of(condition.type).lanes
        if dtype_of(a.type).lanes == 1 < lanes:
            a, b = self.broadcast(a, lanes), self.broadcast(b, lanes)
        return self._value(arith.SelectOp(condition, a, b))

    def if_then_else(
        self, condition: SSAValue, type: Attribute, then: Callable[[], SSAValue], orelse: Callable[[], SSAValue]
    ) -> SSAValue:
        """A `tir.if_then_else` of type `type`, whose regions contain the values built by `then` and `orelse`."""
        op = IfThenElseOp(condition, type)
        for region, build in ((op.then, then), (op.orelse, orelse)):
            with self.at(region.block):
                self.insert(YieldOp(build()))
        return self._value(op)

    def conjunction(self, conditions: Sequence[SSAValue]) -> SSAValue:
        """Whether all of one or more conditions hold; all of them are computed."""
        result, *others = conditions
        for condition in others:
            result = self.binary("and", result, condition)
        return result

    def logical(self, name: str, lhs: SSAValue, rhs: Callable[[], SSAValue]) -> SSAValue:
        """The short-circuit `lhs and rhs` (name "and") or `lhs or rhs`: `rhs` is computed only if `lhs` does not
        determine the result, or if `rhs` is speculatable."""
        scratch = Block()
        with self.at(scratch):
            value = rhs()
        if all(is_speculatable(op) for op in scratch.ops):
            for op in list(scratch.ops):
                op.detach()
                self._place(op)
            return self.binary(name, lhs, value)
        op = IfThenElseOp(lhs, lhs.type)
        lazy, decided = (op.then, op.orelse) if name == "and" else (op.orelse, op.then)
        for inner in list(scratch.ops):
            inner.detach()
            lazy.block.add_op(inner)
        with self.at(lazy.block):
            self.insert(YieldOp(value))
        with self.at(decided.block):
            self.insert(YieldOp(self.const(name == "or", _BOOL)))
        return self._value(op)

    # Loops and blocks

    @contextmanager
    def loops(
        self, names: Sequence[str], extents: Sequence[Mixed], *, kind: str = "serial", type: Attribute = i32
    ) -> Generator[list[SSAValue], None, None]:
        """A context that inserts in new nested loops over `[0, extent)`, outermost first; yields the loop variables.

        A variable has the type of its extent if the extent is a value, else `type`. ValueError unless `names` has one
        name for each extent.
        """
        if len(names) != len(extents):
            raise ValueError(f"{len(names)} names for {len(extents)} extents")
        variables: list[SSAValue] = []
        with ExitStack() as inside:
            for name, extent in zip(names, extents, strict=True):
                counter = extent.type if isinstance(extent, SSAValue) else type
                loop = self.insert(ForOp(name, 0, extent, counter, kind=kind))
                variables.append(loop.variable)
                inside.enter_context(self.at(loop.body.block))
            yield variables

    @contextmanager
    def block(self, name: str, axes: Sequence[Axis]) -> Generator[BlockOp, None, None]:
        """A context that inserts in a new block with `axes`; yields the block, whose `variables` denote the axes.

        The block has no `tir.access` ops; `transforms.analysis.access_regions.infer_accesses` adds them.
        """
        block = self.insert(BlockOp(name, axes))
        with self.at(block.body.block):
            yield block

    # Names and elements

    def let(self, name: str, value: SSAValue) -> SSAValue:
        return self._value(LetOp(name, value))

    def load(self, buffer: SSAValue, indices: Sequence[Operand], predicate: SSAValue | None = None) -> SSAValue:
        return self._value(LoadOp(buffer, [self.value(i) for i in indices], predicate))

    def store(
        self, value: Operand, buffer: SSAValue, indices: Sequence[Operand], predicate: SSAValue | None = None
    ) -> StoreOp:
        """Store `value`, converted to the element type."""
        indices = [self.value(i) for i in indices]
        element = dtype_of(buffer.type.element_type)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        lanes = max((dtype_of(index.type).lanes for index in indices), default=1)
        return self.insert(StoreOp(self.cast(value, element.with_lanes(lanes)), buffer, indices, predicate))


DIVISIONS = (
    arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.CeilDivUIOp, FloormodOp,
)  # fmt: skip
"""The ops with undefined behaviour if the second operand is 0."""

SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
"""The ops with undefined behaviour if the second operand is not less than the number of bits."""

_PURE = (ConstOp, CastOp, CallLlvmOp, RampOp, LetOp, ReinterpretOp, IntrinsicOp, MinOp, MaxOp)


@cache
def _is_always_speculatable(kind: type[Operation]) -> bool:
    """Whether all operations of a kind of an upstream dialect are speculatable. A select may choose a handle."""
    others = (*DIVISIONS, *SHIFTS, arith.SelectOp)
    return not issubclass(kind, others) and kind.dialect_name() in ("arith", "math", "vector")


def is_speculatable(op: Operation) -> bool:
    """Whether speculative execution of `op` is unobservable: no memory access, no call, no division unless its
    divisor is a non-zero constant, and no shift unless its amount is a constant in the range of the type."""
    if _is_always_speculatable(type(op)):
        return True
    if isinstance(op, DIVISIONS):
        return bool(constant_value(op.operands[1]))
    if isinstance(op, SHIFTS):
        amount = constant_value(op.operands[1])
        return amount is not None and 0 <= amount < dtype_of(op.operands[0].type).bits
    if isinstance(op, IfThenElseOp):
        return all(isinstance(inner, YieldOp) or is_speculatable(inner) for r in op.regions for inner in r.block.ops)
    if any(isinstance(r.type, HandleType) for r in op.results) and not isinstance(op, ConstOp):
        return False
    return op.dialect_name() in ("arith", "math", "vector") or isinstance(op, _PURE)
