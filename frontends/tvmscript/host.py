"""Host functions: the caller's Python functions that a program calls at parse time, and their proxy arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import FunctionType
from typing import Any, cast

from xdsl.ir import SSAValue

from ...core.diagnostics import Span
from ...core.dtypes import mlir_type
from ...core.errors import ParseError
from ...dialects.tir import HandleType, Operand
from ...expressions.expr import ExprConvertible, PrimExpr, Var
from ...expressions.write_expressions import ExpressionEmitter
from . import pytime
from .arithmetic import binary, index_of, int_if_constant, is_zero, operate, unary
from .context import ElaborationContext
from .dispatch import apply, calls
from .expressions import as_range, attribute_of, items_of
from .pointers import buffer_of_pointer
from .pytime import is_symbolic, to_script_value
from .quoting import quote
from .values import (
    BufferValue,
    Closure,
    Deferred,
    Element,
    FunctionRef,
    Macro,
    Method,
    Quoted,
    SliceIndex,
    Value,
    Variable,
    describe_value,
)

Reading = tuple["ElaborationContext", Span]
_READING: ContextVar[Reading | None] = ContextVar("reading", default=None)


def current_host_call() -> Reading | None:
    """The context and call site for which a host function currently runs; None outside of such a call."""
    return _READING.get()


@calls(object)
def _call_python(
    context: ElaborationContext, function: Callable[..., Any], span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The result of a call of a Python function: a builtin, or a host function."""
    name = next((n for n, f in pytime.BUILTINS.items() if f is function), None)
    if name is None:
        return _call_host(context, function, span, args, keywords)
    args = [as_range(arg, span) for arg in args]
    if name == "sum" and not keywords:
        return _sum(context, span, *args)
    if name != "len":
        context.charge(span, *args, *keywords.values())
    result = pytime.call_builtin(name, args, keywords, span)
    context.module.budget.charge_items(result, span)
    return result


def _sum(context: ElaborationContext, span: Span, items: Value = (), start: Value = 0, *rest: Value) -> Value:
    """The value of `sum(...)` over numbers and expressions."""
    if rest:
        raise span.error(f"sum takes at most 2 arguments, got {len(rest) + 2}")
    result = start
    for item in items_of(context, items, span):
        symbolic = is_symbolic(item) and isinstance(result, int) and result == 0
        result = item if symbolic else operate(context, "+", result, item, span)
    return result


