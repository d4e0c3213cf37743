"""The pass `relax-reuse-operands`."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from ...analysis.names import symbols_of
from ...analysis.overwriting import compute_in_place
from ...core.identifiers import fresh_name
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects import tir
from ...operators.relax import CallDpsPackedOp, CallTirInplaceOp, CallTirOp
from ...operators.relax.in_place import later_reader
from ...operators.relay import OperatorOp
from .functions import insert_before, relax_functions, replace_call

_remarks = PassRemarks("relax-reuse-operands")

_CALLS = (OperatorOp, CallTirOp, CallTirInplaceOp, CallDpsPackedOp)
"""Operations whose results are new memory or that of an overwritten operand, and that keep no operand."""


class RelaxReuseOperandsPass(ModulePass):
    """Replaces calls of kernels by calls that compute the result in the memory of an operand.

    The operand has the type of the result. An operator, a kernel or a packed function in destination-passing style has
    computed it in new memory, only such operations read it, and none reads it later. The kernel reads each element of
    the operand at the position at which it stores an element of the result, and before: a copy of the kernel without
    the parameter of the result overwrites the operand.

    Before
        %0 = relax.call_tir @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
        %1 = relax.call_tir @exp(%0) : (tensor<8xf32>) -> tensor<8xf32>

    After
        %0 = relax.call_tir @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
        %1 = relax.call_tir_inplace @exp_inplace(%0) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "relax-reuse-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reuse = _Reuse(symbols_of(op))
        for func in relax_functions(op):
            for call in list(find_ops(func, CallTirOp)):
                reuse.rewrite(call)


@dataclass
class _Reuse:
    """names: the symbols of the module.  kernels: for a kernel and the position of an operand the kernel that
    overwrites the operand, or why there is none."""

    names: set[str]
    kernels: dict[tuple[str, int], tir.FuncOp | str] = field(default_factory=dict[tuple[str, int], tir.FuncOp | str])

    def rewrite(self, call: CallTirOp) -> None:
        """Replaces a call of a kernel by a call that overwrites the first possible operand."""
        func = SymbolTable.lookup_symbol(call, call.callee)
        if not isinstance(func, tir.FuncOp) or not isinstance(call.output.type, TensorType):
            _missed(call, "expected a kernel of tir with one result of known shape")
            return
        for n, arg in enumerate(call.args):
            reason = _refusal(call, n)
            kernel = self._kernel(func, n, len(call.args)) if reason is None else reason
            if isinstance(kernel, str):
                _missed(call, f"operand {n} is not overwritten: {kernel}")
                continue
            new = CallTirInplaceOp(kernel.sym_name.data, call.args, [n], arg.type, call.size_texts)
            _remarks.applied(call, lambda n=n: f"the result is in the memory of operand {n}")
            replace_call(call, new)
            return

    def _kernel(self, func: tir.FuncOp, operand: int, result: int) -> tir.FuncOp | str:
        name = func.sym_name.data
        kernel = self.kernels.get((name, operand))
        if kernel is None:
            kernel = compute_in_place(func, operand, result)
            if isinstance(kernel, tir.FuncOp):
                kernel.location = func.location
                kernel.sym_name = StringAttr(fresh_name(f"{name}_inplace", self.names))
                insert_before(func, kernel)
            self.kernels[name, operand] = kernel
        return kernel


def _refusal(call: CallTirOp, n: int) -> str | None:
    """Why a call may not overwrite an operand, whatever the kernel does; None if it may."""
    if call.args[n].type != call.output.type:
        return "it has another type than the result"
    kept = _reason_to_keep(call.args[n])
    if kept is not None:
        return kept
    reader = later_reader(call, n)
    return None if reader is None else f"{reader.name} reads it later"


def _reason_to_keep(value: SSAValue) -> str | None:
    """Why something else than the readers of a value may use its memory; None if nothing does."""
    if not isinstance(value, OpResult) or not isinstance(value.owner, _CALLS):
        return "it is a parameter, a constant or a value that may be kept"
    keeper = next((use.operation for use in value.uses if not isinstance(use.operation, _CALLS)), None)
    if keeper is not None:
        return f"{keeper.name} may keep it"
    if isinstance(call := value.owner, CallTirInplaceOp):
        return next((_reason_to_keep(call.args[n]) for n in call.positions if n != -1), None)
    return None


def _missed(op: Operation, reason: str) -> None:
    _remarks.missed(op, lambda: reason)
