"""The TVMScript of operations of other packages: `T.sat.add(a, b)`, properties as keyword arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, UnitAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from ...core.errors import UnsupportedError
from .literals import string_literal
from .trees import PrintedExpression, call


def operation_call(op: Operation, argument: Callable[[SSAValue], PrintedExpression]) -> PrintedExpression:
    """The call that builds an operation. argument: the expression of an operand.

    Raises UnsupportedError for a property without a literal.
    """
    definition = cast("IRDLOperation", op).get_irdl_definition()
    arguments: list[PrintedExpression | str] = []
    for name, _ in definition.operands:
        value: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        if isinstance(value, SSAValue):
            arguments.append(argument(value))
        elif value is not None:
            arguments.append(f"[{', '.join(argument(each).text for each in value)}]")
    named = {name: each for name, each in op.properties.items() if name not in ("operandSegmentSizes",)}
    return call(f"T.{op.name}", *arguments, *(f"{name}={_literal(op, each)}" for name, each in named.items()))


def _literal(op: Operation, attr: Attribute) -> str:
    match attr:
        case IntegerAttr() if attr.type == i1:
            return str(bool(attr.value.data))
        case IntegerAttr():
            return str(attr.value.data)
        case FloatAttr() if math.isfinite(attr.value.data):
            return repr(attr.value.data)
        case StringAttr():
            return string_literal(attr.data)
        case UnitAttr():
            return "True"
        case ArrayAttr():
            return f"[{', '.join(_literal(op, each) for each in attr)}]"
        case _:
            raise UnsupportedError(f"{op.name}: the property {attr} has no form in TVMScript")
