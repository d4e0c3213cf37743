"""Operators by name: `tvm.ir.Op`."""

from __future__ import annotations

from typing import Any

from ....operators import OPERATORS, Operator, operator_of


class _OperatorType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Operator)


class Op(metaclass=_OperatorType):
    """The type of operators."""

    @staticmethod
    def get(op_name: str) -> Operator:
        """The operator of a name. UnknownOperatorError for another name."""
        return operator_of(op_name)

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators, in order."""
        return sorted(OPERATORS)
