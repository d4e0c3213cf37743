"""Data types: names as TVM and numpy write them, their MLIR types, promotion and literal typing.

The parser, the printer, the oracle, the runtime and every DSL take the data type of a literal and the common type of
two operands from this module.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard, cast

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
from .keeping import kept_with_argument


@dataclass(frozen=True)
class FloatFormat:
    """The binary encoding of a float type.

    type: the MLIR type.  semantics: the bits of exponent and mantissa, the bias, and the encoding of infinities, NaN
    and -0.
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
        """Whether the type has a -0 distinct from 0: a sign bit, and no NaN encoded as -0."""
        return self.semantics.has_sign and not (
            self.has_nan and self.semantics.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO
        )

    @property
    def largest_bits(self) -> int:
        """The bit pattern of the largest finite value."""
        top = 2 ** (self.semantics.exponent_bits + self.semantics.mantissa_bits)
        if self.has_infinity:
            return top - 2**self.semantics.mantissa_bits - 1
        return top - (2 if self.has_nan and self.semantics.nan_encoding is FloatNanEncoding.ALL_ONES else 1)

    @property
    def max(self) -> float:
        """The largest finite value."""
        known = self.semantics
        exponent, mantissa = divmod(self.largest_bits, 2**known.mantissa_bits)
        return math.ldexp(2**known.mantissa_bits + mantissa, exponent - known.exponent_bias - known.mantissa_bits)

    @property
    def min(self) -> float:
        """The most negative finite value; for an unsigned type, the smallest value."""
        return -self.max if self.semantics.has_sign else math.ldexp(1, -self.semantics.exponent_bias)

    @property
    def nan_bits(self) -> int:
        """The bit pattern of the quiet NaN with a clear sign bit.

        The bit pattern of -0 for a type that encodes NaN as -0, and for a type without NaN, where NaN converts to -0.
        """
        semantics = self.semantics
        if not self.has_nan or semantics.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
            return 2**semantics.sign_shift
        if semantics.nan_encoding is FloatNanEncoding.ALL_ONES:
            return 2**semantics.sign_shift - 1
        return self.largest_bits + 1 + 2 ** (semantics.mantissa_bits - 1)

    def represents(self, other: FloatFormat) -> bool:
        """Whether this type represents every value of `other` exactly."""
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


def _format_of(type: Any) -> FloatFormat:
    return FloatFormat(type, type.SEMANTICS)


FLOAT_FORMATS: dict[str, FloatFormat] = {
    "float4_e2m1fn": _format_of(Float4E2M1FNType),
    "float6_e2m3fn": _format_of(Float6E2M3FNType),
    "float6_e3m2fn": _format_of(Float6E3M2FNType),
    "float8_e3m4": _format_of(Float8E3M4Type),
    "float8_e4m3": _format_of(Float8E4M3Type),
    "float8_e4m3b11fnuz": _format_of(Float8E4M3B11FNUZType),
    "float8_e4m3fn": _format_of(Float8E4M3FNType),
    "float8_e4m3fnuz": _format_of(Float8E4M3FNUZType),
    "float8_e5m2": _format_of(Float8E5M2Type),
    "float8_e5m2fnuz": _format_of(Float8E5M2FNUZType),
    "float8_e8m0fnu": _format_of(Float8E8M0FNUType),
    "float16": FloatFormat(Float16Type, FloatSemantics(5, 10, 15)),
    "bfloat16": FloatFormat(BFloat16Type, FloatSemantics(8, 7, 127)),
    "float32": FloatFormat(Float32Type, FloatSemantics(8, 23, 127)),
    "float64": FloatFormat(Float64Type, FloatSemantics(11, 52, 1023)),
}
"""Every float type, in promotion order. A type of less than 8 bits occupies one byte in memory."""

SMALL_FLOATS: tuple[str, ...] = tuple(name for name, known in FLOAT_FORMATS.items() if known.bits < 16)
"""The float types of less than 16 bits, which numpy has through ml_dtypes only. Their kind is their name."""

_FLOAT_OF_TYPE = {known.type: name for name, known in FLOAT_FORMATS.items()}


def float_format(type: Attribute) -> FloatFormat | None:
    """The encoding of an MLIR float type or vector of floats, or None for any other type."""
    return FLOAT_FORMATS.get(_FLOAT_OF_TYPE.get(element_type_of(type).__class__, ""))


