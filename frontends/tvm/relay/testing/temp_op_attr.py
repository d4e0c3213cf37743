"""Functions of operators that users replace for a block of code: `TempOpAttr`."""

from __future__ import annotations

from typing import Any, Self

from .....core.errors import UnsupportedError
from ..op import ALTER_LAYOUT


class TempOpAttr:
    """A context in which `relay.transform.AlterOpLayout` calls a function for an operator.

    op_name: the operator.  attr_key: "FTVMAlterOpLayout".  attr_value: the function, as that of
    `relay.op.register_alter_op_layout`. UnsupportedError for another attribute.
    """

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        if attr_key != "FTVMAlterOpLayout":
            raise UnsupportedError(f"TempOpAttr: attribute {attr_key} of {op_name}, expected FTVMAlterOpLayout")
        self._name = op_name
        self._function = attr_value

    def __enter__(self) -> Self:
        self._older = ALTER_LAYOUT.get(self._name)
        ALTER_LAYOUT[self._name] = [(10, self._function)]
        return self

    def __exit__(self, *error: object) -> None:
        del ALTER_LAYOUT[self._name]
        if self._older is not None:
            ALTER_LAYOUT[self._name] = self._older
