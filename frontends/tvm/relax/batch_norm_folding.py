"""Batch norms as parts of the convolutions before them: `FoldBatchnormToConv2D`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..patterns import DFPattern
from .analysis import remove_all_unused
from .calls import op
from .dpl import is_const, is_op, is_tuple_get_item, wildcard
from .expr import Expr, const
from .function import Function
from .pattern_rewrites import rewrite_call

_CHANNELS = 1
"""The axis of the channels of images, and of batch norms, that are folded."""


def fold_batch_norms(func: Function) -> Function:
    """A function without batch norms, by the given mean and variance, of convolutions with constant weights."""
    image, weight, factors = wildcard(), is_const(), [is_const() for _ in range(4)]
    convolution = is_op("relax.nn.conv2d")(image, weight)
    norm = is_op("relax.nn.batch_norm")(convolution, *factors)

    def fold(expr: Expr, found: Mapping[DFPattern, Any]) -> Expr | None:
        stated, given = dict(found[convolution].attrs), dict(found[norm].attrs)
        layouts = [stated.get(key) or default for key, default in _LAYOUTS.items()]
        if layouts != list(_LAYOUTS.values()) or given.get("axis", _CHANNELS) != _CHANNELS:
            return None
        gamma, beta, mean, variance = (found[each] for each in factors)
        dtype, count = mean.struct_info.dtype, mean.struct_info.shape[0]
        deviation = op.sqrt(op.add(variance, const(given.get("epsilon", 1e-5), dtype)))
        scale = op.divide(gamma if given.get("scale", True) else const(1.0, dtype), deviation)
        shift = op.negative(op.multiply(mean, scale))
        if given.get("center", True):
            shift = op.add(beta, shift)
        scaled = op.multiply(found[weight], op.reshape(scale, (count, 1, 1, 1)))
        result = op.nn.conv2d(found[image], scaled, **dict(found[convolution].attrs.explicit))
        return op.add(result, op.reshape(shift, (1, count, 1, 1)))

    return remove_all_unused(rewrite_call(is_tuple_get_item(norm, 0), fold, func))


_LAYOUTS = {"data_layout": "NCHW", "kernel_layout": "OIHW", "out_layout": "NCHW"}
"""The layouts of convolutions that are folded."""
