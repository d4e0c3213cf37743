"""Programs as Python functions on tensors of PyTorch: `tvm.relax.relax_to_pyfunc_converter`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.errors import ArgumentError
from ....module import Module
from ....operators import relax
from ..absent import report_absent
from ..ir.module import IRModule
from .base_py_module import BasePyModule

__getattr__ = report_absent("tvm.relax.relax_to_pyfunc_converter")


class ConvertedModule(IRModule):
    """A module, some of whose programs are Python functions too. pyfuncs: these functions, by name."""

    def __init__(self, mod: Module, pyfuncs: dict[str, Callable[..., Any]]):
        super().__init__(mod.op.clone(), dict(mod.constants))
        self.pyfuncs = pyfuncs


class RelaxToPyFuncConverter:
    """Makes Python functions of programs. They take and return tensors of PyTorch, and execute the compiled program, at
    any stage of its optimization."""

    def __init__(self, ir_module: Module):
        self.ir_module = ir_module

    def convert(self, relax_function_names: str | Sequence[str]) -> ConvertedModule:
        """The module with Python functions for some of its programs. ArgumentError for a name that is no program's;
        raises the errors of the compilation."""
        names = [relax_function_names] if isinstance(relax_function_names, str) else list(relax_function_names)
        for name in names:
            if not isinstance(self.ir_module.function_ops.get(name), relax.FuncOp):
                raise ArgumentError(f"convert: no function of relax {name!r} (has: {', '.join(self.ir_module)})")
        compiled = BasePyModule(IRModule(self.ir_module.op, self.ir_module.constants))
        return ConvertedModule(self.ir_module, {name: getattr(compiled, name) for name in names})


__all__ = ["ConvertedModule", "RelaxToPyFuncConverter"]
