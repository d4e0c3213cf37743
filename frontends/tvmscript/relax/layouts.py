"""The word `R.layout_transform`: elements at indices that a function of Python computes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ....core.diagnostics import Span
from ....core.dtypes import numpy_dtype
from ....expressions.expr import PrimExpr, SizeVar
from ....expressions.sizes import values_of_size
from ....operators.relax.packed_words import known_tensor
from ....operators.relay import dtype_of_tensor, shape_of
from ..context import ElaborationContext
from ..dispatch import RELAX, apply
from ..values import Closure, RelaxValue, Value, describe_value, python_number
from ..vocabulary import RELAX_WORDS, word
from .context import RelaxContext

_MOST_INDICES = 2**24
"""The greatest number of elements of a result, whose indices are a constant."""


@word("index_map")
def _index_map(context: ElaborationContext, span: Span, mapping: Value, **options: Value) -> Value:
    if context.dialect != RELAX or not isinstance(mapping, Closure):
        raise span.error(f"T.index_map of {describe_value(mapping)}, expected a lambda, in R.layout_transform")
    return mapping


@word("layout_transform", words=RELAX_WORDS)
def _layout_transform(
    context: RelaxContext,
    span: Span,
    x: Value,
    index_map: Value,
    pad_value: Value = None,
    axis_separators: Value = None,
    input_axis_separators: Value = None,
) -> Value:
    for name, value in (("axis_separators", axis_separators), ("input_axis_separators", input_axis_separators)):
        if value is not None and value != [] and value != ():
            raise span.error(f"R.layout_transform: {name}: expected none: the memory of a tensor is flat")
    data = known_tensor(context.at(span), context.relax_value(x, span))
    if data is None or not all(isinstance(extent, int) for extent in shape_of(data)):
        raise span.error("R.layout_transform: expected a tensor of known numbers as extents")
    if not isinstance(index_map, Closure):
        raise span.error(f"R.layout_transform: expected T.index_map(lambda ...), got {describe_value(index_map)}")
    shape = cast("tuple[int, ...]", tuple(shape_of(data)))
    places = _places(context, index_map, shape, span)
    number = 0 if pad_value is None else python_number(pad_value)
    if not isinstance(number, int | float):
        raise span.error(f"R.layout_transform: pad_value: expected a number, got {describe_value(pad_value)}")
    return RelaxValue(_gather(context, data, places, number, span))


def _places(context: RelaxContext, mapping: Closure, shape: Sequence[int], span: Span) -> Any:
    """The flat index of the element of a tensor at each index of the result, -1 for padding."""
    names = [f"i{axis}" for axis in range(len(shape))]
    results = apply(context, mapping, span, [SizeVar(name) for name in names], {})
    items = cast("Sequence[Value]", results) if isinstance(results, tuple | list) else [results]
    grid: dict[str, Any] = dict(zip(names, np.indices(shape), strict=True))
    indices = [np.broadcast_to(_evaluate(item, grid, span), shape) for item in items]
    if any(index.size and index.min() < 0 for index in indices):
        raise span.error("R.layout_transform: the map has a negative index")
    extents = [int(index.max()) + 1 if index.size else 0 for index in indices]
    if prod(extents) > _MOST_INDICES:
        raise span.error(f"R.layout_transform: a result of shape {extents}, expected at most {_MOST_INDICES} elements")
    places = np.full(extents, -1, np.int64)
    places[tuple(indices)] = np.arange(prod(shape)).reshape(shape)
    if int((places >= 0).sum()) != prod(shape):
        raise span.error("R.layout_transform: the map has equal indices for several elements")
    return places


def _evaluate(item: Value, grid: dict[str, Any], span: Span) -> Any:
    number = python_number(item)
    if isinstance(number, int):
        return np.int64(number)
    if not isinstance(item, PrimExpr):
        raise span.error(f"R.layout_transform: expected an index, got {describe_value(item)}")
    return values_of_size(item, grid)


def _gather(context: RelaxContext, data: SSAValue, places: Any, number: int | float, span: Span) -> SSAValue:
    """The elements at flat indices; a number at negative ones."""
    graph, dtype = context.at(span), dtype_of_tensor(data)
    flat = graph.operator("reshape", data, newshape=[prod(cast("tuple[int, ...]", tuple(shape_of(data))))])
    taken = graph.operator("take", flat, graph.constant(np.maximum(places, 0), "indices"), axis=0, mode="clip")
    if (places >= 0).all():
        return taken
    filler = graph.constant(np.asarray(number, numpy_dtype(dtype)), "padding")
    return graph.operator("where", graph.constant(places >= 0, "inside"), taken, filler)
