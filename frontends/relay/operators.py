"""Functions that make expressions: one for each operator, in the order of its definition; and what those share that
have a form of their own in Relay."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError
from ...expressions.errors import TeError
from ...operators import OPERATORS, Operator
from .expr import Constant, Expr, Tuple, TupleWrapper, as_expr, call

F = TypeVar("F", bound=Callable[..., Any])


def _sections(said: Mapping[str, Any]) -> int:
    sections = said["indices_or_sections"]
    return sections if isinstance(sections, int) else len(sections) + 1


_COUNTS: dict[str, Callable[[Mapping[str, Any]], int]] = {
    "split": _sections,
    "nn.batch_norm": lambda said: 3,
    **{f"nn.max_pool{rank}d_with_places": lambda said: 2 for rank in (1, 2, 3)},
    "topk": lambda said: 2 if said.get("ret_type", "both") == "both" else 1,
}
"""How many tensors the operators compute that compute several."""


def make(name: str, *operands: Any, **attributes: Any) -> Any:
    """An operator on expressions; a `TupleWrapper` for one that computes several tensors. TeError as of `call`."""
    made = call(name, *operands, **attributes)
    count = _COUNTS[name](attributes) if name in _COUNTS else 1
    return TupleWrapper(made, count) if count > 1 else made


def function_of(operator: Operator) -> Callable[..., Any]:
    """What makes expressions of an operator: its operands, a list of them where there may be any number, and its
    attributes, in the order of its definition."""
    parameters = [
        each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=inspect.Parameter.empty)
        for each in inspect.signature(operator.formula).parameters.values()
    ]
    signature = inspect.Signature(sorted(parameters, key=lambda each: each.default is not inspect.Parameter.empty))

    def made(*args: Any, **kwargs: Any) -> Any:
        bound = bind(operator.name, signature, args, kwargs)
        operands: list[Expr] = []
        for name in operator.operands:
            given = as_expr(bound.pop(name))
            operands += given.fields if isinstance(given, Tuple) else [given]
        return make(operator.name, *operands, **bound)

    made.__name__ = made.__qualname__ = operator.name.rpartition(".")[2]
    made.__doc__ = inspect.getdoc(operator.formula)
    made.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return made


def functions_in(prefix: str) -> dict[str, Callable[..., Any]]:
    """The functions of the operators whose names are `prefix` and one word."""
    names = (name for name in OPERATORS if name.startswith(prefix))
    short = {name: name.removeprefix(prefix) for name in names}
    return {word: function_of(OPERATORS[name]) for name, word in short.items() if "." not in word}


def named(name: str) -> Callable[[F], F]:
    """Decorates a function that makes expressions: arguments that it does not have are errors of the operator."""

    def decorated(function: Any) -> Any:
        signature = inspect.signature(function)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            bind(name, signature, args, kwargs)
            return function(*args, **kwargs)

        return checked

    return decorated


def bind(name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name. TeError for those that the function does not have, or lacks."""
    known = signature.parameters
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        unknown = [f"no argument {key!r}{did_you_mean(key, known)}" for key in kwargs if key not in known]
        raise TeError(f"{name}: {unknown[0] if unknown else error} (has: {', '.join(known)})") from None


# Values of arguments


def number_of(value: Any, what: str) -> Any:
    """A number that may be given as a constant. OptionError for an expression that is none."""
    if isinstance(value, Constant) and value.data.ndim == 0:
        return value.data.item()
    if isinstance(value, Expr):
        raise OptionError(f"{what}: {value!r}, expected a number or a constant")
    return value


def numbers_of(value: Any, what: str) -> Any:
    """Numbers that may be given as a constant, or one of them. OptionError for an expression that is none."""
    if isinstance(value, Constant) and value.data.ndim == 1:
        return value.data.tolist()
    if isinstance(value, list | tuple):
        return [number_of(each, what) for each in value]  # pyright: ignore[reportUnknownVariableType]
    number = number_of(value, what)
    return number if number is None or hasattr(number, "__len__") else [number]
