"""Operators by name: `tvm.ir.Op`."""

from __future__ import annotations

from typing import Any

from ....expressions.intrinsic_names import PREFIX, IntrinsicName
from ....operators import OPERATORS, Operator, operator_of
from ..family import Family


def _program_operators() -> Any:
    """The type of the operators of programs."""
    # lazy: programs import this package
    from ..relax.expr import Op as ProgramOperator

    return ProgramOperator


class Op(metaclass=Family, members=lambda: (Operator, IntrinsicName, _program_operators())):
    """The type of operators."""

    @staticmethod
    def get(op_name: str) -> Any:
        """The operator of graphs of a name, that of programs (`relax.add`), or the function on numbers (`tir.exp`).
        UnknownOperatorError for another name of graphs; an unknown operator of programs, and an unknown function, is
        an error when a call of it is made."""
        if op_name.startswith(PREFIX):
            return IntrinsicName.of(op_name)
        return _program_operators().get(op_name) if op_name.startswith("relax.") else operator_of(op_name)

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators, in order."""
        return sorted(OPERATORS)
