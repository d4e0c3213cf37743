"""Operators that functions of the host compute: their results have sizes that only data determines, or need an order of
steps that no tensor expression has. Programs have them; graphs, which have operations, do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from ...core.errors import UnsupportedError
from ...expressions.errors import TeError
from ...operators.definition import Attribute, Operator, Pattern
from .expr import Call, as_expr
from .types import TensorType, Type

Result = Callable[[Sequence[TensorType], Mapping[str, Any]], Type]
"""The type of the result of an operator, for those of its operands and all of its attributes."""


@dataclass(frozen=True)
class HostOperator(Operator):
    """An operator that the packed function `stepwell.relay.<name>` computes.

    The function receives the attributes as JSON, and the operands as arrays.  result: the type of the result.
    """

    result: Result = lambda types, attributes: types[0]

    @property
    def function(self) -> str:
        """The name of the packed function."""
        return f"stepwell.relay.{self.name}"

    def all_attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes, with defaults in place of those that are not given."""
        return {each.name: given.get(each.name, each.default) for each in self.attributes}

    def result_type(self, types: Sequence[Any], given: Mapping[str, Any]) -> Type:
        """The type of the result. TeError for operands of other types."""
        if not all(isinstance(each, TensorType) for each in types):
            raise TeError(f"{self.name}: operands of types {', '.join(map(str, types))}, expected tensors")
        return self.result(types, self.all_attributes(given))


HOST_OPERATORS: dict[str, HostOperator] = {}
"""The operators by name."""


def host_operator(name: str, operands: str, attributes: Mapping[str, Any]) -> Callable[[Result], Result]:
    """Decorates the function to the type of the result of an operator. operands: their names, separated by spaces.
    attributes: the defaults; a type for an attribute without."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedError(f"{name}: the host computes the operator, which has no tensor expression")

    def register(result: Result) -> Result:
        known = [_attribute(key, value) for key, value in attributes.items()]
        HOST_OPERATORS[name] = HostOperator(
            name, Pattern.OPAQUE, refuse, refuse, tuple(operands.split()), False, tuple(known), result=result
        )
        return result

    return register


def _attribute(name: str, value: Any) -> Attribute:
    """An attribute with a default, or of a type."""
    if isinstance(value, type):
        return Attribute(name, value.__name__, Parameter.empty)
    if isinstance(value, tuple):
        return Attribute(name, f"Sequence[{type(value[0]).__name__}]", value)
    return Attribute(name, type(value).__name__, value)


def host_call(name: str, operands: Sequence[Any], **attributes: Any) -> Call:
    """A call of an operator of the host. OptionError for an operand that is no expression."""
    return Call(HOST_OPERATORS[name], [as_expr(each) for each in operands], attributes)


def require_ranks(name: str, types: Sequence[TensorType], *ranks: int) -> None:
    """Raises TeError unless the operands have some numbers of dimensions, -1 for any."""
    for each, rank in zip(types, ranks, strict=False):
        if rank not in (-1, len(each.shape)):
            raise TeError(f"{name}: an operand of type {each}, expected {rank} dimensions")


__all__ = ["HOST_OPERATORS", "HostOperator", "host_call", "host_operator", "require_ranks"]
