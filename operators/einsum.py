"""Sums of products over named axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..core.dtypes import wide_dtype
from ..expressions import functions as scalar
from ..expressions.axes import reduce_axis
from ..expressions.errors import TeError
from ..expressions.expr import PrimExpr
from ..expressions.tensor import Tensor, compute, is_same_extent
from .definition import Pattern, operator
from .extents import known_extent

Array = Any


def _labels(term: str, equation: str, rank: int | None) -> list[str]:
    """The name of each axis of a term: a letter, or a number counted from the last axis of an ellipsis.

    rank: the number of axes of the tensor; None for the result, where an ellipsis is one name.
    """
    where = f"einsum: {term!r} in {equation!r}"
    front, ellipsis, behind = term.partition("...")
    letters = front + behind
    if not (letters.isalpha() and letters.isascii()) and letters:
        raise TeError(f"{where}, expected letters and one ellipsis at most")
    if rank is None:
        return [*front, *([ellipsis] if ellipsis else []), *behind]
    if len(letters) > rank or (len(letters) < rank and not ellipsis):
        raise TeError(f"{where} for an operand of {rank} dimensions")
    return [*front, *(str(n) for n in reversed(range(rank - len(letters)))), *behind]


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The names of the axes of the operands and of the result. TeError for an equation unfit for the operands."""
    sides = equation.replace(" ", "").split("->")
    terms = sides[0].split(",")
    if len(sides) > 2 or len(terms) != len(ranks):
        raise TeError(f"einsum: {equation!r} for {len(ranks)} operands")
    operands = [_labels(term, equation, rank) for term, rank in zip(terms, ranks, strict=True)]
    counts = Counter(label for labels in operands for label in labels)
    wide = sorted((label for label in counts if label.isdigit()), key=int, reverse=True)
    if len(sides) == 1:
        return operands, [*wide, *sorted(label for label, n in counts.items() if n == 1 and not label.isdigit())]
    labels_of_result = _labels(sides[1], equation, None)
    result = [label for each in labels_of_result for label in (wide if each == "..." else [each])]
    if any(label not in counts for label in result) or len(set(result)) < len(result):
        raise TeError(f"einsum: result {sides[1]!r} in {equation!r}, expected names of axes of operands, each once")
    if wide and "..." not in labels_of_result:
        raise TeError(f"einsum: result {sides[1]!r} in {equation!r}, expected the ellipsis of the operands")
    return operands, result


def _extents(equation: str, operands: Sequence[Tensor], names: Sequence[Sequence[str]]) -> dict[str, PrimExpr]:
    """The extent of each named axis. TeError for incompatible extents of one name."""
    extents: dict[str, PrimExpr] = {}
    for operand, labels in zip(operands, names, strict=True):
        own: dict[str, PrimExpr] = {}
        for label, extent in zip(labels, operand.shape, strict=True):
            other = extents.setdefault(label, extent)
            fits = is_same_extent(own.setdefault(label, extent), extent)
            if not fits or not (is_same_extent(other, extent) or 1 in (known_extent(other), known_extent(extent))):
                raise TeError(f"einsum: axes {label!r} in {equation!r} of extents {other} and {extent}")
            if known_extent(other) == 1:
                extents[label] = extent
    return extents


Term = tuple[Tensor, Sequence[str]]
"""A tensor and the names of its axes."""


def _contract(terms: Sequence[Term], result: Sequence[str], extents: Mapping[str, PrimExpr]) -> Term:
    """The sum of products over the axes absent from the result."""
    summed = dict.fromkeys(label for _, labels in terms for label in labels if label not in result)
    over = {label: reduce_axis((0, extents[label]), f"k{n}") for n, label in enumerate(summed)}

    def fcompute(*axes: PrimExpr) -> PrimExpr:
        at = dict(zip(result, axes, strict=True)) | {label: axis.var for label, axis in over.items()}

        def element(term: Term) -> PrimExpr:
            tensor, labels = term
            pairs = zip(labels, tensor.shape, strict=True)
            return tensor(*(at[label] if is_same_extent(own, extents[label]) else 0 for label, own in pairs))

        product = reduce(lambda a, b: a * b, map(element, terms))
        return scalar.sum(product, axis=list(over.values())) if over else product

    names = [f"ax{d}" for d in range(len(result))]
    return compute([extents[label] for label in result], fcompute, "T_einsum", "einsum", varargs_names=names), result


def _einsum_reference(*data: Array, equation: str) -> Array:
    wide = wide_dtype(data[0].dtype)
    return np.asarray(np.einsum(equation, *(each.astype(wide) for each in data))).astype(data[0].dtype)


@operator("einsum", Pattern.OUT_FUSABLE, _einsum_reference)
def einsum(*data: Tensor, equation: str) -> Tensor:
    """The sum of products of the elements of tensors with named axes, as in `numpy.einsum`.

    equation: the names of the axes of each operand, a letter for each axis, separated by commas, then `->` and the
    names of the axes of the result: `"ij,jk->ik"`. A name absent from the result is summed over; a name repeated in one
    operand selects its diagonal; `...` denotes any number of axes, whose shapes broadcast as in numpy. Without `->` the
    result has the axes of the ellipsis, followed by the names that occur once, in alphabetical order. Two tensors at a
    time are multiplied and summed, tensors with shared names first.
    """
    if not data:
        raise TeError("einsum: no operand")
    if len({each.dtype for each in data}) > 1 or data[0].data_type.is_bool:
        raise TeError(f"einsum of {', '.join(each.dtype for each in data)}, expected numbers of one data type")
    names, result = _parse(equation, [each.ndim for each in data])
    extents = _extents(equation, data, names)
    first, *rest = zip(data, names, strict=True)
    left: list[Term] = list(rest)
    if not left:
        return _contract([first], result, extents)[0]
    done: Term = first
    while left:
        shared = [n for n, (_, labels) in enumerate(left) if {*labels} & {*done[1]}]
        term = left.pop(shared[0] if shared else 0)
        needed = {*result, *(label for _, labels in left for label in labels)}
        kept = list(dict.fromkeys(label for label in (*done[1], *term[1]) if label in needed)) if left else result
        done = _contract([done, term], kept, extents)
    return done[0]
