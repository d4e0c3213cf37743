"""Functions of Python as tensors: `tvm.te.hybrid`, `tvm.hybrid` until v0.6."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ....expressions.errors import TeError
from ....expressions.tensor import Tensor
from ..absent import report_absent
from ..nd import HostArray
from .module import HybridModule, build
from .numbers import run_with_numbers
from .parser import parse

__getattr__ = report_absent("tvm.te.hybrid")


def script(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python on tensors: loops over `range`, stores to elements, `output_tensor`, `allocate`.

    Called with tensors of `te`, it returns the tensor that it computes, or a list of several. A nest of loops that
    stores each element of one tensor becomes a `te.compute`, whose axes can be scheduled; other loops become statements
    of a `te.extern`, as do those of other hybrid functions that it calls. Called with arrays, it runs in Python.
    TeError, with the line, for a statement or an expression that has no meaning in such a function.
    """

    @wraps(pyfunc)
    def call(*args: Any) -> Any:
        flat = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else [arg])]  # pyright: ignore[reportUnknownVariableType]
        if any(isinstance(arg, Tensor) for arg in flat):
            return parse(pyfunc, args)
        if any(isinstance(arg, np.ndarray | HostArray) for arg in flat):
            return run_with_numbers(pyfunc, args)
        raise TeError(f"{pyfunc.__name__}: expected tensors or arrays, got {', '.join(type(a).__name__ for a in args)}")

    call.hybrid_function = pyfunc  # pyright: ignore[reportAttributeAccessIssue]
    return call


__all__ = ["HybridModule", "build", "script"]
