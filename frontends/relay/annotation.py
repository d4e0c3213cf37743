"""Marks of values: those of the regions of other compilers, `relay.annotation.compiler_begin` and `compiler_end`, of
devices, and of the ends of kernels.

A mark is a call whose result is its operand. Operations have no marks, which only graphs as the user wrote them keep.
"""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from ...operators import Operator
from ...operators.definition import Attribute, Pattern
from .expr import Call, Expr

DEFAULT = "default"
"""The name of this compiler."""


def _mark(name: str, *attributes: Attribute) -> Operator:
    return Operator(name, Pattern.OPAQUE, _operand, _operand, ("data",), False, attributes)


def _operand(data: Any, **attributes: Any) -> Any:
    """The operand."""
    return data


_COMPILER = Attribute("compiler", "str", Parameter.empty)
BEGIN, END = _mark("annotation.compiler_begin", _COMPILER), _mark("annotation.compiler_end", _COMPILER)
CHECKPOINT, STOP_FUSION = _mark("annotation.checkpoint"), _mark("annotation.stop_fusion")
ON_DEVICE = _mark(
    "on_device",
    Attribute("virtual_device", "object", Parameter.empty),
    Attribute("constrain_result", "bool", False),
    Attribute("constrain_body", "bool", True),
)
DEVICE_COPY = _mark(
    "device_copy",
    Attribute("src_virtual_device", "object", Parameter.empty),
    Attribute("dst_virtual_device", "object", Parameter.empty),
)
MARKS = {each.name: each for each in (BEGIN, END, CHECKPOINT, STOP_FUSION, ON_DEVICE, DEVICE_COPY)}
"""The operators of marks by name."""


def compiler_begin(data: Expr, compiler: str) -> Call:
    """The start of the region of a compiler: `data` is computed before the region."""
    return Call(BEGIN, [data], {"compiler": compiler})


def compiler_end(data: Expr, compiler: str) -> Call:
    """The end of the region of a compiler: `data` is a result of the region."""
    return Call(END, [data], {"compiler": compiler})


def checkpoint(data: Expr) -> Call:
    """A value that TVM's gradients compute again instead of keeping it. The gradients of this package keep values."""
    return Call(CHECKPOINT, [data])


def stop_fusion(data: Expr) -> Call:
    """A value that no kernel of TVM's has inside of it. Kernels of this package take no notice."""
    return Call(STOP_FUSION, [data])


def is_mark(expr: Any, *kinds: Operator) -> bool:
    """Whether an expression is a mark of one of the kinds, of any without kinds."""
    return isinstance(expr, Call) and any(expr.op is each for each in kinds or (BEGIN, END))


__all__ = ["checkpoint", "compiler_begin", "compiler_end", "stop_fusion"]
