"""The pass `relax-plan-memory`."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...core.remarks import PassRemarks
from ...operators.relax import CallDpsPackedOp, CallTirOp, FuncOp, ToVdeviceOp
from ...operators.relax.devices import Devices
from ...operators.relay import CallOp as GraphCallOp
from ..relay.placement import plan_function, planned_bytes
from .functions import relax_functions

_remarks = PassRemarks("relax-plan-memory")

_CALLS = (CallDpsPackedOp, CallTirOp, GraphCallOp)
"""Calls in destination-passing style."""
_READERS = (*_CALLS, ToVdeviceOp)
"""Operations that neither return nor keep their arguments."""


class RelaxPlanMemoryPass(ModulePass):
    """Assigns results of graphs, kernels and packed functions offsets in one memory of their function.

    This applies to functions with upper bounds of sizes (`tir_var_upper_bound`), to tensors whose bytes have a bound,
    and which only graphs, kernels, packed functions in destination-passing style and copies to devices read. The memory
    is allocated once, shared between tensors of disjoint lifetimes as by `relay-plan-memory`, and used by all calls of
    the function. Each device has a memory of its own. Tensors in branches, results of the function and tensors that it
    passes to other functions are not planned.

    Before
        %0 = relax.call_dps_packed "f"(%x) : (tensor<8xf32>) -> tensor<8xf32>

    After
        %0 = relax.call_dps_packed "f"(%x) attributes {offsets = [0]} : (tensor<8xf32>) -> tensor<8xf32>

    Must hold before: operators are in graphs (`relax-outline-graphs`).

    Gone after: nothing.
    """

    name = "relax-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.size_bounds:
                plan_function(func, list(_intermediates(func)), device_of=Devices.of_function(func).of)


def _intermediates(func: FuncOp) -> Iterator[SSAValue]:
    """The results of calls that no reader returns or keeps, and that have an upper bound of their bytes."""
    for op in func.body.block.ops:
        if not isinstance(op, _CALLS):
            continue
        for result in op.results:
            if not isinstance(result.type, TensorType):
                continue
            size = planned_bytes(result, func.size_bounds)
            reader = next((use.operation for use in result.uses if not isinstance(use.operation, _READERS)), None)
            if reader is not None:
                _missed(op, f"{reader.name} reads it")
            elif size is None:
                _missed(op, "its size has no upper bound")
            else:
                _remarks.applied(op, lambda size=size: f"the result has {size} bytes of memory that all calls use")
                yield result


def _missed(op: Operation, reason: str) -> None:
    _remarks.missed(op, lambda: f"each call allocates the result: {reason}")
