"""Building, as `tvm.build` does it."""

from __future__ import annotations

from typing import Any

from ....backends.build import build as _build
from ....backends.runtime.library import CompiledFunction, Library
from ....core.errors import ArgumentError, OptionError
from ....module import Module
from ..ir.module import IRModule


class OperatorModule:
    """Compiled functions. Called, it runs its entry: the function `main`, or its only one.

    Functions take `tvm.nd` arrays, numpy arrays, and anything that speaks DLPack.
    """

    def __init__(self, library: Library):
        self._library = library

    @property
    def entry_func(self) -> CompiledFunction:
        """The function that a call runs. ArgumentError if there are several and none is called `main`."""
        names = list(self._library.functions)
        if len(names) == 1 or "main" in names:
            return self._library["main" if "main" in names else names[0]]
        raise ArgumentError(f"functions {', '.join(names) or 'none'}, none of which is main: name the one to call")

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def __getitem__(self, name: str) -> CompiledFunction:
        return self._library[name]

    def get_function(self, name: str, query_imports: bool = False) -> CompiledFunction:
        """A function by name. ArgumentError if there is none."""
        return self._library[name]

    def get_source(self, fmt: str = "") -> str:
        """The program as text: "ll" (the default) or "asm"."""
        kinds = {"": "llvm-optimized", "ll": "llvm-optimized", "s": "asm", "asm": "asm"}
        if fmt not in kinds:
            raise OptionError(f"source format {fmt!r}, expected one of {', '.join(kind for kind in kinds if kind)}")
        return self._library.source(kinds[fmt])


def build(inputs: Module, target: str = "llvm", name: str | None = None) -> OperatorModule:
    """Compile a module or a function, which stays as it is. target: what to compile for, `llvm` for this machine.

    name: what to call its only function. Errors as `stepwell.build` raises them.
    """
    if name is not None:
        inputs = IRModule({name: inputs})
    return OperatorModule(_build(inputs, target))
