"""The meaning of `poly.eval`, and its lowering."""

from functools import reduce
from typing import Any

import numpy as np

from stepwell.dialects.extensions import Extension, Statement
from stepwell.dialects.tir import TirBuilder
from stepwell.transforms.writing import each_element

from .dialect import EvalOp


def evaluate(op: EvalOp, source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
    *lower, last = (source.dtype.type(coefficient.value.data) for coefficient in op.coefficients)
    with np.errstate(all="ignore"):
        target[...] = reduce(lambda value, each: each + source * value, reversed(lower), np.full_like(source, last))


def build_loops(builder: TirBuilder, op: EvalOp) -> None:
    """Computes c0 + x * (c1 + x * (c2 + ...)) for each element x."""
    with each_element(builder, "poly", op.source) as index:
        *lower, value = map(builder.const, op.coefficients)
        for coefficient in reversed(lower):
            value = builder.add(coefficient, builder.mul(builder.load(op.source, index), value))
        builder.store(value, op.target, index)


EXTENSION = Extension([Statement(EvalOp, evaluate, build_loops)])
