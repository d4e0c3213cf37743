"""Arguments of buffer declarations: shape, data type, strides, offset, memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from ...core.diagnostics import Span
from ...core.dtypes import DType, mlir_type
from ...dialects.tir import HandleType, Mixed
from ...dialects.tir.buffers import check_separators
from . import syntax
from .context import ElaborationContext
from .dispatch import evaluate
from .reader import read_expression
from .values import BufferSpec, Value, Variable, describe_value
from .vocabulary import Reader

_STEPS_PER_CHARACTER = 10  # of an expression in a string, which is parsed at each evaluation
_DEFAULT_ALIGNMENTS = (-1, 0, 64)  # TVM aligns its own allocations to 64 bytes


@dataclass(frozen=True)
class BufferArguments:
    """The arguments that all buffer declarations share, in TVM's order with TVM's defaults."""

    shape: Value
    dtype: Value = "float32"
    data: Value = None
    strides: Value = None
    elem_offset: Value = None
    scope: Value = "global"
    align: Value = -1
    offset_factor: Value = 0
    buffer_type: Value = "default"
    axis_separators: Value = None
    layout: Value = None


@dataclass(frozen=True)
class MatchArguments(BufferArguments):
    """The arguments of `T.match_buffer`, where a region gives a missing shape and data type.

    name: the name of a buffer that no variable names.
    """

    shape: Value = None
    dtype: Value = None
    name: Value = None


def takes(arguments: type[BufferArguments], without: tuple[str, ...] = ()) -> Callable[[Callable[..., Value]], Reader]:
    """Gives a reader, whose last parameter is of the class `arguments`, the fields of the class as parameters instead.

    without: the fields that are no parameters.
    """
    fields = [field for name, field in inspect.signature(arguments).parameters.items() if name not in without]

    def decorate(reader: Callable[..., Value]) -> Reader:
        *leading, _ = inspect.signature(reader).parameters.values()
        count = len(leading)

        def read(*args: Any, **keywords: Any) -> Value:
            return reader(*args[:count], arguments(*args[count:], **keywords))

        read.__signature__ = inspect.Signature([*leading, *fields])  # pyright: ignore[reportFunctionMemberAccess]
        return read

    return decorate


def read_spec(
    context: ElaborationContext, span: Span, arguments: BufferArguments, source_rank: int | None = None
) -> BufferSpec:
    """The specification of a buffer from the arguments of its declaration. source_rank: for a region, the number of
    dimensions of its buffer."""
    if arguments.buffer_type not in ("default", "auto", "") or arguments.layout not in (None, "default"):
        raise span.error("buffer_type and layout are not supported")
    element = context.type(arguments.dtype, span)
    if isinstance(element, HandleType):
        raise span.error("buffers of handles are not supported")
    alignment = context.integer(arguments.align, span, "the alignment")
    factor = context.integer(arguments.offset_factor, span, "offset_factor")
    extents = read_shape(context, arguments.shape, span)
    steps = None if arguments.strides is None else read_shape(context, arguments.strides, span, "strides") or None
    if steps is not None and len(steps) != len(extents):
        raise span.error(f"{len(steps)} strides for a shape of {len(extents)} dimensions")
    offset = _offset(context, arguments.elem_offset, factor, span)
    rank = len(extents) if source_rank is None else source_rank
    return BufferSpec(
        shape=extents,
        element=element,
        data=None if arguments.data is None else context.pointer(arguments.data, span),
        strides=steps or _implied_strides(context, extents, offset, span),
        offset=offset,
        scope=context.string(arguments.scope, span, "the scope") or "global",
        alignment=None if alignment in _DEFAULT_ALIGNMENTS else alignment,
        offset_factor=None if factor in (0, 1) else factor,
        axis_separators=_separators(context, arguments.axis_separators, rank, span),
    )


def _separators(context: ElaborationContext, value: Value, rank: int, span: Span) -> tuple[int, ...]:
    """The positions that divide dimensions into groups."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise span.error(f"expected a list of positions for axis_separators, got {describe_value(value)}")
    positions = [context.integer(each, span, "an axis separator") for each in cast("list[Value]", value)]
    try:
        check_separators(positions, rank)
    except ValueError as error:
        raise span.error(f"axis_separators {positions}, expected {error}") from None
    return tuple(positions)


def _implied_strides(
    context: ElaborationContext, shape: tuple[Mixed, ...], offset: Mixed | None, span: Span
) -> tuple[Mixed, ...] | None:
    """The strides of a compact buffer that its type does not imply: with an offset and symbolic extents; else None."""
    if offset is None or offset == 0 or all(isinstance(extent, int) for extent in shape[1:]):
        return None
    return compact_strides(context, shape, span)


def compact_strides(context: ElaborationContext, shape: tuple[Mixed, ...], span: Span) -> tuple[Mixed, ...]:
    """The strides of a compact row-major buffer in elements; empty for a buffer without dimensions."""
    if not shape:
        return ()
    compact: list[Mixed] = [1]
    for extent in reversed(shape[1:]):
        compact.insert(0, _product(context, compact[0], extent, span))
    return tuple(compact)


def _product(context: ElaborationContext, lhs: Mixed, rhs: Mixed, span: Span) -> Mixed:
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs
    return rhs if lhs == 1 else context.locate(span).mul(lhs, rhs)


def _offset(context: ElaborationContext, value: Value, factor: int, span: Span) -> Mixed | None:
    """The element offset; given only an offset_factor, a new variable bound to the argument's offset."""
    if value is not None:
        return dimension(context, value, span)
    if factor == 0:
        return None
    return context.variable(Variable(mlir_type(DType("int", 32)), span, "elem_offset"))


def read_shape(context: ElaborationContext, value: Value, span: Span, what: str = "shape") -> tuple[Mixed, ...]:
    """A tuple of extents; a single number is a tuple of one."""
    if isinstance(value, list | tuple):
        return tuple(dimension(context, item, span, what) for item in cast("list[Value]", value))
    if isinstance(value, dict | type(None)) or callable(value):
        raise span.error(f"expected a {what}, got {describe_value(value)}")
    return (dimension(context, value, span, what),)


def dimension(context: ElaborationContext, value: Value, span: Span, what: str = "shape") -> Mixed:
    """An extent from a number, an expression, or a string that holds one ("n", "n * 2")."""
    if isinstance(value, str):
        value = _from_string(context, value, span)
    extent = context.int_or_value(value, span)
    if what == "shape" and isinstance(extent, int) and extent < 0:
        raise span.error(f"extent {extent} of a shape, expected 0 or more")
    return extent


def _from_string(context: ElaborationContext, text: str, span: Span) -> Value:
    context.module.budget.charge("evaluation steps", _STEPS_PER_CHARACTER * len(text), span)
    node = read_expression(text, span)
    for name in _names(node):
        if context.scope.find(name.id) is None:
            variable = Variable(mlir_type(DType("int", 32)), span, name.id)
            context.root_scope.names[name.id] = variable
    return evaluate(context, node)


def _names(node: syntax.Node) -> list[syntax.Name]:
    names = [node] if isinstance(node, syntax.Name) else []
    for child in node.children():
        names += _names(child)
    return names
