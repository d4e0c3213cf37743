"""Gradients of losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expr import Call, Constant, Expr, call
from .rules import dtype, rule, shape, sizes


@rule("nn.nll_loss")
def _nll_loss(node: Call, grad: Any) -> Sequence[Expr | None]:
    """The gradients of predictions and weights: the classes of targets as ones, times the factors of their losses."""
    predictions, targets, weights = node.args
    attrs: Any = node.attrs
    classes, rank = sizes(weights)[0], len(shape(targets))
    kind, zero = dtype(targets), Constant(np.asarray(0, dtype(targets)))
    turned = call("add", targets, Constant(np.asarray(classes, kind)))
    at = call("clip", call("where", call("less", targets, zero), turned, targets), a_min=0, a_max=classes - 1)
    ones = call("one_hot", at, on_value=1, off_value=0, depth=classes, axis=1, dtype=dtype(predictions))
    counted = call("not_equal", targets, Constant(np.asarray(attrs.ignore_index, kind)))
    own = call("multiply", ones, call("expand_dims", call("cast", counted, dtype=dtype(predictions)), axis=1))
    weighted = call("multiply", own, call("reshape", weights, newshape=[classes, *[1] * (rank - 1)]))
    losses = call("negative", call("multiply", own, predictions))
    if attrs.reduction == "mean":
        total = call("sum", weighted)
        grad = call("divide", grad, total)
        losses = call("subtract", losses, call("multiply", own, node))
    factor = call("expand_dims", grad, axis=1) if attrs.reduction == "none" else grad
    others = [axis for axis in range(rank + 1) if axis != 1]
    of_weights = call("sum", call("multiply", losses, factor), axis=others)
    return [call("negative", call("multiply", weighted, factor)), None, of_weights]
