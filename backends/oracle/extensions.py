"""Operations of other packages: their meanings as functions on the values of generated code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ...core.dtypes import dtype_of
from ...core.errors import ArgumentError, PluginError
from ...dialects.extensions import ScalarOperation, Statement, describe_origin
from .checks import inside, mark_written, outside
from .expressions import call_text
from .memory import View

if TYPE_CHECKING:
    from .functions import FunctionCompiler


def number_function(definition: ScalarOperation, op: Operation) -> Callable[..., Any]:
    """The function that computes the number of an operation, for one lane, from those of its operands.

    It raises PluginError if the meaning fails, or if its result is no number of the type of the operation.
    """
    dtype = dtype_of(op.results[0].type).scalar

    def compute(*operands: Any) -> Any:
        value = _call(definition.meaning, op, operands)
        try:
            return inside(value, dtype.name, "it")
        except (ArgumentError, TypeError, ValueError, OverflowError):
            message = f"{describe_origin(op)}: the meaning returned {value!r}, expected a number of {dtype}"
            raise PluginError(message) from None

    return compute


def statement_function(definition: Statement, op: Operation) -> Callable[..., None]:
    """The function that executes a statement on views of buffers and numbers. It raises PluginError if the meaning
    fails."""

    def execute(*operands: Any) -> None:
        _call(definition.meaning, op, [outside(operand) for operand in operands])
        for operand in operands:
            if isinstance(operand, View):
                mark_written(operand)

    return execute


def _call(meaning: Callable[..., Any], op: Operation, operands: Sequence[Any]) -> Any:
    try:
        return meaning(op, *operands)
    except Exception as error:  # a function of a user may raise any exception
        message = f"{describe_origin(op)}: the meaning failed: {type(error).__name__}: {error}"
        raise PluginError(message) from error


def add_function(f: FunctionCompiler, op: Operation, function: Callable[..., Any]) -> str:
    """Makes a function available to generated code. Returns its name there."""
    name = f"{f.context.names[f.name]}_{f.writer.fresh_name(op.name)}"
    f.constants[name] = function
    return name


def emit_statement(f: FunctionCompiler, op: Operation, definition: Statement) -> None:
    """Emits a statement: a call of its function, which may write all elements of its buffers."""
    name = add_function(f, op, statement_function(definition, op))
    arguments: list[str] = []
    for value in op.operands:
        if isinstance(value.type, MemRefType):
            arguments.append(f.emit_written_view(value))
        else:
            arguments.append(f.writer.value(value).text)
    f.writer.line(call_text(name, *arguments).text)
