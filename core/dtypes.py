"""Data types: names as TVM and numpy write them, their MLIR types, promotion and literal typing.

The one place that knows which dtype a literal takes and what two operands become; the parser, the printer, the
oracle, the runtime and every DSL ask here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    IndexType,
    IntegerType,
    Signedness,
    VectorType,
)
from xdsl.ir import Attribute

from .intervals import Interval, signed_range, wrap


@dataclass(frozen=True)
class FloatFormat:
    """How a float type writes numbers.

    type: its MLIR type.  semantics: bits of exponent and mantissa, bias, and what stands for infinities, NaN and -0.
    """

    type: type[Attribute]
    semantics: FloatSemantics

    @property
    def bits(self) -> int:
        return self.semantics.bitwidth

    @property
    def has_infinity(self) -> bool:
        return self.semantics.nonfinite is FloatNonfiniteBehavior.IEEE

    @property
    def has_nan(self) -> bool:
        return self.semantics.nonfinite is not FloatNonfiniteBehavior.FINITE_ONLY

    @property
    def has_negative_zero(self) -> bool:
        """Whether the sign is a bit of its own, apart from all others."""
        return self.semantics.has_sign and not (
            self.has_nan and self.semantics.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO
        )

    @property
    def largest(self) -> int:
        """The bits of the largest finite value."""
        top = 2 ** (self.semantics.exponent_bits + self.semantics.mantissa_bits)
        if self.has_infinity:
            return top - 2**self.semantics.mantissa_bits - 1
        return top - (2 if self.has_nan and self.semantics.nan_encoding is FloatNanEncoding.ALL_ONES else 1)

    @property
    def max(self) -> float:
        """The largest finite value."""
        known = self.semantics
        exponent, mantissa = divmod(self.largest, 2**known.mantissa_bits)
        return math.ldexp(2**known.mantissa_bits + mantissa, exponent - known.exponent_bias - known.mantissa_bits)

    @property
    def min(self) -> float:
        """The most negative finite value; without a sign the least."""
        return -self.max if self.semantics.has_sign else math.ldexp(1, -self.semantics.exponent_bias)

    @property
    def nan(self) -> int:
        """The bits of the quiet NaN that has no sign; those of -0 where there is no NaN, for which it then stands."""
        semantics = self.semantics
        if not self.has_nan or semantics.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
            return 2**semantics.sign_shift
        if semantics.nan_encoding is FloatNanEncoding.ALL_ONES:
            return 2**semantics.sign_shift - 1
        return self.largest + 1 + 2 ** (semantics.mantissa_bits - 1)

    def holds(self, other: FloatFormat) -> bool:
        """Whether this type has every value of another one."""
        mine, its = self.semantics, other.semantics
        return (
            mine.mantissa_bits >= its.mantissa_bits
            and mine.exponent_bias + mine.mantissa_bits >= its.exponent_bias + its.mantissa_bits
            and self.max >= other.max
            and all(
                getattr(self, what) or not getattr(other, what)
                for what in ("has_infinity", "has_nan", "has_negative_zero")
            )
            and (mine.has_sign or not its.has_sign)
            and (mine.has_zero or not its.has_zero)
        )


def _small(type: Any) -> FloatFormat:
    return FloatFormat(type, type.SEMANTICS)


FLOAT_FORMATS: dict[str, FloatFormat] = {
    "float4_e2m1fn": _small(Float4E2M1FNType),
    "float6_e2m3fn": _small(Float6E2M3FNType),
    "float6_e3m2fn": _small(Float6E3M2FNType),
    "float8_e3m4": _small(Float8E3M4Type),
    "float8_e4m3": _small(Float8E4M3Type),
    "float8_e4m3b11fnuz": _small(Float8E4M3B11FNUZType),
    "float8_e4m3fn": _small(Float8E4M3FNType),
    "float8_e4m3fnuz": _small(Float8E4M3FNUZType),
    "float8_e5m2": _small(Float8E5M2Type),
    "float8_e5m2fnuz": _small(Float8E5M2FNUZType),
    "float8_e8m0fnu": _small(Float8E8M0FNUType),
    "float16": FloatFormat(Float16Type, FloatSemantics(5, 10, 15)),
    "bfloat16": FloatFormat(BFloat16Type, FloatSemantics(8, 7, 127)),
    "float32": FloatFormat(Float32Type, FloatSemantics(8, 23, 127)),
    "float64": FloatFormat(Float64Type, FloatSemantics(11, 52, 1023)),
}
"""Every float type, in promotion order. Those of less than a byte take one in memory."""

SMALL_FLOATS: tuple[str, ...] = tuple(name for name, known in FLOAT_FORMATS.items() if known.bits < 16)
"""The float types that only ml_dtypes gives to numpy, bfloat16 apart. Their kind is their name."""

_FLOAT_OF_TYPE = {known.type: name for name, known in FLOAT_FORMATS.items()}


def float_format(type: Attribute) -> FloatFormat | None:
    """How an MLIR float type, or vector of such, writes numbers. None for types of anything else."""
    element: Attribute = type.element_type if isinstance(type, VectorType) else type
    return FLOAT_FORMATS.get(_FLOAT_OF_TYPE.get(element.__class__, ""))


def is_small_float(type: Attribute) -> bool:
    """Whether an MLIR type is a float of at most 16 bits, or a vector of such."""
    known = float_format(type)
    return known is not None and known.bits <= 16


_INT_BITS = (2, 4, 8, 16, 32, 64)

SCALAR_DTYPES: tuple[str, ...] = (
    "bool",
    *(f"int{b}" for b in _INT_BITS),
    *(f"uint{b}" for b in _INT_BITS),
    *FLOAT_FORMATS,
)
"""Every scalar data type of a buffer element, in promotion order within its kind."""

_NAME = re.compile(r"(\w+?)(?:x(\d+))?")
_OLD_NAMES = {"boolean": "bool", "e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"}  # TVM 0.13 to 0.19


_NAMES_WITHOUT_BITS = frozenset({"bool", *SMALL_FLOATS})
_FLOAT_KINDS = frozenset({"float", "bfloat", *SMALL_FLOATS})


@dataclass(frozen=True)
class DType:
    """A scalar or vector data type: `kind` one of bool, int, uint, float, bfloat and the names of `SMALL_FLOATS`;
    `bits` per lane; `lanes`."""

    kind: str
    bits: int
    lanes: int = 1

    @property
    def name(self) -> str:
        """The name as TVM and numpy write it: `float32`, `int8x4`, `bool`."""
        scalar = self.kind if self.kind in _NAMES_WITHOUT_BITS else f"{self.kind}{self.bits}"
        return scalar if self.lanes == 1 else f"{scalar}x{self.lanes}"

    @property
    def scalar(self) -> DType:
        return DType(self.kind, self.bits)

    @property
    def bytes(self) -> int:
        """Bytes in memory of one lane: what has less than one takes one."""
        return (self.bits + 7) // 8

    @property
    def is_float(self) -> bool:
        return self.kind in _FLOAT_KINDS

    @property
    def is_small_float(self) -> bool:
        """A float of at most 16 bits, which is computed with in float32."""
        return self.is_float and self.bits <= 16

    @property
    def format(self) -> FloatFormat:
        """How a float type writes numbers."""
        return FLOAT_FORMATS[self.scalar.name]

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer; bool is neither."""
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    def with_lanes(self, lanes: int) -> DType:
        return DType(self.kind, self.bits, lanes)

    def __str__(self) -> str:
        return self.name


