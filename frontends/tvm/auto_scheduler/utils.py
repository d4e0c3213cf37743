"""Helpers of workloads: `tvm.auto_scheduler.utils`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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


__all__ = ["array_mean", "get_const_int", "get_const_tuple", "get_func_name", "list_to_tuple", "request_remote"]
