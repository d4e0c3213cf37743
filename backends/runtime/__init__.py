"""The calling of compiled code: arguments, packed functions, compiled programs."""

from ...core.aliases import former_names
from .packed import get_global_func, register_func
from .program import CompiledFunction, Program
from .signature import (
    BufferParameter,
    FunctionSignature,
    HandleParameter,
    PackedSignature,
    RuntimeParameter,
    ScalarParameter,
)

__all__ = [
    "BufferParameter",
    "CompiledFunction",
    "FunctionSignature",
    "HandleParameter",
    "PackedSignature",
    "Program",
    "RuntimeParameter",
    "ScalarParameter",
    "get_global_func",
    "register_func",
]

__getattr__ = former_names(__name__, {"Library": "Program"})
