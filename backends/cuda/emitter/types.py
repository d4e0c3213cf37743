"""MLIR types and constants as C++ text."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from ....core.dtypes import dtype_of, element_type_of, float_format, is_small_float, numpy_dtype, wrap_int
from ....core.errors import UnsupportedError
from ...llvm.types import bit_width, is_bool, is_sub_byte, lane_count
from .expression import INT, INTEGERS, LONG, PRIMARY, UNARY, CudaExpr, binary, cast, integer_literal

HALF, BFLOAT = "__half", "__nv_bfloat16"
BITS = "unsigned char"
"""The type for the bits of a float of at most a byte, or of an integer of less than a byte: in the low
bits, zeros above.
"""

FRAGMENT = "nvcuda::wmma::"
"""The prefix of the names of fragments and of matrix operations."""

HEADERS = {HALF: "cuda_fp16.h", BFLOAT: "cuda_bf16.h", FRAGMENT: "mma.h"}
"""The header of each type that requires one."""


@lru_cache(maxsize=4096)
def scalar_type(type: Attribute) -> str:
    """The C++ type of a scalar value, or of a lane of a vector. For `index` it is the widest type, the default."""
    match element_type_of(type):
        case IndexType():
            return LONG
        case IntegerType() as integer if integer.signedness.data is Signedness.SIGNLESS:
            if integer.width.data in INTEGERS:
                return INTEGERS[integer.width.data]
            if integer.width.data < 8:
                return BITS
        case Float16Type():
            return HALF
        case BFloat16Type():
            return BFLOAT
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case LLVMPointerType():
            return "void*"
        case _ if (known := float_format(type)) is not None and known.bits <= 8:
            return BITS
        case _:
            pass
    raise UnsupportedError(f"type {type} has no CUDA equivalent here")


def memory_type(type: Attribute) -> str:
    """The C++ type of an element in memory: its `scalar_type`, but a byte for a bool."""
    return "unsigned char" if is_bool(type) else scalar_type(type)


def low_bits(type: Attribute) -> int | None:
    """The mask of the bits of a type represented by `BITS`; None for other types."""
    return (1 << bit_width(type)) - 1 if scalar_type(type) == BITS else None


def mask_bits(value: CudaExpr, mask: int) -> CudaExpr:
    """Some low bits of an integer, as `BITS`."""
    if value.literal is not None:
        return integer_literal(value.literal & mask, BITS)
    return cast(BITS, binary("&", value, CudaExpr(f"0x{mask:x}", PRIMARY, INT), INT), (0, mask))


def has_padding_bits(type: Attribute) -> bool:
    """Whether a byte in memory has more bits than a value of the type."""
    return is_sub_byte(type) and not is_bool(type)


def is_index(type: Attribute) -> bool:
    """Whether a scalar or the lanes of a vector are `index`."""
    return isinstance(element_type_of(type), IndexType)


def _bits(value: float, type: Attribute) -> int:
    dtype = numpy_dtype(dtype_of(element_type_of(type)))
    with np.errstate(over="ignore"):
        return int(np.array(value, dtype).view(f"u{dtype.itemsize}"))


_FROM_BITS = {"float": "__int_as_float", "double": "__longlong_as_double", HALF: "__ushort_as_half",
              BFLOAT: "__ushort_as_bfloat16"}  # fmt: skip


def decimal(value: float, type: Attribute) -> str | None:
    """The shortest decimal literal of exactly this f32 or f64; None for infinities, NaN and subnormal numbers."""
    dtype = numpy_dtype(dtype_of(element_type_of(type)))
    with np.errstate(over="ignore"):
        rounded = dtype.type(value)
    if is_small_float(type) or not np.isfinite(rounded) or 0 < abs(rounded) < np.finfo(dtype).tiny:
        return None
    text = repr(rounded.item()) if dtype.itemsize == 8 else str(rounded)
    text = text if any(c in text for c in ".e") else text + ".0"
    return text + ("f" if dtype.itemsize == 4 else "")


def float_literal(value: float, type: Attribute) -> CudaExpr:
    """An exact float constant: by its bits where no exact decimal literal exists."""
    kind, text = scalar_type(type), decimal(value, type)
    if text is not None:
        return CudaExpr(text, UNARY if math.copysign(1, value) < 0 else PRIMARY, kind)
    bits = _bits(value, type)
    if kind == BITS:
        return integer_literal(bits, BITS)
    digits = {"float": 8, "double": 16}.get(kind, 4)
    return CudaExpr(f"{_FROM_BITS[kind]}(0x{bits:0{digits}x}{'ll' if digits == 16 else ''})", PRIMARY, kind)


def int_literal(value: int, type: Attribute) -> CudaExpr:
    """An integer constant, wrapped to its width. An `index` is `int` if it fits."""
    if is_bool(type):
        return integer_literal(value & 1, "bool")
    mask = low_bits(type)
    if mask is not None:
        return integer_literal(value & mask, BITS)
    return integer_literal(
        wrap_int(value, dtype_of(element_type_of(type))), None if is_index(type) else scalar_type(type)
    )


def scalar_literal(value: Any, type: Attribute) -> CudaExpr:
    """A constant of a scalar type."""
    return float_literal(value, type) if dtype_of(type).is_float else int_literal(int(value), type)


def constant_literals(value: Attribute) -> CudaExpr | list[CudaExpr]:
    """The value of an `arith.constant`: of a scalar, or of each lane."""
    match value:
        case IntegerAttr():
            return int_literal(value.value.data, value.type)
        case FloatAttr():
            return float_literal(value.value.data, value.type)
        case DenseIntOrFPElementsAttr():
            scalar, count = value.get_element_type(), lane_count(value.type) or 1
            values = [scalar_literal(element, scalar) for element in value.get_values()]
            return values * count if value.is_splat() and len(values) == 1 else values
        case _:
            raise UnsupportedError(f"constant {value} has no CUDA equivalent here")
