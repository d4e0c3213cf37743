"""The calling of compiled code: arguments, packed functions, compiled programs."""

from .library import CompiledFunction, Library
from .packed import get_global_func, register_func
from .signature import (
    BufferParameter,
    FunctionSignature,
    HandleParameter,
    PackedSignature,
    Parameter,
    ScalarParameter,
)

__all__ = [
    "BufferParameter",
    "CompiledFunction",
    "FunctionSignature",
    "HandleParameter",
    "Library",
    "PackedSignature",
    "Parameter",
    "ScalarParameter",
    "get_global_func",
    "register_func",
]
