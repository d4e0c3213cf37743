"""Packed functions of this package, in numpy: operators with results of sizes that only data determines, and operators
with attributes that a program computes.

They receive arrays of the machine and numbers. On a device, arrays are copied to the host and results to the device.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dtypes import dtype_of_numpy, value_bounds
from ...core.errors import ArgumentError
from ...operators import operator_of
from ...operators.attributes import normalize_attributes
from ..devices import nd
from ..devices.nd import NDArray
from ..runtime.packed import register_func

Array = np.ndarray[Any, Any]


def nonzero(x: Array) -> Array:
    """The indices of the elements that are not zero, a row for each dimension: int64[rank, count]."""
    places = np.nonzero(np.atleast_1d(x))
    return np.array(places, np.int64)[: x.ndim]


def unique(x: Array, axis: int, is_sorted: int) -> tuple[Array, ...]:
    """The distinct slices of `x` along an axis; for each its first index; for each slice of `x` the index of its equal;
    the number of equals of each. NaN differ from each other. is_sorted: 0 for slices in the order of `x`."""
    values, indices, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = inverse.reshape(-1)
    if not is_sorted:
        order = np.argsort(indices, kind="stable")
        values, indices, counts = np.take(values, order, axis), indices[order], counts[order]
        inverse = np.argsort(order, kind="stable")[inverse]
    return values, indices.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


def non_max_suppression(
    boxes: Array, scores: Array, most: Array, overlap: Array, threshold: Array, is_centered: int
) -> Array:
    """The boxes of which no box with a higher score covers too much, for each batch and class: int64[count, 3] of
    batch, class and box, by falling scores.

    boxes: [batch, n, 4], two corners, or center and size if `is_centered`.  scores: [batch, classes, n].  most: the
    number of boxes for each batch and class.  overlap: the greatest ratio of intersection and union.  threshold: scores
    up to it are left out.
    """
    count = int(most.reshape(-1)[0])
    limits = float(overlap.reshape(-1)[0]), float(threshold.reshape(-1)[0])
    selected = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _select(_corners(boxes[batch], is_centered), scores[batch, kind], count, *limits)
    ]
    return np.array(selected, np.int64).reshape(-1, 3)


def _corners(boxes: Array, is_centered: int) -> Array:
    """The least and the greatest coordinates of boxes: [n, 2, 2]."""
    if is_centered:
        center, half = boxes[:, :2], boxes[:, 2:] / 2
        return np.stack([center - half, center + half], axis=1)
    pairs = boxes.reshape(-1, 2, 2)
    return np.stack([pairs.min(1), pairs.max(1)], axis=1)


def _select(corners: Array, scores: Array, most: int, overlap: float, threshold: float) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > threshold]
    selected: list[int] = []
    while len(order) and len(selected) < most:
        box, order = order[0], order[1:]
        selected.append(int(box))
        order = order[box_ratios(corners[box], corners[order]) <= overlap]
    return selected


def box_ratios(box: Array, others: Array) -> Array:
    """The ratios of intersection and union of a box and other boxes, 0 for boxes without area."""
    sides = np.minimum(box[1], others[:, 1]) - np.maximum(box[0], others[:, 0])
    intersection = np.maximum(sides, 0).prod(-1)
    area, areas = (box[1] - box[0]).prod(), (others[:, 1] - others[:, 0]).prod(-1)
    union = area + areas - intersection
    has_area = (area > 0) & (areas > 0)
    return np.where(has_area, intersection / np.where(has_area, union, 1), 0)


def reshape(x: Array, shape: Array, keeps_zero: int) -> Array:
    """`x` in another shape. An extent of -1 is inferred; an extent of 0 is that of `x`, unless `keeps_zero`."""
    extents = [
        x.shape[n] if extent == 0 and not keeps_zero and n < x.ndim else extent
        for n, extent in enumerate(shape.tolist())
    ]
    return np.asarray(x.reshape(extents), order="C")


def expand(x: Array, shape: Array) -> Array:
    """`x` and `shape` broadcast to each other."""
    return np.asarray(np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape.tolist()))), order="C")


def broadcast(*arrays: Array) -> tuple[Array, ...]:
    """Arrays broadcast to each other."""
    shape = np.broadcast_shapes(*(each.shape for each in arrays))
    return tuple(np.asarray(np.broadcast_to(each, shape), order="C") for each in arrays)


def tile(x: Array, repeats: Array) -> Array:
    """`x` repeated along each axis."""
    if (repeats < 0).any():
        raise ArgumentError(f"tile: repeats {repeats.tolist()}, expected at least 0")
    return np.asarray(np.tile(x, repeats), order="C")


def full(shape: Array, value: Array) -> Array:
    """An array of one value."""
    return np.full(tuple(shape.tolist()), value.reshape(()))


def arange(start: Array, limit: Array, delta: Array) -> Array:
    """The numbers from `start` on, up to `limit`, in steps of `delta`."""
    first, last, step = (each.reshape(())[()] for each in (start, limit, delta))
    if not step:
        raise ArgumentError("range: a delta of 0")
    quotient = -((int(first) - int(last)) // int(step)) if first.dtype.kind in "iu" else np.ceil((last - first) / step)
    count = max(int(quotient), 0)
    return (first + np.arange(count) * step).astype(first.dtype)


def strided_slice(x: Array, starts: Array, ends: Array, axes: Array, steps: Array) -> Array:
    """The elements of `x` in ranges of indices along axes. Negative indices count from the end."""
    parts = [slice(None)] * x.ndim
    for axis, start, end, step in zip(*(each.tolist() for each in (axes, starts, ends, steps)), strict=True):
        if not -x.ndim <= axis < x.ndim or step == 0:
            raise ArgumentError(f"slice: axis {axis} of {x.ndim} dimensions, step {step}")
        parts[axis] = slice(start, end, step)
    return np.asarray(x[tuple(parts)], order="C")


def split(x: Array, sizes: Array, axis: int) -> tuple[Array, ...]:
    """Parts of `x` of some sizes along an axis."""
    extents = sizes.tolist()
    if sum(extents) != x.shape[axis] or min(extents) < 0:
        raise ArgumentError(f"split: parts of {extents} of an extent of {x.shape[axis]}")
    return tuple(np.asarray(part, order="C") for part in np.split(x, np.cumsum(extents)[:-1], axis))


def dynamic_strided_slice(x: Array, begin: Array, end: Array, strides: Array) -> Array:
    """The elements of `x` in a range of indices along each axis."""
    return strided_slice(x, begin, end, np.arange(x.ndim), strides)


def unsqueeze(x: Array, axes: Array) -> Array:
    """`x` with axes of extent 1 at some positions of the result."""
    return np.expand_dims(x, tuple(axes.tolist()))


def squeeze(x: Array, axes: Array) -> Array:
    """`x` without some axes of extent 1."""
    return np.squeeze(x, tuple(axes.tolist()))


def pad(x: Array, widths: Array, axes: Array, value: Array, mode: str) -> Array:
    """`x` with `widths` more elements at both ends of axes, first those at the lower ends; fewer where they are
    negative. mode: of numpy, `constant` for elements `value`."""
    pairs = [(0, 0)] * x.ndim
    for axis, before, after in zip(axes.tolist(), *widths.reshape(2, -1).tolist(), strict=True):
        pairs[axis] = before, after
    options = {"constant_values": value.reshape(())} if mode == "constant" else {}
    padded = np.pad(x, [(max(before, 0), max(after, 0)) for before, after in pairs], mode, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]
    parts = (
        slice(max(-before, 0), extent - max(-after, 0))
        for (before, after), extent in zip(pairs, padded.shape, strict=True)
    )
    return np.asarray(padded[tuple(parts)], order="C")


def reduce(x: Array, axes: Array, kind: str, keeps: int) -> Array:
    """The reduction of `x` along axes: `sum`, `prod`, `mean`, `max`, `min` or `log_sum_exp`."""
    along = tuple(axes.tolist())
    if kind == "log_sum_exp":
        most = _extreme("max", x, along, True)
        most = np.where(np.isfinite(most), most, 0)
        result = np.log(np.exp(x - most).sum(along, keepdims=True)) + most
        result = result if keeps else np.squeeze(result, along)
    elif kind in ("max", "min"):
        result = _extreme(kind, x, along, bool(keeps))
    else:
        result = getattr(np, kind)(x, axis=along, keepdims=bool(keeps))
    return np.asarray(result, order="C").astype(x.dtype)


def _extreme(kind: str, x: Array, axes: tuple[int, ...], keeps: bool) -> Array:
    bounds = value_bounds(dtype_of_numpy(x.dtype))
    return getattr(np, kind)(x, axis=axes, keepdims=keeps, initial=bounds[0 if kind == "max" else 1])


def operator(description: str, *arguments: Array) -> Any:
    """The results of an operator of graphs with computed attributes, by its reference.

    description: as JSON, the name of the operator (`name`), its attributes (`attributes`), and the names of the
    computed ones (`computed`), whose values are the last arguments.
    """
    given = json.loads(description)
    count = len(arguments) - len(given["computed"])
    computed = {name: each.tolist() for name, each in zip(given["computed"], arguments[count:], strict=True)}
    known = operator_of(given["name"])
    with np.errstate(all="ignore"):
        results = known.arrays(arguments[:count], normalize_attributes(known, {**given["attributes"], **computed}))
    arrays = [np.asarray(each, order="C") for each in results]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def host_array(value: Any) -> Any:
    """The array of numpy of an array of any device, or of a value that is none."""
    return value.numpy() if isinstance(value, NDArray) else np.asarray(value)


def on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arrays of any device."""

    def call(*arguments: Any) -> Any:
        device = next((each.device for each in arguments if isinstance(each, NDArray)), None)
        result = function(*(each.numpy() if isinstance(each, NDArray) else each for each in arguments))
        if device is None:
            return result
        return (
            tuple(nd.array(each, device) for each in result) if isinstance(result, tuple) else nd.array(result, device)
        )

    return call


HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arange": arange,
    "broadcast": broadcast,
    "dynamic_strided_slice": dynamic_strided_slice,
    "expand": expand,
    "full": full,
    "non_max_suppression": non_max_suppression,
    "nonzero": nonzero,
    "operator": operator,
    "pad": pad,
    "reduce": reduce,
    "reshape": reshape,
    "split": split,
    "squeeze": squeeze,
    "strided_slice": strided_slice,
    "tile": tile,
    "unique": unique,
    "unsqueeze": unsqueeze,
}
"""The functions, which are registered with the prefix `stepwell.`."""

for _name, _function in HOST_FUNCTIONS.items():
    register_func(f"stepwell.{_name}", on_host(_function), override=True)
