"""The pass `relax-allocate-results`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...operators.relax import AllocTensorOp, CallTirInplaceOp, CallTirOp
from .functions import insert_before, relax_functions, replace_call


class RelaxAllocateResultsPass(ModulePass):
    """Replaces calls of kernels by allocations of their results, and calls that overwrite these.

    Before
        %0 = relax.call_tir @double(%x) : (tensor<8xf32>) -> tensor<8xf32>

    After
        %0 = relax.alloc_tensor : tensor<8xf32>
        %1 = relax.call_tir_inplace @double(%x, %0) inplace [1] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>

    Must hold before: nothing.

    Gone after: calls of kernels that allocate their results.
    """

    name = "relax-allocate-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            for call in list(find_ops(func, CallTirOp)):
                _allocate(call)


def _allocate(call: CallTirOp) -> None:
    tensors: list[SSAValue] = []
    for type in call.output_types:
        allocation = AllocTensorOp(type)
        insert_before(call, allocation)
        set_name_hint(allocation.output, "alloc")
        tensors.append(allocation.output)
    count, operands = len(call.args), [*call.args, *tensors]
    positions = range(count, len(operands))
    callee = call.callee.string_value()
    replace_call(call, CallTirInplaceOp(callee, operands, positions, call.output.type, call.size_texts))
