"""Functions that build expressions, one for each operator with the parameters of its definition, and helpers for
operators with a signature of their own in Relay.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError
from ...expressions.errors import TeError
from ...operators import UnknownOperatorError, operator_of
from .adt import DynamicCall, expressions_in
from .expr import Call, Constant, Expr, TupleWrapper, as_expr, call, flat_operands

F = TypeVar("F", bound=Callable[..., Any])


def _sections(attributes: Mapping[str, Any]) -> int:
    sections = attributes["indices_or_sections"]
    return sections if isinstance(sections, int) else len(sections) + 1


_RANDOM = ("multinomial", "normal", "threefry_generate", "threefry_split", "uniform")
_COUNTS: dict[str, Callable[[Mapping[str, Any]], int]] = {
    "split": _sections,
    **{f"nn.batch_norm{kind}": lambda attributes: 3 for kind in ("", "_training")},
    **{f"nn.max_pool{rank}d_with_places": lambda attributes: 2 for rank in (1, 2, 3)},
    "dft": lambda attributes: 2,
    "nn.sparse_transpose": lambda attributes: 3,
    "sparse_reshape": lambda attributes: 2,
    **{f"random.{name}": lambda attributes: 2 for name in _RANDOM},
    "topk": lambda attributes: 2 if attributes.get("ret_type", "both") == "both" else 1,
}
"""The number of results of each operator with several, given its attributes."""


def call_operator(name: str, *operands: Any, **attributes: Any) -> Any:
    """A call of the operator `name`; a `TupleWrapper` if the operator has several results. TeError as for `call`."""
    expr = call(name, *operands, **attributes)
    count = _COUNTS[name](attributes) if name in _COUNTS else 1
    return TupleWrapper(expr, count) if count > 1 else expr


def operator_function(name: str) -> Callable[..., Call]:
    """A function that builds calls of the operator `name` from its operands (a list for a variadic operand) and its
    attributes, in the order of its definition.
    """
    operator = operator_of(name)
    parameters = [
        each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=inspect.Parameter.empty)
        for each in inspect.signature(operator.formula).parameters.values()
    ]
    signature = inspect.Signature(sorted(parameters, key=lambda each: each.default is not inspect.Parameter.empty))

    def build(*args: Any, **kwargs: Any) -> Any:
        bound = bind_operator_arguments(name, signature, args, kwargs)
        if dynamic := _dynamic_call(name, build, bound, operator.operands):
            return dynamic
        operands = flat_operands([as_expr(bound.pop(operand)) for operand in operator.operands])
        bound = {key: value.array.tolist() if isinstance(value, Constant) else value for key, value in bound.items()}
        return call_operator(name, *operands, **bound)

    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__doc__ = inspect.getdoc(operator.formula)
    build.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return build


class PackageOperators:
    """The operators of another package: `relay.swish.gated(x)` builds a call of the operator `swish.gated`.

    package: the first word of their names.
    """

    def __init__(self, package: str):
        self._package = package

    def __getattr__(self, name: str) -> Callable[..., Call]:
        try:
            return operator_function(f"{self._package}.{name}")
        except UnknownOperatorError as error:
            raise AttributeError(str(error)) from None


def relay_function(name: str, *operands: str) -> Callable[[F], F]:
    """Decorates a function that builds expressions: unknown arguments are errors of the operator `name`, and a call
    with expressions as attributes is a `DynamicCall`. operands: the parameters that are operands, beside those that are
    annotated as expressions.
    """

    def decorate(function: Any) -> Any:
        signature = inspect.signature(function)
        known = {*operands, *(each.name for each in signature.parameters.values() if "Expr" in each.annotation)}

        @wraps(function)
        def check(*args: Any, **kwargs: Any) -> Any:
            bound = bind_operator_arguments(name, signature, args, kwargs)
            return _dynamic_call(name, check, bound, known) or function(*args, **kwargs)

        return check

    return decorate


def _dynamic_call(name: str, function: Any, arguments: Mapping[str, Any], operands: Collection[str]) -> Any:
    """A call whose attributes are known at run time, None if all attributes are numbers or constants. OptionError if an
    operand is no expression.
    """
    attributes = {key for key in arguments if key not in operands}
    leaves = [each for key in attributes for each in expressions_in(arguments[key])]
    if all(isinstance(each, Constant) for each in leaves):
        return None
    values = {key: value if key in attributes else as_expr(value) for key, value in arguments.items()}
    call = DynamicCall(name, function, values, attributes)
    count = _COUNTS[name](arguments) if name in _COUNTS else 1
    return TupleWrapper(call, count) if count > 1 else call


def bind_operator_arguments(
    name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by name. TeError for an unknown or a missing argument."""
    known = signature.parameters
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        unknown = [f"no argument {key!r}{did_you_mean(key, known)}" for key in kwargs if key not in known]
        raise TeError(f"{name}: {unknown[0] if unknown else error} (has: {', '.join(known)})") from None


# Values of arguments


def constant_number(value: Any, what: str) -> Any:
    """A number, also from a constant of one element. OptionError for any other expression."""
    if isinstance(value, Constant) and value.data.size == 1:
        return value.data.item()
    if isinstance(value, Expr):
        raise OptionError(f"{what}: {value!r}, expected a number or a constant")
    return value


def constant_numbers(value: Any, what: str) -> Any:
    """A list of numbers, also from one number or a constant of rank 1. OptionError for any other expression."""
    if isinstance(value, Constant) and value.data.ndim == 1:
        return value.data.tolist()
    if isinstance(value, list | tuple):
        return [constant_number(each, what) for each in value]  # pyright: ignore[reportUnknownVariableType]
    number = constant_number(value, what)
    return number if number is None or hasattr(number, "__len__") else [number]
