"""Definitions of operators: the signature, docstring and decorator of one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.diagnostics import did_you_mean
from ..core.errors import StepwellError
from ..dialects.extensions import load_registrations
from ..expressions.tensor import Tensor

Array: TypeAlias = npt.NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])


class Pattern(IntEnum):
    """The kind of fusion that an operator permits, numbered as in TVM.

    ELEMWISE: an element depends on the operand elements of the same index.  BROADCAST: an element depends on one
    element of each operand, at an index without arithmetic.  INJECTIVE: an element depends on one element of an
    operand, at any index.  COMM_REDUCE: a reduction.  OUT_FUSABLE: a reduction into which subsequent elementwise
    operators may be fused.  OPAQUE: not fusable.
    """

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_FUSABLE = 4
    OPAQUE = 8


class UnknownOperatorError(StepwellError, KeyError):
    """The error for the name of an unregistered operator."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator. type: its annotation as Python source.  default: its default value;
    `inspect.Parameter.empty` for a required attribute."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Operator:
    """An operator on tensors.

    name: `exp`, `nn.dense`.  pattern: the kind of fusion.  formula: the function from tensors and attributes, by name,
    to the result tensor or tensors, as tensor expressions.  reference: the same function on arrays of numpy.  operands,
    variadic: the names of the operands, and whether the last operand accepts any number of tensors.  facts: what
    packages say about the operator, by name; equal operators may differ in them.
    """

    name: str
    pattern: Pattern
    formula: Callable[..., Any]
    reference: Callable[..., Any]
    operands: tuple[str, ...]
    variadic: bool
    attributes: tuple[Attribute, ...]
    facts: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    def has_attr(self, attr_name: str) -> bool:
        """Whether a fact about the operator has been set."""
        return attr_name == "TOpPattern" or attr_name in self.facts

    def get_attr(self, attr_name: str) -> Any:
        """A fact about the operator, None for one that has not been set; `TOpPattern` is the number of its pattern."""
        return self.facts.get(attr_name, int(self.pattern) if attr_name == "TOpPattern" else None)

    def set_attr(self, attr_name: str, value: Any) -> None:
        """Sets a fact about the operator."""
        self.facts[attr_name] = value

    def reset_attr(self, attr_name: str) -> None:
        """Removes a fact about the operator, if it has been set."""
        self.facts.pop(attr_name, None)

    def tensors(self, operands: Sequence[Tensor], attributes: Mapping[str, Any]) -> tuple[Tensor, ...]:
        """The results as tensor expressions. TeError for incompatible operands or attributes."""
        return _as_tuple(self.formula(*operands, **attributes))

    def arrays(self, operands: Sequence[Array], attributes: Mapping[str, Any]) -> tuple[Array, ...]:
        """The results as arrays, computed by numpy."""
        return tuple(np.asarray(each) for each in _as_tuple(self.reference(*operands, **attributes)))

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring of the formula, in one line."""
        doc = inspect.getdoc(self.formula) or ""
        return " ".join(doc.split("\n\n")[0].split())


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, list | tuple) else (results,)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


OPERATORS: dict[str, Operator] = {}
"""The registered operators by name."""


def operator(name: str, pattern: Pattern, reference: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates the formula of an operator.

    Its positional parameters are the operands, its keyword parameters with annotations the attributes:

        @operator("nn.leaky_relu", Pattern.ELEMWISE, lambda data, alpha: np.where(data > 0, data, data * alpha))
        def leaky_relu(data: Tensor, alpha: float = 0.01) -> Tensor: ...

    The reference receives the attributes for which it has parameters, with the defaults of the formula. ValueError for
    a registered name.
    """

    def register(formula: F) -> F:
        if name in OPERATORS:
            raise ValueError(f"operator {name} is defined twice")
        operands: list[str] = []
        attributes: list[Attribute] = []
        variadic = False
        for parameter in inspect.signature(formula).parameters.values():
            if parameter.annotation in ("Tensor", Tensor):
                operands.append(parameter.name)
                variadic |= parameter.kind is parameter.VAR_POSITIONAL
            else:
                attributes.append(Attribute(parameter.name, _text_of(parameter.annotation), parameter.default))
        completed = _complete(formula, reference, {each.name for each in attributes})
        OPERATORS[name] = Operator(name, pattern, formula, completed, tuple(operands), variadic, tuple(attributes))
        return formula

    return register


def _text_of(annotation: Any) -> str:
    """The source of an annotation, a text under `from __future__ import annotations`."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _complete(formula: Callable[..., Any], reference: Callable[..., Any], attributes: set[str]) -> Callable[..., Any]:
    """The reference with the attributes and the defaults of the formula."""
    if not attributes:
        return reference
    signature, own = inspect.signature(formula), inspect.signature(reference).parameters
    takes_all = any(each.kind is each.VAR_KEYWORD for each in own.values())
    taken = attributes if takes_all else attributes & set(own)

    def call_reference(*arrays: Array, **values: Any) -> Any:
        bound = signature.bind(*arrays, **values)
        bound.apply_defaults()
        return reference(*arrays, **{key: bound.arguments[key] for key in taken})

    return call_reference


def operator_of(name: str) -> Operator:
    """The operator with a name, which may be an operator of another package. UnknownOperatorError for an unregistered
    name."""
    if name not in OPERATORS:
        load_registrations("operators")
    if name not in OPERATORS:
        raise UnknownOperatorError(f"no operator {name!r}{did_you_mean(name, OPERATORS)}")
    return OPERATORS[name]
