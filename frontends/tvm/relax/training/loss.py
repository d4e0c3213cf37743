"""Losses as functions of programs: `tvm.relax.training.loss`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .....core.errors import ArgumentError, OptionError
from ...absent import report_absent
from ..block_builder import BlockBuilder
from ..calls import op
from ..expr import Expr, Var
from ..function import Function
from ..struct_info import StructInfo, TensorStructInfo

__getattr__ = report_absent("tvm.relax.training.loss")

_REDUCTIONS = ("mean", "sum", "none")


class Loss:
    """A loss, whose call returns a function of the outputs of a model and of targets.

    num_backbone_outputs: the number of these outputs.
    """

    def __init__(self, loss_name: str, num_backbone_outputs: int, reduction: str = "mean"):
        """loss_name: the name of the function.  reduction: `mean`, `sum` or `none` of the losses of all elements.
        OptionError for another reduction."""
        if reduction not in _REDUCTIONS:
            raise OptionError(f"{loss_name}: reduction {reduction!r}, expected one of {', '.join(_REDUCTIONS)}")
        self._loss_name = loss_name
        self._reduction = reduction
        self.num_backbone_outputs = num_backbone_outputs

    def _with_reduction(self, expr: Expr) -> Expr:
        """The reduction of the losses of all elements."""
        if self._reduction == "none":
            return expr
        return op.sum(expr) if self._reduction == "sum" else op.mean(expr)

    def _function(self, params: Sequence[Var], losses: Callable[[BlockBuilder], Expr]) -> Function:
        """The function of a loss. losses: emits its operations; returns the loss."""
        builder = BlockBuilder()
        with builder.function(self._loss_name, params):
            with builder.dataflow():
                result = builder.emit_output(losses(builder))
            builder.emit_func_output(result)
        return builder.get()[self._loss_name]


def _parameters(given: dict[str, Var | StructInfo | None]) -> list[Var]:
    """New variables of the types of variables, and with the names of types; none for None."""
    params: list[Var] = []
    for name, each in given.items():
        if isinstance(each, Var):
            params.append(Var(each.name_hint, each.struct_info))
        elif each is not None:
            params.append(Var(name, each))
    return params


class L1Loss(Loss):
    """The absolute differences between predictions and targets."""

    def __init__(self, reduction: str = "mean"):
        super().__init__("l1_loss", 1, reduction)

    def __call__(self, predictions: Var | StructInfo, targets: Var | StructInfo) -> Function:
        """The function. predictions, targets: variables, or the types of variables."""
        params = _parameters({"predictions": predictions, "targets": targets})
        return self._function(params, lambda _: self._with_reduction(op.abs(op.subtract(*params))))


class MSELoss(Loss):
    """The squares of the differences between predictions and targets."""

    def __init__(self, reduction: str = "mean"):
        super().__init__("mse_loss", 1, reduction)

    def __call__(self, predictions: Var | StructInfo, targets: Var | StructInfo) -> Function:
        """The function. predictions, targets: variables, or the types of variables."""
        params = _parameters({"predictions": predictions, "targets": targets})

        def losses(builder: BlockBuilder) -> Expr:
            difference = builder.emit(op.subtract(*params))
            return self._with_reduction(op.multiply(difference, difference))

        return self._function(params, losses)


class CrossEntropyLoss(Loss):
    """The negative logarithms of the softmax of predictions at the classes of targets."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        """ignore_index: the class whose targets have no loss."""
        super().__init__("cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(
        self, predictions: Var | StructInfo, targets: Var | StructInfo, weights: Var | StructInfo | None = None
    ) -> Function:
        """The function. predictions, targets, weights: variables, or the types of variables. weights: of the classes,
        of shape (C,)."""
        params = _parameters({"predictions": predictions, "targets": targets, "weights": weights})

        def losses(builder: BlockBuilder) -> Expr:
            return self._of_classes(builder.emit(op.nn.log_softmax(params[0])), params[1], params[2:])

        return self._function(params, losses)

    def _of_classes(self, logarithms: Expr, classes: Expr, weights: Sequence[Expr]) -> Expr:
        """The losses of logarithms at classes."""
        return op.nn.nll_loss(logarithms, classes, *weights, reduction=self._reduction, ignore_index=self.ignore_index)


class CategoricalCrossEntropyLoss(CrossEntropyLoss):
    """The products of targets, integers of the shape of predictions, and the negative logarithms of the softmax of
    predictions. With a class to ignore, the losses at the classes with the greatest targets."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        """ignore_index: the class whose targets have no loss, if it is not negative."""
        super().__init__(reduction, ignore_index)
        self._loss_name = "categorical_cross_entropy_loss"

    def __call__(
        self, predictions: Var | StructInfo, targets: Var | StructInfo, weights: Var | StructInfo | None = None
    ) -> Function:
        """The function. predictions, targets, weights: variables, or the types of variables. ArgumentError for targets
        that are no integers."""
        params = _parameters({"predictions": predictions, "targets": targets, "weights": weights})
        info = params[1].struct_info
        if not isinstance(info, TensorStructInfo) or "int" not in (info.dtype or ""):
            raise ArgumentError(f"{self._loss_name}: targets of type {info}, expected a tensor of integers")

        def losses(builder: BlockBuilder) -> Expr:
            logarithms = builder.emit(op.nn.log_softmax(params[0]))
            if self.ignore_index >= 0:
                return self._of_classes(logarithms, builder.emit(op.argmax(params[1], axis=1)), params[2:])
            products = builder.emit(-logarithms * op.astype(params[1], "float32"))
            for weight in params[2:]:
                products = builder.emit(products * weight)
            return self._with_reduction(products)

        return self._function(params, losses)


__all__ = ["CategoricalCrossEntropyLoss", "CrossEntropyLoss", "L1Loss", "Loss", "MSELoss"]
