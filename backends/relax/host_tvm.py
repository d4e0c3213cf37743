"""Packed functions of TVM's runtime, under its names: programs that TVM has lowered call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import ArgumentError
from ..devices.nd import NDArray
from ..runtime.packed import register_func
from . import host_functions

Array = np.ndarray[Any, Any]


def nonzero(x: Array) -> Array:
    """The indices of the elements that are not zero, a row for each dimension, one for a number."""
    return host_functions.nonzero(np.atleast_1d(x))


def unique(x: Array, is_sorted: int, index: int, inverse: int, counts: int, axis: int | None = None) -> Any:
    """The distinct slices along an axis, or elements; and of `host_functions.unique` the results that flags state."""
    flat = (x.reshape(-1), 0) if axis is None else (x, axis)
    values, *others = host_functions.unique(*flat, is_sorted)
    results = [values, *(each for each, is_wanted in zip(others, (index, inverse, counts), strict=True) if is_wanted)]
    return results[0] if len(results) == 1 else tuple(results)


def tensor_to_shape(x: Any) -> tuple[int, ...]:
    """The elements of an array, as sizes. ArgumentError for a negative one."""
    sizes = tuple(int(each) for each in _array(x).reshape(-1))
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"sizes {sizes}, expected at least 0")
    return sizes


def reshape(x: Any, shape: tuple[int, ...]) -> Any:
    """The array in another shape."""
    return host_functions.on_host(lambda array: np.asarray(array.reshape(shape), order="C"))(x)


def show(text: str, *values: Any) -> None:
    """Prints values: in a text with places `{}`, or separated by spaces."""
    texts = [_text(each) for each in values]
    print(text.format(*texts) if text else " ".join(texts))


def check(condition: Any, text: str, *values: Any) -> None:
    """Raises AssertionError unless a condition holds. text: of the message, with places `{}` for values."""
    if not np.all(_array(condition)):
        texts = [_text(each) for each in values]
        raise AssertionError(text.format(*texts) if text else ", ".join(texts) or "Assertion Failed")


def _array(value: Any) -> Any:
    return value.numpy() if isinstance(value, NDArray) else np.asarray(value)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"  # pyright: ignore[reportUnknownArgumentType]
    return str(_array(value) if isinstance(value, NDArray) else value)


# Sorting, called by kernels: the last array before the numbers is the result


def sort(x: Array, result: Array, axis: int, is_ascending: int) -> None:
    """Sorts the elements along an axis."""
    result[...] = np.take_along_axis(x, _order(x, axis, is_ascending), axis)


def argsort(x: Array, result: Array, axis: int, is_ascending: int) -> None:
    """The indices of the sorted elements along an axis; equal elements keep their order."""
    result[...] = _order(x, axis, is_ascending)


def argsort_valid(x: Array, counts: Array, result: Array, axis: int, is_ascending: int) -> None:
    """As of `argsort`, of the first `counts` elements along an axis; the others keep their places."""
    rows, out = np.moveaxis(x, axis, -1), np.moveaxis(result, axis, -1)
    out[...] = np.arange(rows.shape[-1])
    for place in np.ndindex(*rows.shape[:-1]):
        count = int(counts.reshape(rows.shape[:-1])[place])
        out[(*place, slice(count))] = _order(rows[place][:count], 0, is_ascending)


def _order(x: Array, axis: int, is_ascending: int) -> Array:
    if is_ascending:
        return np.argsort(x, axis, kind="stable")
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def topk(x: Array, *arguments: Any) -> None:
    """The greatest or least elements along an axis, their indices, or both, in the arrays before the numbers: the
    count, the axis, `both`, `values` or `indices`, and whether the least come first."""
    *results, _, axis, kind, is_ascending = arguments
    order = np.take(_order(x, axis, is_ascending), np.arange(results[0].shape[axis]), axis)
    given = {"values": np.take_along_axis(x, order, axis), "indices": order}
    for result, name in zip(results, given if kind == "both" else (kind,), strict=True):
        result[...] = given[name]


TVM_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "relax.run.assert_op": check,
    "relax.run.nonzero": host_functions.on_host(nonzero),
    "relax.run.print": show,
    "relax.run.shape_to_tensor": lambda shape: np.array(shape, np.int64),
    "relax.run.unique": host_functions.on_host(unique),
    "tvm.contrib.sort.argsort": argsort,
    "tvm.contrib.sort.argsort_nms": argsort_valid,
    "tvm.contrib.sort.sort": sort,
    "tvm.contrib.sort.topk": topk,
    "vm.builtin.null_value": lambda: None,
    "vm.builtin.reshape": reshape,
    "vm.builtin.tensor_to_shape": tensor_to_shape,
}
"""The functions by name."""

for _name, _function in TVM_FUNCTIONS.items():
    register_func(_name, _function, override=True)
