"""Packed functions of this package on sequences and optional values of programs, and loops.

A sequence is a tuple of arrays of any device, or of sequences; an absent optional value is None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError
from ..devices import nd
from ..devices.nd import NDArray
from ..runtime.packed import register_func
from .host_functions import host_array

Value: TypeAlias = Any


def _beside(array: Any, other: Value) -> Value:
    """An array of numpy on the device of another array."""
    return nd.array(array, other.device) if isinstance(other, NDArray) else array


def _items(sequence: Value) -> tuple[Value, ...]:
    if not isinstance(sequence, tuple | list):
        raise ArgumentError(f"a value of type {type(sequence).__name__}, expected a sequence")
    return tuple(sequence)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _place(position: Value, length: int, last: int) -> int:
    """A position in a sequence, counted from the end if negative. last: the greatest valid position."""
    given = int(host_array(position).reshape(()))
    place = given + length if given < 0 else given
    if not 0 <= place <= last:
        raise ArgumentError(f"position {given} in a sequence of {length}")
    return place


def sequence_construct(*items: Value) -> tuple[Value, ...]:
    """The sequence of some values."""
    return items


def sequence_length(sequence: Value, like: Value) -> Value:
    """The number of elements, an int64 scalar on the device of `like`."""
    return _beside(np.asarray(len(_items(sequence)), np.int64), like)


def sequence_at(sequence: Value, position: Value) -> Value:
    """The element at a position."""
    items = _items(sequence)
    return items[_place(position, len(items), len(items) - 1)]


def sequence_insert(sequence: Value, item: Value, position: Value | None = None) -> tuple[Value, ...]:
    """The sequence with one more element, before the element at a position, by default at the end."""
    items = _items(sequence)
    place = len(items) if position is None else _place(position, len(items), len(items))
    return (*items[:place], item, *items[place:])


def sequence_erase(sequence: Value, position: Value | None = None) -> tuple[Value, ...]:
    """The sequence without the element at a position, by default the last one."""
    items = _items(sequence)
    place = _place(np.asarray(-1) if position is None else position, len(items), len(items) - 1)
    return (*items[:place], *items[place + 1 :])


def split_to_sequence(x: Value, sizes: Value, axis: int, keeps: int) -> tuple[Value, ...]:
    """The parts of `x` along an axis. sizes: those of the parts, or one number for parts of this size and the rest.
    keeps: whether parts have the axis, whose extent is 1 if they do not."""
    array, wanted = host_array(x), host_array(sizes)
    extent = array.shape[axis]
    if wanted.ndim == 0 and wanted < 1:
        raise ArgumentError(f"parts of {wanted} elements, expected 1 at least")
    if wanted.ndim and (wanted.sum() != extent or (wanted < 0).any()):
        raise ArgumentError(f"parts of {wanted.tolist()} of an extent of {extent}")
    ends = np.cumsum(wanted) if wanted.ndim else np.arange(wanted, extent + wanted, wanted)
    parts = np.split(array, ends[:-1], axis) if len(ends) else []
    return tuple(_beside(np.array(part if keeps else part.squeeze(axis), order="C"), x) for part in parts)


def concat_from_sequence(sequence: Value, axis: int, is_new: int) -> Value:
    """The elements one after the other along an axis, or stacked along a new one."""
    items = _items(sequence)
    if not items:
        raise ArgumentError("an empty sequence, expected at least one element")
    return _beside((np.stack if is_new else np.concatenate)([host_array(item) for item in items], axis), items[0])


def optional_none() -> None:
    """An absent value."""


def optional_has_element(value: Value, like: Value) -> Value:
    """Whether a value is present, a bool scalar on the device of `like`."""
    return _beside(np.asarray(value is not None), like)


def optional_get_element(value: Value) -> Value:
    """Returns the element of an optional value. ArgumentError if the value is absent."""
    if value is None:
        raise ArgumentError("the element of an optional value that is absent")
    return value


def loop(
    description: str, body: Callable[..., Value], most: Value, condition: Value, *values: Value
) -> tuple[Value, ...] | Value:
    """The final states of a loop, then the collected values of all iterations, stacked along a new first axis.

    description: as JSON, the number of states (`states`) and the data types of collected values (`collected`).  body:
    computes the condition for another iteration, the new states and the collected values from the number of the
    iteration, the states and further values.  most: the greatest number of iterations.  condition: whether there is an
    iteration.  values: the shape of each collected value if there is no iteration, the states, the further values.
    """
    given = json.loads(description)
    dtypes, count = given["collected"], given["states"]
    shapes, states = values[: len(dtypes)], values[len(dtypes) : len(dtypes) + count]
    others, device = values[len(dtypes) + count :], condition
    collected: list[list[Value]] = [[] for _ in dtypes]
    number, limit = 0, int(host_array(most))
    while number < limit and bool(host_array(condition)):
        results = body(_beside(np.asarray(number, np.int64), device), *states, *others)
        condition, *results = results if count or dtypes else (results,)
        states = tuple(results[:count])
        for items, item in zip(collected, results[count:], strict=True):
            items.append(item)
        number += 1
    stacked = (_stack(*each, device) for each in zip(collected, dtypes, shapes, strict=True))
    finals = (*states, *stacked)
    return finals[0] if len(finals) == 1 else finals


def _stack(items: Sequence[Value], dtype: str, shape: Sequence[int], device: Value) -> Value:
    if not items:
        return _beside(np.zeros((0, *shape), numpy_dtype(dtype)), device)
    return _beside(np.stack([host_array(item) for item in items]), device)


OBJECT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concat_from_sequence": concat_from_sequence,
    "loop": loop,
    "optional_get_element": optional_get_element,
    "optional_has_element": optional_has_element,
    "optional_none": optional_none,
    "sequence_at": sequence_at,
    "sequence_construct": sequence_construct,
    "sequence_erase": sequence_erase,
    "sequence_insert": sequence_insert,
    "sequence_length": sequence_length,
    "split_to_sequence": split_to_sequence,
}
"""The functions, which are registered with the prefix `stepwell.`."""

for _name, _function in OBJECT_FUNCTIONS.items():
    register_func(f"stepwell.{_name}", _function, override=True)
