"""Arguments of functions as expressions: `tvm.relax.type_converter`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ....core.errors import ArgumentError
from .expr import Expr, as_expr

F = TypeVar("F", bound=Callable[..., Any])


class ArgsConverter:
    """The decorators of functions whose arguments are numbers, texts and tuples of Python too."""

    @staticmethod
    def convert(args_to_expr: list[str], args_to_list_expr: list[str]) -> Callable[[F], F]:
        """Makes the arguments of some names expressions, those of others lists of them; None stays as it is.

        ArgumentError for a name of both, and for a name that the function has not.
        """
        if both := set(args_to_expr) & set(args_to_list_expr):
            raise ArgumentError(f"arguments {', '.join(sorted(both))} as an expression and as a list, expected one")

        def converted(name: str, value: Any) -> Any:
            if value is None:
                return None
            if name in args_to_expr:
                return as_expr(value)
            return [as_expr(each) for each in value] if name in args_to_list_expr else value

        def decorate(function: F) -> F:
            signature = inspect.signature(function)
            for name in (*args_to_expr, *args_to_list_expr):
                if name not in signature.parameters:
                    raise ArgumentError(f"{function.__name__} has no argument {name!r}")

            @wraps(function)
            def call(*args: Any, **named: Any) -> Any:
                bound = signature.bind(*args, **named)
                bound.apply_defaults()
                for name, parameter in signature.parameters.items():
                    value = bound.arguments[name]
                    if parameter.kind is parameter.VAR_POSITIONAL:
                        value = tuple(converted(name, each) for each in value)
                    elif parameter.kind is parameter.VAR_KEYWORD:
                        value = {key: converted(name, each) for key, each in value.items()}
                    else:
                        value = converted(name, value)
                    bound.arguments[name] = value
                return function(*bound.args, **bound.kwargs)

            return call  # pyright: ignore[reportReturnType]

        return decorate

    @staticmethod
    def to_expr(*arg_names: str) -> Callable[[F], F]:
        """Makes arguments expressions."""
        return ArgsConverter.convert([*arg_names], [])

    @staticmethod
    def to_list_expr(*arg_names: str) -> Callable[[F], F]:
        """Makes arguments lists of expressions."""
        return ArgsConverter.convert([], [*arg_names])

    @staticmethod
    def auto(func: F) -> F:
        """Makes arguments expressions, or lists of them, by their annotations `Expr` and `List[Expr]`."""
        kinds = {name: str(each.annotation) for name, each in inspect.signature(func).parameters.items()}
        lists = [name for name, kind in kinds.items() if "Expr" in kind and ("List[" in kind or "list[" in kind)]
        single = [
            name
            for name, each in inspect.signature(func).parameters.items()
            if name not in lists
            and (each.annotation is Expr or kinds[name].rpartition(".")[2] in ("Expr", "Optional[Expr]"))
        ]
        return ArgsConverter.convert(single, lists)(func)


args_converter = ArgsConverter()
__all__ = ["args_converter"]
