"""Evaluation of what is Python's own: arithmetic on numbers, strings and lists, some builtins, functions of the caller.

Nothing here runs text as code, and nothing can be made to take unbounded time or memory by a small program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...core.diagnostics import Span
from ...core.errors import ParseError
from .quoting import quote
from .values import (
    Buffer,
    Closure,
    Deferred,
    Element,
    FunctionRef,
    Macro,
    Method,
    PendingCall,
    Quoted,
    Value,
    Variable,
    Word,
    describe,
)

if TYPE_CHECKING:
    from .context import Context

MAX_BITS = 4096
MAX_ITEMS = 100_000
MAX_TEXT = 65_536

PYTHON_TYPES = (bool, int, float, complex, str, bytes, tuple, list, dict, set, type(None), range, np.generic)

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "is": operator.is_,
    "is not": operator.is_not,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "+": operator.pos,
    "-": operator.neg,
    "~": operator.invert,
    "not": operator.not_,
}

OPERATORS: dict[str, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "//": "floordiv",
    "%": "floormod",
    "<<": "shl",
    ">>": "shr",
    "&": "and",
    "|": "or",
    "^": "xor",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
"""The operator of `TirBuilder.binary` that a Python operator is."""


def is_python(value: Value) -> bool:
    """Whether a value is Python's, all of it."""
    if isinstance(value, tuple | list):
        return all(map(is_python, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, PYTHON_TYPES)


def plain(value: Value) -> Value:
    """One of the caller's values as the reader knows them: numpy's numbers are Python's."""
    return value.item() if isinstance(value, np.generic) else value


def is_symbolic(value: Value) -> bool:
    """Whether a value is, or becomes, an expression of the program."""
    return isinstance(value, SSAValue | Element | Variable | PendingCall | Quoted)


def binary(op: str, lhs: Any, rhs: Any, span: Span) -> Value:
    """An operator on two Python values."""
    if op == "%" and isinstance(lhs, str | bytes):  # its results can be made arbitrarily long
        raise span.error("formatting by % is not supported, write an f-string")
    _check_size(op, lhs, rhs, span)
    try:
        return _BINARY[op](lhs, rhs)
    except ZeroDivisionError:
        raise span.error("division by zero") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise span.error(f"cannot compute {_spell(lhs)} {op} {_spell(rhs)}: {error}") from None


def unary(op: str, value: Any, span: Span) -> Value:
    try:
        return _UNARY[op](value)
    except TypeError:
        raise span.error(f"cannot compute {op} of {describe(value)}") from None


def _check_size(op: str, lhs: Any, rhs: Any, span: Span) -> None:
    size = 0
    if op in ("**", "<<") and isinstance(lhs, int) and isinstance(rhs, int):
        size = lhs.bit_length() * rhs if op == "**" else lhs.bit_length() + rhs
    elif op == "*" and isinstance(lhs, int) and isinstance(rhs, int):
        size = lhs.bit_length() + rhs.bit_length()
    elif op in "*+":
        size = _length(lhs, rhs)
    if size > MAX_BITS:
        raise span.error(f"the result of {op!r} is too large")


def _length(lhs: Any, rhs: Any) -> int:
    sequences = [x for x in (lhs, rhs) if isinstance(x, str | bytes | list | tuple)]
    if not sequences:
        return 0
    factor = next((x for x in (lhs, rhs) if isinstance(x, int)), 1)
    return sum(map(len, sequences)) * max(factor, 1)


def _spell(value: Any) -> str:
    text = repr(value) if isinstance(value, bool | int | float | str) else describe(value)
    return text if len(text) < 40 else describe(value)


def getattr_of(value: Any, name: str, span: Span) -> Value:
    """An attribute of one of the caller's objects; Python's own types lend none, and no object its private ones."""
    if name in METHODS.get(type(value), ()):  # pyright: ignore[reportUnknownArgumentType]
        return Method(partial(_call_method, span, value, name))
    if isinstance(value, PYTHON_TYPES) and not isinstance(value, np.generic):
        hint = ", write an f-string" if isinstance(value, str) and name == "format" else ""
        raise span.error(f"{describe(value)} has no attribute {name!r} here{hint}")
    if name.startswith("_") or not hasattr(value, name):
        raise span.error(f"{describe(value)} has no attribute {name!r}")
    return plain(getattr(value, name))


METHODS: dict[type, tuple[str, ...]] = {
    str: (
        "capitalize", "count", "endswith", "find", "index", "isdigit", "join", "lower", "lstrip", "removeprefix",
        "removesuffix", "replace", "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper",
    ),
    list: ("count", "index"),
    tuple: ("count", "index"),
    dict: ("get", "items", "keys", "values"),
}  # fmt: skip
"""Methods of Python's types that programs may call while they are read: they change nothing."""


def _length_of_text(value: str, name: str, args: tuple[Value, ...]) -> int:
    """A bound for the length of what a method of a string gives."""
    if name == "join" and len(args) == 1 and isinstance(args[0], list | tuple):
        parts = cast("list[Value] | tuple[Value, ...]", args[0])
        return sum(len(part) + len(value) for part in parts if isinstance(part, str))
    if name == "replace":
        return (len(value) + 1) * (1 + max((len(arg) for arg in args if isinstance(arg, str)), default=0))
    return len(value)


def _call_method(span: Span, value: Any, name: str, *args: Value, **keywords: Value) -> Value:
    args = tuple(list(arg) if isinstance(arg, dict) else arg for arg in args)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str) and _length_of_text(value, name, args) > MAX_TEXT:
        raise span.error(f"the result of {name!r} is too large")
    try:
        result = getattr(value, name)(*args, **keywords)
    except (AttributeError, TypeError, ValueError) as error:
        raise span.error(f"{name}(): {error}") from None
    return list(result) if isinstance(value, dict) and name != "get" else result


