"""Weights transposed ahead of time: `tvm.relay.data_dep_optimization.simplify_fc_transpose`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....relay.expr import Function
from ..transform import SimplifyFCTranspose
from ..weights import transposed_weight
from .conversion import convert as convert_by
from .conversion import weights_of


def convert(func: Function, params: dict[str, Any]) -> tuple[Function, dict[str, Any]]:
    """A graph in which `nn.dense` takes weights `NAME.T` in place of transposes, and its parameters.

    params: the arrays by name, which are changed. OptionError for a weight without an array.
    """
    weights = weights_of(func, transposed_weight, params, "simplify_fc_transpose")
    new = {f"{name}.T": np.ascontiguousarray(weight.T) for name, weight in weights.items()}
    return convert_by(func, SimplifyFCTranspose(list(weights)), params, new)


__all__ = ["convert"]
