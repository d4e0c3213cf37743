"""Operators by name: `tvm.ir.Op`."""

from __future__ import annotations

from typing import Any

from ....operators import OPERATORS, Operator, operator_of
from ..family import Family


def _program_operators() -> Any:
    """The type of the operators of programs."""
    # lazy: programs import this package
    from ..relax.expr import Op as ProgramOperator

    return ProgramOperator


class Op(metaclass=Family, members=lambda: (Operator, _program_operators())):
    """The type of operators."""

    @staticmethod
    def get(op_name: str) -> Any:
        """The operator of graphs of a name, or that of programs (`relax.add`). UnknownOperatorError for another name of
        graphs; an unknown operator of programs is an error when a call of it is emitted."""
        return _program_operators().get(op_name) if op_name.startswith("relax.") else operator_of(op_name)

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators, in order."""
        return sorted(OPERATORS)
