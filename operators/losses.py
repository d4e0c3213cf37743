"""Losses of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr, Select, const
from ..expressions.tensor import Tensor, is_same_extent
from . import reduction as reductions
from .definition import Pattern, operator
from .elements import build_tensor
from .extents import known_extent
from .indexing import clamp_index
from .requirements import require_floats, require_integers, require_one_of

Array = Any


def _nll_reference(predictions: Array, targets: Array, weights: Array, reduction: str, ignore_index: int) -> Array:
    counted = targets != ignore_index
    classes = len(weights)
    at = np.clip(np.where(targets < 0, targets.astype("int64") + classes, targets.astype("int64")), 0, classes - 1)
    own = np.where(counted, weights.astype("float64")[at], 0)
    loss = -np.take_along_axis(predictions.astype("float64"), at[:, None], 1)[:, 0] * own
    with np.errstate(all="ignore"):
        result = loss if reduction == "none" else np.sum(loss) / (np.sum(own) if reduction == "mean" else 1)
    return np.asarray(result).astype(predictions.dtype)


@operator("nn.nll_loss", Pattern.OUT_FUSABLE, _nll_reference)
def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str = "mean", ignore_index: int = -100
) -> Tensor:
    """The negative prediction of the target class, times the weight of the class: the loss of logarithms of
    probabilities.

    predictions: [N, C, ...].  targets: classes [N, ...]; a negative class counts from the end, a class out of range
    denotes the nearest.  weights: of each class.  reduction: "none" for a loss of each target, "sum", or "mean" for the
    sum over the sum of weights.  ignore_index: the target without a loss and without a weight.
    """
    name = "nn.nll_loss"
    require_floats(predictions, f"{name}: predictions")
    require_integers(targets, f"{name}: targets")
    require_one_of(reduction, ("mean", "sum", "none"), f"{name}: reduction")
    shape = [*predictions.shape[:1], *predictions.shape[2:]]
    fits = predictions.ndim > 1 and len(shape) == targets.ndim and weights.ndim == 1
    if not fits or not all(map(is_same_extent, (*shape, predictions.shape[1]), (*targets.shape, *weights.shape))):
        shapes = [list(each.shape) for each in (predictions, targets, weights)]
        raise TeError(
            f"{name}: predictions, targets and weights of shapes {shapes}, expected [N, C, ...], [N, ...], [C]"
        )
    if known_extent(weights.shape[0]) == 0 or weights.dtype != predictions.dtype:
        raise TeError(
            f"{name}: {list(weights.shape)} weights of {weights.dtype}, expected {predictions.dtype} of classes"
        )

    def target(i: tuple[PrimExpr, ...]) -> PrimExpr:
        return clamp_index(targets(*i), weights.shape[0])

    def own_weight(*i: PrimExpr) -> PrimExpr:
        ignored = targets(*i).equal(const(ignore_index, targets.dtype))
        return Select(ignored, const(0.0, weights.dtype), weights(target(i)))

    own = build_tensor(targets.shape, own_weight, "T_nll_weight", "injective")
    loss = build_tensor(
        targets.shape, lambda *i: -predictions(i[0], target(i), *i[1:]) * own(*i), "T_nll_loss", "injective"
    )
    if reduction == "none":
        return loss
    total = reductions.sum(loss)
    if reduction == "sum":
        return total
    weight = reductions.sum(own)
    return build_tensor([], lambda: total() / weight(), "T_nll_mean", "elemwise")
