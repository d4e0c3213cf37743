"""Python functions that programs call by name: `tvm.register_func`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

from ...backends.runtime import packed
from ...core.errors import ArgumentError, LinkError, UnsupportedError
from .nd import HostArray


def register_func(func_name: str | Callable[..., Any], f: Any = None, override: bool = False) -> Any:
    """Registers a Python function that programs call by name: `@tvm.register_func("env.add")`, or `@tvm.register_func`
    for the function's own name.

    Its arguments are numbers, and buffers as `tvm.nd.NDArray` over the same memory. ArgumentError if the name is
    already registered, unless `override`.
    """
    if callable(func_name):
        return register_func(func_name.__name__, func_name, override)

    def register(function: Any) -> Any:
        if not callable(function):
            raise ArgumentError(f"packed function {func_name!r}: expected a callable, got {type(function).__name__}")
        packed.register_func(func_name, wraps(function)(on_arrays(function)), override)
        return function

    return register if f is None else register(f)


register_global_func = register_func


def on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arrays of numpy that calls a function on `tvm.nd.NDArray` over the same memory."""
    return lambda *args: function(*(HostArray(arg) if isinstance(arg, np.ndarray) else arg for arg in args))


def list_global_func_names() -> list[str]:
    """The names of the registered functions, in order."""
    return sorted(packed.registered_names())


def get_global_func(name: str, allow_missing: bool = False) -> Callable[..., Any] | None:
    """The function registered under a name, or the constructor of a pass under TVM's name: `relay._transform.FuseOps`,
    `relax.transform.LegalizeOps`, `tir.transform.Simplify`. The code generators of libraries, `relax.ext.cublas`, exist
    for programs that ask for them; `RunCodegen` does not call them. For another name: None with `allow_missing`, else
    LinkError. So do the operators of `relax.op` and `topi`: `relax.op.nn.conv2d`."""
    try:
        return packed.get_global_func(name)
    except LinkError:
        space, _, own = name.rpartition(".")
        if space == "relax.ext" and own in import_module(".relax.partition", __package__).LIBRARIES:
            return _library(own)
        found = getattr(import_module(_PASSES[space], __package__), own, None) if space in _PASSES else _operator(name)
        if found is None and not allow_missing:
            raise
        return found


def _library(name: str) -> Callable[..., Any]:
    """The code generator of a library, which `relax.build` calls itself."""

    def generate(*args: Any) -> Any:
        raise UnsupportedError(f"relax.ext.{name}: expected relax.build with the target `cuda -libs={name}`")

    return generate


def _operator(name: str) -> Callable[..., Any] | None:
    """The operator of a name of TVM, `relax.op.nn.relu` or `topi.nn.relu`, None for another name."""
    for space, module in _OPERATORS.items():
        if name.startswith(f"{space}."):
            try:
                return attrgetter(name.partition(".")[2])(import_module(module, __package__))
            except AttributeError:
                return None
    return None


_OPERATORS = {"relax.op": ".relax", "topi": ".topi"}
_PASSES = {
    "relax.transform": ".relax.transform",
    "relay._transform": ".relay.transform",
    "relay.transform": ".relay.transform",
    "tir.transform": ".tir.transform",
    "transform": ".transform",
}
"""The modules of passes, by the first words of TVM's names of their constructors."""