@cache
def parse_dtype(name: str) -> DType:
    """The data type called `name`; ValueError if there is none. Old spellings are read: `boolean`, `e4m3_float8`."""
    match = _NAME.fullmatch(name)
    scalar = "" if match is None else _OLD_NAMES.get(match[1], match[1])
    lanes = int(match[2] or 1) if match is not None else 1
    if scalar not in SCALAR_DTYPES or lanes < 1:
        raise ValueError(f"unknown dtype {name!r}")
    if scalar in _NAMES_WITHOUT_BITS:
        return DType(scalar, 1 if scalar == "bool" else FLOAT_FORMATS[scalar].bits, lanes)
    kind = scalar.rstrip("0123456789")
    return DType(kind, int(scalar[len(kind) :]), lanes)


@cache
def type_of(dtype: DType | str) -> Attribute:
    """The MLIR type of a data type: bool is i1, int8 is i8 (signless means signed), uint8 is ui8."""
    if isinstance(dtype, str):
        dtype = parse_dtype(dtype)
    if dtype.lanes != 1:
        return VectorType(type_of(dtype.scalar), [dtype.lanes])
    if dtype.is_float:
        return dtype.format.type()
    if dtype.kind == "uint":
        return IntegerType(dtype.bits, Signedness.UNSIGNED)
    return IntegerType(dtype.bits)


@cache
def dtype_of(type: Attribute) -> DType:
    """The data type of an MLIR scalar or vector type; ValueError for any other type. `index` counts as int64."""
    match type:
        case VectorType():
            (lanes,) = type.get_shape()
            return dtype_of(type.element_type).with_lanes(lanes)
        case IntegerType():
            bits = type.width.data
            if type.signedness.data is Signedness.UNSIGNED:
                return DType("uint", bits)
            return DType("bool", 1) if bits == 1 else DType("int", bits)
        case IndexType():
            return DType("int", 64)
        case _ if (name := _FLOAT_OF_TYPE.get(type.__class__)) is not None:
            return parse_dtype(name)
        case _:
            pass
    raise ValueError(f"{type} is not a scalar or vector type")


@cache
def numpy_dtype(dtype: DType | str) -> np.dtype[Any]:
    """The numpy dtype of one lane (what numpy does not have through ml_dtypes)."""
    if isinstance(dtype, str):
        dtype = parse_dtype(dtype)
    name = dtype.scalar.name
    return np.dtype(getattr(ml_dtypes, name, name))


def carrier_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A numpy dtype of as many bytes that numpy itself has: unsigned integers for one of ml_dtypes, which numpy cannot
    always make from its type string (that of float8_e5m2 is that of no type)."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.isbuiltin == 2 else dtype


