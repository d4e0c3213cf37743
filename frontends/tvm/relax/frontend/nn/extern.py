"""Functions of other languages in models: `nn.ExternModule`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ......core.errors import ArgumentError
from ....absent import report_absent
from ....registry import get_global_func
from .core import Module
from .operators import extern

__getattr__ = report_absent("tvm.relax.frontend.nn.extern")


class ExternModule(Module):
    """Packed functions (`tvm.register_func`) that a model calls: `mod["f"](x)`.

    symbols: for each name of a function the function that returns tensors of the types of its results, for the
    arguments of a call.
    """

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]):
        self.symbols = dict(symbols)

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """The function of a name, which calls the packed function. ArgumentError for an unknown name."""
        if func_name not in self.symbols:
            names = ", ".join(self.symbols) or "none"
            raise ArgumentError(f"ExternModule: function {func_name!r}, expected {names}")
        infer = self.symbols[func_name]
        return lambda *args: extern(func_name, args, infer(*args))

    def load(self) -> None:
        """LinkError if a function is not registered."""
        for name in self.symbols:
            get_global_func(name)


__all__ = ["ExternModule"]
