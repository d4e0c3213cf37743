"""`Module`: a program at any landing, as users hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .core.diagnostics import did_you_mean
from .core.errors import StepwellError, VerifyError
from .dialects.text import print_tvmscript

if TYPE_CHECKING:
    import numpy as np


_BESIDE: WeakKeyDictionary[ModuleOp, dict[str, np.ndarray[Any, Any]]] = WeakKeyDictionary()
"""The arrays beside each xDSL module, for as long as it lives."""


def constants_of(op: ModuleOp) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that an xDSL module refers to by name, to be changed in place: passes, which see no `Module`, ask.

    They are not part of the text, and a clone of the op has none: `Module.clone` takes them along.
    """
    return _BESIDE.setdefault(op, {})


class Module:
    """A program: an xDSL module, and constants by name.

    `str(mod)` is MLIR text, `mod.script()` TVMScript, `mod["main"]` one of its functions as a module of its own.
    Whoever takes a module (`build`, passes applied through the API) leaves it as it is.

    op: the xDSL module; to change it in place is the caller's business.  constants: arrays the program refers to by
    name; they are not part of the text. Those that stand beside `op` already stay if none are given.
    """

    def __init__(self, op: ModuleOp, constants: Mapping[str, np.ndarray[Any, Any]] | None = None):
        self.op = op
        if constants is not None:
            given, beside = dict(constants), constants_of(op)
            beside.clear()
            beside.update(given)

    @property
    def constants(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays by name: `constants_of` the op, so passes see and change the same ones."""
        return constants_of(self.op)

    @property
    def functions(self) -> dict[str, Any]:
        """The functions by name, ops of any landing, in the order they are written in."""
        found = ((op.get_trait(SymbolOpInterface), op) for op in self.op.body.block.ops)
        named = ((symbol.get_sym_attr_name(op), op) for symbol, op in found if symbol is not None)
        return {name.data: op for name, op in named if name is not None}

    def __getitem__(self, name: str) -> Module:
        """The function called `name`, as a module that holds a copy of it alone; KeyError-like if there is none."""
        functions = self.functions
        if name not in functions:
            known = ", ".join(functions) or "none"
            raise FunctionNotFoundError(f"no function {name!r}{did_you_mean(name, functions)} (has: {known})")
        return Module(ModuleOp([functions[name].clone()]), self.constants)

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __contains__(self, name: str) -> bool:
        return name in self.functions

    def clone(self) -> Module:
        """A copy that shares nothing but the constants' arrays."""
        return Module(self.op.clone(), self.constants)

    def verify(self) -> None:
        """Raise `VerifyError` unless every op keeps its constraints and every value is defined before it is used."""
        from .core.dominance import check_dominance

        try:
            self.op.verify()
        except VerifyError:
            raise
        except VerifyException as error:
            raise VerifyError(str(error)) from error
        check_dominance(self.op)

    def script(self, style: str = "classic") -> str:
        """The program as TVMScript: `classic` as TVM v0.12-0.23 prints it, `0.27` as today's TVM reads it.

        Raises `UnsupportedError` if the module holds ops of another landing than `tir`, `OptionError` on another style.
        """
        return print_tvmscript(self.op, style=style)

    def show(self, style: str = "classic") -> None:
        """Print `script()`."""
        print(self.script(style))

    def __str__(self) -> str:
        return str(self.op)

    def __repr__(self) -> str:
        return f"<stepwell.Module of {', '.join(self.functions) or 'nothing'}>"


class FunctionNotFoundError(StepwellError, KeyError):
    """A module has no function of the name asked for."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])