def dtype_of_numpy(dtype: np.dtype[Any]) -> DType:
    """The data type of a numpy dtype; ValueError if compiled code knows none."""
    return parse_dtype(dtype.name)


def promote(lhs: DType, rhs: DType) -> DType:
    """The common type of two operands, as TVM's BinaryOpMatchTypes finds it.

    A scalar takes the other's lanes. Float beats integer, integer beats bool, wider beats narrower; of int and uint
    of one width it is uint, of float16 and bfloat16 it is float16. ValueError if the lanes differ and neither is 1, and
    for two floats of 8 bits, or of 6, neither of which is more than the other.
    """
    if lhs.lanes != rhs.lanes and 1 not in (lhs.lanes, rhs.lanes):
        raise ValueError(f"cannot combine {lhs} and {rhs}: {lhs.lanes} lanes against {rhs.lanes}")
    lanes = max(lhs.lanes, rhs.lanes)
    a, b = lhs.scalar, rhs.scalar
    if a == b:
        return a.with_lanes(lanes)
    if a.is_float or b.is_float:
        if not b.is_float:
            return a.with_lanes(lanes)
        if not a.is_float:
            return b.with_lanes(lanes)
        if a.bits == b.bits:
            if a.bits < 16:
                raise ValueError(f"cannot combine {lhs} and {rhs}: convert one of them to the type of the other")
            return DType("float", 16, lanes)
        return (a if a.bits > b.bits else b).with_lanes(lanes)
    if a.is_bool or b.is_bool:
        return (b if a.is_bool else a).with_lanes(lanes)
    if a.bits == b.bits:
        return DType("uint", a.bits, lanes)
    return (a if a.bits > b.bits else b).with_lanes(lanes)


def literal_dtype(value: bool | int | float, other: DType | None = None, *, bitwise: bool = False) -> DType:
    """The data type of a Python literal, beside an operand of type `other` if there is one.

    Alone: bool, int32 (int64 when it does not fit), float32. Beside another operand it is what the two become, so that
    nothing is lost by converting it later: `2` is an int8 beside no int8, for both become int32, but a float16 beside a
    float16; `0.1` is a float64 beside a float64.

    bitwise: the operator is one of `& | ^ << >>`, where an int takes the type of the integer or bool beside it, if it
    fits.
    """
    if isinstance(value, bool):
        alone = DType("bool", 1)
    elif isinstance(value, float):
        alone = DType("float", 32)
    else:
        alone = DType("int", 32 if int_fits(value, DType("int", 32)) else 64)
    if other is None:
        return alone
    if bitwise and not other.is_float and not isinstance(value, float) and int_fits(int(value), other):
        return other.scalar
    return promote(alone, other.scalar)


def int_range(dtype: DType) -> Interval:
    """The smallest and the largest value of an integer (or bool) type."""
    if dtype.kind in ("uint", "bool"):
        return 0, 2**dtype.bits - 1
    return signed_range(dtype.bits)


def int_fits(value: int, dtype: DType) -> bool:
    lo, hi = int_range(dtype)
    return lo <= value <= hi


def holds_int(dtype: DType, number: int) -> bool:
    """Whether casting an integer to a type leaves the number, and all that are nearer to zero, as they are."""
    if dtype.is_float:
        known = dtype.format.semantics
        return known.has_zero and abs(number) <= min(2 ** (known.mantissa_bits + 1), dtype.format.max)
    return dtype.is_bool or int_fits(number, dtype)


def wrap_int(value: int, dtype: DType) -> int:
    """`value` modulo 2**bits, in the range of `dtype`."""
    return wrap(value, int_range(dtype))


def min_value(dtype: DType) -> int | float:
    """The most negative finite value of a scalar type; of one without a sign the least."""
    return dtype.format.min if dtype.is_float else int_range(dtype)[0]


def max_value(dtype: DType) -> int | float:
    """The largest finite value of a scalar type."""
    return dtype.format.max if dtype.is_float else int_range(dtype)[1]


def nearest_float(value: float, dtype: DType) -> float | None:
    """The number of a float type that `value` is rounded to. None where it would be something else: an infinity or NaN
    for a finite number, a NaN for an infinity, anything but 0 for 0."""
    try:
        attr = FloatAttr(value, dtype.format.type())  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (OverflowError, ValueError):  # of a negative number without a sign
        return None
    number = attr.value.data
    is_kept = (math.isfinite(number), math.isnan(number)) == (math.isfinite(value), math.isnan(value))
    return number if is_kept and (value != 0 or number == 0) else None


def extremes(dtype: DType) -> tuple[int | float, int | float]:
    """What no number of a scalar type is less than, and greater than: the infinities where there are some."""
    if dtype.is_float and dtype.format.has_infinity:
        return -math.inf, math.inf
    return min_value(dtype), max_value(dtype)


def with_element_type(type: Attribute, element: Attribute) -> Attribute:
    """A scalar or a vector as `type`, of another element type."""
    return VectorType(element, type.shape, type.scalable_dims) if isinstance(type, VectorType) else element


def byte_size(type: Attribute) -> int:
    """Bytes of one element in memory; what has less than one takes one."""
    return dtype_of(type).bytes
