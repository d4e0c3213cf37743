"""Functions of operators that users replace for a block of code: `TempOpAttr`."""

from __future__ import annotations

from typing import Any, Self

from .....core.errors import UnsupportedError
from ..op import RULES


class TempOpAttr:
    """A context in which a pass calls a function for an operator.

    op_name: the operator.  attr_key: "FTVMAlterOpLayout" for `relay.transform.AlterOpLayout`, "FTVMLegalize" for
    `relay.transform.Legalize`, or "FTVMQnnLegalize" for `relay.qnn.transform.Legalize`.  attr_value: the function, as
    that of `relay.op.register_alter_op_layout` or `relay.op.register_legalize`. UnsupportedError for another attribute.
    """

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        if attr_key not in RULES:
            expected = ", ".join(RULES)
            raise UnsupportedError(f"TempOpAttr: attribute {attr_key} of {op_name}, expected one of {expected}")
        self._rules = RULES[attr_key]
        self._name = op_name
        self._function = attr_value

    def __enter__(self) -> Self:
        self._older = self._rules.get(self._name)
        self._rules[self._name] = [(10, self._function)]
        return self

    def __exit__(self, *error: object) -> None:
        del self._rules[self._name]
        if self._older is not None:
            self._rules[self._name] = self._older
