"""Programs that train a model: `tvm.relax.training.setup_trainer`."""

from __future__ import annotations

from collections.abc import Sequence

from .....core.errors import ArgumentError
from .....operators.relax import FuncOp
from ...absent import report_absent
from ...ir.module import IRModule
from ...transform import FunctionalPass, PassContext, PassInfo
from ..function import Function
from ..struct_info import StructInfo
from ..transform import DecomposeOpsForInference, DecomposeOpsForTraining, Gradient, LegalizeOps
from .loss import Loss
from .optimizer import Optimizer
from .utils import AppendLoss

__getattr__ = report_absent("tvm.relax.training.setup_trainer")

BACKBONE, LOSS, ADJOINT, OPTIMIZER = "backbone", "backbone_loss", "backbone_loss_adjoint", "optimizer"
"""The functions of a program that trains: the model, the model with its loss, with its gradients, and the step."""


class SetupTrainer(FunctionalPass):
    """A pass that adds to a model `backbone` its loss, its gradients and an optimizer.

    The attributes `param_num` and `state_num` of the module say how many of the last parameters of the model are
    weights, and how many after these are states, whose new values are its last results. The result has the attributes
    `input_num` and `optim_state`, the first state of the optimizer.
    """

    def __init__(self, loss: Loss, optimizer: Optimizer, loss_args: Sequence[StructInfo], legalize: bool = True):
        """loss_args: the types of the arguments of the loss.  legalize: whether operators become functions of `tir`."""
        super().__init__(self._set_up, PassInfo(0, "SetupTrainer"))
        self._loss, self._optimizer = loss, optimizer
        self._loss_args, self._legalize = loss_args, legalize

    def _set_up(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The program that trains. ArgumentError for a module without the function or the attributes."""
        func = mod.function_ops.get(BACKBONE)
        counts = [mod.get_attr(name) for name in ("param_num", "state_num")]
        if not isinstance(func, FuncOp) or not all(isinstance(each, int) for each in counts):
            functions, attributes = (", ".join(each) or "none" for each in (mod.function_ops, mod.attrs))
            raise ArgumentError(
                f"SetupTrainer: functions {functions} and attributes {attributes}, "
                f"expected {BACKBONE}, and the numbers param_num and state_num"
            )
        inputs = len(func.params) - sum(counts)
        arguments = self._loss(*self._loss_args)  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        assert isinstance(arguments, Function)
        mod = AppendLoss(BACKBONE, arguments, self._loss.num_backbone_outputs, LOSS)(mod)
        mod = DecomposeOpsForTraining(LOSS)(DecomposeOpsForInference(BACKBONE)(mod))
        weights = mod[LOSS].params[inputs : inputs + counts[0]]
        mod = Gradient(LOSS, weights)(mod)
        mod[OPTIMIZER] = self._optimizer.init(weights).get_function().with_attr("global_symbol", OPTIMIZER)
        mod = mod.with_attrs({"input_num": inputs, "optim_state": self._optimizer.state})
        return LegalizeOps()(mod) if self._legalize else mod


__all__ = ["SetupTrainer"]
