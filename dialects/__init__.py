"""One module per dialect: its types, operations, verifiers and the `Dialect` value. No rewriting here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect

DIALECTS = {
    "relay": "..operators.relay:Relay",
    "schedule": ".schedule:Schedule",
    "te": ".te:Te",
    "tir": ".tir:Tir",
}
"""Every dialect of Stepwell: its name, and the module that defines it with the name of its `Dialect` value.

`relay` lies with the operators, of which its operations are made."""


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """A loader for every dialect, by name; nothing is imported before one is called."""
    return {name: partial(_load, name) for name in DIALECTS}


def mlir_context() -> Context:
    """A context that knows the dialects of xDSL, ours and those of other packages (`xdsl.universe`).

    Each is loaded when it is first used. Raises `PluginError` if one of these packages is broken.
    """
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects as get_upstream_dialects

    from ..core.plugins import installed_universe

    context = Context()
    for name, load in {
        **installed_universe().all_dialects,
        **get_upstream_dialects(),
        **get_all_dialects(),
    }.items():
        context.register_dialect(name, load)
    return context


def _load(name: str) -> Dialect:
    module, _, value = DIALECTS[name].partition(":")
    return getattr(import_module(module, __name__), value)
