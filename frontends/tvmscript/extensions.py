"""Operations of other packages as words: `T.sat.add(a, b)` is the operation `sat.add`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef
from xdsl.utils.exceptions import VerifyException

from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, literal_dtype
from ...dialects.extensions import extension_of
from ...dialects.tir import HandleType, Operand
from .context import ElaborationContext
from .values import BufferValue, Value


def call_operation(
    context: ElaborationContext, path: str, span: Span, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value:
    """Builds an operation from the arguments of a call, which are those of its `__init__`; returns its result.

    A number for an operand has the type of the first other operand. A violated constraint is diagnosed at the call.
    """
    kind = cast("type[IRDLOperation]", _extension_op(path))
    if kind.__init__ is IRDLOperation.__init__:
        raise span.error(f"T.{path}: the class {kind.__name__} defines no __init__, whose parameters a call has")
    signature = inspect.signature(kind.__init__)
    try:
        bound = signature.bind(None, *args, **keywords)
    except TypeError as error:
        raise span.error(f"T.{path}: {error}; expected {_usage(path, signature)}") from None
    is_list = {name: isinstance(each, VarOperandDef) for name, each in kind.get_irdl_definition().operands}
    operands = {
        name: [_operand(context, each, span) for each in (_items(value) if is_list[name] else [value])]
        for name, value in bound.arguments.items()
        if name in is_list
    }
    dtype = _common_dtype([each for values in operands.values() for each in values])
    for name, values in operands.items():
        converted = [_as_value(context, each, dtype, span) for each in values]
        bound.arguments[name] = converted if is_list[name] else converted[0]
    try:
        op = kind(*bound.args[1:], **bound.kwargs)
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError, TypeError) as error:
        raise span.error(f"T.{path}: {error}") from None
    context.locate(span).insert(op)
    return op.results[0] if op.results else None


def _extension_op(path: str) -> type[Operation]:
    extension = extension_of(path.partition(".")[0])
    assert extension is not None
    return extension.by_name[path].op


def _usage(path: str, signature: inspect.Signature) -> str:
    parameters = list(signature.parameters.values())[1:]
    return f"T.{path}({', '.join(each.name for each in parameters)})"


def _operand(context: ElaborationContext, value: Value, span: Span) -> Operand:
    """The operand for an argument: a buffer, a value, or the number of a literal."""
    return value.value if isinstance(value, BufferValue) else context.operand(value, span)


def _items(value: Value) -> Sequence[Value]:
    return cast("Sequence[Value]", value) if isinstance(value, list | tuple) else [value]


def _common_dtype(operands: Sequence[Operand]) -> DType | None:
    """The type of the first operand that is neither a literal nor a buffer, None without one."""
    values = [each for each in operands if isinstance(each, SSAValue)]
    numbers = [each for each in values if not isinstance(each.type, HandleType | MemRefType)]
    return dtype_of(numbers[0].type) if numbers else None


def _as_value(context: ElaborationContext, operand: Operand, dtype: DType | None, span: Span) -> SSAValue:
    if isinstance(operand, SSAValue):
        return operand
    return context.locate(span).const(operand, literal_dtype(operand) if dtype is None else dtype)