def _call_host(
    context: ElaborationContext, function: Callable[..., Any], span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Calls a host function; it receives expressions and buffers as proxies with Python's operators."""
    wrapped = [Proxy.wrap(arg, context, span) for arg in args]
    named = {name: Proxy.wrap(value, context, span) for name, value in keywords.items()}
    previous = _READING.set((context, span))
    try:
        return Proxy.unwrap(function(*wrapped, **named), context, span)
    except ParseError:
        raise
    except Exception as error:
        name = getattr(function, "__name__", "the function")
        raise span.error(f"{name} failed: {type(error).__name__}: {error}") from error
    finally:
        _READING.reset(previous)


class _Leaf(Var):
    """A value of the program in an expression of a Python function. Memory is read where the expression is emitted."""

    __slots__ = ("value",)

    def __init__(self, value: Value, dtype: str):
        super().__init__("value", dtype)
        self.value = value


class _LeafEmitter(ExpressionEmitter):
    """Emits expressions of a Python function."""

    def __init__(self, context: ElaborationContext, span: Span):
        super().__init__(context.locate(span), {}, {})
        self._context = context
        self._span = span

    def _emit(self, expr: PrimExpr) -> SSAValue:
        return self._context.number(expr.value, self._span) if isinstance(expr, _Leaf) else super()._emit(expr)


class Proxy(ExprConvertible):
    """An expression or buffer as seen by a Python function: operators on it emit into the program. Functions of tensor
    expressions take it as an operand (`te.exp(x)`); their results are emitted where the program uses them."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]
    __iter__ = None

    def __init__(self, value: Value, context: ElaborationContext, span: Span):
        self._value = value
        self._context = context
        self._span = span

    @staticmethod
    def wrap(value: Value, context: ElaborationContext, span: Span) -> Any:
        value = quote(context, value, span)
        match value:
            case tuple() | list():
                return type(value)(Proxy.wrap(item, context, span) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            case Method() | Closure() | Macro() | FunctionRef():
                return Proxy(value, context, span)
            case _ if is_symbolic(value) or isinstance(value, BufferValue):
                return Proxy(value, context, span)
            case _:
                return value

    @staticmethod
    def unwrap(value: Any, context: ElaborationContext, span: Span) -> Value:
        if isinstance(value, Proxy):
            return value._value
        if isinstance(value, tuple | list):
            return type(value)(Proxy.unwrap(item, context, span) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {key: Proxy.unwrap(item, context, span) for key, item in items}
        value = to_script_value(value)
        if isinstance(value, Var) and not isinstance(value, _Leaf):  # `te.var("n")`, as `T.int32()`
            return Variable(mlir_type(value.data_type), span, value.name)
        if isinstance(value, PrimExpr):
            return _LeafEmitter(context, span).write(value)
        return value.run(context, span) if isinstance(value, Deferred) else value

    def asexpr(self) -> PrimExpr:
        value = self._value
        if isinstance(value, Element) and not any(isinstance(index, SliceIndex) for index in value.indices):
            return _Leaf(value, value.buffer.dtype.name)  # the attribute would read the element
        dtype = attribute_of(self._context, value, "dtype", self._span, self._span)
        if not isinstance(dtype, str):
            raise self._span.error(f"expected an expression, got {describe_value(self._value)}")
        return _Leaf(self._value, dtype)

    def _wrap(self, value: Value) -> Any:
        return Proxy.wrap(value, self._context, self._span)

    def _unwrap(self, value: Any) -> Value:
        return Proxy.unwrap(value, self._context, self._span)

    def _combine(self, op: str, other: Any, swapped: bool = False) -> Any:
        pair = (self._unwrap(other), self._value) if swapped else (self._value, self._unwrap(other))
        return self._wrap(operate(self._context, op, *pair, self._span))

    def converted(self, dtype: str) -> Any:
        """The value in another data type, for `tvm.tir.Cast`."""
        return self.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = attribute_of(self._context, self._value, name, self._span, self._span)
        return self._call_of(value) if isinstance(value, FunctionType | partial) else self._wrap(value)

    def _call_of(self, method: Callable[..., Value]) -> Callable[..., Any]:
        """A method of the value that takes and returns values as a Python function sees them."""

        def call(*args: Any, **keywords: Any) -> Any:
            named = {name: self._unwrap(value) for name, value in keywords.items()}
            return self._wrap(method(*map(self._unwrap, args), **named))

        return call

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        values = tuple(_unwrap_index(self, part) for part in parts)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return self._wrap(_item_of(self._context, self._value, values, self._span))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        named = {name: self._unwrap(value) for name, value in keywords.items()}
        return self._wrap(apply(self._context, self._value, self._span, list(map(self._unwrap, args)), named))

    def __neg__(self) -> Any:
        return self._wrap(unary(self._context, "-", self._value, self._span))

    def __invert__(self) -> Any:
        return self._wrap(unary(self._context, "~", self._value, self._span))

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value while the program is read")


def _unwrap_index(proxy: Proxy, index: Any) -> Value:
    unwrap = proxy._unwrap  # pyright: ignore[reportPrivateUsage]
    if isinstance(index, slice):
        return slice(*(None if part is None else unwrap(part) for part in (index.start, index.stop, index.step)))
    return unwrap(index)


def _item_of(context: ElaborationContext, value: Value, indices: tuple[Value, ...], span: Span) -> Value:
    """The element `value[indices]` for a host function."""
    if isinstance(value, SSAValue) and isinstance(value.type, HandleType):
        value = buffer_of_pointer(context, value, span)
    if not isinstance(value, BufferValue):
        raise span.error(f"only buffers and Python's lists have items, got {describe_value(value)}")
    subscripts: list[Operand | Quoted | SliceIndex] = []
    for index in indices:
        if isinstance(index, slice):
            subscripts.append(_box_of(context, value, len(subscripts), index, span))
        else:
            subscripts.append(index_of(context, index, span))
    return Element(value, tuple(subscripts), span)


def _box_of(context: ElaborationContext, buffer: BufferValue, dimension: int, index: slice, span: Span) -> SliceIndex:
    if dimension >= len(buffer.shape):
        raise span.error(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, got more indices")
    low = 0 if index.start is None else index_of(context, index.start, span)
    high = (
        buffer.shape[dimension]
        if index.stop is None
        else int_if_constant(context, context.index(index.stop, span), span)
    )
    step = 1 if index.step is None else context.integer(index.step, span, "the step of a slice")
    if step < 1:
        raise span.error(f"step {step} of a slice, expected a positive one")
    return SliceIndex(low, high if is_zero(low) else binary(context, "-", high, low, span), step)


def _operator(op: str, swapped: bool = False) -> Callable[[Proxy, Any], Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self._combine(op, other, swapped)  # pyright: ignore[reportPrivateUsage]

    return method


for _name, _op in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "lshift": "<<", "rshift": ">>",
    "and": "&", "or": "|", "xor": "^",
}.items():  # fmt: skip
    setattr(Proxy, f"__{_name}__", _operator(_op))
    setattr(Proxy, f"__r{_name}__", _operator(_op, swapped=True))
for _name, _op in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Proxy, f"__{_name}__", _operator(_op))
