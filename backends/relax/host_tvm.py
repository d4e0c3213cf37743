"""Packed functions of TVM's runtime, under its names: programs that TVM has lowered call them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError
from ..devices.nd import NDArray
from ..runtime.packed import register_func
from . import host_functions
from .host_functions import host_array, on_host

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
    sizes = tuple(int(each) for each in host_array(x).reshape(-1))
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"sizes {sizes}, expected at least 0")
    return sizes


def shape_to_tensor(shape: tuple[int, ...], *_: Array) -> Array:
    """The sizes of a shape as an array, on the device of the other arrays."""
    return np.array(shape, np.int64)


def read_condition(x: Any) -> bool:
    """Whether the first element of an array is not 0."""
    return bool(host_array(x).reshape(-1)[0] != 0)


def reshape(x: Any, shape: tuple[int, ...]) -> Any:
    """The array in another shape."""
    return on_host(lambda array: np.asarray(array.reshape(shape), order="C"))(x)


def view(x: Array, shape: tuple[int, ...], dtype: str, offset: int) -> Array:
    """The memory of an array from an offset on, as an array of another shape and data type. ArgumentError if it has
    fewer bytes."""
    kind = numpy_dtype(dtype)
    needed, given = math.prod(shape) * kind.itemsize, x.nbytes
    if not 0 <= offset <= given - needed:
        raise ArgumentError(f"a view of {needed} bytes from byte {offset} on of {given} bytes")
    return np.frombuffer(np.ascontiguousarray(x).tobytes()[offset : offset + needed], kind).reshape(shape).copy()


def show(text: str, *values: Any) -> None:
    """Prints values: in a text with places `{}`, or separated by spaces."""
    texts = [_text(each) for each in values]
    print(text.format(*texts) if text else " ".join(texts))


def check(condition: Any, text: str, *values: Any) -> None:
    """Raises AssertionError unless a condition holds. text: of the message, with places `{}` for values."""
    if not np.all(host_array(condition)):
        texts = [_text(each) for each in values]
        raise AssertionError(text.format(*texts) if text else ", ".join(texts) or "Assertion Failed")


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"  # pyright: ignore[reportUnknownArgumentType]
    return str(host_array(value) if isinstance(value, NDArray) else value)


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


def shape_of(x: Any) -> tuple[int, ...]:
    """The sizes of an array."""
    return tuple(int(size) for size in x.shape)


# Closures


def make_closure(function: Callable[..., Any], *bound: Any) -> Callable[..., Any]:
    """The function of the arguments after the first ones, which are bound."""
    return functools.partial(function, *bound)


def invoke_closure(closure: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a closure. ArgumentError for another value."""
    if not callable(closure):
        raise ArgumentError(f"expected a closure, got {type(closure).__name__}")
    return closure(*arguments)


# Attention


def attention_var_len(
    query: Array, key: Array, value: Array, starts: Array, key_starts: Array, scale: float, corner: str, window: int
) -> Array:
    """The attention of each of several sequences, whose queries [1, length, heads, size] follow each other.

    starts, key_starts: the first position of each sequence, and the end.  scale: of the scores.  corner: of the
    diagonal of a causal mask, `TopLeft` or `BottomRight`, "" without a mask.  window: the greatest distance of a key
    before the diagonal, plus one; 0 for any.
    """
    result = np.zeros((*query.shape[:3], value.shape[3]), query.dtype)
    _check_starts(starts, query.shape[1], "queries")
    _check_starts(key_starts, key.shape[1], "keys")
    for first, end, first_key, end_key in zip(starts, starts[1:], key_starts, key_starts[1:], strict=False):
        q, k, v = (
            each[0, low:high].astype(np.float32)
            for each, low, high in ((query, first, end), (key, first_key, end_key), (value, first_key, end_key))
        )
        scores = np.einsum("shd,thd->hst", q, k) * scale
        rows, columns = np.indices(scores.shape[1:])
        diagonal = abs(len(q) - len(k)) if corner == "BottomRight" else 0
        if corner:
            scores[:, columns > rows + diagonal] = -np.inf
        if window:
            scores[:, columns <= rows + diagonal - window] = -np.inf
        greatest = scores.max(-1, keepdims=True, initial=np.finfo(np.float32).min)
        weights = np.exp(scores - greatest)
        weights /= np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float32).tiny)
        result[0, first:end] = np.einsum("hst,thd->shd", weights, v)
    return result


def _check_starts(starts: Array, length: int, what: str) -> None:
    """Raises ArgumentError for positions of sequences that are not in order, or outside of the tensor."""
    if len(starts) < 1 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != length:
        raise ArgumentError(f"sequences of {what} at {starts.tolist()}, expected 0 to {length} in order")


TVM_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "relax.run.assert_op": check,
    "relax.run.nonzero": on_host(nonzero),
    "relax.run.print": show,
    "relax.run.shape_to_tensor": on_host(shape_to_tensor),
    "relax.run.unique": on_host(unique),
    "tvm.contrib.sort.argsort": argsort,
    "tvm.contrib.sort.argsort_nms": argsort_valid,
    "tvm.contrib.sort.sort": sort,
    "tvm.contrib.sort.topk": topk,
    "relax.run.attention_var_len": on_host(attention_var_len),
    "relax.run.view": on_host(view),
    "vm.builtin.copy": lambda x: x,
    "vm.builtin.invoke_closure": invoke_closure,
    "vm.builtin.make_closure": make_closure,
    "vm.builtin.null_value": lambda: None,
    "vm.builtin.read_if_cond": read_condition,
    "vm.builtin.reshape": reshape,
    "vm.builtin.shape_of": shape_of,
    "vm.builtin.tensor_to_shape": tensor_to_shape,
}
"""The functions by name."""

for _name, _function in TVM_FUNCTIONS.items():
    register_func(_name, _function, override=True)
