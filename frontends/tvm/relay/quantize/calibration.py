"""The ranges of numbers that integers are to represent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log2
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ....relay.expr import Expr, Function, Tuple
from ...ir.module import IRModule
from ..execute import create_executor

Array: TypeAlias = npt.NDArray[Any]

PERCENTILE = 0.99999
_EMPTY = 1e-4
"""The count of a level without numbers, whose logarithm is finite."""


def greatest(numbers: Array) -> float:
    """The greatest magnitude of numbers, 1 if all are zero: zeros have any scale."""
    return float(np.abs(numbers).max(initial=0)) or 1.0


def power_of_two(numbers: Array) -> float:
    """The least power of two that no number exceeds in magnitude."""
    return 2.0 ** ceil(log2(greatest(numbers)))


def percentile_range(numbers: Array) -> float:
    """The magnitude that all but one of 100000 numbers do not exceed."""
    magnitudes = np.abs(numbers).ravel()
    place = int(magnitudes.size * PERCENTILE)
    return greatest(np.partition(magnitudes, place)[place])


def divergence_range(numbers: Array, bins: int = 8001, levels: int = 255) -> float:
    """The range for which rounding loses the least information: the distribution of the clipped numbers diverges least
    (Kullback-Leibler) from that of their levels.

    bins: of the histogram of the numbers.  levels: the number of integers. Both are odd: zero is in the middle.
    """
    if not numbers.any():
        return greatest(numbers)
    most = greatest(numbers)
    counts, edges = np.histogram(numbers, bins, (-most, most))
    middle = bins // 2
    starts = middle - np.arange(levels // 2, middle + 1)
    ends = bins - starts
    return float(edges[ends[np.argmin(_divergences(counts.astype("float64"), starts, ends, levels))]])


def _divergences(counts: Array, starts: Array, ends: Array, levels: int) -> Array:
    """The divergence for each range of bins, whose first and last one have the numbers outside of the range too."""
    before, bins_before, entropy_before = map(_sums_before, (counts, counts > 0, _entropy(counts)))
    width = (ends - starts) // levels
    bounds = np.append(starts[:, None] + width[:, None] * np.arange(levels), ends[:, None], axis=1)
    inside, nonempty = (np.diff(sums[bounds]) for sums in (before, bins_before))
    clipped = inside.copy()
    entropy = entropy_before[ends - 1] - entropy_before[starts + 1]
    for level, last, outside in ((0, starts, before[starts]), (-1, ends - 1, before[-1] - before[ends])):
        clipped[:, level] += outside
        nonempty[:, level] += (counts[last] == 0) & (outside > 0)
        entropy += _entropy(counts[last] + outside)
    # a level represents the numbers of its bins as evenly distributed over the nonempty ones
    even = np.maximum(inside / np.maximum(nonempty, 1), _EMPTY)
    cross_entropy = (clipped * np.log(even)).sum(1)
    total = before[-1]
    return (entropy - cross_entropy) / total - np.log(total / np.maximum(inside.sum(1), _EMPTY))


def _sums_before(numbers: Array) -> Array:
    """The sums of the numbers before each place, and of all."""
    return np.append(0.0, np.cumsum(numbers))


def _entropy(counts: Array) -> Array:
    return counts * np.log(np.maximum(counts, 1))


def numbers_of(
    func: Function, operands: Sequence[Expr], dataset: Sequence[Mapping[str, Any]], chunk: int
) -> Iterator[Array]:
    """The numbers of each operand of a graph for all inputs of a dataset. chunk: the number of operands that one
    execution returns, -1 for all. Inputs that the graph lacks are ignored."""
    names = {param.name_hint for param in func.params}
    size = chunk if chunk > 0 else max(len(operands), 1)
    for start in range(0, len(operands), size):
        part = IRModule.from_expr(Function(func.params, Tuple(operands[start : start + size])))
        run = create_executor("graph", part).evaluate()
        results = [run(**{name: inputs[name] for name in names & inputs.keys()}) for inputs in dataset]
        for arrays in zip(*results, strict=True):
            yield np.concatenate([array.numpy().ravel() for array in arrays])