def subscript(value: Any, index: Any, span: Span) -> Value:
    if not hasattr(value, "__getitem__") or isinstance(value, type):
        raise span.error(f"{describe(value)} has no items")
    try:
        return plain(value[index])
    except (TypeError, IndexError, KeyError, ValueError) as error:
        raise span.error(f"cannot take item {_spell(index)} of {describe(value)}: {error}") from None


def iterate(value: Any, span: Span) -> list[Value]:
    """The items of a Python iterable."""
    if isinstance(value, range | tuple | list | dict | set | str | np.ndarray):
        if len(value) > MAX_ITEMS:  # pyright: ignore[reportUnknownArgumentType]
            raise span.error(f"more than {MAX_ITEMS} items")
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise span.error(f"expected something to iterate over, got {describe(value)}")


# ---- builtins


def _numbers(name: str, values: Sequence[Any]) -> Sequence[Any]:
    if any(map(is_symbolic, values)):
        raise TypeError(f"{name} is computed while the program is read; in the program it is T.{name}")
    return values


def _extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    name: str = function.__name__

    def run(*values: Any) -> Any:
        return function(_numbers(name, values if len(values) != 1 else list(values[0])))

    return run


def _zip(*iterables: Iterable[Any]) -> list[Any]:
    return list(zip(*iterables, strict=False))


BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "dict": dict,
    "divmod": divmod,
    "enumerate": lambda items: list(enumerate(items)),
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": _extremum(max),
    "min": _extremum(min),
    "reversed": lambda items: list(reversed(items)),
    "round": round,
    "sorted": lambda items: sorted(items),
    "str": str,
    "sum": sum,
    "tuple": tuple,
    "zip": _zip,
}
"""Python's functions that programs may call while they are read."""


def call_builtin(name: str, args: Sequence[Value], keywords: Mapping[str, Value], span: Span) -> Value:
    symbolic = next((arg for arg in args if is_symbolic(arg)), None)
    if symbolic is not None and name not in ("len", "list", "tuple"):
        raise span.error(f"{name}() is computed while the program is read, its argument is only known when it runs")
    try:
        result = BUILTINS[name](*args, **keywords)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise span.error(f"{name}(): {error}") from None
    return result


