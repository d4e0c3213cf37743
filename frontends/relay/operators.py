"""Functions that make expressions: one for each operator, in Relay's order of arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...operators import OPERATORS, Operator
from .expr import Expr, Tuple, TupleWrapper, as_expr, call


def _sections(said: Mapping[str, Any]) -> int:
    sections = said["indices_or_sections"]
    return sections if isinstance(sections, int) else len(sections) + 1


_ORDERS: dict[str, Sequence[str]] = {"gather": ("data", "axis", "indices")}
"""Where Relay's order of arguments is another one than operands and then attributes."""

_COUNTS: dict[str, Callable[[Mapping[str, Any]], int]] = {
    "split": _sections,
    "nn.batch_norm": lambda said: 3,
    "topk": lambda said: 2 if said.get("ret_type", "both") == "both" else 1,
}
"""How many tensors the operators compute that compute several."""


def function_of(operator: Operator) -> Callable[..., Any]:
    """What makes expressions of an operator: its operands, a list of them where there may be any number, and its
    attributes, in the order of its definition."""
    parameters = [
        each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=inspect.Parameter.empty)
        for each in inspect.signature(operator.formula).parameters.values()
    ]
    required = [each for each in parameters if each.default is inspect.Parameter.empty]
    optional = [each for each in parameters if each.default is not inspect.Parameter.empty]
    order = _ORDERS.get(operator.name, ())
    signature = inspect.Signature(
        sorted([*required, *optional], key=lambda each: order.index(each.name) if each.name in order else len(order))
    )

    def make(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        operands: list[Expr] = []
        for name in operator.operands:
            if name in bound:
                given = as_expr(bound.pop(name))
                operands += given.fields if isinstance(given, Tuple) else [given]
        made = call(operator.name, *operands, **bound)
        return TupleWrapper(made, _COUNTS[operator.name](bound)) if operator.name in _COUNTS else made

    make.__name__ = make.__qualname__ = operator.name.rpartition(".")[2]
    make.__doc__ = inspect.getdoc(operator.formula)
    make.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return make


def functions_in(prefix: str) -> dict[str, Callable[..., Any]]:
    """The functions of the operators whose names are `prefix` and one word."""
    names = (name for name in OPERATORS if name.startswith(prefix))
    short = {name: name.removeprefix(prefix) for name in names}
    return {word: function_of(OPERATORS[name]) for name, word in short.items() if "." not in word}
