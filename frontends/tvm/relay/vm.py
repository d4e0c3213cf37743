"""The module `tvm.relay.vm`: compilation of graphs for the virtual machine of `tvm.runtime.vm`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module import Module
from ...relay import Function
from ..absent import report_absent
from .building import build

__getattr__ = report_absent("tvm.relay.vm")


def compile(
    mod: Module | Function, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Any:
    """The `tvm.runtime.vm.Executable` of a graph, with the arguments and the errors of `relay.build`."""
    # lazy: tvm.runtime imports this package
    from ..runtime.vm import Executable

    return Executable(build(mod, target, target_host, params))


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

    def codegen(self) -> None:
        """Nothing: `lower` has generated the code."""

    def get_exec(self) -> Any:
        """The executable, None before `lower`."""
        return self._executable


__all__ = ["VMCompiler", "compile"]
