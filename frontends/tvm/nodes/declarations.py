"""Variables, types of pointers, and buffers, as programs declare them: `tir.Var`, `tir.decl_buffer`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ....expressions import extern
from ....expressions import tensor as tensors
from ....expressions.axes import IterVar as Axis
from ....expressions.axes import Range
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import BufferPointer
from ....expressions.errors import TeError
from ....expressions.expr import Call, ExprLike, PrimExpr, as_expr, promote_operands
from ....expressions.expr import Var as NumberVar
from ..family import Family
from .expr import PointedBuffer, PointerType, PointerVar, PrimType, RegionBuffer, pointer_of


class Var(metaclass=Family, members=lambda: (NumberVar,)):
    """A variable: a number, or an address (`handle`, `PointerType`)."""

    def __new__(cls, name: str = "tindex", dtype: Any = "int32", span: None = None) -> Any:  # noqa: ARG004
        """name: for texts.  dtype: a data type, `handle`, `PointerType` or `PrimType`.  span: ignored."""
        if isinstance(dtype, PointerType):
            return PointerVar(name, dtype.element_type.dtype, dtype.storage_scope)
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        return PointerVar(name) if dtype == "handle" else NumberVar(name, dtype)


def var(name: str = "tindex", dtype: Any = "int32", span: None = None) -> Any:
    """A variable, as of `tir.Var`."""
    return Var(name, dtype) if dtype == "handle" or isinstance(dtype, PointerType) else tensors.var(name, dtype)


def decl_buffer(
    shape: Any,
    dtype: Any = "float32",
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
    span: None = None,
) -> DeclaredBuffer:
    """A buffer, as of `te.decl_buffer`.

    data: a variable for the address of its memory, by default memory of its own.  scope: ignored with `data`, whose
    memory has one.  buffer_type: "" or "default". TeError for other values.
    """
    if buffer_type not in ("", "default"):
        raise TeError(f"decl_buffer {name}: buffer_type {buffer_type!r}, expected 'default'")
    if isinstance(data, BufferPointer) and data.is_base:
        data = pointer_of(data)
    if isinstance(data, PointerVar):
        scope = data.scope
    layout = (strides, elem_offset, scope, data_alignment, offset_factor, axis_separators or ())
    buffer = extern.decl_buffer(shape, dtype, name, None, *layout)
    buffer = RegionBuffer(**{each.name: getattr(buffer, each.name) for each in fields(buffer)})
    if data is None:
        return buffer
    if not isinstance(data, PointerVar):
        raise TeError(f"decl_buffer {name}: data {data!r}, expected a variable of type handle")
    return PointedBuffer(buffer, data)


class IterVar(metaclass=Family, members=lambda: (Axis,)):
    """An axis: a variable and its domain."""

    DataPar, ThreadIndex, CommReduce, Ordered, Opaque, Unrolled, Vectorized, Parallelized, Tensorized = range(9)
    _KINDS = ("spatial", "thread", "reduce", "scan", "opaque")

    def __new__(cls, dom: Any, var: Any, iter_type: int | str, thread_tag: str = "", span: None = None) -> Any:  # noqa: ARG004
        """dom: a `Range`, the first number and the end, or None.  var: a variable, or its name.  iter_type: `DataPar`,
        `ThreadIndex`, `CommReduce`, `Ordered` or `Opaque`.  span: ignored. TeError for the kinds of schedules."""
        domain = dom
        if isinstance(dom, list | tuple):
            low, end = promote_operands(*dom)  # pyright: ignore[reportUnknownArgumentType]
            domain = Range(low, end - low)
        if isinstance(var, str):
            var = NumberVar(var, "int32" if domain is None else domain.extent.dtype)
        kind = iter_type if isinstance(iter_type, str) else dict(enumerate(cls._KINDS)).get(iter_type)
        if kind is None:
            raise TeError(f"IterVar {var.name}: kind {iter_type}, expected one of {', '.join(cls._KINDS)}")
        return Axis(domain, var, kind, thread_tag)


def ret(val: ExprLike, span: None = None) -> PrimExpr:
    """The return of a value from the function, for `tir.Evaluate`."""
    value = as_expr(val)
    return Call(value.dtype, "ret", (value,))


__all__ = ["IterVar", "Var", "decl_buffer", "ret", "var"]
