"""The module `tvm.tir.ir_builder`: statements gathered one by one."""

from __future__ import annotations

from typing import Any


def create() -> IRBuilder:
    """A builder without statements."""
    return IRBuilder()


class IRBuilder:
    """Gathers the calls of `te.extern` and `te.decl_tensor_intrin`."""

    def __init__(self) -> None:
        self._statements: list[Any] = []

    def emit(self, stmt: Any) -> None:
        """Adds a call."""
        self._statements.append(stmt)

    def get(self) -> list[Any]:
        """The calls, in order."""
        return list(self._statements)
