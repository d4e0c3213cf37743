"""`Module`: a program at any landing, as the API exposes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolOpInterface

from .core.diagnostics import did_you_mean
from .core.errors import StepwellError, UnsupportedError
from .core.html import code_html
from .core.verification import verify
from .dialects.text import print_tvmscript

if TYPE_CHECKING:
    import numpy as np


_CONSTANTS: WeakKeyDictionary[ModuleOp, dict[str, np.ndarray[Any, Any]]] = WeakKeyDictionary()
"""The constant arrays of each xDSL module, kept as long as the module is alive."""


def constants_of(op: ModuleOp) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that an xDSL module refers to by name, as a dictionary to change in place.

    Passes, which have no `Module`, use this function. The arrays are not part of the text of the module, and a clone of
    the op has no arrays: `Module.clone` copies the dictionary.
    """
    return _CONSTANTS.setdefault(op, {})


def has_graphs(module: ModuleOp) -> bool:
    """Whether a module contains graphs."""
    return any(op.name == "relay.func" for op in module.body.block.ops)


def has_programs(module: ModuleOp) -> bool:
    """Whether a module contains functions of `relax`, which a virtual machine executes."""
    return any(op.name == "relax.func" for op in module.body.block.ops)


class Module:
    """A program: an xDSL module, and constant arrays by name.

    `str(mod)` is MLIR text, `mod.script()` TVMScript, `mod["main"]` a module that contains only the function `main`.
    Functions of the API that take a module (`build`, `apply_passes`) do not modify it.

    op: the xDSL module; callers may change it in place.  constants: the arrays that the program refers to by name,
    which are not part of the text. If missing, the arrays already registered for `op` are kept.
    """

    def __init__(self, op: ModuleOp, constants: Mapping[str, np.ndarray[Any, Any]] | None = None):
        self.op = op
        if constants is not None:
            initial, arrays = dict(constants), constants_of(op)
            arrays.clear()
            arrays.update(initial)

    @property
    def constants(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays by name: `constants_of` the op, the same dictionary that passes read and change."""
        return constants_of(self.op)

    @property
    def functions(self) -> Mapping[Any, Any]:
        """The functions by name, in program order: `function_ops`; a subclass has functions of its own."""
        return self.function_ops

    @property
    def function_ops(self) -> dict[str, Any]:
        """The functions by name, ops of any landing, in program order."""
        symbols = ((op.get_trait(SymbolOpInterface), op) for op in self.op.body.block.ops)
        named = ((symbol.get_sym_attr_name(op), op) for symbol, op in symbols if symbol is not None)
        return {name.data: op for name, op in named if name is not None}

    def __getitem__(self, name: str) -> Module:
        """A module that contains only a copy of the function called `name`.

        FunctionNotFoundError, a KeyError, if the module has no such function.
        """
        functions = self.function_ops
        if name not in functions:
            known = ", ".join(functions) or "none"
            raise FunctionNotFoundError(f"no function {name!r}{did_you_mean(name, functions)} (has: {known})")
        return Module(ModuleOp([functions[name].clone()]), self.constants)

    def __iter__(self) -> Iterator[str]:
        return iter(self.function_ops)

    def __contains__(self, name: str) -> bool:
        return name in self.function_ops

    def clone(self) -> Module:
        """A copy of the module that shares only the constant arrays with it."""
        return Module(self.op.clone(), self.constants)

    def verify(self) -> None:
        """Raise `VerifyError` unless every op satisfies its constraints and every value is defined before its uses."""
        verify(self.op)

    def script(self, style: str = "classic") -> str:
        """The program as TVMScript: `classic` as TVM v0.12-0.23 prints it, `0.27` as TVM 0.27 parses it.

        Raises `UnsupportedError` if the module contains ops of a landing other than `tir`, and `OptionError` for an
        unknown style.
        """
        return print_tvmscript(self.op, style=style)

    def show(self, style: str = "classic") -> None:
        """Print `script()`."""
        print(self.script(style))

    def _repr_html_(self) -> str:
        """The program as a notebook shows it: TVMScript, or MLIR if it has no form in TVMScript."""
        try:
            return code_html(self.script(), "python")
        except UnsupportedError:
            return code_html(str(self))

    def __str__(self) -> str:
        return str(self.op)

    def __repr__(self) -> str:
        return f"<stepwell.Module of {', '.join(self.function_ops) or 'nothing'}>"


class FunctionNotFoundError(StepwellError, KeyError):
    """The error raised if a module has no function of the requested name."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])
