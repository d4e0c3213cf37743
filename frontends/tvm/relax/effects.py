"""Calls of packed functions for their effects alone, which TVM's build keeps."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from ....core.walking import find_ops
from ....module import Module
from ....operators.relax import CallPackedOp, CallPurePackedOp, DataflowOp
from ....transforms.relax.functions import relax_functions, replace_call
from ....transforms.relax.inline_dataflow import inline_region
from ..ir.module import IRModule

FORCE_PURE = "relax.force_pure"
"""The attribute of functions whose callers see none of their effects."""


def keep_unused_calls(mod: Module) -> Module:
    """A module whose calls of packed functions without a use of the result are calls with side effects, as users call
    functions as pure that write their arguments. A module without such calls is returned as it is."""
    if not any(not op.output.uses for op in find_ops(mod.op, CallPurePackedOp)):
        return mod
    result = IRModule(mod.op.clone(), mod.constants)
    for func in relax_functions(result.op):
        unused = [op for op in find_ops(func, CallPurePackedOp) if not op.output.uses]
        for region in dict.fromkeys(parent for op in unused if isinstance(parent := op.parent_op(), DataflowOp)):
            inline_region(region)
        for op in unused:
            replace_call(op, CallPackedOp(op.func_name.data, list(op.args), op.output.type))
        if unused and func.impure is None:
            attrs = {} if func.func_attrs is None else dict(func.func_attrs.data)
            func.func_attrs = DictionaryAttr({**attrs, FORCE_PURE: IntegerAttr.from_bool(True)})
    return result
