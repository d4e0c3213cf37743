"""MLIR types and constants as LLVM IR text.

In registers `index` is i64, and floats of up to 16 bits are their bits, an i16 or less: LLVM then never needs a
run-time library to move, load or store one. In memory a type of less than a byte takes one byte, whose other bits are
0.
"""

from __future__ import annotations

import re
import string
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    VectorType,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from ...core.dtypes import dtype_of, element_type_of, is_small_float, numpy_dtype, wrap_int
from ...core.errors import UnsupportedError

_CONSTANT = re.compile(r"(-?\d+)|splat \(i\d+ (-?\d+)\)")


@lru_cache(maxsize=4096)
def lane_count(type: Attribute) -> int | None:
    """The lanes of a vector type, None for a scalar. Raises UnsupportedError unless the vector has one fixed
    dimension.
    """
    if not isinstance(type, VectorType):
        return None
    if type.get_num_dims() != 1 or any(bool(flag) for flag in type.scalable_dims):
        raise UnsupportedError(f"vectors must have one fixed dimension for LLVM, got {type}")
    return type.get_shape()[0]


@lru_cache(maxsize=4096)
def bit_width(type: Attribute) -> int:
    """Bits of one element of an integer, index or float type."""
    scalar = element_type_of(type)
    return 64 if isinstance(scalar, IndexType) else dtype_of(scalar).bits


@lru_cache(maxsize=4096)
def register_type(type: Attribute) -> str:
    """The LLVM type of a scalar, vector or pointer value."""
    return _spell(type, _register_scalar)


@lru_cache(maxsize=4096)
def llvm_memory_type(type: Attribute) -> str:
    """The LLVM type of a value in memory: its `register_type`, but a byte for elements of less than 8 bits."""
    return _spell(type, lambda scalar: "i8" if is_sub_byte(scalar) else _register_scalar(scalar))


def _spell(type: Attribute, scalar: Any) -> str:
    count = lane_count(type)
    text = scalar(element_type_of(type))
    return text if count is None else f"<{count} x {text}>"


def _register_scalar(type: Attribute) -> str:
    match type:
        case IndexType():
            return "i64"
        case IntegerType() if type.signedness.data is Signedness.SIGNLESS:
            return f"i{type.width.data}"
        case _ if is_small_float(type):
            return f"i{bit_width(type)}"
        case LLVMPointerType():
            return "ptr"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case _:
            raise UnsupportedError(f"type {type} has no LLVM equivalent here")


def is_bool(type: Attribute) -> bool:
    """Whether the elements are i1."""
    scalar = element_type_of(type)
    return isinstance(scalar, IntegerType) and scalar.width.data == 1


def is_sub_byte(type: Attribute) -> bool:
    """Whether the elements are of less than 8 bits."""
    return not isinstance(element_type_of(type), LLVMPointerType) and bit_width(type) < 8


def byte_size(type: Attribute) -> int:
    """Bytes of a scalar, or of one lane of a vector, in memory."""
    scalar = element_type_of(type)
    return 8 if isinstance(scalar, LLVMPointerType) else (bit_width(scalar) + 7) // 8


def element_size(type: Attribute) -> int:
    """Bytes from one element of a buffer to the next; LLVM pads the lanes of a vector to a power of 2."""
    return byte_size(type) << ((lane_count(type) or 1) - 1).bit_length()


@dataclass(frozen=True)
class MemRefLayout:
    """The layout of a memref type. None for dynamic values; `strides` and `offset` in elements."""

    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    offset: int | None
    identity: bool

    @property
    def dynamic_stride_count(self) -> int:
        """The number of stride components of a value of this type. The strides of an identity layout follow from its
        sizes.
        """
        return 0 if self.identity else self.strides.count(None)


@lru_cache(maxsize=4096)
def layout_of(type: MemRefType) -> MemRefLayout:
    """The layout of a memref type. Raises UnsupportedError if it is not strided."""
    shape = tuple(None if extent == DYNAMIC_INDEX else extent for extent in type.get_shape())
    strides = type.get_strides()
    if strides is None:
        raise UnsupportedError(f"only strided layouts can be compiled, got {type}")
    return MemRefLayout(shape, tuple(strides), type.get_offset(), isinstance(type.layout, NoneAttr))