Reading = tuple["Context", Span]
_READING: ContextVar[Reading | None] = ContextVar("reading", default=None)


def present_reading() -> Reading | None:
    """The program that is being read and the place in it, while a function of the caller runs for it."""
    return _READING.get()


def call_host(
    function: Callable[..., Any], args: Sequence[Value], keywords: Mapping[str, Value], context: Context, span: Span
) -> Value:
    """A function of the caller: expressions and buffers reach it as objects that have Python's operators."""
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


class Proxy:
    """An expression or buffer in the hands of a Python function: operators on it write the program."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]
    __iter__ = None

    def __init__(self, value: Value, context: Context, span: Span):
        self._value = value
        self._context = context
        self._span = span

    @staticmethod
    def wrap(value: Value, context: Context, span: Span) -> Any:
        value = quote(context, value)
        match value:
            case tuple() | list():
                return type(value)(Proxy.wrap(item, context, span) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            case Method() | Closure() | Macro() | FunctionRef():
                return Proxy(value, context, span)
            case _ if is_symbolic(value) or isinstance(value, Buffer):
                return Proxy(value, context, span)
            case _:
                return value

    @staticmethod
    def unwrap(value: Any, context: Context, span: Span) -> Value:
        if isinstance(value, Proxy):
            return value._value
        if isinstance(value, tuple | list):
            return type(value)(Proxy.unwrap(item, context, span) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {key: Proxy.unwrap(item, context, span) for key, item in items}
        value = captured(value)
        return value.run(context, span) if isinstance(value, Deferred) else value

    def _wrapped(self, value: Value) -> Any:
        return Proxy.wrap(value, self._context, self._span)

    def _unwrapped(self, value: Any) -> Value:
        return Proxy.unwrap(value, self._context, self._span)

    def _combine(self, op: str, other: Any, swapped: bool = False) -> Any:
        from .expressions import operate

        pair = (self._unwrapped(other), self._value) if swapped else (self._value, self._unwrapped(other))
        return self._wrapped(operate(self._context, op, *pair, self._span))

    def __getattr__(self, name: str) -> Any:
        from .expressions import attribute_of

        if name.startswith("_"):
            raise AttributeError(name)
        return self._wrapped(attribute_of(self._context, self._value, name, self._span, self._span))

    def __getitem__(self, index: Any) -> Any:
        from .expressions import item_of

        parts = index if isinstance(index, tuple) else (index,)
        values = tuple(_unwrapped_index(self, part) for part in parts)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return self._wrapped(item_of(self._context, self._value, values, self._span))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        from .expressions import apply

        named = {name: self._unwrapped(value) for name, value in keywords.items()}
        return self._wrapped(apply(self._context, self._value, self._span, list(map(self._unwrapped, args)), named))

    def __neg__(self) -> Any:
        from .expressions import unary as negate

        return self._wrapped(negate(self._context, "-", self._value, self._span))

    def __invert__(self) -> Any:
        from .expressions import unary as invert

        return self._wrapped(invert(self._context, "~", self._value, self._span))

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value while the program is read")


def _unwrapped_index(proxy: Proxy, index: Any) -> Value:
    unwrapped = proxy._unwrapped  # pyright: ignore[reportPrivateUsage]
    if isinstance(index, slice):
        return slice(*(None if part is None else unwrapped(part) for part in (index.start, index.stop, index.step)))
    return unwrapped(index)


def captured(value: Any) -> Value:
    """One of the caller's values as the reader knows it: words of the vocabularies, numpy's numbers as Python's."""
    if value is range:
        return Word("python", "range")
    meaning = getattr(value, "__tvmscript__", None)
    if isinstance(meaning, Word | Deferred):
        return meaning
    return plain(value)


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
