"""The module `tvm.relay.vm`: compilation of graphs for the virtual machine of `tvm.runtime.vm`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module import Module
from ...relay import Expr, Function
from ..absent import report_absent
from ..ir.module import IRModule
from ..transform import PassContext
from .building import build, optimize
from .machines import library_of

__getattr__ = report_absent("tvm.relay.vm")


def compile(
    mod: Module | Expr, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Any:
    """The `tvm.runtime.vm.Executable` of a graph, with the arguments and the errors of `relay.build`. A program with
    recursion, functions as values or data types of users is interpreted."""
    # lazy: tvm.runtime imports this package
    from ..runtime.vm import Executable

    program = IRModule({"main": mod}) if isinstance(mod, Expr) else mod
    library = library_of(program, params or {}, target, PassContext.current().opt_level)
    if library is not None:
        return Executable(library)
    return Executable(build(program, target, target_host, params))


class VMCompiler:
    """`compile` in steps: `set_params`, `lower` and `codegen`, then `get_exec`."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._executable: Any = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """The arrays of constant parameters, by name."""
        self._params = dict(params)

    def lower(self, mod: Module | Function, target: Any = None, target_host: Any = None) -> None:
        """Compiles a graph."""
        self._executable = compile(mod, target, target_host, self._params)

    def optimize(
        self,
        mod: Module | Function,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> Any:
        """The graph as `relay.build` rewrites it before fusion, and its constants by name."""
        return optimize(mod, target, {**self._params, **(params or {})})

    def codegen(self) -> None:
        """Nothing: `lower` has generated the code."""

    def get_exec(self) -> Any:
        """The executable, None before `lower`."""
        return self._executable


__all__ = ["VMCompiler", "compile"]
