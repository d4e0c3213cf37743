"""Calls of kernels of a module by name: `R.call_dps_packed("linear", ...)` where the module has the kernel `linear`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from ....core.xdsl_compat import set_name_hint
from ....dialects.tir import FuncOp
from ....module import Module
from ....operators.relax import CallDpsPackedOp, CallTirOp
from ....operators.relax.types import is_tensor


def call_own_kernels(mod: Module) -> Module:
    """The module with calls of packed functions in destination-passing style replaced by calls of its kernels of the
    same name: as in TVM, the functions of a module precede those that are registered."""
    kernels = {name for name, func in mod.function_ops.items() if isinstance(func, FuncOp)}

    def own_calls(whole: ModuleOp) -> list[CallDpsPackedOp]:
        calls = [each for each in whole.walk() if isinstance(each, CallDpsPackedOp)]
        return [
            each for each in calls if each.func_name.data in kernels and all(is_tensor(arg.type) for arg in each.args)
        ]

    if not own_calls(mod.op):
        return mod
    result = Module(mod.op.clone(), mod.constants)
    for call in own_calls(result.op):
        new = CallTirOp(call.func_name.data, list(call.args), call.output.type)
        Rewriter.insert_op(new, InsertPoint.before(call))
        if call.output.name_hint is not None:
            set_name_hint(new.output, call.output.name_hint)
        call.output.replace_all_uses_with(new.output)
        Rewriter.erase_op(call)
    return result
