"""Graphs written in Python with Relay's names.

x = relay.var("x", shape=(1, 784))
y = relay.nn.relu(relay.nn.dense(x, relay.var("w"), units=128))
mod = relay.module(relay.Function(relay.free_vars(y), y))
"""

from __future__ import annotations

from ...core.diagnostics import did_you_mean
from ...core.plugins import extension_names
from ...module import Module
from . import names, op, qnn
from .analysis import free_vars
from .expr import FunctionCall
from .graph import module_of
from .names import *  # noqa: F403
from .op import *  # noqa: F403
from .operators import PackageOperators

__all__ = ["FunctionCall", "free_vars", "module", "op", "qnn"]
__all__ += names.__all__
__all__ += op.__all__


def module(function: names.Function) -> Module:
    """A module of the `relay` dialect with `function` as `main`. OptionError, TeError for an invalid expression."""
    return module_of({"main": function})


def __getattr__(name: str) -> PackageOperators:
    """The operators of another package."""
    if name in extension_names():
        return PackageOperators(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, __all__)}")
