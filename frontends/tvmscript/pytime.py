"""Evaluation at parse time: arithmetic on Python numbers, strings and lists, some builtins, objects of the caller.

No text is executed as code. The callers charge the values that a function traverses to the module's `Budget` first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.ir import SSAValue

from ...core.diagnostics import Span
from ...expressions.expr import FloatImm, IntImm
from .budget import Budget
from .values import (
    Deferred,
    Element,
    Method,
    PendingCall,
    Quoted,
    RelaxType,
    TypeVariable,
    Value,
    Variable,
    Word,
    describe_value,
)

MAX_BITS = 4096
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
"""The operator names of `TirBuilder.binary`, by Python operator."""


def is_python(value: Value) -> bool:
    """Whether a value consists of Python values only."""
    if isinstance(value, tuple | list):
        return all(map(is_python, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, PYTHON_TYPES)


def to_python_number(value: Value) -> Value:
    """A caller's value as the front end represents it: numpy numbers as Python numbers."""
    return value.item() if isinstance(value, np.generic) else value


def is_symbolic(value: Value) -> bool:
    """Whether a value is, or becomes, an expression of the program."""
    return isinstance(value, SSAValue | Element | Variable | PendingCall | Quoted)


def python_binary(op: str, lhs: Any, rhs: Any, span: Span) -> Value:
    """The result of an operator on two Python values."""
    if op == "%" and isinstance(lhs, str | bytes):  # its results can be arbitrarily long
        raise span.error("formatting by % is not supported, write an f-string")
    _check_size(op, lhs, rhs, span)
    try:
        return _BINARY[op](lhs, rhs)
    except ZeroDivisionError:
        raise span.error("division by zero") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise span.error(f"cannot compute {_spell(lhs)} {op} {_spell(rhs)}: {error}") from None


def python_unary(op: str, value: Any, span: Span) -> Value:
    try:
        return _UNARY[op](value)
    except TypeError:
        raise span.error(f"cannot compute {op} of {describe_value(value)}") from None


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
    is_short = isinstance(value, bool | float | str) or (isinstance(value, int) and value.bit_length() < MAX_BITS)
    text = repr(value) if is_short else describe_value(value)
    return text if len(text) < 40 else describe_value(value)


def getattr_of(budget: Budget, value: Any, name: str, span: Span) -> Value:
    """An attribute of a caller's object; only listed methods of Python's types, and no private attributes."""
    if name in METHODS.get(type(value), ()):  # pyright: ignore[reportUnknownArgumentType]
        return Method(partial(_call_method, budget, span, value, name))
    if isinstance(value, PYTHON_TYPES) and not isinstance(value, np.generic):
        hint = ", write an f-string" if isinstance(value, str) and name == "format" else ""
        raise span.error(f"{describe_value(value)} has no attribute {name!r} here{hint}")
    if name.startswith("_") or not hasattr(value, name):
        raise span.error(f"{describe_value(value)} has no attribute {name!r}")
    return to_script_value(getattr(value, name))


METHODS: dict[type, tuple[str, ...]] = {
    str: (
        "capitalize", "count", "endswith", "find", "index", "isdigit", "join", "lower", "lstrip", "removeprefix",
        "removesuffix", "replace", "rsplit", "rstrip", "split", "startswith", "strip", "title", "upper",
    ),
    list: ("count", "index"),
    tuple: ("count", "index"),
    dict: ("get", "items", "keys", "values"),
}  # fmt: skip
"""The methods of Python's types callable at parse time: free of side effects."""


def _length_of_text(value: str, name: str, args: tuple[Value, ...]) -> int:
    """An upper bound for the length of the result of a string method."""
    if name == "join" and len(args) == 1 and isinstance(args[0], list | tuple):
        parts = cast("list[Value] | tuple[Value, ...]", args[0])
        return sum(len(part) + len(value) for part in parts if isinstance(part, str))
    if name == "replace":
        return (len(value) + 1) * (1 + max((len(arg) for arg in args if isinstance(arg, str)), default=0))
    return len(value)


def _call_method(budget: Budget, span: Span, value: Any, name: str, *args: Value, **keywords: Value) -> Value:
    for operand in (*args, *keywords.values(), *(() if isinstance(value, dict) else (value,))):
        budget.charge_value(operand, span)
    args = tuple(list(arg) if isinstance(arg, dict) else arg for arg in args)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str) and _length_of_text(value, name, args) > MAX_TEXT:
        raise span.error(f"the result of {name!r} is too large")
    try:
        result = getattr(value, name)(*args, **keywords)
    except (AttributeError, TypeError, ValueError) as error:
        raise span.error(f"{name}(): {error}") from None
    result = list(result) if isinstance(value, dict) and name != "get" else result
    budget.charge_items(result, span)
    return result


def subscript(value: Any, index: Any, span: Span) -> Value:
    if not hasattr(value, "__getitem__") or isinstance(value, type):
        raise span.error(f"{describe_value(value)} has no items")
    try:
        return to_python_number(value[index])
    except (TypeError, IndexError, KeyError, ValueError) as error:
        raise span.error(f"cannot take item {_spell(index)} of {describe_value(value)}: {error}") from None


def iterate(value: Any, span: Span) -> list[Value]:
    """The items of a Python iterable, whose number the caller has charged."""
    if isinstance(value, range | tuple | list | dict | set | str | np.ndarray):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise span.error(f"expected something to iterate over, got {describe_value(value)}")


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


def _round(number: Any, digits: Any = None) -> Any:
    if isinstance(digits, int) and abs(digits) > MAX_BITS:
        raise ValueError(f"{digits} digits, expected -{MAX_BITS} to {MAX_BITS}")
    return round(number, digits)


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
    "round": _round,
    "sorted": lambda items: sorted(items),
    "str": str,
    "sum": sum,
    "tuple": tuple,
    "zip": _zip,
}
"""Python functions callable at parse time."""


def call_builtin(name: str, args: Sequence[Value], keywords: Mapping[str, Value], span: Span) -> Value:
    symbolic = next((arg for arg in args if is_symbolic(arg)), None)
    if symbolic is not None and name not in ("len", "list", "tuple"):
        raise span.error(f"{name}() is computed while the program is read, its argument is only known when it runs")
    try:
        result = BUILTINS[name](*args, **keywords)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise span.error(f"{name}(): {error}") from None
    return result


def to_script_value(value: Any) -> Value:
    """A caller's value as the front end represents it: words for vocabulary members, Python numbers for numpy's and for
    literals of tensor expressions, whose other data types than int32 are kept (`tir.const(0, "int8")`).
    """
    if isinstance(value, IntImm) and value.dtype == "int32":
        return value.value
    if isinstance(value, IntImm | FloatImm):
        return Deferred(lambda context, span: context.locate(span).const(value.value, value.data_type))
    if value is range:
        return Word("python", "range")
    if isinstance(value, TypeVar):
        return TypeVariable()
    meaning = getattr(value, "__tvmscript__", None)
    if isinstance(meaning, Word | Deferred | RelaxType):
        return meaning
    return to_python_number(value)
