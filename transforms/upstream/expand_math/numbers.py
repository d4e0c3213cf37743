"""Numbers of a format, scalars or vectors, whose operators insert ops of arith: the notation of the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.dtypes import element_type_of, with_element_type


@dataclass(frozen=True)
class Format:
    """A binary float format. type: of its numbers.  bits: the type of integers of the same width.  fraction: the number
    of stored bits of the fraction.  bias: of the exponent.
    """

    type: Float32Type | Float64Type
    bits: IntegerType
    fraction: int
    bias: int

    @property
    def magic(self) -> float:
        """A number whose unit in the last place is 1: its sum with a small number is rounded to an integer, which the
        lowest bits of the sum contain."""
        return 1.5 * 2.0**self.fraction

    @property
    def bits_of_magic(self) -> int:
        """The bits of `magic`, as an integer."""
        return (self.bias + self.fraction << self.fraction) + (1 << self.fraction - 1)


F32 = Format(f32, i32, 23, 127)
F64 = Format(f64, i64, 52, 1023)
FORMATS: dict[Attribute, Format] = {f32: F32, f64: F64}


@dataclass(frozen=True)
class Facts:
    """The facts about a processor that formulas depend on. fma: whether it multiplies and adds with one rounding;
    otherwise `times_plus` rounds twice.  scales: whether it multiplies vectors of f32 by powers of two.
    """

    fma: bool
    scales: bool = False


@dataclass
class Writer:
    """Inserts ops before `op`, on scalars or vectors of its result's shape. facts: of the processor."""

    op: Operation
    facts: Facts
    _constants: dict[tuple[str, Attribute], SSAValue] = field(default_factory=dict[tuple[str, Attribute], SSAValue])

    def insert(self, new: Operation) -> SSAValue:
        """Inserts an op before `op`, at its source location; returns the result."""
        block = self.op.parent
        assert block is not None
        new.location = self.op.location
        block.insert_op_before(new, self.op)
        return new.results[0]

    def constant(self, value: float | int, type: Attribute) -> SSAValue:
        """A constant of a scalar type, or a vector of it of the result's shape."""
        key = (repr(value), type)
        found = self._constants.get(key)
        if found is None:
            if isinstance(type, IntegerType):
                scalar = IntegerAttr(int(value), type)
            else:
                scalar = FloatAttr(value, cast("Float32Type", type))
            shaped = with_element_type(self.op.results[0].type, type)
            attr = DenseIntOrFPElementsAttr.from_list(shaped, [value]) if isinstance(shaped, VectorType) else scalar
            found = self._constants[key] = self.insert(arith.ConstantOp(attr))
        return found

    @property
    def fma(self) -> bool:
        """Whether the processor multiplies and adds with one rounding."""
        return self.facts.fma

    @property
    def result(self) -> Format:
        """The format of the result of `op`, which formulas may compute in another format."""
        return FORMATS[element_type_of(self.op.results[0].type)]

    def number(self, value: float, format: Format) -> Number:
        """A constant."""
        return Number(self, self.constant(value, format.type), format)


