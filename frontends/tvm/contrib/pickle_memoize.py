"""Results of functions that are computed once: `tvm.contrib.pickle_memoize`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..absent import report_absent

__getattr__ = report_absent("tvm.contrib.pickle_memoize")


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of a function that is computed once for equal arguments. The results live as long as the function.

    key, save_at_exit: of TVM's file of results, which is neither read nor written: a pickle from a file runs code.
    """
    return cache


__all__ = ["memoize"]
