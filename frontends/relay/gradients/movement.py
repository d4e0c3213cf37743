"""Gradients of operators that move, repeat or choose elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ....core.errors import UnsupportedError
from ....operators import OPERATORS
from ..annotation import MARKS
from ..expr import Call, Constant, Expr, TupleGetItem, call
from .rules import collapse, dtype, reshape_as, rule, shape, sizes, zeros_like


@rule("reshape", "contrib_reverse_reshape", "squeeze", "expand_dims", "nn.batch_flatten")
def _reshape(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [reshape_as(grad, node.args[0])]


@rule("broadcast_to")
def _broadcast_to(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [collapse(grad, shape(node), node.args[0])]


@rule("nn.dropout", *MARKS)
def _dropout(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [grad]


@rule("transpose")
def _transpose(node: Call, grad: Any) -> Sequence[Expr | None]:
    rank, axes = len(shape(node)), node.attrs.axes  # pyright: ignore[reportAttributeAccessIssue]
    order = list(reversed(range(rank))) if axes is None else [axis % rank for axis in axes]
    return [call("transpose", grad, axes=[order.index(n) for n in range(rank)])]


@rule("layout_transform")
def _layout_transform(node: Call, grad: Any) -> Sequence[Expr | None]:
    attrs: Any = node.attrs
    return [call("layout_transform", grad, src_layout=attrs.dst_layout, dst_layout=attrs.src_layout)]


@rule("reverse")
def _reverse(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [call("reverse", grad, **node.attrs)]


@rule("concatenate")
def _concatenate(node: Call, grad: Any) -> Sequence[Expr | None]:
    axis = node.attrs.axis % len(shape(node))  # pyright: ignore[reportAttributeAccessIssue]
    ends = np.cumsum([0, *(sizes(each)[axis] for each in node.args)]).tolist()
    return [call("strided_slice", grad, begin=[a], end=[b], axes=[axis]) for a, b in pairwise(ends)]


@rule("stack")
def _stack(node: Call, grad: Any) -> Sequence[Expr | None]:
    axis = node.attrs.axis % len(shape(node))  # pyright: ignore[reportAttributeAccessIssue]
    parts = [call("strided_slice", grad, begin=[n], end=[n + 1], axes=[axis]) for n in range(len(node.args))]
    return [call("squeeze", part, axis=[axis]) for part in parts]


@rule("split")
def _split(node: Call, grad: Any) -> Sequence[Expr | None]:
    axis = node.attrs.axis % len(shape(node.args[0]))  # pyright: ignore[reportAttributeAccessIssue]
    parts = [zeros_like(TupleGetItem(node, n)) if each is None else each for n, each in enumerate(grad)]
    return [call("concatenate", *parts, axis=axis)]


@rule("tile")
def _tile(node: Call, grad: Any) -> Sequence[Expr | None]:
    x, reps = node.args[0], list(node.attrs.reps)  # pyright: ignore[reportAttributeAccessIssue]
    rank = max(len(reps), len(shape(x)))
    reps, extents = [1] * (rank - len(reps)) + reps, [1] * (rank - len(shape(x))) + list(sizes(x))
    parts = call("reshape", grad, newshape=[each for pair in zip(reps, extents, strict=True) for each in pair])
    return [reshape_as(call("sum", parts, axis=list(range(0, 2 * rank, 2))), x)]


@rule("repeat")
def _repeat(node: Call, grad: Any) -> Sequence[Expr | None]:
    x = node.args[0]
    extents = sizes(x)
    axis = node.attrs.axis % len(extents)  # pyright: ignore[reportAttributeAccessIssue]
    repeats = node.attrs.repeats  # pyright: ignore[reportAttributeAccessIssue]
    parts = call("reshape", grad, newshape=[*extents[: axis + 1], repeats, *extents[axis + 1 :]])
    return [call("sum", parts, axis=[axis + 1])]


@rule("nn.pad")
def _pad(node: Call, grad: Any) -> Sequence[Expr | None]:
    if node.attrs.pad_mode != "constant":  # pyright: ignore[reportAttributeAccessIssue]
        raise UnsupportedError(f"gradient of nn.pad with mode {node.attrs.pad_mode!r}, expected 'constant'")  # pyright: ignore[reportAttributeAccessIssue]
    before = [width[0] for width in node.attrs.pad_width]  # pyright: ignore[reportAttributeAccessIssue]
    ends = [first + size for first, size in zip(before, sizes(node.args[0]), strict=True)]
    return [call("strided_slice", grad, begin=before, end=ends)]


# Chosen elements


def _add_at(grad: Expr, rows: Expr, axis: int, target: tuple[int, ...], dtype: str) -> Expr:
    """Zeros of the shape `target`, plus the elements of a gradient at positions along an axis.

    rows: the positions, a vector with an element for each index of the axis of the gradient.
    """
    front, back = prod(target[:axis]), prod(target[axis + 1 :])
    flat = call("reshape", grad, newshape=[front, -1, back])
    where = call("zeros_like", call("cast", flat, dtype="int32")) + call(
        "reshape", call("cast", rows, dtype="int32"), newshape=[1, -1, 1]
    )
    nothing = call("zeros", shape=[front, target[axis], back], dtype=dtype)
    total = call("scatter_elements", nothing, where, flat, axis=1, reduction="add")
    return call("reshape", total, newshape=list(target))


@rule("strided_slice")
def _strided_slice(node: Call, grad: Any) -> Sequence[Expr | None]:
    x, attrs = node.args[0], node.attrs
    extents, results = sizes(x), list(sizes(node))
    axes = range(len(attrs.begin)) if attrs.axes is None else [a % len(extents) for a in attrs.axes]  # pyright: ignore[reportAttributeAccessIssue]
    steps = attrs.strides or [1] * len(attrs.begin)  # pyright: ignore[reportAttributeAccessIssue]
    for axis, first, end, step in zip(axes, attrs.begin, attrs.end, steps, strict=True):  # pyright: ignore[reportAttributeAccessIssue]
        rows = Constant(np.arange(extents[axis], dtype="int32")[slice(first, end, step)])
        results[axis] = extents[axis]
        if len(rows.array) < extents[axis] or step != 1:
            grad = _add_at(grad, rows, axis, tuple(results), dtype(x))
    return [grad]


@rule("strided_set")
def _strided_set(node: Call, grad: Any) -> Sequence[Expr | None]:
    others = call("strided_set", grad, zeros_like(node.args[1]), **node.attrs)
    return [others, call("strided_slice", grad, **node.attrs)]


@rule("sliding_window")
def _sliding_window(node: Call, grad: Any) -> Sequence[Expr | None]:
    (x,) = node.args
    extents = sizes(x)
    numbers = np.arange(prod(extents)).reshape(extents)
    places = OPERATORS["sliding_window"].reference(numbers, **node.attrs).reshape(-1)
    zeros = call("reshape", zeros_like(x), newshape=[-1])
    flat = call("reshape", grad, newshape=[-1])
    total = call("scatter_elements", zeros, Constant(np.ascontiguousarray(places)), flat, axis=0, reduction="add")
    return [reshape_as(total, x)]


@rule("take")
def _take(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, indices = node.args
    axis, extents = node.attrs.axis, sizes(data)  # pyright: ignore[reportAttributeAccessIssue]
    if node.attrs.batch_dims:  # pyright: ignore[reportAttributeAccessIssue]
        raise UnsupportedError("gradient of take with batch_dims")
    target = (prod(extents),) if axis is None else extents
    along = 0 if axis is None else axis % len(extents)
    rows = call("reshape", indices, newshape=[-1])
    last = Constant(np.asarray(target[along], dtype(indices)))
    if node.attrs.mode == "wrap":  # pyright: ignore[reportAttributeAccessIssue]
        rows = call("floor_mod", rows, last)
    else:
        rows = call("clip", rows, a_min=0, a_max=target[along] - 1)
    return [call("reshape", _add_at(grad, rows, along, target, dtype(data)), newshape=list(extents)), None]


@rule("gather")
def _gather(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, indices = node.args
    axis = node.attrs.axis  # pyright: ignore[reportAttributeAccessIssue]
    return [call("scatter_elements", zeros_like(data), indices, grad, axis=axis, reduction="add"), None]


@rule("gather_nd")
def _gather_nd(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, indices = node.args
    if node.attrs.batch_dims:  # pyright: ignore[reportAttributeAccessIssue]
        raise UnsupportedError("gradient of gather_nd with batch_dims")
    return [call("scatter_nd", zeros_like(data), indices, grad, mode="add"), None]


@rule("segment_sum")
def _segment_sum(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, numbers = node.args
    count = node.attrs.num_segments  # pyright: ignore[reportAttributeAccessIssue]
    low, high = (Constant(np.asarray(bound, dtype(numbers))) for bound in (-count, count))
    inside = call("logical_and", call("greater_equal", numbers, low), call("less", numbers, high))
    slices = call("gather_nd", grad, call("expand_dims", numbers, axis=0))
    column = call("reshape", inside, newshape=[-1, *[1] * (len(shape(data)) - 1)])
    return [call("where", column, slices, zeros_like(slices)), None]


@rule("adv_index")
def _adv_index(node: Call, grad: Any) -> Sequence[Expr | None]:
    data, *indices = node.args
    rank = max(len(shape(each)) for each in indices)
    common = list(sizes(node)[:rank])
    rows = [call("broadcast_to", call("cast", each, dtype="int64"), shape=common) for each in indices]
    return [call("scatter_nd", zeros_like(data), call("stack", *rows, axis=0), grad, mode="add"), *([None] * len(rows))]


@rule("meshgrid")
def _meshgrid(node: Call, grad: Any) -> Sequence[Expr | None]:
    order = list(range(len(node.args)))
    if node.attrs.indexing == "xy":  # pyright: ignore[reportAttributeAccessIssue]
        order[:2] = order[1::-1]
    results: list[Expr | None] = []
    for number, (part, operand) in enumerate(zip(grad, node.args, strict=True)):
        others = [axis for axis in order if order.index(axis) != order.index(number)]
        total = part if part is None or not others else call("sum", part, axis=[order.index(n) for n in others])
        results.append(None if total is None else reshape_as(total, operand))
    return results


@rule("matrix_set_diag")
def _matrix_set_diag(node: Call, grad: Any) -> Sequence[Expr | None]:
    """The gradient of the diagonal has zeros at the ends of the rows of shorter diagonals."""
    data, diagonal = node.args
    *outer, rows, columns = sizes(data)
    places = np.arange(1, rows * columns + 1).reshape(rows, columns)
    counted = sizes(diagonal)[len(outer) :]
    where = np.zeros(counted, "int64")
    numbers = np.arange(1, where.size + 1).reshape(counted)
    sources = OPERATORS["matrix_set_diag"].reference(np.zeros_like(places), numbers, **node.attrs)
    for r, c in np.ndindex(rows, columns):
        if sources[r, c]:
            where.flat[sources[r, c] - 1] = places[r, c]
    flat = call("reshape", grad, newshape=[*outer, rows * columns])
    taken = call("take", flat, Constant(np.maximum(where.reshape(-1) - 1, 0)), axis=-1)
    inside = call("cast", Constant(where > 0), dtype=dtype(data))
    own = call("multiply", call("reshape", taken, newshape=[*outer, *counted]), inside)
    return [call("matrix_set_diag", grad, zeros_like(diagonal), **node.attrs), own]


# Shapes and data types of other tensors


@rule("reshape_like")
def _reshape_like(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [reshape_as(grad, node.args[0]), None]


@rule("broadcast_to_like")
def _broadcast_to_like(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [collapse(grad, shape(node), node.args[0]), None]


@rule("cast_like")
def _cast_like(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [call("cast_like", grad, node.args[0]), None]


@rule("collapse_sum_like")
def _collapse_sum_like(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [call("broadcast_to_like", grad, node.args[0]), None]


@rule("collapse_sum_to")
def _collapse_sum_to(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [call("broadcast_to_like", grad, node.args[0])]


@rule("shape_of", "ndarray_size")
def _shape_of(node: Call, grad: Any) -> Sequence[Expr | None]:
    return [None]
