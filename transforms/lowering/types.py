"""Types on both sides of `convert-tir-to-scf`: signless integers, pointers of the `llvm` dialect, memrefs of those."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import FileLineColLoc, IndexType, IntegerType, MemRefType, Signedness, VectorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation

from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...dialects.tir import HandleType

INDEX = IndexType()
POINTER = LLVMPointerType()
BOOL = IntegerType(1)
I32 = IntegerType(32)
I64 = IntegerType(64)

ALIGNED = "stepwell.aligned"
"""The attribute of an allocation that says which strides shall be multiples of what (`tir-pad-buffers`)."""
BLOCK = "stepwell.block"
"""The attribute of a statement that names the block it is of."""


@cache
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


def with_element_type(type: Attribute, element: Attribute) -> Attribute:
    """A scalar or a vector as `type`, of another element type."""
    return VectorType(element, type.shape, type.scalable_dims) if isinstance(type, VectorType) else element


def dtype_name(type: Attribute) -> str:
    """The data type as numpy calls it, of a scalar or of the elements of a buffer; "handle" for a pointer."""
    if isinstance(type, MemRefType):
        type = type.element_type
    return "handle" if isinstance(type, HandleType | LLVMPointerType) else dtype_of(type).name


def byte_size(type: Attribute) -> int:
    """Bytes of one element in memory; what has less than one takes one."""
    return dtype_of(type).bytes


def where(op: Operation) -> str:
    """`file.py:3:5: ` for an operation that knows its place in the source, else nothing."""
    match op.location:
        case FileLineColLoc(filename=file, line=line, column=column):
            return f"{file.data}:{line.data}:{column.data}: error: "
        case _:
            return ""


def unsupported(op: Operation, message: str) -> UnsupportedError:
    """The error that says that `op` cannot be compiled, and where it was written."""
    return UnsupportedError(f"{where(op)}{op.name}: {message}")
