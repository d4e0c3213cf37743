"""Types on both sides of `convert-tir-to-scf`: signless integers, pointers of the `llvm` dialect, memrefs."""

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
"""The attribute of an allocation with the required alignments of its strides (`tir-pad-buffers`)."""
BLOCK = "stepwell.block"
"""The attribute of a statement with the name of its block."""


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
    """A scalar or vector type like `type`, with another element type."""
    return VectorType(element, type.shape, type.scalable_dims) if isinstance(type, VectorType) else element


def dtype_name(type: Attribute) -> str:
    """The name, as in numpy, of the data type of a scalar or of the elements of a buffer; "handle" for a pointer."""
    if isinstance(type, MemRefType):
        type = type.element_type
    return "handle" if isinstance(type, HandleType | LLVMPointerType) else dtype_of(type).name


def byte_size(type: Attribute) -> int:
    """The size of an element in memory in bytes; at least 1."""
    return dtype_of(type).bytes


def where(op: Operation) -> str:
    """`file.py:3:5: ` for an operation with a source location, else the empty string."""
    match op.location:
        case FileLineColLoc(filename=file, line=line, column=column):
            return f"{file.data}:{line.data}:{column.data}: error: "
        case _:
            return ""


def unsupported(op: Operation, message: str) -> UnsupportedError:
    """The error that reports `op`, with its source location, as unsupported."""
    return UnsupportedError(f"{where(op)}{op.name}: {message}")
