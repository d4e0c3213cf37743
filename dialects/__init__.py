"""One module per dialect: its types, operations, verifiers and the `Dialect` value. No rewriting here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from ..core.keeping import kept_with_argument

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect
    from xdsl.universe import Universe

DIALECTS = {
    "relax": "..operators.relax:Relax",
    "relay": "..operators.relay:Relay",
    "schedule": ".schedule:Schedule",
    "te": ".te:Te",
    "tir": ".tir:Tir",
}
"""{ name of a dialect -> the module that defines it, and the name of its `Dialect` value there }.

The modules of `relay` and `relax` are above this folder, because operations of `relay` are built from the operators."""


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """The loaders of our dialects, by name; a dialect is imported when its loader is called."""
    return {name: partial(_load, name) for name in DIALECTS}


def mlir_context() -> Context:
    """A context with the dialects of xDSL, of Stepwell and of other packages (`xdsl.universe`).

    Each dialect is loaded on first use. Raises `PluginError` if a package is broken.
    """
    # lazy: every xDSL tool imports this module to list the dialects
    from ..core.plugins import installed_universe

    return _registered(installed_universe()).clone()


@kept_with_argument
def _registered(universe: Universe) -> Context:
    """A context in which no dialect is loaded: most programs need one for each of their pipelines."""
    # lazy: as above
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects as get_upstream_dialects

    context = Context()
    for name, load in {**universe.all_dialects, **get_upstream_dialects(), **get_all_dialects()}.items():
        context.register_dialect(name, load)
    return context


def _load(name: str) -> Dialect:
    module, _, value = DIALECTS[name].partition(":")
    return getattr(import_module(module, __name__), value)