def intrinsic_suffix(llvm_type: str) -> str:
    """The suffix of an intrinsic's name for a type: `<4 x float>` is v4f32."""
    if llvm_type.startswith("<"):
        count, scalar = llvm_type[1:-1].split(" x ")
        return f"v{count}{intrinsic_suffix(scalar)}"
    return {"float": "f32", "double": "f64", "ptr": "p0"}.get(llvm_type, llvm_type)


def llvm_int_literal(value: int, type: Attribute) -> str:
    """An integer constant of a scalar integer or index type, wrapped to its width."""
    if is_bool(type):
        return str(value & 1)
    return str(wrap_int(value, dtype_of(type)))


def llvm_float_literal(value: float, type: Attribute) -> str:
    """An exact float constant: LLVM writes an f32 as the bits of the f64 of the same value."""
    if is_small_float(type):
        with np.errstate(all="ignore"):
            bits = np.array(value, numpy_dtype(dtype_of(type)))
        return str(int(bits.view(f"i{bits.itemsize}")))
    if isinstance(type, Float32Type):
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def splat(literal: str, type: Attribute) -> str:
    """`literal` of the element type of `type`, in every lane if `type` is a vector."""
    return literal if lane_count(type) is None else f"splat ({register_type(element_type_of(type))} {literal})"


def splat_int(value: int, llvm_type: str) -> str:
    """The integer `value` of an LLVM integer type, in every lane if it is a vector."""
    return str(value) if not llvm_type.startswith("<") else f"splat ({llvm_type[1:-1].split(' x ')[1]} {value})"


def condition_type(llvm_type: str) -> str:
    """The LLVM type of a comparison of two values of an LLVM type."""
    return "i1" if not llvm_type.startswith("<") else f"{llvm_type.split(' x ')[0]} x i1>"


def constant_value_of_operand(operand: str) -> int | None:
    """The value of an operand that is an integer constant, the same in every lane if it is a vector."""
    match = None if operand.startswith("%") else _CONSTANT.fullmatch(operand)
    return int(match[1] or match[2]) if match is not None else None


def vector_literal(elements: Iterable[str], scalar: str) -> str:
    """A vector constant of `elements`, each of LLVM type `scalar`."""
    return "<" + ", ".join(f"{scalar} {element}" for element in elements) + ">"


def constant_literal(value: Attribute) -> str:
    """The value of an `arith.constant`: integer, float, or dense vector."""
    match value:
        case IntegerAttr():
            return llvm_int_literal(value.value.data, value.type)
        case FloatAttr():
            return llvm_float_literal(value.value.data, value.type)
        case DenseIntOrFPElementsAttr():
            return _dense_literal(value)
        case _:
            raise UnsupportedError(f"constant {value} has no LLVM equivalent here")


def _dense_literal(value: DenseIntOrFPElementsAttr[Any]) -> str:
    scalar = value.get_element_type()
    write = llvm_float_literal if dtype_of(scalar).is_float else llvm_int_literal
    if value.is_splat():
        return splat(write(value.get_values()[0], scalar), value.type)
    return vector_literal((write(element, scalar) for element in value.get_values()), register_type(scalar))


def dense_bytes(value: Attribute, type: MemRefType) -> bytes:
    """The bytes in memory of the initial value of a `memref.global` of type `type`."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise UnsupportedError(f"the initial value of a global must be dense, got {value.name}")
    dtype = numpy_dtype(dtype_of(value.get_element_type()))
    values = np.array(value.get_values()[:1] if value.is_splat() else value.get_values())
    values = (values != 0 if dtype == np.bool_ else values).astype(dtype)
    return np.broadcast_to(values, values.shape if len(values) != 1 else type.get_shape()).tobytes()


_UNESCAPED = frozenset(f"{string.ascii_letters}{string.digits}$._-".encode())


def escape(data: bytes) -> str:
    """The body of an LLVM string constant."""
    return "".join(chr(byte) if byte in _UNESCAPED else f"\\{byte:02X}" for byte in data)