def is_small_float(type: Attribute) -> bool:
    """Whether an MLIR type is a float type of at most 16 bits, or a vector of such floats."""
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
_OLD_NAMES = {
    **{
        "float": "float32",
        "int": "int32",
        "uint": "uint32",
        "uint1": "bool",
    },  # TVM's names of types without a number of bits
    **{"boolean": "bool", "e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"},  # TVM 0.13 to 0.19
}


_NAMES_WITHOUT_BITS = frozenset({"bool", *SMALL_FLOATS})
_FLOAT_KINDS = frozenset({"float", "bfloat", *SMALL_FLOATS})


@dataclass(frozen=True)
class DType:
    """A scalar or vector data type.

    kind: bool, int, uint, float, bfloat or a name of `SMALL_FLOATS`.  bits: per lane.  lanes: 1 for a scalar.
    """

    kind: str
    bits: int
    lanes: int = 1

    @property
    def name(self) -> str:
        """The name in the spelling of TVM and numpy: `float32`, `int8x4`, `bool`."""
        scalar = self.kind if self.kind in _NAMES_WITHOUT_BITS else f"{self.kind}{self.bits}"
        return scalar if self.lanes == 1 else f"{scalar}x{self.lanes}"

    @property
    def scalar(self) -> DType:
        return self if self.lanes == 1 else DType(self.kind, self.bits)

    @property
    def bytes(self) -> int:
        """The size of one lane in memory in bytes, at least 1."""
        return (self.bits + 7) // 8

    @property
    def is_float(self) -> bool:
        return self.kind in _FLOAT_KINDS

    @property
    def is_small_float(self) -> bool:
        """Whether this is a float type of at most 16 bits, whose arithmetic is done in float32."""
        return self.is_float and self.bits <= 16

    @property
    def format(self) -> FloatFormat:
        """The encoding of a float type. KeyError for other types."""
        return FLOAT_FORMATS[self.scalar.name]

    @property
    def is_int(self) -> bool:
        """Whether this is a signed or unsigned integer type; bool is neither."""
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    def with_lanes(self, lanes: int) -> DType:
        return self if self.lanes == lanes else DType(self.kind, self.bits, lanes)

    def __str__(self) -> str:
        return self.name


NumpyDType: TypeAlias = np.dtype[Any] | type[np.generic]
"""A numpy dtype, or the class of its numbers: `np.dtype("float32")`, `np.float32`."""


def is_numpy_dtype(value: object) -> TypeGuard[NumpyDType]:
    """Whether a value is a numpy dtype or a class of numpy's numbers."""
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))


@lru_cache(maxsize=4096)
def parse_dtype(name: str | NumpyDType) -> DType:
    """The data type called `name`, or that of a numpy dtype; ValueError for an unknown name. Other spellings are
    accepted: `float`, of 32 bits, `boolean`, `e4m3_float8`."""
    if not isinstance(name, str):
        if not is_numpy_dtype(name):
            raise TypeError(f"a data type of type {type(name).__name__}, expected a name or a numpy dtype")
        return parse_dtype(np.dtype(name).name)
    match = _NAME.fullmatch(name)
    scalar = "" if match is None else _OLD_NAMES.get(match[1], match[1])
    lanes = int(match[2] or 1) if match is not None else 1
    if scalar not in SCALAR_DTYPES or lanes < 1:
        raise ValueError(f"unknown dtype {name!r}")
    if scalar in _NAMES_WITHOUT_BITS:
        return DType(scalar, 1 if scalar == "bool" else FLOAT_FORMATS[scalar].bits, lanes)
    kind = scalar.rstrip("0123456789")
    return DType(kind, int(scalar[len(kind) :]), lanes)


