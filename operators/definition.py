"""What an operator is: one function, whose signature, docstring and decorator say everything about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.diagnostics import did_you_mean
from ..core.errors import StepwellError
from ..expressions.tensor import Tensor

Array: TypeAlias = npt.NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])


class Pattern(IntEnum):
    """How an operator may be fused with those around it; numbers as TVM has them.

    ELEMWISE: an element of one of the same index.  BROADCAST: an element of one of each operand, at an index without
    arithmetic.  INJECTIVE: an element of one of an operand, anywhere.  COMM_REDUCE: a reduction.  OUT_FUSABLE: a
    reduction behind which elementwise operators may be fused.  OPAQUE: not to be fused.
    """

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_FUSABLE = 4
    OPAQUE = 8


class UnknownOperatorError(StepwellError, KeyError):
    """No operator has the name asked for."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])


@dataclass(frozen=True)
class Attribute:
    """What is said of an operator besides its operands. type: as Python writes it.  default: what it is if nothing is
    said; `inspect.Parameter.empty` if something must be."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Operator:
    """An operator on tensors.

    name: `exp`, `nn.dense`.  pattern: how it is fused.  formula: from tensors and attributes, by name, to the tensor,
    or tensors, that it computes, as tensor expressions.  reference: the same on numpy's arrays.  operands, variadic:
    names of the tensors, and whether the last one stands for any number of them.
    """

    name: str
    pattern: Pattern
    formula: Callable[..., Any]
    reference: Callable[..., Any]
    operands: tuple[str, ...]
    variadic: bool
    attributes: tuple[Attribute, ...]

    def tensors(self, operands: Sequence[Tensor], attributes: Mapping[str, Any]) -> tuple[Tensor, ...]:
        """The tensors that it computes, as expressions. TeError for operands and attributes that do not go together."""
        return _several(self.formula(*operands, **attributes))

    def arrays(self, operands: Sequence[Array], attributes: Mapping[str, Any]) -> tuple[Array, ...]:
        """The tensors that it computes, by numpy."""
        return tuple(np.asarray(each) for each in _several(self.reference(*operands, **attributes)))

    @property
    def summary(self) -> str:
        """The first sentence of what it does."""
        doc = inspect.getdoc(self.formula) or ""
        return " ".join(doc.split("\n\n")[0].split())


def _several(made: Any) -> tuple[Any, ...]:
    return tuple(made) if isinstance(made, list | tuple) else (made,)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


OPERATORS: dict[str, Operator] = {}
"""All operators by name."""


def operator(name: str, pattern: Pattern, reference: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates the formula of an operator.

    Its positional parameters are the operands, its keyword parameters with annotations the attributes:

        @operator("nn.leaky_relu", Pattern.ELEMWISE, lambda data, alpha: np.where(data > 0, data, data * alpha))
        def leaky_relu(data: Tensor, alpha: float = 0.01) -> Tensor: ...

    The reference is given the attributes that it has parameters for, those that are not said as the formula has them.
    ValueError for a name that is taken.
    """

    def register(formula: F) -> F:
        if name in OPERATORS:
            raise ValueError(f"operator {name} is defined twice")
        operands: list[str] = []
        attributes: list[Attribute] = []
        variadic = False
        for parameter in inspect.signature(formula).parameters.values():
            if parameter.annotation == "Tensor":
                operands.append(parameter.name)
                variadic |= parameter.kind is parameter.VAR_POSITIONAL
            else:
                attributes.append(Attribute(parameter.name, str(parameter.annotation), parameter.default))
        completed = _completed(formula, reference, {each.name for each in attributes})
        OPERATORS[name] = Operator(name, pattern, formula, completed, tuple(operands), variadic, tuple(attributes))
        return formula

    return register


def _completed(formula: Callable[..., Any], reference: Callable[..., Any], attributes: set[str]) -> Callable[..., Any]:
    """A reference that takes what the formula takes, with the same defaults."""
    if not attributes:
        return reference
    signature, own = inspect.signature(formula), inspect.signature(reference).parameters
    takes_all = any(each.kind is each.VAR_KEYWORD for each in own.values())
    taken = attributes if takes_all else attributes & set(own)

    def completed(*arrays: Array, **said: Any) -> Any:
        bound = signature.bind(*arrays, **said)
        bound.apply_defaults()
        return reference(*arrays, **{key: bound.arguments[key] for key in taken})

    return completed


def operator_of(name: str) -> Operator:
    """The operator of a name. UnknownOperatorError if there is none."""
    if name not in OPERATORS:
        raise UnknownOperatorError(f"no operator {name!r}{did_you_mean(name, OPERATORS)}")
    return OPERATORS[name]
