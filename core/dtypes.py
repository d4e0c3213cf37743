"""Data types: names as TVM and numpy write them, their MLIR types, promotion and literal typing.

The one place that knows which dtype a literal takes and what two operands become; the parser, the printer, the
oracle, the runtime and every DSL ask here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    VectorType,
)
from xdsl.ir import Attribute

_FLOATS: dict[str, type[Attribute]] = {
    "float16": Float16Type,
    "bfloat16": BFloat16Type,
    "float32": Float32Type,
    "float64": Float64Type,
}
_INT_BITS = (8, 16, 32, 64)

SCALAR_DTYPES: tuple[str, ...] = (
    "bool",
    *(f"int{b}" for b in _INT_BITS),
    *(f"uint{b}" for b in _INT_BITS),
    *_FLOATS,
)
"""Every scalar data type of a buffer element, in promotion order within its kind."""

_NAME = re.compile(r"(bool|bfloat16|(?:int|uint|float)(?:\d+))(?:x(\d+))?")


@dataclass(frozen=True)
class DType:
    """A scalar or vector data type: `kind` one of bool, int, uint, float, bfloat; `bits` per lane; `lanes`."""

    kind: str
    bits: int
    lanes: int = 1

    @property
    def name(self) -> str:
        """The name as TVM and numpy write it: `float32`, `int8x4`, `bool`."""
        scalar = "bool" if self.kind == "bool" else f"{self.kind}{self.bits}"
        return scalar if self.lanes == 1 else f"{scalar}x{self.lanes}"

    @property
    def scalar(self) -> DType:
        return DType(self.kind, self.bits)

    @property
    def is_float(self) -> bool:
        return self.kind in ("float", "bfloat")

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
    """The data type called `name`; ValueError if there is none. `boolean` is the old spelling of `bool`."""
    match = _NAME.fullmatch("bool" if name == "boolean" else name)
    if match is None:
        raise ValueError(f"unknown dtype {name!r}")
    scalar, lanes = match[1], int(match[2] or 1)
    if scalar not in SCALAR_DTYPES or lanes < 1:
        raise ValueError(f"unknown dtype {name!r}")
    if scalar == "bool":
        return DType("bool", 1, lanes)
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
        return _FLOATS[dtype.name]()
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
        case _:
            for name, cls in _FLOATS.items():
                if isinstance(type, cls):
                    return parse_dtype(name)
    raise ValueError(f"{type} is not a scalar or vector type")


@cache
def numpy_dtype(dtype: DType | str) -> np.dtype[Any]:
    """The numpy dtype of one lane (bfloat16 through ml_dtypes)."""
    if isinstance(dtype, str):
        dtype = parse_dtype(dtype)
    name = dtype.scalar.name
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def dtype_of_numpy(dtype: np.dtype[Any]) -> DType:
    """The data type of a numpy dtype; ValueError if compiled code knows none."""
    return parse_dtype(dtype.name)


def promote(lhs: DType, rhs: DType) -> DType:
    """The common type of two operands, as TVM's BinaryOpMatchTypes finds it.

    A scalar takes the other's lanes. Float beats integer, integer beats bool, wider beats narrower; of int and uint
    of one width it is uint, of float16 and bfloat16 it is float16. ValueError if the lanes differ and neither is 1.
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


def int_range(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest value of an integer (or bool) type."""
    if dtype.kind in ("uint", "bool"):
        return 0, 2**dtype.bits - 1
    return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1


def int_fits(value: int, dtype: DType) -> bool:
    lo, hi = int_range(dtype)
    return lo <= value <= hi


_MANTISSA_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def holds_int(dtype: DType, number: int) -> bool:
    """Whether casting an integer to a type leaves the number as it is."""
    if dtype.is_float:
        return abs(number) <= 2 ** _MANTISSA_BITS[dtype.scalar.name]
    return dtype.is_bool or int_fits(number, dtype)


def wrap_int(value: int, dtype: DType) -> int:
    """`value` modulo 2**bits, in the range of `dtype`."""
    lo, _ = int_range(dtype)
    return (value - lo) % 2**dtype.bits + lo


def _finfo(dtype: DType) -> Any:
    return (ml_dtypes.finfo if dtype.kind == "bfloat" else np.finfo)(numpy_dtype(dtype))


def min_value(dtype: DType) -> int | float:
    """The most negative finite value of a scalar type."""
    return float(_finfo(dtype).min) if dtype.is_float else int_range(dtype)[0]


def max_value(dtype: DType) -> int | float:
    """The largest finite value of a scalar type."""
    return float(_finfo(dtype).max) if dtype.is_float else int_range(dtype)[1]