@lru_cache(maxsize=4096)
def vector_type(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """The type of a vector of some lanes; a type is made, and verified, once."""
    return VectorType(element, [lanes])


@lru_cache(maxsize=4096)
def mlir_type(dtype: DType | str) -> Attribute:
    """The MLIR type of a data type: bool is i1, int8 is i8 (signless means signed), uint8 is ui8."""
    if isinstance(dtype, str):
        dtype = parse_dtype(dtype)
    if dtype.lanes != 1:
        return vector_type(mlir_type(dtype.scalar), dtype.lanes)
    if dtype.is_float:
        return dtype.format.type()
    if dtype.kind == "uint":
        return IntegerType(dtype.bits, Signedness.UNSIGNED)
    return IntegerType(dtype.bits)


@kept_with_argument
@lru_cache(maxsize=4096)
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


@lru_cache(maxsize=4096)
def numpy_dtype(dtype: DType | str | NumpyDType) -> np.dtype[Any]:
    """The numpy dtype of one lane, from ml_dtypes where numpy has no such type."""
    if not isinstance(dtype, DType):
        dtype = parse_dtype(dtype)
    name = dtype.scalar.name
    return np.dtype(getattr(ml_dtypes, name, name))


def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a numpy dtype has floats, those of ml_dtypes included, whose `kind` is that of structures."""
    return dtype_of_numpy(dtype).is_float


def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of 64 bits that represents the values of a dtype: float64 for floats, else int64."""
    return np.dtype("float64" if is_float_dtype(dtype) else "int64")


def carrier_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A built-in numpy dtype of the same size: an unsigned integer type for a dtype of ml_dtypes, else `dtype` itself.

    numpy cannot create every dtype of ml_dtypes from its type string: the type string of float8_e5m2 denotes no type.
    """
    return np.dtype(f"u{dtype.itemsize}") if dtype.isbuiltin == 2 else dtype


def dtype_of_numpy(dtype: np.dtype[Any]) -> DType:
    """The data type of a numpy dtype; ValueError for an unsupported dtype."""
    return parse_dtype(dtype.name)


def promote(lhs: DType, rhs: DType) -> DType:
    """The common type of two operands, as computed by TVM's BinaryOpMatchTypes.

    A scalar takes the lanes of the other operand. A float type takes precedence over an integer type, an integer type
    over bool, a wider type over a narrower type; int and uint of the same width promote to uint, float16 and bfloat16
    to float16. ValueError if the lanes differ and neither is 1, and for two different float types of the same width
    below 16 bits.
    """
    if lhs == rhs:
        return lhs
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
    """The data type of a Python literal, alone or as the operand of an operator whose other operand has type `other`.

    Alone: bool, int32 (int64 if the value does not fit), float32. With another operand: the common type of both, so
    that a later conversion loses no precision. `2` with an int8 is an int32, the common type of both, `2` with a
    float16 is a float16, and `0.1` with a float64 is a float64.

    bitwise: whether the operator is one of `& | ^ << >>`, where an int that fits takes the type of the other integer or
    bool operand.
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


def preserves_int(dtype: DType, number: int) -> bool:
    """Whether casts to `dtype` preserve `number` and every integer of smaller magnitude."""
    if dtype.is_float:
        known = dtype.format.semantics
        return known.has_zero and abs(number) <= min(2 ** (known.mantissa_bits + 1), dtype.format.max)
    return dtype.is_bool or int_fits(number, dtype)


def wrap_int(value: int, dtype: DType) -> int:
    """The number in the range of `dtype` that is congruent to `value` modulo 2**bits."""
    return wrap(value, int_range(dtype))


def min_value(dtype: DType) -> int | float:
    """The most negative finite value of a scalar type; for an unsigned type, the smallest value."""
    return dtype.format.min if dtype.is_float else int_range(dtype)[0]


def max_value(dtype: DType) -> int | float:
    """The largest finite value of a scalar type."""
    return dtype.format.max if dtype.is_float else int_range(dtype)[1]


def nearest_float(value: float, dtype: DType) -> float | None:
    """`value` rounded to a float type, or None if rounding changes the class of the number: a finite number to an
    infinity or NaN, an infinity to NaN, 0 to another number."""
    try:
        attr = FloatAttr(value, dtype.format.type())  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (OverflowError, ValueError):  # a negative number in an unsigned type
        return None
    number = attr.value.data
    is_kept = (math.isfinite(number), math.isnan(number)) == (math.isfinite(value), math.isnan(value))
    return number if is_kept and (value != 0 or number == 0) else None


def value_bounds(dtype: DType) -> tuple[int | float, int | float]:
    """The lower and upper bound of the values of a scalar type: the infinities if the type has infinities."""
    if dtype.is_float and dtype.format.has_infinity:
        return -math.inf, math.inf
    return min_value(dtype), max_value(dtype)


def element_type_of(type: Attribute) -> Attribute:
    """The element type of a vector type, any other type itself."""
    return cast(Attribute, type.element_type) if isinstance(type, VectorType) else type


def with_element_type(type: Attribute, element: Attribute) -> Attribute:
    """A scalar or vector type like `type`, with another element type."""
    return VectorType(element, type.shape, type.scalable_dims) if isinstance(type, VectorType) else element


def element_byte_size(type: Attribute) -> int:
    """The size of an element in memory in bytes, at least 1; the lanes of a vector are consecutive."""
    dtype = dtype_of(type)
    return dtype.bytes * dtype.lanes
