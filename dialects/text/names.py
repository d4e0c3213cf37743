"""Names in printed programs: the names of the source program as legal identifiers, unique in their scope."""

from __future__ import annotations

import keyword
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, SSAValue

from ..tir import BlockOp, ForOp, FuncOp, LaunchThreadOp

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_RESERVED = frozenset({*keyword.kwlist, "I", "T", "cls", "range", "tvm"})
_NAME_PROPERTIES = ("var_name", "buffer_name")


def legal_name(name: str) -> str:
    """`name` as a Python identifier: characters other than ASCII letters, digits and `_` become `_`."""
    name = _ILLEGAL.sub("_", name)
    return f"v{name}" if not name or name[0].isdigit() else name


def source_name(value: SSAValue) -> str | None:
    """The name of a variable, axis, parameter or buffer in the program; None for the value of an expression."""
    owner = value.owner
    if isinstance(value, BlockArgument):
        match value.block.parent_op():
            case ForOp(loop_var=name) | LaunchThreadOp(var_name=name):
                return name.data
            case BlockOp(axis_names=names) | FuncOp(param_names=names):
                return names.data[value.index].data
            case _:
                return None
    for key in _NAME_PROPERTIES:
        name = owner.properties.get(key)  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(name, StringAttr):
            return name.data
    return None


class Callees:
    """The names of the functions of a module in calls: `cls.add`, `Module.add`.

    module: the name by which functions refer to the module.  symbols: the symbol names of the functions, in order; each
    function gets a unique legal name.
    """

    def __init__(self, module: str, symbols: Iterable[str] = ()):
        self._module = module
        names = IdentifierScope()
        self._names = {symbol: names.define(symbol) for symbol in symbols}

    def name(self, symbol: str) -> str:
        """The name in the definition of a function of the module."""
        return self._names.get(symbol) or legal_name(symbol)

    def path(self, symbol: str) -> str:
        """The qualified name of a function in calls."""
        return f"{self._module}.{self.name(symbol)}"


class IdentifierScope:
    """The names in use. A name is released at the end of the scope that defines it."""

    def __init__(self, reserved: tuple[str, ...] = ()):
        self._used: set[str] = {*_RESERVED, *reserved}
        self._defined: list[str] = []

    def define(self, hint: str) -> str:
        """Reserves an unused name: `hint`, or `hint_1`, `hint_2`, ..."""
        stem = name = legal_name(hint)
        count = 0
        while name in self._used:
            count += 1
            name = f"{stem}_{count}"
        self._used.add(name)
        self._defined.append(name)
        return name

    @contextmanager
    def scope(self) -> Generator[None]:
        """A scope whose names are released at its end."""
        start = len(self._defined)
        try:
            yield
        finally:
            self._used.difference_update(self._defined[start:])
            del self._defined[start:]
