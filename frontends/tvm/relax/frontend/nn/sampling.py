"""Operators that choose the next token of a model of language."""

from __future__ import annotations

from typing import Any

from ......expressions.functions import all as both
from ......expressions.functions import min as least
from ......expressions.tensor import Tensor as Elements
from ......expressions.tensor import compute
from ......operators.indexing import gather
from ......operators.reduction import sum as total
from . import operators as op
from .core import Tensor, call_word


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor | None = None, dtype: str = "int64", name: str = ""
) -> Tensor:
    """The class that each number of [0, 1) draws from a distribution, [n, 1].

    prob: the distributions, [batch, classes].  sample_indices: the row of the distribution of each number, by default
    its own.
    """
    rows = _rows(uniform_sample) if sample_indices is None else sample_indices
    return call_word("multinomial_from_uniform", prob, uniform_sample, rows, dtype=dtype, name=name)


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor, sorted_index: Tensor, top_p: Tensor, top_k: Tensor, uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The index that each number of [0, 1) draws from the most probable classes, [n, 1].

    sorted_prob, sorted_index: descending probabilities and their classes, [batch, classes].  top_p, top_k: of each
    row the greatest sum and the greatest number of these classes, [batch, 1]; the class that reaches one of them is
    the last.  uniform_sample, sample_indices: as of `multinomial_from_uniform`.
    """
    rows = _rows(uniform_sample) if sample_indices is None else sample_indices
    sums = op.cumsum(sorted_prob, axis=1)
    greatest = op.tensor_expr_op(_at_last, "top_sum", [sums, sums, top_p, top_k])

    def draw(sums: Elements, classes: Elements, greatest: Elements, numbers: Elements, rows: Elements) -> Elements:
        width = sums.shape[1]
        below = compute(
            (numbers.shape[0], width),
            lambda i, j: (numbers[i, 0] >= sums[rows[i, 0], j] / greatest[rows[i, 0], 0]).astype("int64"),
            name="below",
        )
        count = total(below, axis=1)
        return compute(
            (numbers.shape[0], 1), lambda i, _: classes[rows[i, 0], least(count[i], width - 1)], name="drawn"
        )

    return op.tensor_expr_op(draw, "sample_top", [sums, sorted_index, greatest, uniform_sample, rows])


def renormalize_top_p_top_k_prob(prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """Probabilities whose least ones are 0 and whose others sum up to 1. Arguments as of
    `sample_top_p_top_k_from_sorted_prob`."""
    sums = op.cumsum(sorted_prob, axis=1)
    least = op.tensor_expr_op(_at_last, "least_prob", [sorted_prob, sums, top_p, top_k])
    kept = op.where(op.greater_equal(prob, least), prob, 0.0)
    return kept / op.sum(kept, axis=1, keepdims=True)


def _rows(numbers: Tensor) -> Tensor:
    """The number of each row, [n, 1]."""
    count = numbers.shape[0]
    return op.arange(0, count, dtype="int64").reshape(count, 1)


def _at_last(values: Elements, sums: Elements, top_p: Elements, top_k: Elements) -> Elements:
    """The value of the last of the most probable classes of each row."""
    width = sums.shape[1]

    def is_inside(i: Any, j: Any) -> Any:
        number = j.astype("int64") + 1
        return both(sums[i, j] < top_p[i, 0], number < top_k[i, 0].astype("int64")).astype("int64")

    inside = compute(sums.shape, is_inside, name="inside")
    count = total(inside, axis=1)
    last = compute((sums.shape[0], 1), lambda i, _: least(count[i], width - 1), name="last")
    return gather(values, last, 1)


__all__ = ["multinomial_from_uniform", "renormalize_top_p_top_k_prob", "sample_top_p_top_k_from_sorted_prob"]
