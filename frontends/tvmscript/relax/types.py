"""Types of values: `R.Tensor`, `R.Shape`, `R.Prim`, `R.Tuple`, `R.Callable`, `R.Object`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, NoneAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ....core.diagnostics import Span
from ....core.errors import SizeError
from ....operators.relax import CallableType, ObjectType
from ....operators.relax.types import prim, shape, tensor, tuple_type
from ....operators.relay import Size
from ..values import RelaxType, Value, python_number
from ..vocabulary import RELAX_WORDS, ReaderT, word
from .context import TYPE_READERS, RelaxContext


def _type(name: str) -> Callable[[ReaderT], ReaderT]:
    """Registers the reader of a type."""

    def register(reader: ReaderT) -> ReaderT:
        TYPE_READERS[name] = reader
        return word(name, words=RELAX_WORDS)(reader)

    return register


@_type("Tensor")
def _tensor(
    context: RelaxContext,
    span: Span,
    shape: Value = None,
    dtype: Value = None,
    vdevice: Value = None,
    ndim: Value = -1,
) -> Value:
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    sizes = None if shape is None else context.shape(shape, span)
    name = None if dtype is None or dtype in ("", "void") else context.dtype(dtype, span).name
    rank = _rank(context, ndim, span)
    if sizes is not None and rank not in (None, len(sizes)):
        raise span.error(f"R.Tensor: {len(sizes)} sizes, ndim={rank}")
    device = None if vdevice is None else context.device(vdevice, span)
    return RelaxType(_make(span, lambda: tensor(sizes, name, rank)), device)


def _rank(context: RelaxContext, ndim: Value, span: Span) -> int | None:
    rank = context.size(ndim, span)
    if not isinstance(rank, int):
        raise span.error("expected a number for ndim")
    return None if rank < 0 else rank


def _make(span: Span, build: Callable[[], Attribute]) -> Attribute:
    try:
        return build()
    except (ValueError, SizeError, VerifyException) as error:
        raise span.error(str(error)) from None


@_type("Shape")
def _shape(context: RelaxContext, span: Span, values: Value = None, ndim: Value = -1) -> Value:
    sizes = None if values is None else context.shape(values, span)
    return RelaxType(_make(span, lambda: shape(sizes, _rank(context, ndim, span))))


@_type("Prim")
def _prim(context: RelaxContext, span: Span, dtype: Value = None, value: Value = None) -> Value:
    number: Size | float | None = python_number(value)
    if number is not None and not isinstance(number, float):
        number = context.size(value, span)
    name = None if dtype is None else context.dtype(dtype, span).name
    return RelaxType(_make(span, lambda: prim(number, name)))


@_type("Tuple")
def _tuple(context: RelaxContext, span: Span, *fields: Value) -> Value:
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        fields = tuple(cast("Sequence[Value]", fields[0]))
    types = [context.full_type(field, span) for field in fields]
    devices = {each.device for each in types}
    if len(devices) > 1:
        raise span.error("R.Tuple: fields on several devices are not supported")
    return RelaxType(tuple_type([each.type for each in types]), next(iter(devices), None))


@_type("Callable")
def _callable(
    context: RelaxContext, span: Span, params: Value = None, ret: Value = None, purity: Value = True
) -> Value:
    inputs: Attribute = NoneAttr()
    if params is not None:
        types = cast("Sequence[Value]", params) if isinstance(params, list | tuple) else [params]
        inputs = ArrayAttr([context.relax_type(each, span) for each in types])
    result = NoneAttr() if ret is None else context.relax_type(ret, span)
    return RelaxType(_make(span, lambda: CallableType(inputs, result, NoneAttr() if purity else UnitAttr())))


@_type("Object")
@_type("Any")
def _object(context: RelaxContext, span: Span) -> Value:
    return RelaxType(ObjectType())
