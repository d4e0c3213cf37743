"""Execution of graphs with the time of each kernel: `tvm.runtime.profiler_vm`."""

from __future__ import annotations

from typing import Any

from ....core.errors import OptionError, UnsupportedError
from ..absent import report_absent
from ..contrib.debugger.debug_executor import GraphModuleDebug
from .profiling import Report
from .vm import VirtualMachine

__getattr__ = report_absent("tvm.runtime.profiler_vm")


def enabled() -> bool:
    """Whether kernels are measured: always."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A virtual machine that measures the kernels of `main`."""

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Report:
        """Runs a function and measures each kernel: the median of 10 runs. OptionError for collectors of counters,
        UnsupportedError for a program."""
        if collectors:
            raise OptionError(f"collectors: {collectors!r}, expected none")
        if self._functions is not None:
            raise UnsupportedError("profile of a program is not supported yet")
        return GraphModuleDebug(self._module).profile(None, **self._by_name(func_name, args, kwargs))


__all__ = ["VirtualMachineProfiler", "enabled"]
