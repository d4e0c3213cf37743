"""Types on both sides of `convert-tir-to-scf`: signless integers, pointers of the `llvm` dialect, memrefs."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, Signedness, VectorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from ....core.dtypes import dtype_of
from ....dialects.tir import HandleType

INDEX = IndexType()
POINTER = LLVMPointerType()
BOOL = IntegerType(1)
I32 = IntegerType(32)
I64 = IntegerType(64)


@lru_cache(maxsize=4096)
def lower_type(type: Attribute) -> Attribute:
    """`type` without signs and handles: `ui8` is `i8`, `!tir.handle<f32>` is `!llvm.ptr`."""
    match type:
        case IntegerType(signedness=sign) if sign.data is not Signedness.SIGNLESS:
            return IntegerType(type.width.data)
        case VectorType():
            return VectorType(lower_type(type.element_type), type.get_shape())
        case MemRefType():
            return MemRefType(lower_type(type.element_type), type.get_shape(), type.layout, type.memory_space)
        case HandleType():
            return POINTER
        case _:
            return type


def element_dtype_name(type: Attribute) -> str:
    """The name, as in numpy, of the data type of a scalar or of the elements of a buffer; "handle" for a pointer."""
    if isinstance(type, MemRefType):
        type = type.element_type
    return "handle" if isinstance(type, HandleType | LLVMPointerType) else dtype_of(type).name
