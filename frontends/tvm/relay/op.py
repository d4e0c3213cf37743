"""The module `tvm.relay.op`: operators, and what users register for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import OptionError
from ....operators import OPERATORS, Operator, operator_of
from ...relay import op as operators
from ...relay.op import *  # noqa: F403
from ..submodules import submodule

AlterLayout = Callable[[Any, Any, Any, Any], Any]
"""Another expression for a call: of its attributes, its operands, their types and the type of its result; None to keep
the call."""

ALTER_LAYOUT: dict[str, list[tuple[int, AlterLayout]]] = {}
"""The registered functions by operator, with their levels."""

__all__ = ["get", "register_alter_op_layout"]
__all__ += operators.__all__


def __getattr__(name: str) -> Any:
    found = submodule("tvm.relay.op", name)
    return getattr(operators, name) if found is None else found


def get(op_name: str) -> Operator:
    """The operator of a name. UnknownOperatorError for another name."""
    return operator_of(op_name)


def register_alter_op_layout(op_name: str, alter_layout: AlterLayout | None = None, level: int = 10) -> Any:
    """Registers a function that `relay.transform.AlterOpLayout` calls on each call of an operator; that of the highest
    level has precedence. Without a function a decorator. OptionError for an unknown operator."""
    if op_name not in OPERATORS:
        raise OptionError(f"register_alter_op_layout: no operator {op_name!r}")

    def register(function: AlterLayout) -> AlterLayout:
        ALTER_LAYOUT.setdefault(op_name, []).append((level, function))
        ALTER_LAYOUT[op_name].sort(key=lambda entry: -entry[0])
        return function

    return register if alter_layout is None else register(alter_layout)
