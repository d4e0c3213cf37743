"""Helpers of workloads: `tvm.auto_scheduler.utils`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..absent import report_absent
from ..autotvm.measure import request_remote
from ..topi.utils import get_const_int, get_const_tuple

__getattr__ = report_absent("tvm.auto_scheduler.utils")


def get_func_name(func: Callable[..., Any]) -> str:
    """The name of a function with those of the scopes around the function, as the keys of workloads have it."""
    return getattr(func, "__qualname__", None) or func.__name__


def list_to_tuple(x: Sequence[Any]) -> tuple[Any, ...]:
    """A list as a tuple, with the lists in it."""
    return tuple(list_to_tuple(each) if isinstance(each, list) else each for each in x)


def array_mean(arr: Sequence[Any]) -> float:
    """The mean of numbers, or of expressions of constants."""
    return sum(getattr(each, "value", each) for each in arr) / len(arr)


def decode_workload_key(workload_key: str) -> tuple[str, tuple[Any, ...] | None]:
    """The name of the function of a workload and its arguments, nested lists as one; a key of another form is the
    name, without arguments."""
    try:
        items = json.loads(workload_key)
    except json.JSONDecodeError:
        return workload_key, None
    if not isinstance(items, list) or not items:
        return workload_key, None
    return items[0], tuple(_leaves(items[1:]))


def _leaves(items: Sequence[Any]) -> Iterator[Any]:
    for each in items:
        if isinstance(each, list | tuple):
            yield from _leaves(each)
        else:
            yield each


def to_str_round(x: Any, decimal: int = 6) -> str:
    """Numbers as text, floats with so many places; a list and a dictionary with the texts of their values."""
    match x:
        case str():
            return x
        case dict():
            return str({key: to_str_round(value, decimal) for key, value in x.items()})  # pyright: ignore[reportUnknownVariableType]
        case list() | tuple() | np.ndarray():
            return f"[{', '.join(to_str_round(each, decimal) for each in x)}]"  # pyright: ignore[reportUnknownVariableType]
        case float() | np.floating():
            return f"{x:.{decimal}f}"
        case _:
            return str(x)


__all__ = [
    "array_mean",
    "decode_workload_key",
    "get_const_int",
    "get_const_tuple",
    "get_func_name",
    "list_to_tuple",
    "request_remote",
    "to_str_round",
]
