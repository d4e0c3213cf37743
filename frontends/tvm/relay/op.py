"""The module `tvm.relay.op`: operators, and what users register for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ....core.errors import OptionError
from ....operators import OPERATORS, Operator
from ...relay import gradients
from ...relay import op as operators
from ...relay.annotation import MARKS
from ...relay.op import *  # noqa: F403
from ..ir.operators import Op
from ..submodules import submodule
from . import annotation, fake_quantization, mixed_precision
from .annotation import device_copy
from .user_operators import OpPattern, register, register_compute, register_pattern, register_stateful

Rule = Callable[..., Any]
"""Another expression for a call: of its attributes, its operands, and types; None to keep the call."""

RULES = ("FTVMAlterOpLayout", "FTVMLegalize", "FTVMQnnLegalize")
"""The facts about operators that passes take from users alone: functions from calls to expressions."""

_LEVELS: dict[tuple[str, str], int] = {}
"""The levels of registered functions, by the name of the fact and the operator."""

op = sys.modules[__name__]
"""The module itself, as which programs import it, too."""

__all__ = [
    "Op",
    "OpPattern",
    "annotation",
    "device_copy",
    "get",
    "op",
    "register",
    "register_alter_op_layout",
    "register_compute",
    "register_gradient",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_pattern",
    "register_stateful",
]
__all__ += [name for name in operators.__all__ if name != "annotation"]


def __getattr__(name: str) -> Any:
    found = submodule("tvm.relay.op", name)
    return getattr(operators, name) if found is None else found


def get(op_name: str) -> Operator:
    """The operator of a name. UnknownOperatorError for another name."""
    return MARKS[op_name] if op_name in MARKS else operators.get(op_name)


def register_alter_op_layout(op_name: str, alter_layout: Rule | None = None, level: int = 10) -> Any:
    """Registers a function that `relay.transform.AlterOpLayout` calls on each call of an operator; that of the highest
    level has precedence. Without a function a decorator. OptionError for an unknown operator."""
    return _register("FTVMAlterOpLayout", op_name, alter_layout, level)


def register_legalize(op_name: str, legal_op: Rule | None = None, level: int = 10) -> Any:
    """Registers a function that `relay.transform.Legalize` calls on each call of an operator: with its attributes, its
    operands, and the types of the operands and of the result. Else as `register_alter_op_layout`."""
    return _register("FTVMLegalize", op_name, legal_op, level)


def register_gradient(op_name: str, fgradient: Any = None, level: int = 10) -> Any:
    """Registers a function from a call of an operator and the gradient of its result to the gradients of the operands,
    instead of an earlier one. Without a function a decorator. OptionError for an unknown operator.

    level: ignored; the function registered last has precedence.
    """
    if op_name not in OPERATORS:
        raise OptionError(f"registration of a gradient: no operator {op_name!r}")
    return _with_fact("FPrimalGradient", op_name, gradients.rule(op_name), fgradient)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Registers a function from a call of an operator and a data type to the category of the operator, and the data
    types of its sums and of its result, as `ToMixedPrecision` uses them, instead of an earlier one. Without a function
    a decorator. OptionError for an unknown operator.

    level: ignored, as of `register_gradient`.
    """
    if op_name not in OPERATORS:
        raise OptionError(f"registration of a precision: no operator {op_name!r}")
    return _with_fact("FTVMMixedPrecisionConversionType", op_name, mixed_precision.precision(op_name), func)


def _with_fact(key: str, op_name: str, register: Callable[[Any], Any], function: Any) -> Any:
    """Registers a function, which becomes a fact about the operator; without a function a decorator."""

    def add(function: Any) -> Any:
        OPERATORS[op_name].set_attr(key, function)
        return register(function)

    return add if function is None else add(function)


def _register(key: str, op_name: str, rule: Rule | None, level: int) -> Any:
    if op_name not in OPERATORS:
        raise OptionError(f"registration of {key}: no operator {op_name!r}")

    def register(function: Rule) -> Rule:
        op = OPERATORS[op_name]
        if not op.has_attr(key) or level > _LEVELS.get((key, op_name), 0):
            op.set_attr(key, function)
            _LEVELS[key, op_name] = level
        return function

    return register if rule is None else register(rule)


def rules_of(key: str) -> dict[str, Rule]:
    """The functions that are a fact about operators, by operator."""
    return {name: op.get_attr(key) for name, op in OPERATORS.items() if op.has_attr(key)}


def _state_facts() -> None:
    """Sets the facts about the operators that this package's passes have rules for."""
    rules: dict[str, dict[str, Any]] = {
        "FPrimalGradient": dict(gradients.RULES),
        "FTVMFakeQuantizationToInteger": dict(fake_quantization.RULES),
        "FTVMMixedPrecisionConversionType": dict(mixed_precision.RULES),
    }
    for key, functions in rules.items():
        for name, function in functions.items():
            if name in OPERATORS:
                OPERATORS[name].set_attr(key, function)


_state_facts()
