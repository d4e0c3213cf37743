"""Functions of operators that users replace for a block of code: `TempOpAttr`."""

from __future__ import annotations

from typing import Any, Self

from .....core.errors import UnsupportedError
from .....operators import operator_of
from ..op import RULES


class TempOpAttr:
    """A context in which an operator has another fact, such as the function that a pass calls for it.

    op_name: the operator.  attr_key: the name of the fact: "FTVMAlterOpLayout" for `relay.transform.AlterOpLayout`,
    "FTVMLegalize" for `relay.transform.Legalize`, or "FTVMQnnLegalize" for `relay.qnn.transform.Legalize`.  attr_value:
    the fact, a function as that of `relay.op.register_alter_op_layout` or `relay.op.register_legalize` for these.
    UnsupportedError for another attribute of TVM's passes, UnknownOperatorError for another operator.
    """

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        if attr_key.startswith("FTVM") and attr_key not in RULES:
            expected = ", ".join(RULES)
            raise UnsupportedError(f"TempOpAttr: attribute {attr_key} of {op_name}, expected one of {expected}")
        self._op = operator_of(op_name)
        self._key = attr_key
        self._function = attr_value

    def __enter__(self) -> Self:
        self._older = self._op.get_attr(self._key)
        self._op.set_attr(self._key, self._function)
        return self

    def __exit__(self, *error: object) -> None:
        self._op.reset_attr(self._key)
        if self._older is not None:
            self._op.set_attr(self._key, self._older)