@dataclass(frozen=True, eq=False)
class Bits:
    """Integers of the width of a format, and operators on them; signed."""

    writer: Writer
    value: SSAValue
    format: Format

    def _apply(
        self,
        op: type[arith.AddiOp | arith.SubiOp | arith.ShLIOp | arith.ShRSIOp | arith.AndIOp | arith.XOrIOp],
        other: Bits | int,
    ) -> Bits:
        return Bits(self.writer, self.writer.insert(op(self.value, self._operand(other))), self.format)

    def _operand(self, other: Bits | int) -> SSAValue:
        return self.writer.constant(other, self.format.bits) if isinstance(other, int) else other.value

    def __add__(self, other: Bits | int) -> Bits:
        return self._apply(arith.AddiOp, other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._apply(arith.SubiOp, other)

    def __rsub__(self, other: int) -> Bits:
        return Bits(self.writer, self._operand(other), self.format) - self

    def __lshift__(self, count: int) -> Bits:
        return self._apply(arith.ShLIOp, count)

    def __rshift__(self, count: int) -> Bits:
        return self._apply(arith.ShRSIOp, count)

    def __and__(self, other: Bits | int) -> Bits:
        return self._apply(arith.AndIOp, other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._apply(arith.XOrIOp, other)

    def is_above(self, other: int) -> Condition:
        """Where the integer, without a sign, is greater than `other`."""
        return Condition(self.writer, self.writer.insert(arith.CmpiOp(self.value, self._operand(other), "ugt")))

    def equals(self, other: int) -> Condition:
        """Where the integer is `other`."""
        return Condition(self.writer, self.writer.insert(arith.CmpiOp(self.value, self._operand(other), "eq")))

    @property
    def number(self) -> Number:
        """The number of these bits."""
        return Number(self.writer, self.writer.insert(_bitcast(self.value, self.format.type)), self.format)

    @property
    def converted(self) -> Number:
        """The integer as a number, rounded."""
        type = with_element_type(self.value.type, self.format.type)
        return Number(
            self.writer, self.writer.insert(arith.SIToFPOp(self.value, cast("Float32Type", type))), self.format
        )


@dataclass(frozen=True, eq=False)
class Condition:
    """Truth values."""

    writer: Writer
    value: SSAValue

    def select(self, true: Number | float, false: Number | float) -> Number:
        """The first number where the condition holds, else the second."""
        number = true if isinstance(true, Number) else false
        assert isinstance(number, Number)
        a, b = (number.operand(each) for each in (true, false))
        return Number(self.writer, self.writer.insert(arith.SelectOp(self.value, a, b)), number.format)

    def select_bits(self, true: Bits, false: Bits) -> Bits:
        """The first integer where the condition holds, else the second."""
        return Bits(self.writer, self.writer.insert(arith.SelectOp(self.value, true.value, false.value)), true.format)

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.writer, self.writer.insert(arith.AndIOp(self.value, other.value)))


@dataclass(frozen=True, eq=False)
class Number:
    """Floats, and operators on them. An operand may be a float of Python, which is rounded to the format."""

    writer: Writer
    value: SSAValue
    format: Format

    def operand(self, other: Number | float) -> SSAValue:
        """The SSA value of a number or a float."""
        return other.value if isinstance(other, Number) else self.writer.constant(float(other), self.format.type)

    def new(self, op: Operation) -> Number:
        """Inserts an op; returns the result."""
        return Number(self.writer, self.writer.insert(op), self.format)

    def __add__(self, other: Number | float) -> Number:
        return self.new(arith.AddfOp(self.value, self.operand(other)))

    def __sub__(self, other: Number | float) -> Number:
        return self.new(arith.SubfOp(self.value, self.operand(other)))

    def __rsub__(self, other: float) -> Number:
        return self.new(arith.SubfOp(self.operand(other), self.value))

    def __mul__(self, other: Number | float) -> Number:
        return self.new(arith.MulfOp(self.value, self.operand(other)))

    def __truediv__(self, other: Number | float) -> Number:
        return self.new(arith.DivfOp(self.value, self.operand(other)))

    def __rtruediv__(self, other: float) -> Number:
        return self.new(arith.DivfOp(self.operand(other), self.value))

    __radd__, __rmul__ = __add__, __mul__

    def scaled(self, exponent: Bits) -> Number:
        """The product with 2**exponent, rounded once: by the instruction of the processor (`Facts.scales`)."""
        return self.new(llvm.CallIntrinsicOp("llvm.ldexp", [self.value, exponent.value], [self.value.type]))

    @property
    def has_scaled(self) -> bool:
        """Whether the processor has the instruction of `scaled` for the number."""
        return self.writer.facts.scales and self.format is F32 and isinstance(self.value.type, VectorType)

    def __neg__(self) -> Number:
        return self.new(arith.NegfOp(self.value))

    def __abs__(self) -> Number:
        return self.new(math.AbsFOp(self.value))

    def times_plus(self, factor: Number | float, addend: Number | float) -> Number:
        """The product with `factor` plus `addend`: rounded once if the processor has the instruction, else twice."""
        b, c = self.operand(factor), self.operand(addend)
        if self.writer.fma:
            return self.new(math.FmaOp(self.value, b, c))
        return self.new(arith.AddfOp(self.new(arith.MulfOp(self.value, b)).value, c))

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """`c[0] + c[1] * x + c[2] * x**2 + ...` by Horner's rule; at least two coefficients."""
        *rest, second, last = coefficients
        result = self.times_plus(last, second)
        for coefficient in reversed(rest):
            result = result.times_plus(self, coefficient)
        return result

    def round_even(self) -> Number:
        """The nearest integer, of two the even one."""
        return self.new(math.RoundEvenOp(self.value))

    def sqrt(self) -> Number:
        """The square root, correctly rounded."""
        return self.new(math.SqrtOp(self.value))

    def copysign(self, sign: Number) -> Number:
        """The number with the sign of another."""
        return self.new(math.CopySignOp(self.value, sign.value))

    def compare(self, predicate: str, other: Number | float) -> Condition:
        """Where a comparison of `arith.cmpf` holds: `olt`, `ogt`, `oeq`, `uno`, ..."""
        return Condition(self.writer, self.writer.insert(arith.CmpfOp(self.value, self.operand(other), predicate)))

    def __lt__(self, other: Number | float) -> Condition:
        return self.compare("olt", other)

    def __gt__(self, other: Number | float) -> Condition:
        return self.compare("ogt", other)

    def at_most(self, bound: float) -> Number:
        """The number, or `bound` where the number is greater; NaN remains."""
        return (self > bound).select(bound, self)

    def at_least(self, bound: float) -> Number:
        """The number, or `bound` where the number is less; NaN remains."""
        return (self < bound).select(bound, self)

    def less_multiple(self, n: Number, parts: Sequence[float]) -> Number:
        """The number less `n` times the sum of `parts`."""
        result = self
        for part in parts:
            result = n.times_plus(-part, result)
        return result

    def nearest(self, factor: float = 1.0) -> tuple[Number, Bits]:
        """The integer next to the product with `factor`, as a number, and as bits of which those of `format.magic` are
        a multiple of a power of two that exceeds the width of the exponent. The product is below 2**(fraction - 1) in
        magnitude."""
        magic = self.format.magic
        shifted = self + magic if factor == 1 else self.times_plus(factor, magic)
        return shifted - self.format.magic, shifted.bits

    @property
    def bits(self) -> Bits:
        """The bits of the number."""
        return Bits(self.writer, self.writer.insert(_bitcast(self.value, self.format.bits)), self.format)

    def to(self, format: Format) -> Number:
        """The number in another format."""
        if format == self.format:
            return self
        type = with_element_type(self.value.type, format.type)
        op = arith.ExtFOp(self.value, type) if format is F64 else arith.TruncFOp(self.value, type)
        return Number(self.writer, self.writer.insert(op), format)


def _bitcast(value: SSAValue, scalar: Attribute) -> Operation:
    return arith.BitcastOp(value, with_element_type(value.type, scalar))
