"""The pass `relay-plan-memory`."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from ...core.remarks import PassRemarks
from ...dialects.attributes import UNSHARED_WORKSPACE
from ...operators.relay import CallOp, FuncOp, IfOp, OperatorOp, ReturnOp, YieldOp
from .graphs import RESHAPES, graphs_of
from .placement import dynamic_places_of, dynamic_workspaces_of, offsets_of, plan_function, workspace_of

_remarks = PassRemarks("relay-plan-memory")


class RelayPlanMemoryPass(ModulePass):
    """Assigns each intermediate tensor an offset in one workspace, shared between tensors of disjoint lifetimes.

    Two tensors may share memory if the last read of one precedes the computation of the other. The largest tensors are
    placed first, each at the lowest offset that is free during its lifetime. A tensor of dynamic size is planned for
    the upper bounds of its sizes (`tir_var_upper_bound`). Tensors of unbounded size are planned in dynamic workspaces:
    those whose bytes are multiples of the same product of sizes are in one of them, and their offsets are multiples of
    the product. Tensors in branches are not planned; tensors of 2**63 bytes or more in all are an error. Attributes of
    the function state the size of the workspace, with and without sharing, and the sizes of dynamic workspaces. The
    result of a call that only reshapes a tensor of a workspace is a view of it: it has the same offset, and the kernel
    is not called.

    Before
        %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>

    After
        %0 = relay.call @fused_exp(%x) attributes {offsets = [0]} : (tensor<8xf32>) -> tensor<8xf32>

    Must hold before: functions call primitive functions (`relay-fuse-operators`).

    Gone after: nothing.
    """

    name = "relay-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            values = list(_intermediates(func))
            sources = {value: source for value in values if (source := _source(value)) is not None}
            plan_function(func, values, sources, dynamic=True)
            if _remarks.are_collected:
                _report(func)


def _intermediates(func: FuncOp) -> Iterator[SSAValue]:
    """The tensors that calls and branches compute and the function does not return."""
    returned = set(func.return_values)
    for op in func.body.block.ops:
        if isinstance(op, CallOp | IfOp):
            yield from (result for result in op.outputs if result not in returned)


def _source(value: SSAValue) -> SSAValue | None:
    """The operand that a call reshapes to a value; None for other values."""
    call = value.owner
    if not isinstance(call, CallOp) or len(call.args) != 1 or len(call.outputs) != 1:
        return None
    callee = SymbolTable.lookup_symbol(call, call.callee)
    if not isinstance(callee, FuncOp) or callee.primitive is None:
        return None
    *ops, _ = callee.body.block.ops
    is_in_order = all(isinstance(op, OperatorOp) and op.operator.name in RESHAPES for op in ops)
    return call.args[0] if ops and is_in_order else None


def _report(func: FuncOp) -> None:
    """Reports the size of the workspace, the operators outside of calls, and the tensors without a place in the
    workspace, except results of the function or of a branch."""
    if whole := workspace_of(func):
        unshared = workspace_of(func, UNSHARED_WORKSPACE)
        _remarks.applied(func, lambda: f"the workspace has {whole} bytes, its tensors have {unshared} bytes in all")
    for each in dynamic_workspaces_of(func):
        _remarks.applied(func, lambda: f"a dynamic workspace has {' * '.join([str(each.number), *each.sizes])} bytes")
    for op in func.walk():
        if isinstance(op, OperatorOp):
            _remarks.missed(op, lambda: f"{op.name} has no place in the workspace, run relay-fuse-operators first")
        elif isinstance(op, CallOp | IfOp):
            for n, (offset, place) in enumerate(zip(offsets_of(op), dynamic_places_of(op), strict=True)):
                is_result = any(isinstance(use.operation, ReturnOp | YieldOp) for use in op.outputs[n].uses)
                if not is_result and offset is None and place is None:
                    _remarks.missed(op, lambda: f"result {n} has no place in the workspace: it is in a branch")
